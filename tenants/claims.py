"""What a claim of a token says: dots in its name lead inwards, and it is a text or a list of texts."""

from collections.abc import Mapping
from typing import Any

#: Claims that are one text with blanks between values (RFC 6749 §3.3; Entra ID).
SPACED_CLAIMS = ("scope", "scp")


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """What a claim holds; dots lead into it (`realm_access.roles`), unless a claim of that very name exists."""
    value: Any = claims.get(name)
    if value is None:
        value = claims
        for step in name.split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def texts(claims: Mapping[str, Any], name: str) -> set[str]:
    """The texts in a claim."""
    value = claim(claims, name)
    if isinstance(value, str):
        return set(value.split()) if name in SPACED_CLAIMS else {value}
    return {item for item in value if isinstance(item, str)} if isinstance(value, list) else set()
