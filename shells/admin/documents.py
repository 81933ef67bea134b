"""A document for people to read: indented, as a tree to fold, as a difference; and where in a text a pointer is."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext
from pydantic_core import from_json, to_json

from shells.defects import Defect

#: Documents of more lines are shown as text only, without a tree or a difference.
MAX_LINES = 20_000
#: So many lines around each difference are shown as well.
CONTEXT = 3
#: Objects and arrays are open down to this depth, deeper ones are folded.
OPEN_DEPTH = 2


def indented(document: str) -> str:
    """The JSON text with a line for each value."""
    return to_json(from_json(document), indent=2).decode()


def compact(value: Any) -> str:
    """A value as JSON text, the way documents are stored."""
    return to_json(value).decode()


# --- Where is it? -------------------------------------------------------------------------------------

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


@dataclass(slots=True)
class _Open:
    """An object or array that is being read."""

    pointer: str
    #: The place of the next item of an array; None: an object.
    place: int | None
    #: The name of the member whose value is next.
    name: str | None = None


def lines_of_pointers(text: str) -> dict[str, int]:
    """The line (from 1) of each value in JSON text, by its pointer (RFC 6901); of a member, that of its name."""
    lines = {"": 1}
    stack: list[_Open] = []
    line, end = 1, 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", end, token.start())
        end = token.start()
        value = token.group()
        inside = stack[-1] if stack else None
        if value in ("}", "]"):
            if stack:
                stack.pop()
        elif value == ",":
            if inside is not None:
                inside.name = None
                if inside.place is not None:
                    inside.place += 1
        elif value == ":":
            continue
        elif inside is not None and inside.place is None and inside.name is None:
            inside.name = _name(value)
            lines[_below(inside)] = line
        else:
            pointer = "" if inside is None else _below(inside)
            lines.setdefault(pointer, line)
            if value in ("{", "["):
                stack.append(_Open(pointer, 0 if value == "[" else None))
    return lines


def line_of(lines: dict[str, int], defect: Defect) -> int:
    """The line of what has the defect, of what it is missing in, or where the text is no JSON any more."""
    no_json = re.search(r" at line (\d+) column \d+$", defect.text)
    if no_json and not defect.pointer:
        return int(no_json[1])
    pointer = defect.pointer
    while pointer not in lines:
        pointer = pointer.rpartition("/")[0]
    return lines[pointer]


def _name(token: str) -> str:
    try:
        return str(json.loads(token, strict=False))
    except ValueError:
        return token


def _below(inside: _Open) -> str:
    step = str(inside.place) if inside.place is not None else str(inside.name)
    return f"{inside.pointer}/{step.replace('~', '~0').replace('/', '~1')}"


# --- What is different? -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a difference: `sign` is + or -, a blank for what both have, … for what is left out."""

    sign: str
    text: str


def difference(before: str | None, after: str | None) -> list[DiffLine] | None:
    """The difference of two documents, line by line; None if they are too long for that."""
    old = [] if before is None else indented(before).split("\n")
    new = [] if after is None else indented(after).split("\n")
    if len(old) + len(new) > MAX_LINES:
        return None
    return list(_difference(old, new))


def _difference(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    for group in SequenceMatcher(None, old, new).get_grouped_opcodes(CONTEXT):
        if group[0][1] > 0:
            yield DiffLine("…", "")
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                yield from (DiffLine(" ", line) for line in old[old_from:old_to])
            else:
                yield from (DiffLine("-", line) for line in old[old_from:old_to])
                yield from (DiffLine("+", line) for line in new[new_from:new_to])


# --- As a tree ----------------------------------------------------------------------------------------


def tree(document: str) -> SafeString:
    """The document as HTML, its objects and arrays to be folded; empty if it is too long for that."""
    value = from_json(document)
    if document.count(",") > MAX_LINES:
        return SafeString()
    return mark_safe("".join(_tree(value, SafeString(), "", 0)))  # noqa: S308  (of format_html only)


def _tree(value: Any, label: SafeString, comma: str, depth: int) -> Iterator[SafeString]:
    if not isinstance(value, dict | list) or not value:
        yield format_html('<div class="json-line">{}{}{}</div>', label, _scalar(value), comma)
        return
    begin, end = "{}" if isinstance(value, dict) else "[]"
    yield format_html(
        '<details class="json-node"{}><summary>{}{}<span class="json-size">{}</span></summary>',
        " open" if depth < OPEN_DEPTH else "",
        label,
        begin,
        _size(value),
    )
    last = len(value) - 1
    if isinstance(value, dict):
        for place, (name, member) in enumerate(value.items()):
            key = format_html('<bdi class="json-key">{}</bdi>: ', to_json(name).decode())
            yield from _tree(member, key, "," if place < last else "", depth + 1)
    else:
        for place, item in enumerate(value):
            yield from _tree(item, SafeString(), "," if place < last else "", depth + 1)
    yield format_html('<div class="json-end">{}{}</div></details>', end, comma)


def _scalar(value: Any) -> SafeString:
    kind = "string" if isinstance(value, str) else "other"
    return format_html('<bdi class="json-{}">{}</bdi>', kind, to_json(value).decode())


def _size(value: dict[str, Any] | list[Any]) -> str:
    if isinstance(value, list):
        return ngettext("%d item", "%d items", len(value)) % len(value)
    short = value.get("idShort") or value.get("id") or value.get("name")
    return short[:60] if isinstance(short, str) else gettext("…")
