"""The one place that writes descriptors and what is read out of them: API, admin and commands call these.

Each function is one transaction, and takes a number of statements that does not depend on what it writes.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db import IntegrityError, OperationalError, connection, transaction
from psycopg.errors import DeadlockDetected, UniqueViolation
from pydantic_core import from_json, to_json

from shells import projections, querysets, statements
from shells.collections import SHELLS, SUBMODELS, Collection
from shells.copying import Prepared, keyed
from shells.descriptors import Document
from shells.identifiers import digest
from shells.models import Change
from shells.projections import Members, Row
from shells.querysets import fetch_row

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

    Raises IdentifierTaken if the tenant has a descriptor with this id; nothing is changed then
    (aas-registry-api.md §1.5).
    """
    row = fetch_row(
        statements.register(collection),
        [
            str(tenant_pk),
            digest(document.id),
            document.id,
            document.text,
            *map(_text, collection.values(document.members).values()),
            *(
                to_json(projection.rows(tenant_pk, document.members)).decode()
                for projection in collection.projections
            ),
            by.name,
            by.correlation_id,
        ],
    )
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

    Raises PreconditionFailed; nothing is changed then.
    """
    with transaction.atomic():
        if precondition is not None and not precondition(_lock(collection, tenant_pk, document.id)):
            raise PreconditionFailed
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
            present = _lock(collection, tenant_pk, identifier)
            if present is None:
                raise NotRegistered(collection.noun)
            if not precondition(present):
                raise PreconditionFailed
        if remove_many(collection, tenant_pk, [identifier], by):
            raise NotRegistered(collection.noun)


# --- Submodels of a shell (superpath) -----------------------------------------------------------------


def add_submodel(tenant_pk: int, shell_id: str, submodel: Document, by: Author = SYSTEM) -> None:
    """Append a submodel descriptor to those of a shell. Raises NotRegistered or IdentifierTaken."""
    with _submodels_of(tenant_pk, shell_id, by) as submodels:
        if _position(submodels, submodel.id) is not None:
            raise IdentifierTaken(SUBMODELS.noun)
        submodels.append(submodel.members)


def replace_submodel(
    tenant_pk: int,
    shell_id: str,
    submodel: Document,
    by: Author = SYSTEM,
    precondition: Precondition | None = None,
) -> bool:
    """Put a submodel descriptor in the place of the one with its id, or at the end; whether it is new.

    Raises NotRegistered if there is no such shell, or PreconditionFailed.
    """
    with _submodels_of(tenant_pk, shell_id, by) as submodels:
        position = _position(submodels, submodel.id)
        present = None if position is None else to_json(submodels[position])
        if precondition is not None and not precondition(present):
            raise PreconditionFailed
        if position is None:
            submodels.append(submodel.members)
        else:
            submodels[position] = submodel.members
    return position is None


def remove_submodel(
    tenant_pk: int,
    shell_id: str,
    submodel_id: str,
    by: Author = SYSTEM,
    precondition: Precondition | None = None,
) -> None:
    """Delete a submodel descriptor of a shell.

    Raises NotRegistered, for the shell or the submodel, or PreconditionFailed.
    """
    with _submodels_of(tenant_pk, shell_id, by) as submodels:
        position = _position(submodels, submodel_id)
        if position is None:
            raise NotRegistered(SUBMODELS.noun)
        if precondition is not None and not precondition(to_json(submodels[position])):
            raise PreconditionFailed
        del submodels[position]


@contextmanager
def _submodels_of(tenant_pk: int, shell_id: str, by: Author) -> Iterator[list[Members]]:
    """The submodel descriptors of a shell, to be changed while nobody else can write it.

    The shell is stored with what became of them; an exception leaves it as it was.
    """
    with transaction.atomic():
        present = _lock(SHELLS, tenant_pk, shell_id)
        if present is None:
            raise NotRegistered(SHELLS.noun)
        shell: Members = from_json(present)
        submodels = shell.setdefault("submodelDescriptors", [])
        yield submodels
        if not submodels:
            del shell["submodelDescriptors"]
        replace_many(SHELLS, tenant_pk, [Document(shell, to_json(shell).decode())], by)


def _position(submodels: list[Members], submodel_id: str) -> int | None:
    return next((place for place, item in enumerate(submodels) if item["id"] == submodel_id), None)


# --- Many at once -------------------------------------------------------------------------------------


def register_many(
    collection: Collection, tenant_pk: int, documents: Sequence[Document], by: Author = SYSTEM
) -> set[str]:
    """Store new descriptors; their ids differ. Returns the ids that are taken: they were left out."""
    with transaction.atomic(savepoint=False):
        new = _insert_many(collection, tenant_pk, documents)
        _insert_projections(collection, tenant_pk, new)
        _forget_links(collection, tenant_pk, new)
        _note(collection, tenant_pk, new, {}, by)
    return {document.id for document in documents} - {document.id for document in new}


def replace_many(
    collection: Collection, tenant_pk: int, documents: Sequence[Document], by: Author = SYSTEM
) -> set[str]:
    """Store descriptors, in place of those with their ids. Their ids differ. Returns the ids that were there."""
    before: dict[str, str] = {}
    with transaction.atomic(savepoint=False):
        missing: Sequence[Document] = documents
        while missing:  # again only if somebody deletes what was there a moment ago
            inserted = {document.id for document in _insert_many(collection, tenant_pk, missing)}
            present = [document for document in missing if document.id not in inserted]
            before |= _documents(collection, tenant_pk, present)
            missing = [document for document in present if document.id not in before]
        replaced = [document for document in documents if document.id in before]
        if replaced:
            # The rows are locked. A new statement sees all that the writer before us has done with them.
            _run(statements.update_many(collection), _columns(collection, tenant_pk, replaced))
            _run(statements.delete_projections(collection), _keys(tenant_pk, replaced))
        _insert_projections(collection, tenant_pk, documents)
        _forget_links(collection, tenant_pk, documents)
        _note(collection, tenant_pk, documents, before, by)
    return set(before)


def remove_many(
    collection: Collection, tenant_pk: int, identifiers: Sequence[str], by: Author = SYSTEM
) -> set[str]:
    """Delete descriptors. Returns the ids that were not there."""
    digests = [digest(identifier) for identifier in identifiers]
    parameters = {"tenant": tenant_pk, "digests": digests, "identifiers": list(identifiers), **_author(by)}
    with transaction.atomic(savepoint=False):
        removed = {row[0].replace("-", "") for row in _rows(statements.remove_many(collection), parameters)}
        if collection is SHELLS:
            _run(statements.FORGET_LINKS, parameters)
    return {identifier for identifier in identifiers if digest(identifier) not in removed}


def _insert_many(collection: Collection, tenant_pk: int, documents: Sequence[Document]) -> list[Document]:
    """Insert the descriptors' own rows. Returns those whose ids were free."""
    rows = _rows(statements.insert_many(collection), _columns(collection, tenant_pk, documents))
    inserted = {row[0].replace("-", "") for row in rows}
    return [document for document in documents if digest(document.id) in inserted]


def _columns(collection: Collection, tenant_pk: int, documents: Sequence[Document]) -> dict[str, Any]:
    """The descriptors' own rows, an array for each column."""
    values = [collection.values(document.members) for document in documents]
    return {
        "tenant": tenant_pk,
        "digest": [digest(document.id) for document in documents],
        "identifier": [document.id for document in documents],
        "document": [document.text for document in documents],
        **{column: [_text(row[column]) for row in values] for column in collection.columns},
    }


def _keys(tenant_pk: int, documents: Sequence[Document]) -> dict[str, Any]:
    return {
        "tenant": tenant_pk,
        "digests": [digest(document.id) for document in documents],
        "identifiers": [document.id for document in documents],
    }


def _note(
    collection: Collection,
    tenant_pk: int,
    documents: Sequence[Document],
    before: dict[str, str],
    by: Author,
) -> None:
    """Write down who registered or replaced the documents, and what was there before, by their ids."""
    parameters = _keys(tenant_pk, documents) | _author(by)
    parameters["before"] = [before.get(document.id) for document in documents]
    _run(statements.note_changes(collection), parameters)


def _author(by: Author) -> dict[str, str]:
    return {"author": by.name, "correlation_id": by.correlation_id}


def _insert_projections(collection: Collection, tenant_pk: int, documents: Sequence[Document]) -> None:
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
    _run(statements.insert_projections(collection), parameters)


# --- Imports ------------------------------------------------------------------------------------------


class OnConflict(StrEnum):
    """What becomes of a descriptor whose id is registered already."""

    FAIL = "fail"
    SKIP = "skip"
    REPLACE = "replace"


class Fate(StrEnum):
    """What became of a descriptor."""

    CREATED = "created"
    REPLACED = "replaced"
    #: It is registered exactly as it is: nothing was written.
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    #: Its id is taken, and that is a defect.
    TAKEN = "taken"


#: How often a batch is tried that meets other writers of the same ids.
ATTEMPTS = 10


def copy_many(
    collection: Collection,
    tenant_pk: int,
    items: Sequence[Prepared],
    on_conflict: OnConflict,
    by: Author = SYSTEM,
) -> list[Fate]:
    """Store descriptors by COPY, as an import does; their ids differ. Returns what became of each.

    What others register at the same moment is met as if it had been there before. Raises OperationalError if
    that cannot be had, because they and we wait for each other again and again.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with transaction.atomic():
                return _copy_many(collection, tenant_pk, items, on_conflict, by)
        except (IntegrityError, OperationalError) as error:
            met = isinstance(error.__cause__, UniqueViolation | DeadlockDetected)
            if not met or attempt == ATTEMPTS:
                raise
    raise AssertionError("unreachable")


def begin_foreseeing() -> None:
    """Before the first `foresee` of a dry run: nothing has been seen."""
    _run(statements.CREATE_SEEN, {})


def foresee(
    collection: Collection, tenant_pk: int, items: Sequence[Prepared], on_conflict: OnConflict
) -> list[Fate]:
    """What `copy_many` would do now, had it done what was foreseen before; nothing is written."""
    with transaction.atomic():
        present = _present(collection, tenant_pk, items, on_conflict)
        first = {row[0] for row in _rows(statements.SEE, {"digests": [item.digest for item in items]})}
    for item in items:
        if item.digest not in first:
            present.setdefault(item.digest, (0, ""))
    return [_fate(item, present, on_conflict) for item in items]


def begin_run(tenant_pk: int, key: str, sources: Sequence[str], state: str) -> None:
    """Write down that an import begins; what is known of an earlier one of the same files is forgotten."""
    parameters = {"tenant": tenant_pk, "key": key, "sources": to_json(sources).decode(), "state": state}
    _run(statements.BEGIN_RUN, parameters)


def note_run(
    tenant_pk: int,
    key: str,
    *,
    part: int,
    item: int,
    counts: dict[str, int],
    report_size: int,
    finished: bool = False,
) -> None:
    """Write down how far an import is: in the transaction of a batch, so that the two cannot differ."""
    parameters = {
        "tenant": tenant_pk,
        "key": key,
        "part": part,
        "item": item,
        "counts": to_json(counts).decode(),
        "report_size": report_size,
        "finished": finished,
    }
    _run(statements.NOTE_RUN, parameters)


def _copy_many(
    collection: Collection,
    tenant_pk: int,
    items: Sequence[Prepared],
    on_conflict: OnConflict,
    by: Author,
) -> list[Fate]:
    present = _present(collection, tenant_pk, items, on_conflict)
    found = [_fate(item, present, on_conflict) for item in items]
    new = [item for item, fate in zip(items, found, strict=True) if fate is Fate.CREATED]
    changed = [item for item, fate in zip(items, found, strict=True) if fate is Fate.REPLACED]
    if new:
        keys = [key for (key,) in _rows(statements.new_keys(collection), {"count": len(new)})]
        _copy(statements.copy_descriptors(collection), keyed([item.row for item in new], keys))
        _copy_projections(collection, new, keys)
        _run(statements.note_registered(collection), _noted(tenant_pk, new, by))
    if changed:
        keys = [present[item.digest][0] for item in changed]
        _run(statements.note_replaced(collection), _noted(tenant_pk, changed, by))
        _run(statements.create_replacements(collection), {})
        table = f"{statements.REPLACEMENTS}_{collection.owner}"
        rows = keyed([item.row for item in changed], keys)
        _copy(statements.copy_descriptors(collection, table=table), rows)
        _run(statements.replace_by_replacements(collection), {"tenant": tenant_pk})
        digests = [item.digest for item in changed]
        _run(statements.delete_projections(collection), {"tenant": tenant_pk, "digests": digests})
        _copy_projections(collection, changed, keys)
    if collection is SHELLS and (new or changed):
        _run(statements.FORGET_LINKS, _noted(tenant_pk, [*new, *changed], by))
    return found


def _noted(tenant_pk: int, items: Sequence[Prepared], by: Author) -> dict[str, Any]:
    return {"tenant": tenant_pk, "digests": [item.digest for item in items], **_author(by)}


def _present(
    collection: Collection, tenant_pk: int, items: Sequence[Prepared], on_conflict: OnConflict
) -> dict[str, tuple[int, str]]:
    """Key and checksum of each descriptor that is there, by digest; locked if it may be replaced."""
    _run(statements.BY_INDEX, {})
    sql = statements.present(collection, lock=on_conflict is OnConflict.REPLACE)
    rows = _rows(sql, {"tenant": tenant_pk, "digests": [item.digest for item in items]})
    return {digest: (key, checksum) for digest, key, checksum in rows}


def _fate(item: Prepared, present: dict[str, tuple[int, str]], on_conflict: OnConflict) -> Fate:
    if item.digest not in present:
        return Fate.CREATED
    if on_conflict is OnConflict.REPLACE:
        return Fate.UNCHANGED if present[item.digest][1] == item.checksum else Fate.REPLACED
    return Fate.SKIPPED if on_conflict is OnConflict.SKIP else Fate.TAKEN


def _copy_projections(collection: Collection, items: Sequence[Prepared], keys: Sequence[int]) -> None:
    for place, projection in enumerate(collection.projections):
        rows = keyed([item.projections[place] for item in items], keys)
        _copy(statements.copy_projection(collection, projection), rows)


# --- Rebuilding -----------------------------------------------------------------------------------------


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
    values = {column: _text(value) for column, value in collection.values(document.members).items()}
    key = {"tenant": tenant_pk, "digests": [digest(document.id)]}
    _run(statements.set_columns(collection), {**key, **values})
    _run(statements.delete_projections(collection), key)
    _insert_projections(collection, tenant_pk, [document])


# --- Discovery ----------------------------------------------------------------------------------------


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
        ((key,),) = _rows(statements.SET_LINKS, parameters)
        _run(statements.CLEAR_LINKS, {"tenant": tenant_pk, "links": key})
        rows = to_json(projections.asset_links(tenant_pk, links)).decode()
        _run(statements.INSERT_LINKS, {"tenant": tenant_pk, "links": key, "rows": rows})
    return document


def delete_asset_links(tenant_pk: int, identifier: str) -> None:
    """Delete the asset links of a shell; its descriptor stays as it is. Raises NotRegistered if it has none."""
    with transaction.atomic():
        registered = _lock(SHELLS, tenant_pk, identifier) is not None
        if querysets.asset_links(tenant_pk, identifier) is None:
            raise NotRegistered("shell with asset links")
        if registered:
            set_asset_links(tenant_pk, identifier, [])
        else:
            _run(statements.FORGET_LINKS, {"tenant": tenant_pk, "digests": [digest(identifier)]})


def _forget_links(collection: Collection, tenant_pk: int, documents: Sequence[Document]) -> None:
    if collection is SHELLS:
        _run(statements.FORGET_LINKS, _keys(tenant_pk, documents))


# --- Changes ------------------------------------------------------------------------------------------


def forget_changes(before: datetime) -> int:
    """Delete the notes of changes that were made before a moment, of all tenants; how many they were."""
    number, _ = Change.objects.filter(at__lt=before).delete()
    return number


# --- Statements ---------------------------------------------------------------------------------------


def _lock(collection: Collection, tenant_pk: int, identifier: str) -> bytes | None:
    """The document of a descriptor, which nobody else can write until the transaction ends."""
    parameters = {"tenant": tenant_pk, "digests": [digest(identifier)], "identifiers": [identifier]}
    rows = _rows(statements.lock(collection), parameters)
    return rows[0][1].encode() if rows else None


def _documents(collection: Collection, tenant_pk: int, like: Sequence[Document]) -> dict[str, str]:
    """The documents that are stored under the ids of `like`, by id; they are locked as in `_lock`."""
    if not like:
        return {}
    return dict(_rows(statements.lock(collection), _keys(tenant_pk, like)))


def _run(sql: str, parameters: dict[str, Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)


def _rows(sql: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def _copy(sql: str, rows: bytes) -> None:
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.cursor.copy(sql) as copy:
        copy.write(rows)


def _text(value: Any) -> str | None:
    """A value of a column as PostgreSQL reads it: text as it is, a reference as JSON."""
    return value if value is None or isinstance(value, str) else to_json(value).decode()
