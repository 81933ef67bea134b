"""Descriptors as the rows that PostgreSQL copies in, in the text form of COPY. Pure functions; no Django.

The processes of an import make the rows before anybody knows the key of a descriptor: a NUL, which no text of
a descriptor may hold, stands for it until the writer puts it in.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from operator import itemgetter
from typing import Any

from pydantic_core import to_json

from shells.collections import Collection
from shells.descriptors import Document
from shells.identifiers import digest

KEY = b"\0"
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


@dataclass(frozen=True, slots=True)
class Prepared:
    """A descriptor that was checked, ready to be copied into its tables."""

    id: str
    #: Of the identifier, as PostgreSQL prints a uuid without its hyphens.
    digest: str
    #: Of the document: two documents are the same if these are.
    checksum: str
    #: The line of the descriptor, and those of each projection of its collection.
    row: bytes
    projections: list[bytes]


def prepare(collection: Collection, tenant_pk: int, document: Document) -> Prepared:
    """The rows of a descriptor for `services.copy_many`."""
    # Compact JSON escapes whatever COPY escapes. Without a backslash there, no text in it has any of these.
    plain = "\\" not in document.text
    tenant = str(tenant_pk)
    own = [tenant, digest(document.id), document.id, document.text]
    values = collection.values(document.members).values()
    return Prepared(
        id=document.id,
        digest=own[1],
        checksum=checksum(document.text),
        row=_line([*own, *values], plain),
        projections=[
            _lines(tenant, projection.rows(tenant_pk, document.members), projection.columns, plain)
            for projection in collection.projections
        ],
    )


def checksum(text: str) -> str:
    """256 bits that stand for a document, in hexadecimal; the same as `statements.present` asks for."""
    return sha256(text.encode()).hexdigest()


def keyed(lines: Sequence[bytes], keys: Iterable[int]) -> bytes:
    """The lines of descriptors with the keys of these in their places."""
    return b"".join(line.replace(KEY, b"%d" % key) for line, key in zip(lines, keys, strict=True))


def _lines(tenant: str, rows: list[dict[str, Any]], columns: dict[str, str], plain: bool) -> bytes:
    values = itemgetter(*columns)
    return b"".join(_line([tenant, *values(row)], plain) for row in rows)


def _line(values: list[Any], plain: bool) -> bytes:
    if plain:
        fields = [value if value.__class__ is str else _text(value) for value in values]
    else:
        fields = [r"\N" if value is None else _text(value).translate(_ESCAPES) for value in values]
    return ("\0\t" + "\t".join(fields) + "\n").encode()


def _text(value: Any) -> str:
    """A value as COPY has it, before anything is escaped: a reference is JSON, nothing is \\N."""
    if value is None:
        return r"\N"
    return str(value) if isinstance(value, int | str) else to_json(value).decode()
