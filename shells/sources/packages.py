"""AASX packages (IDTA-01005): taken apart as what they are, Open Packaging Conventions. Nothing is extracted."""

import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from lxml.etree import LxmlError
from pyecma376_2.zip_package import ZipPackageReader

from shells.sources import environments, texts
from shells.sources.items import Item, Stream, Unreadable

ZIP = b"PK\x03\x04"
MAX_PARTS = 10_000
#: The unpacked size of an environment in a package, and of the parts that say where it is.
MAX_ENVIRONMENT_BYTES = 1024 * 1024 * 1024
MAX_DIRECTORY_BYTES = 1024 * 1024
MAX_RATIO = 500

_RELATIONSHIPS = (
    "http://admin-shell.io/aasx/relationships/",
    "http://www.admin-shell.io/aasx/relationships/",
)
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, LxmlError, KeyError)


def items(stream: Stream, endpoint_base: str | None) -> Iterator[Item]:
    """The shells of a package as descriptors. Raises Unreadable.

    Only the environments are looked at: pictures and documents may be missing, or be anything.
    """
    if not stream.seekable():
        raise Unreadable("is an AASX package, which cannot be read from a pipe: name the file")
    try:
        _check_directory(stream)
        with ZipPackageReader(stream) as package:
            for part in _environments(package):
                yield from _part_items(package, part, endpoint_base)
    except _BROKEN as error:
        raise Unreadable(f"is a broken package: {error}") from None


def _check_directory(stream: Stream) -> None:
    """Look at the names and sizes before anything is unpacked. A part never gives more than its said size."""
    with zipfile.ZipFile(stream) as archive:
        entries = archive.infolist()
    stream.seek(0)
    if len(entries) > MAX_PARTS:
        raise Unreadable(f"has more than {MAX_PARTS} parts")
    for entry in entries:
        name = entry.filename
        if name.startswith("/") or "\\" in name or ".." in name.split("/"):
            raise Unreadable(f"has a part whose name leads out of the package: {name!r}")
        if name.endswith((".rels", "[Content_Types].xml")) and entry.file_size > MAX_DIRECTORY_BYTES:
            raise Unreadable(f"has too large a part {name!r}")
    if "[content_types].xml" not in {entry.filename.lower() for entry in entries}:
        raise Unreadable("is a ZIP archive, but no AASX package")


def _environments(package: Any) -> list[str]:
    """The names of the parts that are environments."""
    origins = _related(package, "/", "aasx-origin")
    if not origins:
        raise Unreadable("is no AASX package: it has no aasx-origin")
    parts = [part for origin in origins for part in _related(package, origin, "aas-spec")]
    parts += [split for part in parts for split in _related(package, part, "aas-spec-split")]
    if not parts:
        raise Unreadable("is an AASX package without an environment")
    return list(dict.fromkeys(parts))


def _related(package: Any, part: str, type_: str) -> list[str]:
    found = package.get_related_parts_by_type(part)
    targets: list[str] = [target for prefix in _RELATIONSHIPS for target in found[prefix + type_]]
    for target in targets:
        if ".." in target.split("/"):
            raise Unreadable(f"refers to a part outside of the package: {target!r}")
    return targets


def _part_items(package: Any, part: str, endpoint_base: str | None) -> Iterator[Item]:
    try:
        stream = package.open_part(part)
    except KeyError:
        raise Unreadable(f"names an environment that it does not contain: {part!r}") from None
    with stream:
        buffered = io.BufferedReader(_Bounded(stream, part), environments.CHUNK_BYTES)
        try:
            start = texts.beginning(buffered, 64)
            if start.lstrip().startswith(b"{"):
                yield from environments.json_items(buffered, endpoint_base)
            else:
                yield from environments.xml_items(buffered, endpoint_base)
        except Unreadable as error:
            raise Unreadable(f"{part}: {error.reason}", error.line) from None


class _Bounded(io.RawIOBase):
    """A part of a package, as long as it is no bomb."""

    def __init__(self, stream: Any, part: str) -> None:
        self._stream, self._part, self._count = stream, part, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._stream.read(len(buffer))
        self._count += len(data)
        if self._count > MAX_ENVIRONMENT_BYTES:
            raise Unreadable(f"{self._part} unpacks to more than {MAX_ENVIRONMENT_BYTES} bytes")
        buffer[: len(data)] = data
        return len(data)
