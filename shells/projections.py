"""What is read out of a document to be searched, joined and browsed. Pure functions; no Django.

The document is the truth; these rows can be thrown away and made again from it. A row is a dictionary by
column name, as the writer hands it to PostgreSQL.
"""

from typing import Any

from shells.identifiers import digest, pair_hash

Members = dict[str, Any]
Row = dict[str, Any]


def submodels(shell: Members) -> list[Row]:
    """One row a submodel descriptor, in the order of the document."""
    return [
        {
            "position": position,
            "digest": digest(submodel["id"]),
            "identifier": submodel["id"],
            "id_short": submodel.get("idShort"),
            "semantic_id": _first_key(submodel.get("semanticId")),
        }
        for position, submodel in enumerate(shell.get("submodelDescriptors", ()))
    ]


def endpoints(shell: Members) -> list[Row]:
    """One row an endpoint: of the shell (`submodel_position` is None) or of one of its submodels."""
    owners: list[tuple[int | None, Members]] = [
        (None, shell),
        *enumerate(shell.get("submodelDescriptors", ())),
    ]
    return [
        {
            "submodel_position": submodel_position,
            "position": position,
            "interface": endpoint.get("interface"),
            "href": endpoint.get("protocolInformation", {}).get("href"),
        }
        for submodel_position, owner in owners
        for position, endpoint in enumerate(owner.get("endpoints", ()))
    ]


def asset_ids(tenant_pk: int, shell: Members) -> list[Row]:
    """One row a specific asset id."""
    return [
        {
            "position": position,
            "name": asset_id["name"],
            "value": asset_id["value"],
            "pair": pair_hash(tenant_pk, asset_id["name"], asset_id["value"]),
            "external_subject_id": _first_key(asset_id.get("externalSubjectId")),
        }
        for position, asset_id in enumerate(shell.get("specificAssetIds", ()))
    ]


def _first_key(reference: Members | None) -> str | None:
    """The value of a reference's first key, which is what people mean by "the semantic id"."""
    keys = reference.get("keys") if reference else None
    return keys[0].get("value") if keys else None
