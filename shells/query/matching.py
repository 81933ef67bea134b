"""What a `$match` is about: the list of which one element is to fulfil all that is inside (E12, E14)."""

from collections.abc import Iterable

from shells.query.conditions import Comparison, Condition, Field, Lists, Match, Nothing, Values, operands


def common_list(comparisons: Iterable[Comparison]) -> Lists | None:
    """The way to the first `[]` of the fields; None if no field has one.

    It is () where that is only in fields that name nothing which this collection has.
    """
    fields = [field for comparison in comparisons for field in _fields(comparison)]
    ways = [_way(field.lists) for field in fields if isinstance(field, Field)]
    if not any(ways) and not any(isinstance(field, Nothing) and field.in_list for field in fields):
        return None
    return next(filter(None, ways), ())


def is_about(comparison: Comparison, lists: Lists) -> bool:
    """Whether there are fields in a comparison, and all lead into the list; what names nothing may be anywhere."""
    fields = _fields(comparison)
    ways = [field.lists[: len(lists)] for field in fields if isinstance(field, Field)]
    return bool(fields) and all(lists and way == lists for way in ways)


def bound(matched: Match, lists: Lists) -> Match:
    """`matched`, about the items of `lists`, with each `$match` inside narrowed to a nested list (E14).

    One whose fields all go through the same nested `[]` is about that list; another stays with the list of
    the `$match` around it, or is about none if its fields name nothing.
    """
    items: list[Condition] = []
    for item in matched.items:
        if isinstance(item, Match):
            fields = [operand.field for operand in operands(item) if isinstance(operand, Values)]
            ways = {_way(field.lists, len(lists)) for field in fields if isinstance(field, Field)}
            if len(ways) == 1:
                items.append(bound(item, ways.pop() or lists))
            else:
                items.append(bound(item, lists if ways else ()))
        else:
            items.append(item)
    return Match(lists, tuple(items))


def _way(lists: Lists, known: int = 0) -> Lists:
    """`lists` up to the first `[]` after the `known` ones; () if there is none."""
    return next((lists[: at + 1] for at in range(known, len(lists)) if lists[at].index is None), ())


def _fields(comparison: Comparison) -> list[Field | Nothing]:
    return [operand.field for operand in operands(comparison) if isinstance(operand, Values)]
