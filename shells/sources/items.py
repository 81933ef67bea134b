"""What sources are read from, what they give, and what they raise."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import io
    from typing import Any

#: Bytes that can be looked at before they are taken.
Stream: TypeAlias = "io.BufferedReader[Any]"
#: The longest JSON text of one descriptor; the API takes bodies of this size unless it is told otherwise.
MAX_ITEM_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Item:
    """The JSON text of one descriptor; or, where there is none, what is wrong with it."""

    #: From 1; None where a line means nothing (another registry).
    line: int | None
    content: bytes
    defect: str | None = None


class Unreadable(Exception):
    """A source cannot be read, or not further; the message says why, in one line."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason if line is None else f"line {line}: {reason}")
        self.reason = reason
        self.line = line
