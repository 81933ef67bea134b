"""What a query says, as a tree: fields, operands and conditions (aas-registry-api.md §7.1)."""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from shells.query.values import Type


@dataclass(frozen=True)
class Step:
    """A list on the way to a member, such as submodelDescriptors or semanticId.keys."""

    name: str
    #: None: any of its items.
    index: int | None


Lists = tuple[Step, ...]


@dataclass(frozen=True)
class Field:
    """A member of a descriptor."""

    lists: Lists
    #: Its name in the last list, such as idShort or semanticId.type; semanticId is the value of its first key.
    member: str


@dataclass(frozen=True)
class Nothing:
    """A member of what is not in this collection: there is none in any descriptor."""

    in_list: bool


@dataclass(frozen=True)
class Constant:
    type: Type
    text: str


@dataclass(frozen=True)
class Values:
    """The values that a member has in a descriptor, after explicit casts, the inner one first."""

    field: Field | Nothing
    casts: tuple[Type, ...] = ()


Operand = Constant | Values


@dataclass(frozen=True)
class Comparison:
    operator: str
    left: Operand
    right: Operand


@dataclass(frozen=True)
class Boolean:
    value: bool


@dataclass(frozen=True)
class Not:
    item: "Condition"


@dataclass(frozen=True)
class And:
    items: tuple["Condition", ...]


@dataclass(frozen=True)
class Or:
    items: tuple["Condition", ...]


@dataclass(frozen=True)
class Match:
    """And items hold for the same element of a list, of which the last step is `[]`."""

    lists: Lists
    items: tuple["Condition", ...]


Condition = Comparison | Boolean | Not | And | Or | Match


def operands(condition: Condition) -> Iterator[Operand]:
    """The operands of all comparisons in a condition."""
    match condition:
        case Comparison():
            yield condition.left
            yield condition.right
        case Not():
            yield from operands(condition.item)
        case And() | Or() | Match():
            for item in condition.items:
                yield from operands(item)


# --- Operators ----------------------------------------------------------------------------------------

ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$ge": operator.ge,
    "$lt": operator.lt,
    "$le": operator.le,
}
TEXTS: dict[str, Callable[[str, str], bool]] = {
    "$contains": operator.contains,
    "$starts-with": str.startswith,
    "$ends-with": str.endswith,
}
#: Booleans have no order, but are as large as themselves (E7).
BOOLEAN_ORDERS = {"$eq": "$eq", "$ne": "$ne", "$ge": "$eq", "$le": "$eq"}
