import json
import sys
import time
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

import httpx2
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseError
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from shells import importing
from shells.importing import CannotImport, Counts, Options, Rejection, Report
from shells.services import OnConflict, QuotaExceeded
from shells.sources.feeds import Feed, Files
from shells.sources.registries import Registry
from tenants.client import RegistryClient
from tenants.models import Validation
from tenants.services import TenantError, find_tenant

SHOWN_REJECTIONS = 10
SECONDS_BETWEEN_LINES = 10
#: How long another registry may take for a page.
TIMEOUT_SECONDS = 60


class Command(BaseCommand):
    help = (
        "Register the shells of files: JSON Lines, arrays, pages of an API (all of them also packed with gzip or "
        "zstd), AAS environments in JSON and XML, AASX packages, and directories of these. "
        "The exit status is 0 only if all of them were taken."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "sources", nargs="*", metavar="SOURCE", help="file, directory, or - for standard input"
        )
        parser.add_argument("--tenant", required=True, help="the tenant's id")
        parser.add_argument(
            "--from-registry",
            metavar="URL",
            help="instead of files: another registry, by the address above its /shell-descriptors; credentials "
            "come from the variables IMPORT_…",
        )
        parser.add_argument(
            "--endpoint-base",
            metavar="URL",
            help="give AAS and submodels of environments endpoints below this address, as a repository serves them",
        )
        parser.add_argument(
            "--on-conflict",
            choices=[mode.value for mode in OnConflict],
            default=OnConflict.FAIL.value,
            help="what becomes of a shell whose id is registered: rejected, left out, or put in its place "
            "(default: %(default)s)",
        )
        parser.add_argument("--dry-run", action="store_true", help="check everything, write nothing")
        parser.add_argument(
            "--validation",
            choices=Validation.values,
            help="how strictly to check (default: as the tenant says)",
        )
        parser.add_argument("--atomic", action="store_true", help="all or nothing, in one transaction")
        parser.add_argument(
            "--resume", action="store_true", help="go on where the last import of the same files ended"
        )
        parser.add_argument(
            "--report", metavar="FILE", type=Path, help="write what was rejected, as JSON Lines"
        )
        parser.add_argument(
            "--processes", type=int, metavar="N", help="that check (default: one for each core)"
        )
        parser.add_argument("--json", action="store_true", help="print the counts as one JSON object")

    def handle(self, **options: Any) -> None:
        try:
            tenant = find_tenant(options["tenant"])
        except TenantError as error:
            raise CommandError(str(error)) from None
        strict = (options["validation"] or tenant.validation) == Validation.STRICT
        how = Options(
            strict=strict,
            on_conflict=OnConflict(options["on_conflict"]),
            atomic=options["atomic"],
            dry_run=options["dry_run"],
            resume=options["resume"],
            **({"processes": options["processes"]} if options["processes"] else {}),
        )
        feed = self._feed(options)
        counts = Counts()
        with _Display(feed, self.stderr) as display:

            def progress(now: Counts) -> None:
                nonlocal counts
                counts = now
                display.update(now)

            try:
                report = Report(options["report"], display.rejection)
                counts = importing.run(tenant.pk, feed, how, report, progress)
            except CannotImport as error:
                raise CommandError(str(error)) from None
            except QuotaExceeded as error:
                raise CommandError(_stopped(str(error), counts, how)) from None
            except KeyboardInterrupt:
                raise CommandError(_stopped("stopped", counts, how), returncode=130) from None
            except DatabaseError as error:
                reason = str(error).partition("\n")[0]
                raise CommandError(_stopped(f"the database failed ({reason})", counts, how)) from None
            except OSError as error:
                raise CommandError(_stopped(f"{error.filename}: {error.strerror}", counts, how)) from None
        self._finish(counts, how, options["json"])

    def _feed(self, options: dict[str, Any]) -> Feed:
        if bool(options["sources"]) == bool(options["from_registry"]):
            raise CommandError("name either files or another registry (--from-registry)")
        if options["from_registry"]:
            return Registry(options["from_registry"], _client(settings.IMPORT_CREDENTIALS))
        return Files(options["sources"], options["endpoint_base"], sys.stdin.buffer)

    def _finish(self, counts: Counts, how: Options, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(asdict(counts)))
        else:
            would = "would be " if how.dry_run else ""
            texts = [f"{number} {would}{name}" for name, number in asdict(counts).items()]
            self.stdout.write(", ".join(texts))
        if counts.rejected:
            nothing = ": nothing was changed" if how.atomic else ""
            raise CommandError(f"{counts.rejected} of {counts.items} were rejected{nothing}")


def _client(credentials: dict[str, Any]) -> httpx2.Client:
    """Sends no token if there is no address to get one from."""
    if not credentials["token_endpoint"]:
        return httpx2.Client(timeout=TIMEOUT_SECONDS)
    client: httpx2.Client = RegistryClient(timeout=TIMEOUT_SECONDS, **credentials)
    return client


def _stopped(why: str, counts: Counts, how: Options) -> str:
    if how.atomic or how.dry_run:
        return f"{why}; nothing was changed"
    return f"{why} after {counts.items} items; --resume goes on from there"


class _Display:
    """How far it is: a bar on a terminal, else a line every ten seconds; and the first rejections."""

    def __init__(self, feed: Feed, stderr: Any) -> None:
        self._feed = feed
        self._stderr = stderr
        self._started = self._said = time.monotonic()
        self._rejections = 0
        self._bar: Progress | None = None
        stream: TextIO = getattr(stderr, "_out", sys.stderr)
        if stream.isatty():
            self._bar = Progress(
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.description}"),
                TimeRemainingColumn(),
                console=Console(file=stream),
                transient=True,
            )
            self._task = self._bar.add_task("", total=feed.total)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, type_: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._rejections > SHOWN_REJECTIONS:
            self._stderr.write(f"… and {self._rejections - SHOWN_REJECTIONS} more rejected")

    def update(self, counts: Counts) -> None:
        now = time.monotonic()
        rate = counts.items / max(now - self._started, 0.001)
        text = f"{counts.items} items, {rate:.0f}/s, {counts.rejected} rejected"
        if self._bar is not None:
            self._bar.update(self._task, completed=self._feed.read, description=text)
        elif now - self._said >= SECONDS_BETWEEN_LINES:
            self._said = now
            self._stderr.write(text + self._time_left(now))

    def rejection(self, rejection: Rejection) -> None:
        self._rejections += 1
        if self._rejections <= SHOWN_REJECTIONS:
            if self._bar is not None:
                self._bar.console.print(str(rejection), markup=False, highlight=False)
            else:
                self._stderr.write(str(rejection))

    def _time_left(self, now: float) -> str:
        if not self._feed.total or not self._feed.read:
            return ""
        seconds = (now - self._started) * (self._feed.total / self._feed.read - 1)
        return f", {max(seconds, 0):.0f} s left"
