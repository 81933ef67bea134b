"""Register, replace and remove descriptors of either collection, one or many."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from pydantic_core import to_json

from shells import statements
from shells.collections import SHELLS, Collection
from shells.descriptors import Document
from shells.identifiers import digest
from shells.projections import Members, Row
from shells.querysets import fetch_row
from shells.services.quotas import within_quota
from shells.services.running import rows_of, run, text_of

#: Whether a write may go on, by the document that is there now (UTF-8; None: there is none).
Precondition = Callable[[bytes | None], bool]


class IdentifierTaken(Exception):
    """A descriptor with this id is registered already."""

    def __init__(self, noun: str) -> None:
        super().__init__(f"a {noun} with this id is registered already")


class NotRegistered(Exception):
    """No descriptor with this id is registered."""

    def __init__(self, noun: str) -> None:
        super().__init__(f"no {noun} with this id is registered")


class PreconditionFailed(Exception):
    """The descriptor is not in the state that the caller expects (RFC 9110 §13)."""

    def __init__(self) -> None:
        super().__init__("it is not in the state that the request expects: fetch it again")


@dataclass(frozen=True)
class Author:
    """Who writes, and in answer to which request; each change is noted with it."""

    name: str
    correlation_id: str = ""


#: Where nobody in particular writes.
SYSTEM = Author("system")


def register(collection: Collection, tenant_pk: int, document: Document, by: Author = SYSTEM) -> None:
    """Store a new descriptor with its projections, in one statement.

    Raises IdentifierTaken if the tenant has a descriptor with this id (aas-registry-api.md §1.5), and
    QuotaExceeded; nothing is changed then.
    """
    parameters = [
        str(tenant_pk),
        digest(document.id),
        document.id,
        document.text,
        *map(text_of, collection.values(document.members).values()),
        *(
            to_json(projection.rows(tenant_pk, document.members)).decode()
            for projection in collection.projections
        ),
        by.name,
        by.correlation_id,
    ]
    with within_quota():
        row = fetch_row(statements.register(collection), parameters)
    if row is None:
        raise IdentifierTaken(collection.noun)


def replace(
    collection: Collection,
    tenant_pk: int,
    document: Document,
    by: Author = SYSTEM,
    precondition: Precondition | None = None,
) -> bool:
    """Store a descriptor in place of the one with its id, or as a new one; whether it is new.

    Raises PreconditionFailed and QuotaExceeded; nothing is changed then.
    """
    with transaction.atomic():
        if precondition is not None:
            require(precondition, lock(collection, tenant_pk, document.id))
        return not replace_many(collection, tenant_pk, [document], by)


def remove(
    collection: Collection,
    tenant_pk: int,
    identifier: str,
    by: Author = SYSTEM,
    precondition: Precondition | None = None,
) -> None:
    """Delete a descriptor with all that is read out of it. Raises NotRegistered or PreconditionFailed."""
    with transaction.atomic():
        if precondition is not None:
            present = lock(collection, tenant_pk, identifier)
            if present is None:
                raise NotRegistered(collection.noun)
            require(precondition, present)
        if remove_many(collection, tenant_pk, [identifier], by):
            raise NotRegistered(collection.noun)


def require(precondition: Precondition | None, present: bytes | None) -> None:
    """Raises PreconditionFailed unless a write may go on."""
    if precondition is not None and not precondition(present):
        raise PreconditionFailed


# --- Many at once -------------------------------------------------------------------------------------


def register_many(
    collection: Collection, tenant_pk: int, documents: Sequence[Document], by: Author = SYSTEM
) -> set[str]:
    """Store new descriptors; their ids differ. Returns the ids that are taken: they were left out.

    Raises QuotaExceeded.
    """
    with within_quota(), transaction.atomic(savepoint=False):
        new = _insert_many(collection, tenant_pk, documents, by)
        insert_projections(collection, tenant_pk, new)
        forget_links(collection, _keys(tenant_pk, new))
    return {document.id for document in documents} - {document.id for document in new}


def replace_many(
    collection: Collection, tenant_pk: int, documents: Sequence[Document], by: Author = SYSTEM
) -> set[str]:
    """Store descriptors, in place of those with their ids. Their ids differ. Returns the ids that were there.

    Raises QuotaExceeded.
    """
    replaced: list[Document] = []
    with within_quota(), transaction.atomic(savepoint=False):
        missing: Sequence[Document] = documents
        while missing:  # again only if somebody deletes what was there a moment ago
            inserted = {document.id for document in _insert_many(collection, tenant_pk, missing, by)}
            present = [document for document in missing if document.id not in inserted]
            locked = _lock_and_note(collection, tenant_pk, present, by)
            replaced += [document for document in present if document.id in locked]
            missing = [document for document in present if document.id not in locked]
        if replaced:
            # The rows are locked. A new statement sees all that the writer before us has done with them.
            run(statements.update_many(collection), _columns(collection, tenant_pk, replaced))
            run(statements.delete_projections(collection), _keys(tenant_pk, replaced))
        insert_projections(collection, tenant_pk, documents)
        forget_links(collection, _keys(tenant_pk, documents))
    return {document.id for document in replaced}


def remove_many(
    collection: Collection, tenant_pk: int, identifiers: Sequence[str], by: Author = SYSTEM
) -> set[str]:
    """Delete descriptors. Returns the ids that were not there."""
    keys = _keys_of(tenant_pk, identifiers)
    with transaction.atomic(savepoint=False):
        removed = rows_of(statements.remove_many(collection), keys | author_columns(by))
        forget_links(collection, keys)
    return set(identifiers) - {identifier for (identifier,) in removed}


def _insert_many(
    collection: Collection, tenant_pk: int, documents: Sequence[Document], by: Author
) -> list[Document]:
    """Insert the descriptors' own rows. Returns those whose ids were free."""
    parameters = _columns(collection, tenant_pk, documents) | author_columns(by)
    inserted = {identifier for (identifier,) in rows_of(statements.insert_many(collection), parameters)}
    return [document for document in documents if document.id in inserted]


def _lock_and_note(
    collection: Collection, tenant_pk: int, documents: Sequence[Document], by: Author
) -> set[str]:
    """Lock what is stored under the ids of `documents`, as `lock` does, and note that it is replaced. Its ids."""
    if not documents:
        return set()
    parameters = _keys(tenant_pk, documents) | author_columns(by)
    return {identifier for (identifier,) in rows_of(statements.lock_and_note(collection), parameters)}


def _columns(collection: Collection, tenant_pk: int, documents: Sequence[Document]) -> dict[str, Any]:
    """The descriptors' own rows, an array for each column."""
    values = [collection.values(document.members) for document in documents]
    return {
        "tenant": tenant_pk,
        "digest": [digest(document.id) for document in documents],
        "identifier": [document.id for document in documents],
        "document": [document.text for document in documents],
        **{column: [text_of(row[column]) for row in values] for column in collection.columns},
    }


def _keys(tenant_pk: int, documents: Sequence[Document]) -> dict[str, Any]:
    return _keys_of(tenant_pk, [document.id for document in documents])


def _keys_of(tenant_pk: int, identifiers: Sequence[str]) -> dict[str, Any]:
    digests = [digest(identifier) for identifier in identifiers]
    return {"tenant": tenant_pk, "digests": digests, "identifiers": list(identifiers)}


def author_columns(by: Author) -> dict[str, str]:
    return {"author": by.name, "correlation_id": by.correlation_id}


def insert_projections(collection: Collection, tenant_pk: int, documents: Sequence[Document]) -> None:
    def rows_of(rows: Callable[[int, Members], list[Row]]) -> Iterable[Row]:
        for document in documents:
            owner = digest(document.id)
            for row in rows(tenant_pk, document.members):
                yield {"owner": owner, **row}

    parameters: dict[str, Any] = {
        **_keys(tenant_pk, documents),
        **{
            projection.table: to_json(list(rows_of(projection.rows))).decode()
            for projection in collection.projections
        },
    }
    run(statements.insert_projections(collection), parameters)


def forget_links(collection: Collection, keys: dict[str, Any]) -> None:
    """What was said of these shells through discovery is over: the last writer wins."""
    if collection is SHELLS:
        run(statements.FORGET_LINKS, keys)


def lock(collection: Collection, tenant_pk: int, identifier: str) -> bytes | None:
    """The document of a descriptor, which nobody else can write until the transaction ends."""
    rows = rows_of(statements.lock(collection), _keys_of(tenant_pk, [identifier]))
    return rows[0][1].encode() if rows else None
