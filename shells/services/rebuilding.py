"""Make anew what is read out of documents."""

import uuid

from django.db import transaction
from pydantic_core import from_json

from shells import querysets, statements
from shells.collections import Collection
from shells.descriptors import Document
from shells.identifiers import digest
from shells.projections import Members
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
