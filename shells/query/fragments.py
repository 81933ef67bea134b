"""Pieces of SQL with their parameters, put together in the order in which they are read."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Sql:
    """Text for psycopg: a `%s` for each parameter."""

    text: str
    params: tuple[Any, ...] = ()


def sql(template: str, *parts: Sql) -> Sql:
    """`template` with a part in place of each `{}`."""
    return Sql(
        template.format(*(part.text for part in parts)),
        tuple(value for part in parts for value in part.params),
    )


def param(text: str) -> Sql:
    return Sql("%s::text", (text,))


def join(separator: str, parts: list[Sql]) -> Sql:
    return sql(separator.join(["{}"] * len(parts)), *parts)
