"""gzip and zstd, found out from the first bytes; bounded, for what is packed may be a bomb."""

import gzip
import io
import zlib
from typing import IO, Any

import zstandard

from shells.sources.items import Stream, Unreadable

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
#: Descriptors that resemble each other are packed to a 50th at best; a bomb of gzip is 1,030 times its size.
MAX_RATIO = 500
#: So much may come out of anything, before the ratio counts.
ALWAYS_ALLOWED_BYTES = 64 * 1024 * 1024
#: zstd remembers so much of what it unpacked (its own limit unless `--long=28` or more was used to pack).
MAX_WINDOW_BYTES = 128 * 1024 * 1024
#: So much is unpacked in one step: a bomb gives 32,768 times as much.
ZSTD_STEP_BYTES = 1024
BUFFER_BYTES = 1024 * 1024


def unpacked(stream: Stream) -> Stream:
    """`stream`, unpacked if it is packed. Reading from it raises Unreadable if the packed data is broken."""
    start = stream.peek(4)[:4]
    counted = _Counted(stream)
    if start.startswith(GZIP):
        return _buffered(gzip.GzipFile(fileobj=_as_binary(counted)), counted, "gzip")
    if start == ZSTD:
        return _buffered(_ZstdFile(_as_binary(counted)), counted, "zstd")
    return stream


def _buffered(packed: Any, source: "_Counted", name: str) -> Stream:
    return io.BufferedReader(_Unpacked(packed, source, name), BUFFER_BYTES)


def _as_binary(stream: io.RawIOBase) -> IO[bytes]:
    return io.BufferedReader(stream, BUFFER_BYTES)


class _ZstdFile:
    """Frames of zstd, one after the other.

    The library's own reader takes the end of the file for the end of a frame, and so loses what was cut off.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._library = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
        self._frame = self._library.decompressobj()
        self._inside = False
        self._rest = b""

    def read1(self, size: int) -> bytes:
        """Raises EOFError if the data ends within a frame."""
        while not self._rest:
            packed = self._frame.unused_data if self._frame.eof else b""
            packed = packed or self._stream.read(ZSTD_STEP_BYTES)
            if not packed:
                if self._inside:
                    raise EOFError
                break
            if self._frame.eof:
                self._frame = self._library.decompressobj()
            self._rest = self._frame.decompress(packed)
            self._inside = not self._frame.eof
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


class _Counted(io.RawIOBase):
    """Counts the bytes that are read from a stream, and remembers the last ones."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = self._stream.readinto(buffer)
        self.count += count
        return count


class _Unpacked(io.RawIOBase):
    """What comes out of packed data, as long as it is sound and no bomb."""

    def __init__(self, packed: Any, source: _Counted, name: str) -> None:
        self._packed, self._source, self._name = packed, source, name
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        try:
            data = self._packed.read1(len(buffer))  # what comes before broken data comes out
        except EOFError:
            raise Unreadable(f"the {self._name} data ends too early: the file was cut off") from None
        except (gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
            raise Unreadable(f"the {self._name} data is broken: {error}") from None
        self._count += len(data)
        if self._count > max(ALWAYS_ALLOWED_BYTES, MAX_RATIO * self._source.count):
            raise Unreadable(f"unpacks to more than {MAX_RATIO} times its size: taken for a bomb")
        buffer[: len(data)] = data
        return len(data)
