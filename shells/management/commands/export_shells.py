import os
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from shells.exporting import Filters, Format, export
from tenants.services import TenantError, find_tenant


def moment(text: str) -> datetime:
    """A moment in ISO 8601; without a zone, in UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError("must be a date and time, such as 2026-01-31T12:00:00Z") from None
    return found if timezone.is_aware(found) else timezone.make_aware(found)


def asset_id(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise ArgumentTypeError("must be NAME=VALUE")
    return name, value


class Command(BaseCommand):
    help = "Write the shells of a tenant as they are at one moment. `import_shells` reads all formats."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--tenant", required=True, help="the tenant's id")
        parser.add_argument(
            "--format",
            choices=[format_.value for format_ in Format],
            default=Format.JSON_LINES.value,
            help="JSON Lines, one JSON array, or JSON Lines packed with gzip or zstd (default: %(default)s)",
        )
        parser.add_argument(
            "--output", metavar="FILE", type=Path, help="where to write (default: standard output)"
        )
        parser.add_argument("--asset-kind", metavar="KIND", help="only those of this assetKind")
        parser.add_argument("--asset-type", metavar="TYPE", help="only those of this assetType")
        parser.add_argument(
            "--asset-id",
            metavar="NAME=VALUE",
            type=asset_id,
            action="append",
            default=[],
            help="only those with this asset id (globalAssetId=… is one); may be repeated",
        )
        parser.add_argument("--created-from", metavar="TIME", type=moment, help="only those registered since")
        parser.add_argument("--updated-from", metavar="TIME", type=moment, help="only those changed since")

    def handle(self, **options: Any) -> None:
        try:
            tenant = find_tenant(options["tenant"])
        except TenantError as error:
            raise CommandError(str(error)) from None
        filters = Filters(
            asset_kind=options["asset_kind"],
            asset_type=options["asset_type"],
            asset_ids=options["asset_id"],
            created_from=options["created_from"],
            updated_from=options["updated_from"],
        )
        try:
            with self._output(options["output"]) as stream:
                count = export(tenant.pk, stream, Format(options["format"]), filters)
        except BrokenPipeError:
            raise CommandError("whoever read the export has stopped reading") from None
        except OSError as error:
            raise CommandError(f"cannot be written: {error.strerror}") from None
        self.stderr.write(f"exported {count} shells", ending="\n")

    @contextmanager
    def _output(self, path: Path | None) -> Iterator[IO[bytes]]:
        """Where to write; a file has its name only once it is whole."""
        if path is None:
            stream = getattr(self.stdout, "buffer", sys.stdout.buffer)
            yield stream
            stream.flush()
            return
        unfinished = path.with_name(f"{path.name}.unfinished")
        try:
            with open(unfinished, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
