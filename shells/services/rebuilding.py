"""Make anew what is read out of documents."""

import uuid

from django.db import transaction
from pydantic_core import from_json

from shells import projections, querysets, statements
from shells.collections import Collection
from shells.descriptors import Document
from shells.identifiers import digest
from shells.models import AssetLinks
from shells.projections import Members
from shells.services.discovery import project_asset_links
from shells.services.running import run, text_of
from shells.services.writing import insert_projections


def rebuild_projections(
    collection: Collection, tenant_pk: int | None, after: int, size: int, *, check: bool
) -> tuple[int | None, int, list[str]]:
    """Make what is read out of up to `size` documents anew, from the key `after` on, wherever it differs.

    With `check`, nothing is written. Returns the last key, None at the end; how many documents were looked at;
    the ids of those whose projections differed.
    """
    with transaction.atomic():
        found = querysets.projected(collection, tenant_pk, after, size, lock=not check)
        wrong = [
            (item.tenant_pk, Document(members, item.document))
            for item in found
            if not _is_right(collection, item, members := from_json(item.document))
        ]
        if not check:
            for owner, document in wrong:
                _replace_projections(collection, owner, document)
    return (found[-1].key if found else None), len(found), [document.id for _, document in wrong]


def rebuild_asset_links(
    tenant_pk: int | None, after: int, size: int, *, check: bool
) -> tuple[int | None, int, list[str]]:
    """The same of the asset links that were set through discovery; what is returned is that of the shells."""
    with transaction.atomic():
        rows = AssetLinks.objects.all() if tenant_pk is None else AssetLinks.objects.of(tenant_pk)
        found = rows.filter(pk__gt=after).order_by("pk").prefetch_related("items")
        if not check:
            found = found.select_for_update()
        page = list(found[:size])
        wrong = [links for links in page if not _are_right(links)]
        if not check:
            for links in wrong:
                project_asset_links(links.tenant_id, links.pk, from_json(links.document))
    return (page[-1].pk if page else None), len(page), [links.identifier for links in wrong]


def _are_right(links: AssetLinks) -> bool:
    rows = projections.asset_links(links.tenant_id, from_json(links.document))
    stored = sorted(links.items.all(), key=lambda item: item.position)
    return len(rows) == len(stored) and all(
        getattr(item, name) == value
        for item, row in zip(stored, rows, strict=True)
        for name, value in row.items()
    )


def _is_right(collection: Collection, item: querysets.Projected, members: Members) -> bool:
    rows = [projection.rows(item.tenant_pk, members) for projection in collection.projections]
    for part in rows:
        for row in part:
            if "digest" in row:
                row["digest"] = str(uuid.UUID(row["digest"]))
    return collection.values(members) == item.values and rows == item.rows


def _replace_projections(collection: Collection, tenant_pk: int, document: Document) -> None:
    """The document stays, and so does the time of its last change."""
    values = {column: text_of(value) for column, value in collection.values(document.members).items()}
    key = {"tenant": tenant_pk, "digests": [digest(document.id)]}
    run(statements.set_columns(collection), {**key, **values})
    run(statements.delete_projections(collection), key)
    insert_projections(collection, tenant_pk, [document])
