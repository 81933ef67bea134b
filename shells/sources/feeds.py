"""Sources as an import reads them: parts, one after the other, each of them items."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

from shells.sources import files, reading
from shells.sources.items import Item, Unreadable

_LOOK_AFTER_ITEMS = 200


class Feed(Protocol):
    """What an import reads."""

    #: What it is called, for people, and to know it again.
    names: Sequence[str]
    #: How many bytes there are, if that is known, and how many of them were read.
    total: int | None
    read: int

    def parts(self) -> Iterator[tuple[str, Iterator[Item]]]:
        """Name and items of each part. Reading items raises Unreadable; the next part can still be read."""
        ...

    def state(self) -> str:
        """What stands for all that is in it. Raises Unreadable if it cannot be read again."""
        ...


class Files:
    """Files and directories, by their names."""

    def __init__(
        self, sources: Sequence[str], endpoint_base: str | None, standard_input: BinaryIO | None = None
    ) -> None:
        self.names: Sequence[str] = [
            name if name == files.STANDARD_INPUT else str(Path(name).absolute()) for name in sources
        ]
        self.read = 0
        self.total: int | None = files.total_bytes(self.names)
        self._endpoint_base = endpoint_base
        self._standard_input = standard_input or io.BytesIO()

    def parts(self) -> Iterator[tuple[str, Iterator[Item]]]:
        for file in files.files(self.names):
            yield printable(file.name), self._items(file)

    def state(self) -> str:
        return files.state(self.names)

    def _items(self, file: files.File) -> Iterator[Item]:
        with file.open(self._standard_input) as stream:
            before = self.read
            try:
                for number, item in enumerate(reading.items(stream, self._endpoint_base)):
                    if not number % _LOOK_AFTER_ITEMS and stream.seekable():
                        self.read = before + stream.raw.tell()
                    yield item
            except OSError as error:
                raise Unreadable(f"cannot be read: {error.strerror or error}") from None
            if stream.seekable():
                self.read = before + stream.raw.tell()


def printable(name: str) -> str:
    """The name of a file as text that can be written anywhere; names need not be UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


class Upload(Files):
    """One file that somebody sent, under the name that messages give it."""

    def __init__(self, name: str, path: str, endpoint_base: str | None) -> None:
        super().__init__([path], endpoint_base)
        self._path = path
        self.names = [name]

    def parts(self) -> Iterator[tuple[str, Iterator[Item]]]:
        yield self.names[0], self._items(files.File(self._path))

    def state(self) -> str:
        return files.state([self._path])
