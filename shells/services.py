"""The one place that writes descriptors and what is read out of them: API, admin and commands call these.

Each function is one transaction, and takes a number of statements that does not depend on what it writes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
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


def register(collection: Collection, tenant_pk: int, document: Document) -> None:
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
        ],
    )
    if row is None:
        raise IdentifierTaken(collection.noun)


def replace(
    collection: Collection, tenant_pk: int, document: Document, precondition: Precondition | None = None
) -> bool:
    """Store a descriptor in place of the one with its id, or as a new one; whether it is new.

    Raises PreconditionFailed; nothing is changed then.
    """
    with transaction.atomic():
        if precondition is not None and not precondition(_lock(collection, tenant_pk, document.id)):
            raise PreconditionFailed
        return not replace_many(collection, tenant_pk, [document])


def remove(
    collection: Collection, tenant_pk: int, identifier: str, precondition: Precondition | None = None
) -> None:
    """Delete a descriptor with all that is read out of it. Raises NotRegistered or PreconditionFailed."""
    key: dict[str, Any] = {"tenant": tenant_pk, "digest": digest(identifier), "identifier": identifier}
    with transaction.atomic():
        if precondition is not None:
            present = _lock(collection, tenant_pk, identifier)
            if present is None:
                raise NotRegistered(collection.noun)
            if not precondition(present):
                raise PreconditionFailed
        if not _rows(statements.remove(collection), key):
            raise NotRegistered(collection.noun)
        _forget_links(collection, tenant_pk, [key["digest"]])


# --- Submodels of a shell (superpath) -----------------------------------------------------------------


def add_submodel(tenant_pk: int, shell_id: str, submodel: Document) -> None:
    """Append a submodel descriptor to those of a shell. Raises NotRegistered or IdentifierTaken."""
    with _submodels_of(tenant_pk, shell_id) as submodels:
        if _position(submodels, submodel.id) is not None:
            raise IdentifierTaken(SUBMODELS.noun)
        submodels.append(submodel.members)


def replace_submodel(
    tenant_pk: int, shell_id: str, submodel: Document, precondition: Precondition | None = None
) -> bool:
    """Put a submodel descriptor in the place of the one with its id, or at the end; whether it is new.

    Raises NotRegistered if there is no such shell, or PreconditionFailed.
    """
    with _submodels_of(tenant_pk, shell_id) as submodels:
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
    tenant_pk: int, shell_id: str, submodel_id: str, precondition: Precondition | None = None
) -> None:
    """Delete a submodel descriptor of a shell.

    Raises NotRegistered, for the shell or the submodel, or PreconditionFailed.
    """
    with _submodels_of(tenant_pk, shell_id) as submodels:
        position = _position(submodels, submodel_id)
        if position is None:
            raise NotRegistered(SUBMODELS.noun)
        if precondition is not None and not precondition(to_json(submodels[position])):
            raise PreconditionFailed
        del submodels[position]


@contextmanager
def _submodels_of(tenant_pk: int, shell_id: str) -> Iterator[list[Members]]:
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
        replace_many(SHELLS, tenant_pk, [Document(shell, to_json(shell).decode())])


def _position(submodels: list[Members], submodel_id: str) -> int | None:
    return next((place for place, item in enumerate(submodels) if item["id"] == submodel_id), None)


# --- Many at once -------------------------------------------------------------------------------------


def register_many(collection: Collection, tenant_pk: int, documents: Sequence[Document]) -> set[str]:
    """Store new descriptors; their ids differ. Returns the ids that are taken: they were left out."""
    with transaction.atomic(savepoint=False):
        written = _insert_many(collection, tenant_pk, documents, replace=False)
        new = [document for document in documents if digest(document.id) in written]
        _insert_projections(collection, tenant_pk, new)
        _forget_links(collection, tenant_pk, list(written))
    return {document.id for document in documents} - {document.id for document in new}


def replace_many(collection: Collection, tenant_pk: int, documents: Sequence[Document]) -> set[str]:
    """Store descriptors, in place of those with their ids. Their ids differ. Returns the ids that were there."""
    with transaction.atomic(savepoint=False):
        written = _insert_many(collection, tenant_pk, documents, replace=True)
        digests = list(written)
        # The rows are locked now. A new statement sees all that the writer before us has done with them.
        if not all(written.values()):
            _run(statements.delete_projections(collection), {"tenant": tenant_pk, "digests": digests})
        _insert_projections(collection, tenant_pk, documents)
        _forget_links(collection, tenant_pk, digests)
    return {document.id for document in documents if not written[digest(document.id)]}


def remove_many(collection: Collection, tenant_pk: int, identifiers: Sequence[str]) -> set[str]:
    """Delete descriptors. Returns the ids that were not there."""
    with transaction.atomic(savepoint=False):
        digests = [digest(identifier) for identifier in identifiers]
        parameters = {"tenant": tenant_pk, "digests": digests}
        removed = {row[0] for row in _rows(statements.remove_many(collection), parameters)}
        _forget_links(collection, tenant_pk, digests)
    return {identifier for identifier in identifiers if _uuid(digest(identifier)) not in removed}


def _insert_many(
    collection: Collection, tenant_pk: int, documents: Sequence[Document], *, replace: bool
) -> dict[str, bool]:
    """Write the descriptors' own rows. Returns the digest of each that was written: whether it is new."""
    values = [collection.values(document.members) for document in documents]
    parameters = {
        "tenant": tenant_pk,
        "digest": [digest(document.id) for document in documents],
        "identifier": [document.id for document in documents],
        "document": [document.text for document in documents],
        **{column: [_text(row[column]) for row in values] for column in collection.columns},
    }
    rows = _rows(statements.insert_many(collection, replace=replace), parameters)
    return {written.replace("-", ""): new for written, new in rows}


def _insert_projections(collection: Collection, tenant_pk: int, documents: Sequence[Document]) -> None:
    def rows_of(rows: Callable[[int, Members], list[Row]]) -> Iterable[Row]:
        for document in documents:
            owner = digest(document.id)
            for row in rows(tenant_pk, document.members):
                yield {"owner": owner, **row}

    parameters: dict[str, Any] = {
        "tenant": tenant_pk,
        "digests": [digest(document.id) for document in documents],
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
    collection: Collection, tenant_pk: int, items: Sequence[Prepared], on_conflict: OnConflict
) -> list[Fate]:
    """Store descriptors by COPY, as an import does; their ids differ. Returns what became of each.

    What others register at the same moment is met as if it had been there before. Raises OperationalError if
    that cannot be had, because they and we wait for each other again and again.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with transaction.atomic():
                return _copy_many(collection, tenant_pk, items, on_conflict)
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
    collection: Collection, tenant_pk: int, items: Sequence[Prepared], on_conflict: OnConflict
) -> list[Fate]:
    present = _present(collection, tenant_pk, items, on_conflict)
    found = [_fate(item, present, on_conflict) for item in items]
    new = [item for item, fate in zip(items, found, strict=True) if fate is Fate.CREATED]
    changed = [item for item, fate in zip(items, found, strict=True) if fate is Fate.REPLACED]
    if new:
        keys = [key for (key,) in _rows(statements.new_keys(collection), {"count": len(new)})]
        _copy(statements.copy_descriptors(collection), keyed([item.row for item in new], keys))
        _copy_projections(collection, new, keys)
    if changed:
        keys = [present[item.digest][0] for item in changed]
        _run(statements.create_replacements(collection), {})
        table = f"{statements.REPLACEMENTS}_{collection.owner}"
        rows = keyed([item.row for item in changed], keys)
        _copy(statements.copy_descriptors(collection, table=table), rows)
        _run(statements.replace_by_replacements(collection), {"tenant": tenant_pk})
        digests = [item.digest for item in changed]
        _run(statements.delete_projections(collection), {"tenant": tenant_pk, "digests": digests})
        _copy_projections(collection, changed, keys)
    if new or changed:
        _forget_links(collection, tenant_pk, [item.digest for item in (*new, *changed)])
    return found


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
                row["digest"] = _uuid(row["digest"])
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
            _forget_links(SHELLS, tenant_pk, [digest(identifier)])


def _forget_links(collection: Collection, tenant_pk: int, digests: list[str]) -> None:
    if collection is SHELLS:
        _run(statements.FORGET_LINKS, {"tenant": tenant_pk, "digests": digests})


# --- Statements ---------------------------------------------------------------------------------------


def _lock(collection: Collection, tenant_pk: int, identifier: str) -> bytes | None:
    key = {"tenant": tenant_pk, "digest": digest(identifier), "identifier": identifier}
    rows = _rows(statements.lock(collection), key)
    return rows[0][0].encode() if rows else None


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


def _uuid(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
