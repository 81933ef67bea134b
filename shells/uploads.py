"""Files that people import in the admin: each is checked first, and imported if its sender then says so.

A file waits until a process of its own carries it out (`manage.py import_uploads`), which the server starts. So an
import takes no time and no memory of those that answer requests, and what is killed goes on from its checkpoint.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from datetime import timedelta
from itertools import islice
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.db import Error as DatabaseError
from django.db import connection, transaction
from django.utils import timezone
from pydantic_core import from_json

from shells import importing
from shells.importing import CannotImport, Counts, Options, Report
from shells.models import Upload
from shells.services import Author, OnConflict
from shells.sources import feeds
from tenants.models import Validation

logger = structlog.get_logger(__name__)

State = Upload.State
#: How often it is written down how far an import is, and looked whether it shall stop.
NOTE_SECONDS = 0.5
#: So many files are checked or imported at a time, over all servers.
SLOTS = 2
#: How often one is begun whose process is killed, and how long after that.
MAX_ATTEMPTS = 3
RETRY_SECONDS = 5


class LimitedUploadHandler(FileUploadHandler):
    """Refuses a file that is larger than MAX_UPLOAD_BYTES, before it is received."""

    def handle_raw_input(
        self,
        input_data: Any,
        META: Any,  # noqa: N803  (Django's name)
        content_length: int,
        boundary: Any,
        encoding: Any = None,
    ) -> None:
        if content_length > settings.MAX_UPLOAD_BYTES:
            raise RequestDataTooBig(
                f"the file is too large: at most {settings.MAX_UPLOAD_BYTES:,} bytes are taken"
            )

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """The next handler has the file."""


def accept(upload: Upload, file: "UploadedFile[Any]", by: Author) -> None:
    """Keep a file, and have it checked. What else `upload` says is how it is to be imported."""
    upload.name = feeds.printable(file.name or "")
    upload.size = file.size or 0
    upload.author = by.name
    upload.state = State.CHECKING
    upload.save(force_insert=True)
    logger.info("upload_accepted", tenant_pk=upload.tenant_id, upload=upload.pk, size=upload.size, by=by.name)
    transaction.on_commit(start)


def go_on(upload_pk: int) -> bool:
    """Have a file imported that was checked, or go on with an import that ended; False if it is in no such state."""
    begun = Upload.objects.filter(
        pk=upload_pk, state__in=[State.CHECKED, State.STOPPED, State.FAILED], finished_at__isnull=False
    ).update(state=State.IMPORTING, stop=False, attempts=0, problem="", finished_at=None)
    if begun:
        transaction.on_commit(start)
    return bool(begun)


def stop(upload_pk: int) -> bool:
    """Ask that a file is not checked or imported further; False if it was finished."""
    return bool(Upload.objects.filter(pk=upload_pk, finished_at=None).update(stop=True))


def remove(upload: Upload) -> None:
    """Forget a file that is finished, and its report; what was imported stays."""
    upload.report_path.unlink(missing_ok=True)
    upload.file.delete(save=False)
    upload.delete()


def rejections(upload: Upload, size: int) -> list[dict[str, Any]]:
    """The first of what was rejected: as many lines of the report."""
    try:
        with open(upload.report_path, "rb") as file:
            return [from_json(line) for line in islice(file, size)]
    except FileNotFoundError:
        return []


# --- Carrying out -------------------------------------------------------------------------------------


def run_waiting() -> None:
    """Check and import the files that wait, one after the other, unless enough processes do so already."""
    while True:
        with _one_of(SLOTS) as free:
            if not free:
                return
            while _run_next():
                pass
        # Looked at again once the slot is free: who finds none free relies on those who have them.
        if not any(_is_left(upload_pk) for upload_pk in _waiting()):
            return


def _run_next() -> bool:
    for upload_pk in _waiting():
        with _lock(upload_pk) as mine:
            upload = Upload.objects.select_related("tenant").filter(pk=upload_pk, finished_at=None).first()
            if mine and upload:
                _run(upload)
                return True
    return False


def _waiting() -> list[int]:
    return list(Upload.objects.filter(finished_at=None).order_by("pk").values_list("pk", flat=True))


def _is_left(upload_pk: int) -> bool:
    with _lock(upload_pk) as mine:
        return mine


def forget_old() -> None:
    """Delete files and reports that were finished long ago."""
    end = timezone.now() - timedelta(seconds=settings.UPLOAD_SECONDS)
    for upload in Upload.objects.filter(finished_at__lt=end):
        remove(upload)


def _run(upload: Upload) -> None:
    """Whatever comes of it is written down; if the process is killed, it is to be done again."""
    if upload.attempts == MAX_ATTEMPTS:
        problem = f"it was tried {MAX_ATTEMPTS} times, and its process was killed each time; is there enough memory?"
        Upload.objects.filter(pk=upload.pk).update(
            state=State.FAILED, problem=problem, finished_at=timezone.now()
        )
        return
    Upload.objects.filter(pk=upload.pk).update(attempts=upload.attempts + 1)
    dry = upload.state == State.CHECKING
    options = Options(
        strict=(upload.validation or upload.tenant.validation) == Validation.STRICT,
        on_conflict=OnConflict(upload.on_conflict),
        atomic=upload.atomic,
        dry_run=dry,
        resume=not (dry or upload.atomic),
        by=Author(upload.author, f"upload {upload.pk}"),
    )
    feed = feeds.Upload(f"{upload.name} ({upload.pk})", upload.file.path, upload.endpoint_base or None)
    outcome, problem = State.CHECKED if dry else State.IMPORTED, ""
    with _Notes(upload.pk, feed) as notes:
        try:
            notes.counts = importing.run(
                upload.tenant_id, feed, options, Report(upload.report_path), notes.progress
            )
        except _Stop:
            outcome = State.STOPPED
            if upload.atomic or dry:
                notes.counts = replace(notes.counts, created=0, replaced=0)
        except (CannotImport, OSError) as error:
            outcome, problem = State.FAILED, str(error)
        except DatabaseError:
            raise  # it stays to be done
        except Exception as error:
            logger.exception("upload_failed", upload=upload.pk)
            outcome, problem = State.FAILED, f"the server failed ({type(error).__name__})"
    if upload.atomic and not dry and notes.counts.rejected and outcome is State.IMPORTED:
        outcome, problem = State.FAILED, "something was rejected: nothing was changed"
    Upload.objects.filter(pk=upload.pk).update(
        state=outcome,
        problem=problem,
        counts=asdict(notes.counts),
        read=feed.read,
        finished_at=timezone.now(),
    )
    logger.info("upload", tenant_pk=upload.tenant_id, upload=upload.pk, state=outcome, **asdict(notes.counts))


class _Stop(Exception):
    """Somebody asked to stop."""


class _Notes:
    """Writes down how far an import is, over a connection of its own: that of the import may be in a transaction."""

    def __init__(self, upload_pk: int, feed: feeds.Feed) -> None:
        self.counts = Counts()
        self._upload_pk = upload_pk
        self._feed = feed
        self._stop = False
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> "_Notes":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()

    def progress(self, counts: Counts) -> None:
        """After each batch. Raises _Stop if it shall be the last."""
        self.counts = replace(counts)
        if self._stop:
            raise _Stop

    def _write(self) -> None:
        try:
            while not self._end.wait(NOTE_SECONDS):
                Upload.objects.filter(pk=self._upload_pk).update(
                    counts=asdict(self.counts), read=self._feed.read
                )
                self._stop = Upload.objects.filter(pk=self._upload_pk, stop=True).exists()
        except DatabaseError:
            logger.exception("upload_not_noted", upload=self._upload_pk)
        finally:
            connection.close()


@contextmanager
def _one_of(slots: int) -> Iterator[bool]:
    """Whether fewer processes than `slots` were in here; then this one is, until the end."""
    with ExitStack() as stack:
        yield any(stack.enter_context(_lock(-slot)) for slot in range(1, slots + 1))


@contextmanager
def _lock(number: int) -> Iterator[bool]:
    """Whether nobody else has the lock; nobody else can get it until the end. It goes with this process."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock('shells_upload'::regclass::int, %s)", [number])
        (mine,) = cursor.fetchone()
    try:
        yield mine
    finally:
        if mine:
            with suppress(DatabaseError), connection.cursor() as cursor:  # without the connection, it is gone
                cursor.execute("SELECT pg_advisory_unlock('shells_upload'::regclass::int, %s)", [number])


# --- The process --------------------------------------------------------------------------------------


def start() -> None:
    """Let a process of its own carry out what waits; if one does so already, that one or the new one finds it."""
    threading.Thread(target=_in_own_process, name="uploads", daemon=True).start()


def start_waiting() -> None:
    """When the server starts: go on with what a process that was killed left behind."""
    if Upload.objects.filter(finished_at=None).exists():
        start()


def _in_own_process() -> None:
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "import_uploads"]
    while status := subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode:  # noqa: S603
        logger.error("import_uploads_failed", status=status)
        time.sleep(RETRY_SECONDS)
