"""JSON text, piece by piece: what stands in it is handed on as it is, and never held as a whole."""

import codecs
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from shells.sources.items import MAX_ITEM_BYTES, Item, Stream, Unreadable

CHUNK_BYTES = 1024 * 1024
#: Blank lines in a row; more of them are no file of descriptors.
MAX_BLANK_LINES = 1_000_000

_space = re.compile(r"[ \t\n\r]*")
_decoder = json.JSONDecoder()


def lines(stream: Stream, limit: int = MAX_ITEM_BYTES) -> Iterator[Item]:
    """JSON Lines: each line that is not blank is an item. One longer than `limit` bytes is skipped over."""
    number = blank = 0
    while True:
        number += 1
        with _at_line(number):
            line = stream.readline(limit + 2)
        if not line:
            return
        if len(line) > limit and not line.endswith(b"\n"):
            while (rest := stream.readline(CHUNK_BYTES)) and not rest.endswith(b"\n"):
                pass
            yield Item(number, b"", f"the line is longer than {limit} bytes")
        elif content := line.strip():
            blank = 0
            yield Item(number, content)
        else:
            blank += 1
            if blank > MAX_BLANK_LINES:
                raise Unreadable(f"more than {MAX_BLANK_LINES} blank lines", number)


@contextmanager
def _at_line(number: int) -> Iterator[None]:
    """What is said of the stream (broken, a bomb) is said with the line where that is."""
    try:
        yield
    except Unreadable as error:
        raise Unreadable(error.reason, error.line or number) from None


def listed(stream: Stream) -> Iterator[Item]:
    """Arrays of descriptors, pages of an API (`{"result": […]}`) and descriptors over several lines.

    Any number of these, one after the other.
    """
    text = Text(stream, MAX_ITEM_BYTES)
    while start := text.peek():
        if start == "[":
            yield from text.array_items()
        elif start == "{" and text.starts_with_member("result", "paging_metadata"):
            for name in text.members():
                if name == "result":
                    yield from text.array_items()
                else:
                    text.value()
        else:
            yield text.value().item()


class Value(NamedTuple):
    """A value with its text and the line where it starts."""

    line: int
    text: str
    value: Any

    def item(self) -> Item:
        return Item(self.line, self.text.encode())


class Text:
    """JSON text in UTF-8 that is read value by value. Everything raises Unreadable if it is no JSON."""

    def __init__(self, stream: Stream, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._text = ""
        self._position = 0
        self._line = 1
        self._ended = False

    def peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            end = _space.match(self._text, self._position).end()  # type: ignore[union-attr]
            self._skip_to(end)
            if end < len(self._text):
                return self._text[end]
            if not self._more(CHUNK_BYTES):
                return ""

    def take(self, character: str) -> None:
        found = self.peek()
        if found != character:
            what = f"{found!r}" if found else "the end: the file was cut off"
            raise Unreadable(f"{character!r} is expected here, not {what}", self._line)
        self._skip_to(self._position + 1)

    def array_items(self) -> Iterator[Item]:
        """The values of an array as items."""
        for value in self.array():
            yield value.item()

    def array(self) -> Iterator[Value]:
        self.take("[")
        if self.peek() != "]":
            yield self.value()
            while self.peek() == ",":
                self.take(",")
                yield self.value()
        self.take("]")

    def members(self) -> Iterator[str]:
        """The names of an object's members; whoever asks takes each value before the next name."""
        self.take("{")
        separator = ""
        while self.peek() != "}":
            if separator:
                self.take(separator)
            separator = ","
            name = self.value().value
            if not isinstance(name, str):
                raise Unreadable("the name of a member is expected here", self._line)
            self.take(":")
            yield name
        self.take("}")

    def starts_with_member(self, *names: str) -> bool:
        """Whether an object begins here whose first member has one of these names."""
        self.peek()
        while len(self._text) - self._position < 256 and self._more(CHUNK_BYTES):
            pass
        pattern = rf'\{{\s*"({"|".join(names)})"\s*:'
        return re.compile(pattern).match(self._text, self._position) is not None

    def value(self) -> Value:
        """The next value, whole. Raises Unreadable if it is longer than the limit, too."""
        self.peek()
        line = self._line
        size = CHUNK_BYTES
        while True:
            try:
                value, end = _decoder.raw_decode(self._text, self._position)
                # A number at the end of what was read may go on.
                if end < len(self._text) or self._text[end - 1] in '"]}' or not self._more(size):
                    text = self._text[self._position : end]
                    if len(text) > self._limit:
                        raise Unreadable(f"a value is longer than {self._limit} bytes", line)
                    self._skip_to(end)
                    return Value(line, text, value)
                continue
            except RecursionError:
                raise Unreadable("the JSON is nested too deeply", line) from None
            except ValueError as error:
                reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                pos = error.pos if isinstance(error, json.JSONDecodeError) else self._position
                where = self._line + self._text.count("\n", self._position, pos)
            if len(self._text) - self._position > self._limit:
                raise Unreadable(f"a value is longer than {self._limit} bytes, or no JSON: {reason}", line)
            if not self._more(size):
                cut = " (the file may have been cut off)" if pos >= len(self._text) - 1 else ""
                raise Unreadable(f"no JSON: {reason}{cut}", where)
            size *= 2

    def _skip_to(self, position: int) -> None:
        self._line += self._text.count("\n", self._position, position)
        self._position = position

    def _more(self, size: int) -> bool:
        """Read on; whether there was more."""
        if self._ended:
            return False
        with _at_line(self._line + self._text.count("\n", self._position)):
            data = self._stream.read(size)
        self._ended = not data
        try:
            decoded = self._decode(data, self._ended)
        except UnicodeDecodeError as error:
            raise Unreadable(f"is not UTF-8: {error.reason}", self._line) from None
        self._text = self._text[self._position :] + decoded
        self._position = 0
        return not self._ended
