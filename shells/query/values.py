"""The types of values, and how text becomes one: in Python for constants, in PostgreSQL for members.

Both sides share the patterns below and must agree. What does not match is not convertible; what matches must
convert without an error, for an error would end the statement. So dates are spelled out to the last leap
year, and exponents have three digits at most.
"""

import re
from datetime import date
from decimal import Decimal, localcontext
from enum import Enum

from shells.query.fragments import Sql, param, sql


class Type(Enum):
    """What an operand of a comparison is."""

    STRING = "string"
    NUMBER = "number"
    HEX = "hex"
    BOOLEAN = "boolean"
    DATE_TIME = "dateTime"
    TIME = "time"


_DATE = (
    "(?!0000)(?:[0-9]{4}-(?:"
    "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])"
    ")|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
)
_HOUR, _MINUTE, _SECOND = "([01][0-9]|2[0-3])", "([0-5][0-9])", "([0-5][0-9](?:[.][0-9]+)?)"
_ZONE = "(?:Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))?"

#: The text of each type. The first group is what is converted: all of it, the digits of a hexadecimal number,
#: or the date; a time has the same groups after its date, which is empty.
PATTERNS = {
    Type.NUMBER: "^([+-]?(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]{1,3})?)$",
    Type.HEX: "^(?:16#)?(?=[0-9A-Fa-f])0*([0-9A-Fa-f]*)$",
    Type.BOOLEAN: "^(true|false)$",
    Type.DATE_TIME: f"^({_DATE})T{_HOUR}:{_MINUTE}:{_SECOND}{_ZONE}$",
    Type.TIME: f"^(){_HOUR}:{_MINUTE}(?::{_SECOND})?{_ZONE}$",
}
_compiled = {type_: re.compile(pattern) for type_, pattern in PATTERNS.items()}
_EPOCH = date(1970, 1, 1).toordinal()


# --- Constants ----------------------------------------------------------------------------------------


def parts(type_: Type, text: str) -> re.Match[str] | None:
    """The parts of `text` as a value of `type_`, not a string; None if it is none."""
    return _compiled[type_].fullmatch(text)


def cast(type_: Type, text: str) -> str | None:
    """The text of a value after a cast; None if it does not convert.

    A number is written in the shortest way without an exponent, so that `$strCast` of "007" as a number is
    "7". All other values keep the text that they were read from.
    """
    if type_ is Type.STRING or (type_ is not Type.NUMBER and parts(type_, text)):
        return text
    if type_ is Type.NUMBER and parts(type_, text):
        return number_text(Decimal(text))
    return None


def number_text(number: Decimal) -> str:
    """As `trim_scale(number)::text` in PostgreSQL."""
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("", "-0") else text


def key(type_: Type, text: str) -> str | Decimal:
    """What a text that converts is compared by."""
    if type_ in (Type.STRING, Type.BOOLEAN):
        return text
    if type_ is Type.NUMBER:
        return Decimal(text)
    found = parts(type_, text)
    assert found is not None
    if type_ is Type.HEX:
        return f"{len(found[1]):04}{found[1].upper()}"
    day, hour, minute, second, sign, offset_hour, offset_minute = found.groups()
    days = date.fromisoformat(day).toordinal() - _EPOCH if day else 0
    offset = int(f"{sign}1") * (int(offset_hour) * 60 + int(offset_minute)) * 60 if sign else 0
    with localcontext(prec=len(text) + 20):  # exact: PostgreSQL's numeric is
        return days * 86400 + int(hour) * 3600 + int(minute) * 60 - offset + Decimal(second or 0)


# --- Members ------------------------------------------------------------------------------------------

# An expression is written out only once in each of these, however deep casts are nested: twice would double
# the statement with each cast.

_SECONDS = (
    "(SELECT coalesce(nullif(part[1], '')::date - DATE '1970-01-01', 0) * 86400::numeric + part[2]::int * 3600"
    " + part[3]::int * 60 + coalesce(part[4], '0')::numeric - coalesce((part[5] || '1')::int, 0)"
    " * (coalesce(part[6], '0')::int * 60 + coalesce(part[7], '0')::int) * 60"
    # OFFSET keeps the planner from matching the pattern again for each part.
    " FROM (SELECT regexp_match({}, {}) AS part OFFSET 0) AS parts)"
)


def cast_sql(type_: Type, text: Sql) -> Sql:
    """The same as `cast`, of an expression; NULL where it does not convert."""
    if type_ is Type.STRING:
        return text
    if type_ is Type.NUMBER:
        return sql("trim_scale({})::text", key_sql(type_, text))
    return sql("substring({}, {})", text, param(f"({PATTERNS[type_]})"))


def key_sql(type_: Type, text: Sql) -> Sql:
    """The same as `key`, of an expression; NULL where it does not convert."""
    if type_ is Type.STRING:
        return text
    pattern = param(PATTERNS[type_])
    if type_ is Type.NUMBER:
        return sql("substring({}, {})::numeric", text, pattern)
    if type_ is Type.HEX:
        digits = sql("substring({}, {})", text, pattern)
        return sql("(SELECT lpad(length(digits)::text, 4, '0') || upper(digits) FROM {} AS digits)", digits)
    if type_ is Type.BOOLEAN:
        return sql("substring({}, {})", text, pattern)
    return sql(_SECONDS, text, pattern)


def constant_sql(type_: Type, text: str) -> Sql:
    """The key of a constant."""
    if type_ in (Type.NUMBER, Type.DATE_TIME, Type.TIME):
        return Sql("%s::numeric", (str(key(type_, text)),))
    return Sql("%s::text", (key(type_, text),))
