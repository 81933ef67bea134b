"""JSON → condition: what a query may say (aas-registry-api.md §7.1).

What does not depend on a descriptor is worked out here: casts of constants, comparisons of constants, and
which list the members of a `$match` are about.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from shells.collections import Collection
from shells.defects import Defect
from shells.identifiers import NOT_XML_CHARACTER
from shells.query.conditions import (
    BOOLEAN_ORDERS,
    ORDERS,
    TEXTS,
    And,
    Boolean,
    Comparison,
    Condition,
    Constant,
    Match,
    Not,
    Operand,
    Or,
    Values,
)
from shells.query.fields import parse_field
from shells.query.matching import bound, common_list, is_about
from shells.query.values import Type, cast, key, number_text, parts

MAX_DEPTH = 32
MAX_COMPARISONS = 200
MAX_STRING = 2048
MAX_PATTERN = 256
#: A number with more digits than this is of no use, and takes long to read.
MAX_NUMBER = 10**300
#: More defects than this are not looked for: a body could have one in every two characters.
MAX_DEFECTS = 100


class InvalidQuery(ValueError):
    """Not a query; `defects` has all that was found, at least one."""

    def __init__(self, defects: list[Defect]) -> None:
        super().__init__("; ".join(map(str, defects[:3])))
        self.defects = defects


CASTS = {
    "$strCast": Type.STRING,
    "$numCast": Type.NUMBER,
    "$hexCast": Type.HEX,
    "$boolCast": Type.BOOLEAN,
    "$dateTimeCast": Type.DATE_TIME,
    "$timeCast": Type.TIME,
}
DATE_PARTS: dict[str, Callable[[date], int]] = {
    "$dayOfWeek": lambda day: day.isoweekday() % 7,  # Sunday is 0
    "$dayOfMonth": lambda day: day.day,
    "$month": lambda day: day.month,
    "$year": lambda day: day.year,
}
_VALUES = {
    "$field",
    "$strVal",
    "$numVal",
    "$hexVal",
    "$dateTimeVal",
    "$timeVal",
    "$boolean",
    *CASTS,
    *DATE_PARTS,
}
_STRINGS = {"$field", "$strVal", "$strCast"}
_HEX = re.compile(r"16#[0-9A-F]+")
_TIME = re.compile(r"[0-9]{2}:[0-9]{2}(:[0-9]{2})?")


class _TooMany(Exception):
    """Nothing more is worth saying about this query."""


@dataclass(frozen=True)
class Parsed:
    condition: Condition
    ids_only: bool
    patterns: list[str]


def parse(value: Any, collection: Collection) -> Parsed:
    """Read a query that was parsed as JSON. Raises InvalidQuery with all its defects."""
    if not isinstance(value, dict):
        raise InvalidQuery([Defect("", "the body must be a JSON object, a query")])
    parser = _Parser(collection)
    condition: Condition = Boolean(False)
    try:
        for name in value:
            if name not in ("$condition", "$select"):
                parser.defect(f"/{_escaped(name)}", "there is no such member")
        if value.get("$select", "id") != "id":
            parser.defect("/$select", "must be 'id'")
        if "$condition" in value:
            condition = parser.condition("/$condition", value["$condition"])
        else:
            parser.defect("/$condition", "this member is required")
    except _TooMany:
        pass
    if parser.defects:
        raise InvalidQuery(parser.defects)
    if parser.failed_cast:
        condition = Boolean(False)
    return Parsed(condition, "$select" in value, list(parser.patterns))


class _Parser:
    """Reads conditions and values. What has a defect is read as something harmless, to find other defects."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.defects: list[Defect] = []
        self.patterns: dict[str, None] = {}
        self.comparisons = 0
        #: A cast of a constant failed: the query is valid, but not for any descriptor (E10).
        self.failed_cast = False
        #: The comparisons of the $match that is being read, and where they are.
        self.matched: list[tuple[str, Comparison]] = []

    def defect(self, pointer: str, text: str) -> None:
        self.defects.append(Defect(pointer, text))
        if len(self.defects) >= MAX_DEFECTS:
            raise _TooMany

    def condition(self, pointer: str, value: Any, depth: int = 1, in_match: bool = False) -> Condition:
        only = self._only_member(pointer, value, depth)
        if only is None:
            return Boolean(False)
        name, content = only
        pointer = f"{pointer}/{_escaped(name)}"
        if name in ("$and", "$or", "$not") and in_match:
            self.defect(pointer, "is not allowed inside $match")
        elif name in ("$and", "$or"):
            items = self._items(pointer, content, 2)
            conditions = tuple(self.condition(at, item, depth + 1) for at, item in items)
            return And(conditions) if name == "$and" else Or(conditions)
        elif name == "$not":
            return Not(self.condition(pointer, content, depth + 1))
        elif name == "$match":
            return self._match(pointer, content, depth, in_match)
        else:
            return self._comparison(pointer, name, content)
        return Boolean(False)

    def _comparison(self, pointer: str, name: str, content: Any) -> Condition:
        self.comparisons += 1
        if self.comparisons > MAX_COMPARISONS:
            self.defect("/$condition", f"has more than {MAX_COMPARISONS} comparisons")
            raise _TooMany
        if name == "$boolean":
            return Boolean(self._boolean(pointer, content))
        if name in ORDERS or name in TEXTS or name == "$regex":
            texts_only = name not in ORDERS
            items = self._items(pointer, content, 2, exactly=True)
            both = [self._operand(at, item, 1, texts_only) for at, item in items]
            if name == "$regex" and both:
                self._pattern(f"{pointer}/1", both[1])
            if both:
                comparison = Comparison(name, *both)
                self.matched.append((pointer, comparison))
                return _folded(comparison)
        elif name in _VALUES:
            self.defect(pointer, "is a value, not a condition")
        else:
            self.defect(pointer, "there is no such operator")
        return Boolean(False)

    def _match(self, pointer: str, content: Any, depth: int, in_match: bool) -> Condition:
        if not in_match:
            self.matched = []
        first, before = len(self.matched), len(self.defects)
        items = tuple(
            self.condition(at, item, depth + 1, in_match=True)
            for at, item in self._items(pointer, content, 1)
        )
        if len(self.defects) > before:
            return Boolean(False)
        lists = common_list(comparison for _, comparison in self.matched[first:])
        if lists is None:
            self.defect(pointer, "must be about a list: at least one field needs []")
            return Boolean(False)
        matched = Match((), items)
        if in_match:  # the outermost $match binds those inside
            return matched
        for at, comparison in self.matched:
            if not is_about(comparison, lists):
                self.defect(at, "must be about the same list as all of its $match")
        return bound(matched, lists)

    def _operand(self, pointer: str, value: Any, depth: int, texts_only: bool = False) -> Operand:
        harmless = Constant(Type.STRING, "")
        only = self._only_member(pointer, value, depth)
        if only is None:
            return harmless
        name, content = only
        pointer = f"{pointer}/{_escaped(name)}"
        if name not in _VALUES:
            self.defect(pointer, "there is no such value")
        elif texts_only and name not in _STRINGS:
            self.defect(pointer, "is not a string; use $strCast")
        elif name in CASTS:
            return self._cast(CASTS[name], self._operand(pointer, content, depth + 1))
        elif name == "$boolean":
            return Constant(Type.BOOLEAN, "true" if self._boolean(pointer, content) else "false")
        elif name == "$numVal":
            return self._number(pointer, content)
        elif self._is_string(pointer, content):
            return self._text_value(pointer, name, content)
        return harmless

    def _cast(self, type_: Type, operand: Operand) -> Operand:
        if isinstance(operand, Constant):
            text = cast(type_, operand.text)
            if text is not None:
                return Constant(type_, text)
            self.failed_cast = True
            return Constant(Type.STRING, "")
        casts = tuple(type_ for type_ in operand.casts if type_ is not Type.STRING)  # changes nothing
        return Values(operand.field, casts if casts[-1:] == (type_,) else (*casts, type_))

    def _text_value(self, pointer: str, name: str, text: str) -> Operand:
        """The values that are written as a string."""
        if name == "$field":
            try:
                return Values(parse_field(text, self.collection))
            except ValueError as error:
                self.defect(pointer, str(error))
        elif name == "$strVal":
            if text.startswith("$"):
                self.defect(pointer, "must not start with '$'")
            return Constant(Type.STRING, text)
        elif name == "$hexVal":
            if _HEX.fullmatch(text):
                return Constant(Type.HEX, text)
            self.defect(pointer, "must be '16#' and hexadecimal digits in upper case")
        elif name == "$timeVal":
            if _TIME.fullmatch(text) and parts(Type.TIME, text):
                return Constant(Type.TIME, text)
            self.defect(pointer, "must be a time, hh:mm or hh:mm:ss")
        else:
            found = parts(Type.DATE_TIME, text)
            if found and (text.endswith("Z") or found[5]):
                if name == "$dateTimeVal":
                    return Constant(Type.DATE_TIME, text)
                return Constant(Type.NUMBER, str(DATE_PARTS[name](date.fromisoformat(found[1]))))
            self.defect(pointer, "must be a date and time as in RFC 3339, such as 2024-12-31T23:59:59Z")
        return Constant(Type.STRING, "")

    def _number(self, pointer: str, value: Any) -> Operand:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.defect(pointer, "must be a number")
        elif not abs(value) < MAX_NUMBER:  # NaN is not less either
            self.defect(pointer, "is a number out of range")
        else:
            return Constant(Type.NUMBER, number_text(Decimal(str(value))))
        return Constant(Type.NUMBER, "0")

    def _pattern(self, pointer: str, operand: Operand) -> None:
        """A pattern has to be known, for PostgreSQL to check it before a descriptor is looked at.

        fn:matches allows a member there; but an invalid pattern is the client's mistake (E6), and one in some
        descriptor would make every query that meets it one.
        """
        if not isinstance(operand, Constant):
            self.defect(pointer, "must be a constant: a pattern is not read from a field")
        elif text := _pattern_defect(operand.text):
            self.defect(pointer, text)
        else:
            self.patterns[operand.text] = None

    def _only_member(self, pointer: str, value: Any, depth: int) -> tuple[str, Any] | None:
        if depth > MAX_DEPTH:
            self.defect(pointer, f"is nested more than {MAX_DEPTH} deep")
        elif not isinstance(value, dict):
            self.defect(pointer, "must be an object")
        elif len(value) != 1:
            self.defect(pointer, "must have exactly one member")
        else:
            only: tuple[str, Any] = next(iter(value.items()))
            return only
        return None

    def _items(self, pointer: str, value: Any, least: int, *, exactly: bool = False) -> list[tuple[str, Any]]:
        """The items of an array, each with its pointer; none if they are not as many as there must be."""
        if not isinstance(value, list):
            self.defect(pointer, "must be an array")
        elif exactly and len(value) != least:
            self.defect(pointer, f"must have exactly {least} items")
        elif len(value) < least:
            self.defect(pointer, f"must have at least {least} item{'s' if least > 1 else ''}")
        else:
            return [(f"{pointer}/{position}", item) for position, item in enumerate(value)]
        return []

    def _boolean(self, pointer: str, value: Any) -> bool:
        if not isinstance(value, bool):
            self.defect(pointer, "must be true or false")
        return value is True

    def _is_string(self, pointer: str, value: Any) -> bool:
        if not isinstance(value, str):
            self.defect(pointer, "must be a string")
        elif len(value) > MAX_STRING:
            self.defect(pointer, f"has more than {MAX_STRING} characters")
        elif NOT_XML_CHARACTER.search(value):
            self.defect(pointer, "contains a character that is not allowed (control character or surrogate)")
        else:
            return True
        return False


def _folded(comparison: Comparison) -> Condition:
    """What a comparison of two constants comes to; only PostgreSQL knows that of a pattern.

    Constants of different types do not match, whatever the operator (E8).
    """
    match comparison:
        case Comparison("$regex"):
            return comparison
        case Comparison(name, Constant() as left, Constant() as right) if left.type is not right.type:
            return Boolean(False)
        case Comparison(name, Constant(Type.BOOLEAN) as left, Constant() as right):
            return Boolean(name in BOOLEAN_ORDERS and ORDERS[BOOLEAN_ORDERS[name]](left.text, right.text))
        case Comparison(name, Constant() as left, Constant() as right):
            if name in TEXTS:
                return Boolean(TEXTS[name](left.text, right.text))
            return Boolean(ORDERS[name](key(left.type, left.text), key(right.type, right.text)))
    return comparison


def _pattern_defect(pattern: str) -> str | None:
    """What PostgreSQL would take, but fn:matches would not, or not in this meaning."""
    if len(pattern) > MAX_PATTERN:
        return f"is a pattern of more than {MAX_PATTERN} characters"
    if re.search(r"\\[1-9]", re.sub(r"\\[^1-9]", "", pattern, flags=re.DOTALL)):
        return "has a back-reference, which is not supported"
    escapes_as_letters = re.sub(r"\\.", "x", pattern, flags=re.DOTALL)
    without_sets = re.sub(r"\[\^?\]?[^\]]*\]", "", escapes_as_letters)
    if pattern.startswith("***") or re.search(r"\(\?(?!:)", without_sets):
        return "has an option or a lookaround, which are not supported"
    return None


def _escaped(name: str) -> str:
    """A reference token of a JSON pointer (RFC 6901 §3), of a name that may be anything."""
    text = NOT_XML_CHARACTER.sub("\ufffd", name[:64])
    return text.replace("~", "~0").replace("/", "~1")
