"""Asset links that are set and deleted through discovery."""

from django.db import transaction
from pydantic_core import to_json

from shells import projections, querysets, statements
from shells.collections import SHELLS
from shells.identifiers import digest
from shells.projections import Members
from shells.services.running import rows_of, run
from shells.services.writing import NotRegistered, lock


def set_asset_links(tenant_pk: int, identifier: str, links: list[Members]) -> bytes:
    """Let the asset links of a shell, registered or not, be `links`; returns them as they are stored.

    They stand in place of those of its descriptor until that is written again (aas-registry-api.md §1.5).
    """
    document = to_json(links)
    parameters = {
        "tenant": tenant_pk,
        "digest": digest(identifier),
        "identifier": identifier,
        "document": document.decode(),
    }
    with transaction.atomic():
        ((key,),) = rows_of(statements.SET_LINKS, parameters)
        project_asset_links(tenant_pk, key, links)
    return document


def project_asset_links(tenant_pk: int, key: int, links: list[Members]) -> None:
    """Let what is found by asset links be what this document of theirs says."""
    run(statements.CLEAR_LINKS, {"tenant": tenant_pk, "links": key})
    rows = to_json(projections.asset_links(tenant_pk, links)).decode()
    run(statements.INSERT_LINKS, {"tenant": tenant_pk, "links": key, "rows": rows})


def delete_asset_links(tenant_pk: int, identifier: str) -> None:
    """Delete the asset links of a shell; its descriptor stays as it is. Raises NotRegistered if it has none."""
    with transaction.atomic():
        registered = lock(SHELLS, tenant_pk, identifier) is not None
        if querysets.asset_links(tenant_pk, identifier) is None:
            raise NotRegistered("shell with asset links")
        if registered:
            set_asset_links(tenant_pk, identifier, [])
        else:
            run(statements.FORGET_LINKS, {"tenant": tenant_pk, "digests": [digest(identifier)]})
