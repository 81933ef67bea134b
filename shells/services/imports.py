"""What an import writes, by COPY, and how far it is."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from django.db import IntegrityError, OperationalError, transaction
from psycopg.errors import DeadlockDetected, UniqueViolation
from pydantic_core import to_json

from shells import statements
from shells.collections import SHELLS, Collection
from shells.copying import Prepared, keyed
from shells.services.quotas import within_quota
from shells.services.running import copy, rows_of, run
from shells.services.writing import SYSTEM, Author, author_columns, forget_links


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

    What others register at the same moment is met as if it had been there before. Raises QuotaExceeded, and
    OperationalError if they and we wait for each other again and again.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with within_quota(), transaction.atomic():
                return _copy_many(collection, tenant_pk, items, on_conflict, by)
        except (IntegrityError, OperationalError) as error:
            met = isinstance(error.__cause__, UniqueViolation | DeadlockDetected)
            if not met or attempt == ATTEMPTS:
                raise
    raise AssertionError("unreachable")


def begin_foreseeing() -> None:
    """Before the first `foresee` of a dry run: nothing has been seen."""
    run(statements.CREATE_SEEN, {})


def foresee(
    collection: Collection, tenant_pk: int, items: Sequence[Prepared], on_conflict: OnConflict
) -> list[Fate]:
    """What `copy_many` would do now, had it done what was foreseen before; nothing is written."""
    with transaction.atomic():
        present = _present(collection, tenant_pk, items, on_conflict)
        first = {row[0] for row in rows_of(statements.SEE, {"digests": [item.digest for item in items]})}
    for item in items:
        if item.digest not in first:
            present.setdefault(item.digest, (0, ""))
    return [_fate(item, present, on_conflict) for item in items]


def begin_run(tenant_pk: int, key: str, sources: Sequence[str], state: str) -> None:
    """Write down that an import begins; what is known of an earlier one of the same files is forgotten."""
    parameters = {"tenant": tenant_pk, "key": key, "sources": to_json(sources).decode(), "state": state}
    run(statements.BEGIN_RUN, parameters)


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
    run(statements.NOTE_RUN, parameters)


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
        keys = [key for (key,) in rows_of(statements.new_keys(collection), {"count": len(new)})]
        copy(statements.copy_descriptors(collection), keyed([item.row for item in new], keys))
        _copy_projections(collection, new, keys)
        run(statements.note_registered(collection), _noted(tenant_pk, new, by))
    if changed:
        keys = [present[item.digest][0] for item in changed]
        run(statements.note_replaced(collection), _noted(tenant_pk, changed, by))
        run(statements.create_replacements(collection), {})
        table = f"{statements.REPLACEMENTS}_{collection.owner}"
        rows = keyed([item.row for item in changed], keys)
        copy(statements.copy_descriptors(collection, table=table), rows)
        run(statements.replace_by_replacements(collection), {"tenant": tenant_pk})
        digests = [item.digest for item in changed]
        run(statements.delete_projections(collection), {"tenant": tenant_pk, "digests": digests})
        _copy_projections(collection, changed, keys)
    if new and collection is SHELLS:
        run(statements.COUNT_SHELLS, {"tenant": tenant_pk, "count": len(new)})
    if new or changed:
        forget_links(collection, _noted(tenant_pk, [*new, *changed], by))
    return found


def _noted(tenant_pk: int, items: Sequence[Prepared], by: Author) -> dict[str, Any]:
    return {"tenant": tenant_pk, "digests": [item.digest for item in items], **author_columns(by)}


def _present(
    collection: Collection, tenant_pk: int, items: Sequence[Prepared], on_conflict: OnConflict
) -> dict[str, tuple[int, str]]:
    """Key and checksum of each descriptor that is there, by digest; locked if it may be replaced."""
    run(statements.BY_INDEX, {})
    sql = statements.present(collection, lock=on_conflict is OnConflict.REPLACE)
    rows = rows_of(sql, {"tenant": tenant_pk, "digests": [item.digest for item in items]})
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
        copy(statements.copy_projection(collection, projection), rows)
