"""What is read out of a document to be searched, joined and browsed. Pure functions; no Django.

The document is the truth; these rows can be thrown away and made again from it. A row is a dictionary by
column name, as the writer hands it to PostgreSQL.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shells.identifiers import GLOBAL_ASSET_ID, digest, is_global_asset_id, pair_hash

Members = dict[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Projection:
    """A table of rows that are read out of documents."""

    table: str
    #: The columns beside tenant and owner: name → PostgreSQL type.
    columns: dict[str, str]
    #: (primary key of the tenant, members of the document) → rows
    rows: Callable[[int, Members], list[Row]]


def submodels(tenant_pk: int, shell: Members) -> list[Row]:
    """One row a submodel descriptor, in the order of the document."""
    return [
        {
            "position": position,
            "digest": digest(submodel["id"]),
            "identifier": submodel["id"],
            "id_short": submodel.get("idShort"),
            "semantic_id": first_key(submodel.get("semanticId")),
            "semantic_reference": unusual(submodel.get("semanticId")),
        }
        for position, submodel in enumerate(shell.get("submodelDescriptors", ()))
    ]


def endpoints(tenant_pk: int, shell: Members) -> list[Row]:
    """One row an endpoint: of the shell (`submodel_position` is None) or of one of its submodels."""
    owners: list[tuple[int | None, Members]] = [
        (None, shell),
        *enumerate(shell.get("submodelDescriptors", ())),
    ]
    return [
        {"submodel_position": submodel_position, **row}
        for submodel_position, owner in owners
        for row in own_endpoints(tenant_pk, owner)
    ]


def own_endpoints(tenant_pk: int, descriptor: Members) -> list[Row]:
    """One row an endpoint of the descriptor itself."""
    return [
        {
            "position": position,
            "interface": endpoint.get("interface"),
            "href": endpoint.get("protocolInformation", {}).get("href"),
        }
        for position, endpoint in enumerate(descriptor.get("endpoints", ()))
    ]


def asset_ids(tenant_pk: int, shell: Members) -> list[Row]:
    """One row a specific asset id."""
    return [
        {
            "position": position,
            "name": asset_id["name"],
            "value": asset_id["value"],
            "pair": pair_hash(tenant_pk, asset_id["name"], asset_id["value"]),
            "external_subject_id": first_key(asset_id.get("externalSubjectId")),
            "external_subject_reference": unusual(asset_id.get("externalSubjectId")),
        }
        for position, asset_id in enumerate(shell.get("specificAssetIds", ()))
    ]


def asset_links(tenant_pk: int, links: list[Members]) -> list[Row]:
    """One row an asset link that was set through discovery; the global asset id under its one name."""
    rows = []
    for position, link in enumerate(links):
        name = GLOBAL_ASSET_ID if is_global_asset_id(link["name"]) else link["name"]
        pair = pair_hash(tenant_pk, name, link["value"])
        rows.append(
            {
                "position": position,
                "name": name,
                "value": link["value"],
                "pair": pair,
                "external_subject_id": first_key(link.get("externalSubjectId")),
                "external_subject_reference": unusual(link.get("externalSubjectId")),
            }
        )
    return rows


def first_key(reference: Members | None) -> str | None:
    """The value of a reference's first key, which is what people mean by "the semantic id"."""
    keys = reference.get("keys") if reference else None
    return keys[0].get("value") if keys else None


def unusual(reference: Members | None) -> Members | None:
    """The reference, unless its first key says all: an external reference with one key, a GlobalReference.

    Almost all references are like that, and need no more room than their one value.
    """
    if reference is None:
        return None
    keys = reference.get("keys")
    usual = (
        reference.get("type") == "ExternalReference"
        and keys is not None
        and len(keys) == 1
        and keys[0].get("type") == "GlobalReference"
        and "value" in keys[0]
    )
    return None if usual else reference


_REFERENCE = {"semantic_id": "text", "semantic_reference": "jsonb"}
_ENDPOINT = {"position": "int", "interface": "text", "href": "text"}

SUBMODELS = Projection(
    "shells_submodel",
    {"position": "int", "digest": "uuid", "identifier": "text", "id_short": "text", **_REFERENCE},
    submodels,
)
ENDPOINTS = Projection("shells_endpoint", {"submodel_position": "int", **_ENDPOINT}, endpoints)
ASSET_IDS = Projection(
    "shells_assetid",
    {
        "position": "int",
        "name": "text",
        "value": "text",
        "pair": "bigint",
        "external_subject_id": "text",
        "external_subject_reference": "jsonb",
    },
    asset_ids,
)
STANDALONE_ENDPOINTS = Projection("shells_standaloneendpoint", _ENDPOINT, own_endpoints)
