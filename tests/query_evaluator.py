"""The query language once more, as plain as it can be: on descriptors as JSON, without SQL.

`tests/test_query_language.py` compares both on random descriptors and queries. Nothing here is shared with
`shells/query`, and queries must be valid.

More examples: `python -m pytest -n 0 -p tests.query_evaluator --hypothesis-profile=long
tests/test_query_language.py -k random`.
"""

import itertools
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, settings

settings.register_profile(
    "long",
    max_examples=3000,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)

Json = Any
#: Which item of a list is meant, by the path to the list.
Bound = dict[str, int]


class Invalid(Exception):
    """A cast failed: the descriptor is not returned, whatever else is true of it (E10)."""


class Unconvertible(Exception):
    pass


def selects(query: Json, descriptor: Json, root: str = "$aasdesc") -> bool:
    """Whether a query returns a descriptor; `root` is $aasdesc for shells, $smdesc for submodels."""
    try:
        return _Candidate(descriptor, root).holds(query["$condition"])
    except Invalid:
        return False


class _Candidate:
    def __init__(self, descriptor: Json, root: str) -> None:
        self.descriptor = descriptor
        self.root = root

    # --- Conditions -----------------------------------------------------------------------------------

    def holds(self, condition: Json) -> bool:
        name, content = _only(condition)
        match name:
            case "$and" | "$or":
                results = [self.holds(item) for item in content]  # of all: any of them may be invalid
                return all(results) if name == "$and" else any(results)
            case "$not":
                return not self.holds(content)
            case "$match":
                for comparison in _comparisons(condition):
                    self.compare(comparison, {})
                return self.match(content, {}, "")
            case "$boolean":
                return bool(content)
        return self.compare(condition, {})

    def match(self, items: list[Json], bound: Bound, own: str) -> bool:
        """`own` is the list of the $match around this one."""
        paths = [path for item in items for path in self._paths(item)]
        if not any(paths):
            return False
        lists = {_first_open(path, own) for path in paths if path}
        if len(lists) == 1 and (found := lists.pop()):
            own = found
        direct = [item for item in items if "$match" not in item and "$boolean" not in item]
        nested = {at for item in direct for path in self._paths(item) if path for at in _open(path)}
        for mine in self._choices({own}, bound):
            inner = all(self._in_match(item, mine, own) for item in items if item not in direct)
            if inner and any(
                all(self.compare(item, both) for item in direct) for both in self._choices(nested, mine)
            ):
                return True
        return False

    def _in_match(self, item: Json, bound: Bound, own: str) -> bool:
        name, content = _only(item)
        return bool(content) if name == "$boolean" else self.match(content, bound, own)

    def _choices(self, lists: set[str], bound: Bound) -> list[Bound]:
        """Every way to choose an item of each list, the outer lists first."""
        choices = [bound]
        for at in sorted(lists - bound.keys(), key=len):
            choices = [
                {**choice, at: number} for choice in choices for number in range(len(self._items(at, choice)))
            ]
        return choices

    def _paths(self, item: Json) -> list[str | None]:
        """The fields of a condition as paths with brackets; None for one that names nothing."""
        return [
            self._path(operand["$field"])
            for comparison in _comparisons(item)
            for operand in map(_innermost, _only(comparison)[1])
            if "$field" in operand
        ]

    # --- Comparisons ----------------------------------------------------------------------------------

    def compare(self, comparison: Json, bound: Bound) -> bool:
        operator, (left, right) = _only(comparison)
        (left_type, lefts), (right_type, rights) = self.operand(left, bound), self.operand(right, bound)
        if not lefts and not rights and "$field" in left and "$field" in right:
            return operator in ("$eq", "$le", "$ge")  # E2
        if operator in TEXTS:
            return any(TEXTS[operator](a, b) for a in lefts for b in rights)
        if left_type and right_type and left_type != right_type:
            return False  # E8
        type_ = left_type or right_type or "string"
        return any(_ordered(operator, type_, a, b) for a in lefts for b in rights)

    def operand(self, operand: Json, bound: Bound) -> tuple[str | None, list[str]]:
        """The type of an operand, None for a field, and the texts of its values."""
        name, content = _only(operand)
        if name == "$field":
            return None, self.values(content, bound)
        if name in CASTS:
            self._check_casts(operand)
            _, values = self.operand(content, bound)
            return CASTS[name], list(_converted(CASTS[name], values))
        if name in CONSTANTS:
            text = str(content).lower() if name == "$boolean" else _plain(content)
            return CONSTANTS[name], [text]
        day = date.fromisoformat(content[:10])
        number = {
            "$dayOfWeek": int(day.strftime("%w")),
            "$dayOfMonth": day.day,
            "$month": day.month,
            "$year": day.year,
        }
        return "number", [str(number[name])]

    def _check_casts(self, operand: Json) -> None:
        """E10 and E11, of all values in the descriptor, whichever item a $match is at."""
        before = after = self.operand(_innermost(operand), {})[1]
        for name in reversed(list(_names(operand))):
            if name in CASTS:
                after = list(_converted(CASTS[name], after))
        if before and not after:
            raise Invalid

    # --- Fields ---------------------------------------------------------------------------------------

    def _path(self, field: str) -> str | None:
        root, _, path = field.partition("#")
        if root == "$smdesc" and self.root == "$aasdesc":
            root, path = "$aasdesc", f"submodelDescriptors[].{path}"
        if root != self.root:
            return None
        path = re.sub(r"\b(specificAssetIds|endpoints|submodelDescriptors|keys)(?!\[)", r"\1[]", path)
        path = re.sub(r"\[([0-9]+)\]", lambda found: f"[{int(found[1])}]", path)
        if re.search(r"(semanticId|externalSubjectId)$", path):
            path += ".keys[0].value"
        return path.replace("protocolinformation", "protocolInformation")

    def values(self, field: str, bound: Bound) -> list[str]:
        path = self._path(field)
        if path is None:
            return []
        return [value for value in self._items(path, bound) if value is not None]

    def _items(self, path: str, bound: Bound) -> list[Json]:
        """What is at a path: texts, or the items of a list if the path ends with []."""
        here, so_far = [self.descriptor], ""
        for _position, part in enumerate(path.split(".")):
            name, _, index = part.rstrip("]").partition("[")
            here = [item[name] for item in here if name in item]
            so_far = f"{so_far}.{part}".lstrip(".")
            if "[" in part:
                numbered = [pair for items in here for pair in enumerate(items)]
                wanted = int(index) if index else bound.get(so_far)
                here = [item for number, item in numbered if wanted is None or number == wanted]
        return here


def _only(value: Json) -> tuple[str, Json]:
    ((name, content),) = value.items()
    return name, content


def _names(operand: Json) -> list[str]:
    name, content = _only(operand)
    return [name, *(_names(content) if isinstance(content, dict) else [])]


def _innermost(operand: Json) -> Json:
    name, content = _only(operand)
    return _innermost(content) if name in CASTS else operand


def _comparisons(condition: Json) -> list[Json]:
    name, content = _only(condition)
    if name == "$match":
        return list(itertools.chain.from_iterable(map(_comparisons, content)))
    return [] if name == "$boolean" else [condition]


def _open(path: str) -> list[str]:
    """The paths of the lists of which any item is meant."""
    return [path[: found.end()] for found in re.finditer(r"\[\]", path)]


def _first_open(path: str, own: str) -> str:
    return next((at for at in _open(path) if len(at) > len(own)), "")


# --- Values -------------------------------------------------------------------------------------------

TEXTS: dict[str, Callable[[str, str], bool]] = {
    "$contains": lambda a, b: b in a,
    "$starts-with": lambda a, b: a.startswith(b),
    "$ends-with": lambda a, b: a.endswith(b),
    "$regex": lambda a, b: re.search(b, a) is not None,
}
CASTS = {
    "$strCast": "string",
    "$numCast": "number",
    "$hexCast": "hex",
    "$boolCast": "boolean",
    "$dateTimeCast": "dateTime",
    "$timeCast": "time",
}
CONSTANTS = {
    "$strVal": "string",
    "$numVal": "number",
    "$hexVal": "hex",
    "$boolean": "boolean",
    "$dateTimeVal": "dateTime",
    "$timeVal": "time",
}


def _plain(content: Json) -> str:
    if isinstance(content, str):
        return content
    return _plain_number(Fraction(repr(content)))


def _converted(type_: str, texts: list[str]) -> Any:
    for text in texts:
        try:
            value = _value(type_, text)
        except Unconvertible:
            continue
        yield _plain_number(value) if type_ == "number" else text


def _plain_number(value: Fraction) -> str:
    """As a decimal number without an exponent; the denominator has no factors but 2 and 5."""
    digits = next(count for count in itertools.count() if 10**count % value.denominator == 0)
    scaled = abs(value.numerator) * (10**digits // value.denominator)
    text = str(scaled).rjust(digits + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{text[:-digits]}.{text[-digits:]}" if digits else text)


def _value(type_: str, text: str) -> Any:
    match type_:
        case "number":
            if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", text):
                raise Unconvertible
            return Fraction(Decimal(text))
        case "hex":
            if not re.fullmatch(r"(16#)?[0-9A-Fa-f]+", text):
                raise Unconvertible
            return int(text.removeprefix("16#"), 16)
        case "boolean":
            if text not in ("true", "false"):
                raise Unconvertible
            return text
        case "dateTime":
            day, _, clock = text.partition("T")
            if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", day):
                raise Unconvertible
            try:
                days = date.fromisoformat(day).toordinal()
            except ValueError:
                raise Unconvertible from None
            return days * 86400 + _seconds(clock, seconds="required")
        case "time":
            return _seconds(text)
    return text


def _seconds(text: str, seconds: str = "optional") -> Fraction:
    found = re.fullmatch(
        r"([0-9]{2}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]+)?))?(Z|[+-][0-9]{2}:[0-9]{2})?", text
    )
    if not found or (seconds == "required" and not found[3]):
        raise Unconvertible
    hour, minute, second, zone = int(found[1]), int(found[2]), Fraction(found[3] or 0), found[4] or "Z"
    if hour > 23 or minute > 59 or second >= 60:
        raise Unconvertible
    offset = 0
    if zone != "Z":
        hours, minutes = int(zone[1:3]), int(zone[4:])
        if hours > 23 or minutes > 59:
            raise Unconvertible
        offset = int(f"{zone[0]}1") * (hours * 60 + minutes) * 60
    return hour * 3600 + minute * 60 + second - offset


def _ordered(operator: str, type_: str, left: str, right: str) -> bool:
    try:
        a, b = _value(type_, left), _value(type_, right)
    except Unconvertible:
        return operator == "$ne"  # E9
    if type_ == "boolean" and operator in ("$gt", "$lt"):
        return False  # E7
    if type_ == "boolean" and operator in ("$ge", "$le"):
        return bool(a == b)
    results: dict[str, bool] = {
        "$eq": a == b,
        "$ne": a != b,
        "$gt": a > b,
        "$ge": a >= b,
        "$lt": a < b,
        "$le": a <= b,
    }
    return results[operator]
