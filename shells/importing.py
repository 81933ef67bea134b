"""Streams of descriptors → batches → services: all that `import_shells` and the upload of the admin do.

Items are read in order, checked by as many processes as there are cores, and written by this one, batch by
batch. A batch is one transaction, which also writes down how far the import is: whatever kills it, resuming
ends with exactly the right rows. Memory does not grow with the input: a few batches are under way at a time.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path
from typing import IO

import structlog
from django.db import Error as DatabaseError
from django.db import connection, reset_queries, transaction
from pydantic_core import to_json

from shells import checking, services
from shells.checking import Refused
from shells.collections import SHELLS
from shells.copying import Prepared
from shells.defects import Defect
from shells.models import ImportRun
from shells.services import Author, Fate, OnConflict
from shells.sources.feeds import Feed, printable
from shells.sources.items import Item, Unreadable

logger = structlog.get_logger(__name__)

BATCH_ITEMS = 1000
BATCH_BYTES = 8 * 1024 * 1024
#: How long to wait for an import of the same files; one that was killed ends within moments.
OTHER_IMPORT_SECONDS = 10
#: An item may have more defects than anybody wants to read.
MAX_DEFECTS = 20

_collection = SHELLS
#: Who is noted to have written what a command imports.
IMPORT = Author("import")


class CannotImport(Exception):
    """The import cannot begin; the message says why, in one line."""


@dataclass(frozen=True)
class Options:
    """How to import."""

    strict: bool
    on_conflict: OnConflict = OnConflict.FAIL
    #: All or nothing, in one transaction.
    atomic: bool = False
    dry_run: bool = False
    #: Go on where an earlier import of the same files ended.
    resume: bool = False
    processes: int = field(default_factory=lambda: os.cpu_count() or 1)
    #: Who is noted to have written what the import brings.
    by: Author = IMPORT


@dataclass
class Counts:
    """What became of the items."""

    created: int = 0
    replaced: int = 0
    unchanged: int = 0
    skipped: int = 0
    rejected: int = 0

    @property
    def items(self) -> int:
        return sum(asdict(self).values())

    def add(self, fate: Fate) -> None:
        name = "rejected" if fate is Fate.TAKEN else fate.value
        setattr(self, name, getattr(self, name) + 1)


@dataclass(frozen=True, slots=True)
class Rejection:
    """An item that was not taken, or a file that could not be read (to its end)."""

    source: str
    line: int | None
    id: str | None
    defects: list[Defect]

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}, line {self.line}"
        more = f" (and {len(self.defects) - 1} more)" if len(self.defects) > 1 else ""
        return f"{place}: {self.defects[0]}{more}"

    def json(self) -> bytes:
        first, *more = self.defects[:MAX_DEFECTS]
        members = {"source": self.source, "line": self.line, "id": self.id}
        members |= {"pointer": first.pointer, "reason": first.text}
        others = [{"pointer": defect.pointer, "reason": defect.text} for defect in more]
        return to_json({**members, "more": others} if others else members)


class Report:
    """Takes rejections: writes them as JSON Lines, if to a file, and shows them."""

    def __init__(self, path: Path | None = None, show: Callable[[Rejection], None] = lambda _: None) -> None:
        self._path = path
        self._show = show
        self._file: IO[bytes] | None = None

    def begin(self, size: int) -> None:
        """Keep the first `size` bytes of the file: what came later belongs to a batch that was not written."""
        if self._path is not None:
            self._file = open(self._path, "r+b" if size and self._path.exists() else "wb")  # noqa: SIM115
            self._file.seek(min(size, self._file.seek(0, os.SEEK_END)))
            self._file.truncate()

    def add(self, rejections: Sequence[Rejection]) -> int:
        """Returns the size of the file, with these in it whatever happens next."""
        for rejection in rejections:
            self._show(rejection)
        if self._file is None:
            return 0
        self._file.writelines(rejection.json() + b"\n" for rejection in rejections)
        self._file.flush()
        if rejections:
            os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def run(
    tenant_pk: int,
    feed: Feed,
    options: Options,
    report: Report | None = None,
    progress: Callable[[Counts], None] = lambda _: None,
) -> Counts:
    """Import the shells of `feed` into a tenant; what was done is told after each batch, and returned.

    Raises CannotImport before anything is read, if it cannot be done like that. Whatever else it raises, the
    batches before are written (with `atomic`, nothing is), and it can be resumed.
    """
    report = report or Report()
    checkpoint = _Checkpoint(tenant_pk, feed, options)
    with _alone(checkpoint.key):
        counts = checkpoint.begin()
        report.begin(checkpoint.report_size)
        try:
            progress(counts)
            if not checkpoint.finished:
                counts = _run(tenant_pk, feed, options, counts, checkpoint, report, progress)
        finally:
            report.close()
    logger.info("shells_imported", tenant_pk=tenant_pk, sources=checkpoint.names, **asdict(counts))
    return counts


def _run(
    tenant_pk: int,
    feed: Feed,
    options: Options,
    counts: Counts,
    checkpoint: "_Checkpoint",
    report: Report,
    progress: Callable[[Counts], None],
) -> Counts:
    if options.dry_run:
        services.begin_foreseeing()
    with transaction.atomic() if options.atomic else nullcontext():
        for batch, found in _checked(_batches(feed, checkpoint), tenant_pk, options):
            with nullcontext() if options.dry_run else transaction.atomic():
                after = replace(counts)
                rejections = _written(tenant_pk, batch, found, options, after)
                if options.dry_run:
                    services.foresee_quota(tenant_pk, after.created)
                checkpoint.note(batch, after, report.add(rejections))
            counts = after
            progress(counts)
            reset_queries()  # with DEBUG, Django keeps the statements with all their parameters
        if options.atomic and counts.rejected and not options.dry_run:
            transaction.set_rollback(True)
            counts = replace(counts, created=0, replaced=0)
    checkpoint.finish(counts, report.add([]))
    return counts


# --- Batches ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Batch:
    """Items that are written together, each with the name of its part."""

    items: list[Item] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    bytes: int = 0
    #: Where the batch ends: the number of a part, and how many of its items are done.
    part: int = 0
    item: int = 0


def _batches(feed: Feed, checkpoint: "_Checkpoint") -> Iterator[_Batch]:
    batch = _Batch()
    for part, item, source, content in _items(feed, checkpoint.part, checkpoint.item):
        batch.items.append(content)
        batch.sources.append(source)
        batch.bytes += len(content.content)
        batch.part, batch.item = part, item
        if len(batch.items) >= BATCH_ITEMS or batch.bytes >= BATCH_BYTES:
            yield batch
            batch = _Batch()
    if batch.items:
        yield batch


def _items(feed: Feed, done_parts: int, done_items: int) -> Iterator[tuple[int, int, str, Item]]:
    """Part, how many items of it are done with this one, name of the part, and the item.

    A part that cannot be read (further) gives an item that says so.
    """
    for part, (source, items) in enumerate(feed.parts()):
        if part < done_parts:
            continue
        number = 0
        try:
            for item in items:
                number += 1
                if part > done_parts or number > done_items:
                    yield part, number, source, item
        except Unreadable as error:
            if part > done_parts or number >= done_items:
                yield part, number + 1, source, Item(error.line, b"", error.reason)


def _checked(
    batches: Iterator[_Batch], tenant_pk: int, options: Options
) -> Iterator[tuple[_Batch, list[Prepared | Refused]]]:
    """Each batch with what came of checking its items, in order.

    The first batch is checked here: what is small needs no processes.
    """
    first = next(batches, None)
    if first is None:
        return
    yield first, checking.check(_collection.name, tenant_pk, options.strict, first.items)
    if options.processes < 2:
        for batch in batches:
            yield batch, checking.check(_collection.name, tenant_pk, options.strict, batch.items)
        return
    second = next(batches, None)
    if second is None:
        return
    executor = ProcessPoolExecutor(
        options.processes, mp_context=get_context("spawn"), initializer=checking.start_process
    )
    try:
        waiting: deque[tuple[_Batch, Future[list[Prepared | Refused]]]] = deque()
        following: _Batch | None = second
        while following is not None or waiting:
            while following is not None and len(waiting) < options.processes + 2:
                arguments = (_collection.name, tenant_pk, options.strict, following.items)
                waiting.append((following, executor.submit(checking.check, *arguments)))
                following = next(batches, None)
            batch, future = waiting.popleft()
            try:
                found = future.result()
            except BrokenProcessPool:
                raise CannotImport("a process that checks descriptors was killed; is there memory?") from None
            yield batch, found
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _written(
    tenant_pk: int, batch: _Batch, found: list[Prepared | Refused], options: Options, counts: Counts
) -> list[Rejection]:
    """Store what can be stored of a batch. Returns the rest, in the order of the batch."""
    defects: dict[int, tuple[str | None, list[Defect]]] = {}
    waiting: list[tuple[int, Prepared]] = []
    for place, item in enumerate(found):
        if isinstance(item, Refused):
            defects[place] = item.id, item.defects
            counts.rejected += 1
        else:
            waiting.append((place, item))
    store = services.foresee if options.dry_run else partial(services.copy_many, by=options.by)
    while waiting:  # of items with one id, each meets what became of the one before
        now: dict[str, tuple[int, Prepared]] = {}
        later = [
            (place, item) for place, item in waiting if now.setdefault(item.digest, (place, item))[0] != place
        ]
        stored = store(_collection, tenant_pk, [item for _, item in now.values()], options.on_conflict)
        for (place, item), fate in zip(now.values(), stored, strict=True):
            counts.add(fate)
            if fate is Fate.TAKEN:
                text = f"a {_collection.noun} with this id is registered already"
                defects[place] = item.id, [Defect("/id", text)]
        waiting = later
    return [
        Rejection(batch.sources[place], batch.items[place].line, *defects[place]) for place in sorted(defects)
    ]


# --- Checkpoint ---------------------------------------------------------------------------------------


class _Checkpoint:
    """How far an import of these files into this tenant is."""

    def __init__(self, tenant_pk: int, feed: Feed, options: Options) -> None:
        """Raises CannotImport."""
        self._tenant_pk = tenant_pk
        self._options = options
        self.names = [printable(name) for name in feed.names]
        names = to_json([tenant_pk, *self.names])
        self.key = blake2b(names, digest_size=16).hexdigest()
        self.part = self.item = self.report_size = 0
        self.finished = False
        self._kept = not (options.atomic or options.dry_run)
        if options.resume and not self._kept:
            raise CannotImport("an atomic import and a dry run leave nothing to resume")
        self._state = ""
        if self._kept:
            try:
                self._state = feed.state()
            except Unreadable as error:
                if options.resume:
                    raise CannotImport(f"cannot be resumed: {error}") from None
                self._kept = False

    def begin(self) -> Counts:
        """What is done already; nothing, unless the import is to be resumed. Raises CannotImport."""
        if not self._kept:
            return Counts()
        if self._options.resume:
            run = ImportRun.objects.of(self._tenant_pk).filter(key=self.key).first()
            if run is not None:
                if run.state != self._state:
                    raise CannotImport("cannot be resumed: the files have changed since that import")
                self.part, self.item, self.report_size = run.part, run.item, run.report_size
                self.finished = run.finished_at is not None
                return Counts(**run.counts)
        services.begin_run(self._tenant_pk, self.key, self.names, self._state)
        return Counts()

    def note(self, batch: _Batch, counts: Counts, report_size: int) -> None:
        self.part, self.item = batch.part, batch.item
        self._note(counts, report_size, finished=False)

    def finish(self, counts: Counts, report_size: int) -> None:
        self._note(counts, report_size, finished=True)

    def _note(self, counts: Counts, report_size: int, *, finished: bool) -> None:
        if self._kept:
            services.note_run(
                self._tenant_pk,
                self.key,
                part=self.part,
                item=self.item,
                counts=asdict(counts),
                report_size=report_size,
                finished=finished,
            )


@contextmanager
def _alone(key: str) -> Iterator[None]:
    """Keep other imports of the same files into the same tenant away. Raises CannotImport.

    The lock belongs to the session: it goes with whatever a killed import left to be done in the database.
    """
    number = int(key[:16], 16) - 2**63
    deadline = time.monotonic() + OTHER_IMPORT_SECONDS
    while not _ask("SELECT pg_try_advisory_lock(%s)", number):
        if time.monotonic() > deadline:
            raise CannotImport("another process is importing the same files into this tenant")
        time.sleep(0.2)
    try:
        yield
    finally:
        with suppress(DatabaseError):  # the connection is gone, and the lock with it
            _ask("SELECT pg_advisory_unlock(%s)", number)


def _ask(sql: str, number: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(sql, [number])
        return bool(cursor.fetchone()[0])
