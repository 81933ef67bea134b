"""Text is UTF-8, with or without a byte order mark."""

from shells.sources.items import Stream, Unreadable

_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def beginning(stream: Stream, size: int) -> bytes:
    """Up to `size` bytes of what comes next, which stays to be read; a byte order mark is taken away.

    Raises Unreadable for UTF-16, and for what is no text.
    """
    start = stream.peek(size)[:size]
    if start.startswith(_UTF16_BOMS) or (b"\0" in start[:4] and start.strip(b"\0")):
        raise Unreadable("is UTF-16, or no text: convert it to UTF-8")
    if start.startswith(_UTF8_BOM):
        stream.read(len(_UTF8_BOM))
        start = start[len(_UTF8_BOM) :]
    return start
