"""An open file → items, whatever its form."""

import re
from collections.abc import Iterator

from shells.sources import environments, json_text, packages, packing, texts
from shells.sources.items import Item, Stream, Unreadable

_first_member = re.compile(rb'\{\s*"([^"\\]*)"\s*:')
_PAGE = {b"result", b"paging_metadata"}
_LOOK_BYTES = 64 * 1024


def items(stream: Stream, endpoint_base: str | None = None) -> Iterator[Item]:
    """The descriptors in a file: JSON lines, arrays, pages of an API, AAS environments, AASX packages.

    gzip and zstd are unpacked. AAS and submodels of environments get endpoints below `endpoint_base`, as a
    repository serves them; without it, none. Raises Unreadable, when it comes to what it cannot read.
    """
    if stream.peek(4)[:4] == packages.ZIP:
        yield from packages.items(stream, endpoint_base)
        return
    stream = packing.unpacked(stream)
    if stream.peek(4)[:4].startswith((packing.GZIP, packing.ZSTD, packages.ZIP)):
        raise Unreadable("is packed twice: unpack it once")
    start = texts.beginning(stream, _LOOK_BYTES)
    yield from _text_items(stream, start, endpoint_base)


def _text_items(stream: Stream, start: bytes, endpoint_base: str | None) -> Iterator[Item]:
    text = start.lstrip()
    if not text and len(start) < _LOOK_BYTES:
        raise Unreadable("is empty")
    if text.startswith(b"<"):
        yield from environments.xml_items(stream, endpoint_base)
        return
    if text[:1] not in (b"{", b"["):
        raise Unreadable(
            "is neither JSON nor an AAS environment in XML nor an AASX package: it begins with "
            f"{text[:20].decode('utf-8', 'backslashreplace')!r}"
        )
    member = _first_member.match(text)
    name = member[1] if member else b""
    if name in environments.MEMBERS:
        yield from environments.json_items(stream, endpoint_base)
    elif text.startswith(b"[") or name in _PAGE or not _is_whole(text):
        yield from json_text.listed(stream)
    else:
        yield from json_text.lines(stream)


def _is_whole(text: bytes) -> bool:
    """Whether the first line looks like a line of JSON Lines: more than the beginning of a value."""
    first, newline, rest = text.partition(b"\n")
    goes_on = first.rstrip()[-1:] in (b"{", b"[", b",", b":") and not rest.lstrip().startswith(b"{")
    return not newline or not goes_on
