"""Identifiers: how they travel in addresses, and the digests under which they are found. No Django."""

import base64
import re
from hashlib import blake2b

MAX_IDENTIFIER_LENGTH = 2048

_encoded = re.compile(r"[A-Za-z0-9_-]+={0,2}")
#: XML 1.0 `Char`, the characters of every string of the metamodel (aas-registry-api.md §2.1).
NOT_XML_CHARACTER = re.compile(r"[^\x09\x0a\x0d\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

#: So many characters of an idShort are in the index that finds it, whole or by its beginning.
INDEXED_BEGINNING = 64
#: The reserved name under which the global asset id is an asset link (AASd-116).
GLOBAL_ASSET_ID = "globalAssetId"


class InvalidIdentifier(ValueError):
    """Not an identifier, or not encoded as one; the message says why."""


def encode(identifier: str) -> str:
    """The base64url form of `identifier` for addresses, without padding (IDTA-01002-3 §Identifier encoding)."""
    return base64.urlsafe_b64encode(identifier.encode()).rstrip(b"=").decode("ascii")


def decode(encoded: str) -> str:
    """The identifier whose base64url form is `encoded`, padded or not (aas-registry-api.md §0.2).

    Raises InvalidIdentifier. A raw identifier is never accepted in place of the encoded form (contract §4.2).
    """
    identifier = decode_text(encoded)
    if len(identifier) > MAX_IDENTIFIER_LENGTH:
        raise InvalidIdentifier(f"encodes more than {MAX_IDENTIFIER_LENGTH} characters")
    if NOT_XML_CHARACTER.search(identifier):
        raise InvalidIdentifier("encodes a character that no identifier may contain")
    return identifier


def decode_text(encoded: str) -> str:
    """The text whose UTF-8 bytes have the base64url form `encoded`, padded or not. Raises InvalidIdentifier."""
    if not _encoded.fullmatch(encoded):
        raise InvalidIdentifier("is not base64url: use the encoded form of the id, not the id itself")
    digits = encoded.rstrip("=")
    if len(digits) % 4 == 1:
        raise InvalidIdentifier("is not base64url: its length is impossible")
    try:
        return base64.urlsafe_b64decode(digits + "=" * (-len(digits) % 4)).decode()
    except UnicodeDecodeError:
        raise InvalidIdentifier("is base64url, but not of an identifier in UTF-8") from None


def is_global_asset_id(name: str) -> bool:
    """Whether an asset link of this name is the global asset id; the case of letters does not count (AASd-116)."""
    return name.lower() == "globalassetid"


def digest(identifier: str) -> str:
    """128 bits that stand for an identifier in an index, as 32 hexadecimal digits (a uuid to PostgreSQL).

    Identifiers themselves may be longer than an index entry.
    """
    return blake2b(identifier.encode(), digest_size=16).hexdigest()


def pair_hash(tenant_pk: int, name: str, value: str) -> int:
    """64 bits (signed) that stand for an asset id of a tenant in an index; the text is compared as well."""
    text = f"{name}\0{value}".encode()
    key = tenant_pk.to_bytes(8, "big")
    return int.from_bytes(blake2b(text, digest_size=8, key=key).digest(), "big", signed=True)
