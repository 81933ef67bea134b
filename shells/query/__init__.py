"""The AAS query language (aas-registry-api.md §7) → SQL conditions. No Django; knows no HTTP."""

from dataclasses import dataclass
from typing import Any

from shells.collections import Collection
from shells.query.parsing import InvalidQuery, parse
from shells.query.sql import Compiler

__all__ = ["InvalidQuery", "Query", "compile_query"]


@dataclass(frozen=True)
class Query:
    """What a query asks for."""

    #: A condition over the table of the collection, with a `%s` for each parameter. It is never NULL.
    condition: str
    params: list[Any]
    #: Whether the ids of descriptors are asked for instead of the descriptors.
    ids_only: bool
    #: Regular expressions in it. One that PostgreSQL does not take would end the statement: try each before.
    patterns: list[str]


def compile_query(value: Any, collection: Collection, tenant_pk: int, subject: str | None = None) -> Query:
    """Read a query that was parsed as JSON, to select descriptors of a tenant by what `subject` sees of them.

    The caller restricts the rows of `collection` to the tenant. Raises InvalidQuery with all its defects.
    """
    parsed = parse(value, collection)
    condition = Compiler(collection, tenant_pk, subject).query(parsed.condition)
    return Query(condition.text, list(condition.params), parsed.ids_only, parsed.patterns)
