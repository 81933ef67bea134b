"""Which files are meant, and how they are opened."""

import io
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from shells.sources.items import Stream, Unreadable

#: The files of a directory that are meant; all else in it is passed over.
SUFFIXES = (".json", ".jsonl", ".ndjson", ".xml", ".aasx")
PACKED_SUFFIXES = ("", ".gz", ".zst")
BUFFER_BYTES = 1024 * 1024
STANDARD_INPUT = "-"

_meant = tuple(suffix + packed for suffix in SUFFIXES for packed in PACKED_SUFFIXES)


@dataclass(frozen=True, slots=True)
class File:
    """A file to be read, by the name that messages give it."""

    name: str
    #: Why it must not be read, if that is so.
    defect: str | None = None

    def open(self, standard_input: BinaryIO) -> Stream:
        """Raises Unreadable."""
        if self.defect is not None:
            raise Unreadable(self.defect)
        if self.name == STANDARD_INPUT:
            return io.BufferedReader(_Whole(standard_input), BUFFER_BYTES)
        try:
            stream = io.FileIO(self.name)
        except OSError as error:
            raise Unreadable(f"cannot be opened: {error.strerror}") from None
        if stream.seekable():
            return io.BufferedReader(stream, BUFFER_BYTES)
        return io.BufferedReader(_Whole(stream), BUFFER_BYTES)


def files(sources: Iterable[str]) -> Iterator[File]:
    """The files that `sources` name: files, `-` for the standard input, directories with all below them.

    Those of a directory come in the order of their names. A symbolic link in it is not followed; one that
    leads out of it is an error, for it may lead anywhere.
    """
    for source in sources:
        if source != STANDARD_INPUT and os.path.isdir(source):
            yield from _below(Path(source))
        else:
            yield File(source)


def state(sources: Iterable[str]) -> str:
    """What stands for the names, sizes and times of change of all files: whether they are as they were.

    Raises Unreadable if there is something whose state cannot be known, such as the standard input.
    """
    hash_ = blake2b(digest_size=16)
    for file in files(sources):
        if file.name == STANDARD_INPUT:
            raise Unreadable("the standard input cannot be read again")
        try:
            found = os.lstat(file.name) if file.defect else os.stat(file.name)
        except OSError as error:
            raise Unreadable(f"{file.name}: cannot be opened: {error.strerror}") from None
        if not file.defect and not stat.S_ISREG(found.st_mode):
            raise Unreadable(f"{file.name}: is no file that can be read again")
        hash_.update(f"{file.name}\0{found.st_size}\0{found.st_mtime_ns}\0".encode(errors="surrogateescape"))
    return hash_.hexdigest()


def total_bytes(sources: Iterable[str]) -> int | None:
    """The size of all files together, if each has one."""
    total = 0
    for file in files(sources):
        if file.name == STANDARD_INPUT:
            return None
        try:
            found = os.stat(file.name)
        except OSError:
            continue
        if not stat.S_ISREG(found.st_mode):
            return None
        total += found.st_size
    return total


def _below(root: Path) -> Iterator[File]:
    real_root = root.resolve()
    for directory, directories, names in os.walk(root):
        directories.sort()
        links = [name for name in directories if os.path.islink(os.path.join(directory, name))]
        for name in sorted([*names, *links]):
            path = Path(directory, name)
            if path.is_symlink():
                if not path.resolve().is_relative_to(real_root):
                    yield File(str(path), "is a symbolic link that leads out of the directory")
            elif name.lower().endswith(_meant) and path.is_file():
                yield File(str(path))


class _Whole(io.RawIOBase):
    """A pipe, read in whole buffers: how much comes at once is chance."""

    def __init__(self, stream: BinaryIO | io.FileIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        filled = 0
        while filled < len(buffer) and (data := self._stream.read(len(buffer) - filled)):
            buffer[filled : filled + len(data)] = data
            filled += len(data)
        return filled
