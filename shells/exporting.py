"""The shells of a tenant as they are stored, from one moment, in memory that does not grow with their number."""

import gzip
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import IO, Any

import zstandard
from django.db import connection, transaction

from shells.models import Shell
from shells.querysets import AssetLinkPairs, ShellQuerySet

CHUNK_ROWS = 500
ZSTD_LEVEL = 9


class Format(StrEnum):
    """How an export is written."""

    JSON_LINES = "jsonl"
    JSON = "json"
    GZIP = "gz"
    ZSTD = "zst"


@dataclass(frozen=True)
class Filters:
    """What an export is narrowed down to, as a list of the API (aas-registry-api.md §1.4)."""

    asset_kind: str | None = None
    asset_type: str | None = None
    asset_ids: AssetLinkPairs = ()
    created_from: datetime | None = None
    updated_from: datetime | None = None

    def of(self, tenant_pk: int) -> ShellQuerySet:
        """The shells of a tenant that are meant."""
        shells: ShellQuerySet = Shell.objects.of(tenant_pk)
        shells = shells.with_asset_ids(tenant_pk, self.asset_ids)
        if self.asset_type is not None:
            shells = shells.with_asset_type(self.asset_type)
        given: dict[str, Any] = {
            "asset_kind": self.asset_kind,
            "created_at__gte": self.created_from,
            "updated_at__gte": self.updated_from,
        }
        return shells.filter(**{lookup: value for lookup, value in given.items() if value is not None})


def export(
    tenant_pk: int,
    stream: IO[bytes],
    format_: Format = Format.JSON_LINES,
    filters: Filters | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """Write the shells of a tenant, in the order of their registration. Returns how many.

    `progress` is told from time to time how many are written. No other transaction may be open.
    """
    written = 0
    with _packed(stream, format_) as packed:
        for documents in _chunks((filters or Filters()).of(tenant_pk)):
            if format_ is Format.JSON:
                packed.write((b",\n" if written else b"[\n") + b",\n".join(documents))
            else:
                packed.write(b"\n".join(documents) + b"\n")
            written += len(documents)
            progress(written)
        if format_ is Format.JSON:
            packed.write(b"\n]\n" if written else b"[]\n")
    return written


def _chunks(shells: ShellQuerySet) -> Iterator[list[bytes]]:
    """The documents as they are at one moment, through a cursor of the server."""
    rows: Iterable[str] = shells.order_by("pk").values_list("document", flat=True)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        chunk: list[bytes] = []
        for document in rows.iterator(chunk_size=CHUNK_ROWS):  # type: ignore[attr-defined]
            chunk.append(document.encode())
            if len(chunk) == CHUNK_ROWS:
                yield chunk
                chunk = []
        if chunk:
            yield chunk


@contextmanager
def _packed(stream: IO[bytes], format_: Format) -> Iterator[Any]:
    if format_ is Format.GZIP:
        with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as packed:
            yield packed
    elif format_ is Format.ZSTD:
        with zstandard.ZstdCompressor(level=ZSTD_LEVEL).stream_writer(stream, closefd=False) as packed:
            yield packed
    else:
        yield stream
