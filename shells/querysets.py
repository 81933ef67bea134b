"""Named reads. Each is bound to one tenant: nothing is seen that is not the caller's."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple, Self, TypeVar

import psycopg
from django.db import DataError, OperationalError, connection, models
from django.db.models import F, Func, Q, Value
from django.db.models.expressions import RawSQL
from pydantic_core import from_json, to_json

from shells.collections import SHELLS, Collection
from shells.defects import Defect
from shells.identifiers import GLOBAL_ASSET_ID, digest, is_global_asset_id, pair_hash
from shells.projections import Projection
from shells.query import InvalidQuery, Query
from shells.query.sql import SEES

#: So many asset links are joined, in the order that the planner finds best; it would take seconds to find that
#: for a hundred. Others are looked up for each shell that has these.
MAX_JOINED = 6

Row = TypeVar("Row", bound=models.Model)
#: Rows of a page: the key by which the next page begins, and what was asked for.
Page = list[tuple[Any, ...]]
AssetLinkPairs = Sequence[tuple[str, str]]


class TenantQuerySet(models.QuerySet[Row]):
    """Rows that each belong to a tenant."""

    def of(self, tenant_pk: int) -> Self:
        """The rows of one tenant."""
        return self.filter(tenant_id=tenant_pk)

    def page(self, *fields: str | Func, after: int, size: int) -> Page:
        """The key and `fields` of up to `size` rows with a greater key than `after`, in the order of the keys."""
        return list(self.filter(pk__gt=after).order_by("pk").values_list("pk", *fields)[:size])

    def page_of_changed(self, changed: Q, tenant_pk: int, *fields: str | Func, after: int, size: int) -> Page:
        """As `page`, of the rows for which `changed` holds, a condition on the time.

        What is recent has high keys: in the order of the keys all older rows would be read before it. So the
        rows are found by their time first, in an index alone (`+ 0` keeps the planner from the other order).
        """
        found = self.filter(changed, pk__gt=after).order_by(F("pk") + Value(0)).values("pk")[:size]
        rows = self.model._default_manager.filter(tenant_id=tenant_pk, pk__in=found)
        return list(rows.order_by("pk").values_list("pk", *fields))


def seen(collection: Collection, subject: str | None) -> str | Func:
    """The document of a descriptor for `values_list`, with what `subject` sees of it; None sees all."""
    if subject is None or collection is not SHELLS:
        return "document"
    return Func(Value(subject), F("document"), function="shells_visible", output_field=models.TextField())


class ShellQuerySet(TenantQuerySet[Any]):
    """Shells."""

    def with_asset_type(self, asset_type: str) -> Self:
        sql, params = _equals("asset_type", asset_type)
        return self.filter(RawSQL(sql, params, models.BooleanField()))

    def with_asset_ids(self, tenant_pk: int, pairs: AssetLinkPairs, subject: str | None = None) -> Self:
        """The shells of a tenant whose descriptors have all these asset ids, as far as `subject` sees them."""
        found, others = self, []
        for name, value in pairs:
            if is_global_asset_id(name):
                found = found.filter(RawSQL(*_equals("global_asset_id", value), models.BooleanField()))
            else:
                others.append((name, value))
        if others:
            found = found.filter(RawSQL(*_in_all(tenant_pk, others, subject), models.BooleanField()))
        return found


# --- One descriptor -----------------------------------------------------------------------------------


class Stored(NamedTuple):
    """A descriptor as it is stored, and when, in the forms in which HTTP says so."""

    document: bytes
    #: ISO 8601 with microseconds, UTC.
    created: str
    #: IMF-fixdate (RFC 9110 §5.6.7).
    modified: str


@cache
def _stored(collection: Collection, document: str) -> str:
    return f"""
SELECT {document}, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
       to_char(updated_at AT TIME ZONE 'UTC', 'Dy, DD Mon YYYY HH24:MI:SS "GMT"')
FROM {collection.table} WHERE tenant_id = %s AND digest = %s AND identifier = %s
"""


def stored(
    collection: Collection, tenant_pk: int, identifier: str, subject: str | None = None
) -> Stored | None:
    """A tenant's descriptor, as `subject` sees it; None if there is none.

    It is found by the digest of its identifier and told apart by the text.
    """
    key = [str(tenant_pk), digest(identifier), identifier]
    if subject is None or collection is not SHELLS:
        row = fetch_row(_stored(collection, "document"), key)
    else:
        row = fetch_row(_stored(collection, "shells_visible(%s, document)"), [subject, *key])
    if row is None:
        return None
    document, created, modified = row
    assert document is not None
    assert created is not None
    assert modified is not None
    return Stored(document, created.decode(), modified.decode())


# --- Projections --------------------------------------------------------------------------------------


class Projected(NamedTuple):
    """A descriptor, and what is stored of all that is read out of it."""

    key: int
    tenant_pk: int
    document: str
    #: The columns of the collection.
    values: dict[str, Any]
    #: The rows of each projection, in the order of the collection's projections.
    rows: list[list[dict[str, Any]]]


@cache
def _projected(collection: Collection) -> str:
    def rows(projection: Projection) -> str:
        places = [name for name in ("submodel_position", "position") if name in projection.columns]
        order = ", ".join(f"{place} NULLS FIRST" for place in places)
        return f"""(
    SELECT coalesce(jsonb_agg(to_jsonb(row)), '[]')
    FROM (
        SELECT {", ".join(projection.columns)} FROM {projection.table}
        WHERE tenant_id = descriptor.tenant_id AND {collection.owner} = descriptor.id ORDER BY {order}
    ) AS row
)"""

    parts = ", ".join(map(rows, collection.projections))
    values = ", ".join(f"'{name}', {name}" for name in collection.columns)
    return f"""
SELECT id, tenant_id, document, jsonb_build_object({values}), {parts} FROM {collection.table} AS descriptor
WHERE id > %s AND (%s::int IS NULL OR tenant_id = %s) ORDER BY id LIMIT %s
"""


def projected(
    collection: Collection, tenant_pk: int | None, after: int, size: int, *, lock: bool = False
) -> list[Projected]:
    """Up to `size` descriptors of a tenant (None: of all) from a key on, with their projections.

    With `lock` nobody can change them until the transaction ends.
    """
    sql = _projected(collection) + (" FOR UPDATE" if lock else "")
    with connection.cursor() as cursor:
        cursor.execute(sql, [after, tenant_pk, tenant_pk, size])
        return [
            Projected(key, tenant, document, from_json(values), [from_json(rows) for rows in projections])
            for key, tenant, document, values, *projections in cursor.fetchall()
        ]


# --- Discovery ----------------------------------------------------------------------------------------

_ASSET_LINKS = """
SELECT links.document, shell.document,
    shells_visible_asset_ids(%s, links.document::json), shells_visible(%s, shell.document)
FROM (SELECT %s::int AS tenant_id, %s::uuid AS digest) AS asked
LEFT JOIN shells_assetlinks AS links ON links.tenant_id = asked.tenant_id AND links.digest = asked.digest
LEFT JOIN shells_shell AS shell ON shell.tenant_id = asked.tenant_id AND shell.digest = asked.digest
"""


def asset_links(tenant_pk: int, identifier: str, subject: str | None = None) -> bytes | None:
    """The asset links of a shell that `subject` sees, as a JSON array of SpecificAssetId; None if there are none.

    They are what was set through discovery, or else what the descriptor says.
    """
    row = fetch_row(_ASSET_LINKS, [subject or "", subject or "", str(tenant_pk), digest(identifier)])
    assert row is not None
    was_set, whole, visible_links, visible = row
    links, document = (was_set, whole) if subject is None else (visible_links, visible)
    if was_set is None and document is not None:
        shell = from_json(document)
        links = to_json(
            [
                *(
                    {"name": GLOBAL_ASSET_ID, "value": value}
                    for value in [shell.get("globalAssetId")]
                    if value
                ),
                *shell.get("specificAssetIds", []),
            ]
        )
    return None if links in (None, b"[]") else links


_NOT_SET = """NOT EXISTS (
    SELECT FROM shells_assetlinks AS links
    WHERE links.tenant_id = shells_shell.tenant_id AND links.digest = shells_shell.digest
)"""


def shells_by_asset_links(
    tenant_pk: int, pairs: AssetLinkPairs, after: tuple[int, int], size: int, subject: str | None = None
) -> list[tuple[tuple[int, int], str]]:
    """The ids of the shells of a tenant that have all these asset links, as far as `subject` sees them.

    Each comes with its key, from `after` on.

    The shells whose links are those of their descriptors come first, then those whose links were set through
    discovery. The rows of the links are joined, each through its index `(pair, owner)`, which is in the order
    of the answer: as many are read as the page needs, however many there are.
    """
    first, last = after
    parts, params = [], []
    for source in range(first, 2):
        key = last if source == first else 0
        if source == 0:
            part, values = _with_all(
                "shells_shell", "shells_assetid", "shell_id", tenant_pk, pairs, key, subject
            )
            part += f" AND {_NOT_SET} ORDER BY shells_shell.id"
        else:
            part, values = _with_all(
                "shells_assetlinks", "shells_assetlink", "links_id", tenant_pk, pairs, key, subject
            )
            part += " ORDER BY shells_assetlinks.id"
        parts.append(f"(SELECT {source} AS source, found.* FROM ({part} LIMIT %s) AS found)")
        params += [*values, size]
    sql = f"SELECT * FROM ({' UNION ALL '.join(parts)}) AS found ORDER BY source, id LIMIT %s"
    with connection.cursor() as cursor:
        cursor.execute(sql, [*params, size])
        return [((source, key), identifier) for source, key, identifier in cursor.fetchall()]


def _with_all(
    table: str,
    link_table: str,
    owner: str,
    tenant_pk: int,
    pairs: AssetLinkPairs,
    after: int,
    subject: str | None,
) -> tuple[str, list[Any]]:
    """Key and identifier of the rows of `table` that have a row of `link_table` for each of `pairs`."""
    tables, conditions = [table], [f"{table}.tenant_id = %s AND {table}.id > %s"]
    params: list[Any] = [tenant_pk, after]
    joined = 0
    for name, value in pairs:
        if is_global_asset_id(name) and table == "shells_shell":
            condition, values = _equals("global_asset_id", value)
        else:
            name = GLOBAL_ASSET_ID if is_global_asset_id(name) else name
            link = f"link{joined}"
            condition = (
                f"{link}.tenant_id = {table}.tenant_id AND {link}.{owner} = {table}.id AND {link}.{owner} > %s"
                f" AND {link}.pair = %s AND {link}.name = %s AND {link}.value = %s"
            )
            values = [after, pair_hash(tenant_pk, name, value), name, value]
            if subject is not None:
                condition += f" AND {SEES.format(row=link)}"
                values.append(subject)
            if joined < MAX_JOINED:
                tables.append(f"{link_table} AS {link}")
                joined += 1
            else:
                condition = f"EXISTS (SELECT FROM {link_table} AS {link} WHERE {condition} OFFSET 0)"
        conditions.append(condition)
        params += values
    columns = f"DISTINCT ON ({table}.id) {table}.id, identifier"
    return f"SELECT {columns} FROM {', '.join(tables)} WHERE {' AND '.join(conditions)}", params


# --- Queries ------------------------------------------------------------------------------------------


class QueryTooExpensive(Exception):
    """The query takes longer than the registry lets it."""


def matching(
    collection: Collection,
    tenant_pk: int,
    query: Query,
    *,
    after: int,
    size: int,
    timeout_ms: int,
    subject: str | None = None,
) -> Page:
    """The key of up to `size` descriptors for which the condition of `query` holds, with id or document.

    `query` was compiled for the same `subject`.

    Raises QueryTooExpensive after `timeout_ms`, and InvalidQuery if PostgreSQL cannot read one of its patterns.
    """
    column, seeing = "identifier" if query.ids_only else "document", []
    if column == "document" and subject is not None and collection is SHELLS:
        column, seeing = "shells_visible(%s, document)", [subject]
    checks = "".join("SELECT '' ~ %s; " for _ in query.patterns)
    sql = (
        f"{checks}SELECT id, {column} FROM {collection.table}"
        f" WHERE tenant_id = %s AND id > %s AND ({query.condition}) ORDER BY id LIMIT %s"
    )
    try:
        with time_limit(timeout_ms), connection.cursor() as cursor:
            cursor.execute(sql, [*query.patterns, *seeing, tenant_pk, after, *query.params, size])
            while cursor.nextset():
                pass
            return list(cursor.fetchall())
    except DataError as error:
        if isinstance(error.__cause__, psycopg.errors.InvalidRegularExpression):
            text = error.__cause__.diag.message_primary or "invalid"
            raise InvalidQuery([Defect("", f"a $regex cannot be read: {text}")]) from None
        raise


# --- Conditions: SQL and its parameters ---------------------------------------------------------------


def _equals(column: str, text: str) -> tuple[str, list[Any]]:
    """A column of the shell equals a text that may be longer than an index entry."""
    name = f"shells_shell.{column}"
    return f"(hashtextextended({name}, 0) = hashtextextended(%s, 0) AND {name} = %s)", [text, text]


def _in_all(tenant_pk: int, pairs: AssetLinkPairs, subject: str | None) -> tuple[str, list[Any]]:
    """The shell has all these asset ids. OFFSET lets the planner find the rarest first, before it looks at shells."""
    tables, conditions, params = [], [], []
    for number, (name, value) in enumerate(pairs):
        row = f"asset_id{number}"
        condition = f"{row}.tenant_id = %s AND {row}.pair = %s AND {row}.name = %s AND {row}.value = %s"
        values = [tenant_pk, pair_hash(tenant_pk, name, value), name, value]
        if subject is not None:
            condition += f" AND {SEES.format(row=row)}"
            values.append(subject)
        if number:
            condition += f" AND {row}.shell_id = asset_id0.shell_id AND {row}.tenant_id = asset_id0.tenant_id"
        if number < MAX_JOINED:
            tables.append(f"shells_assetid AS {row}")
        else:
            condition = f"EXISTS (SELECT FROM shells_assetid AS {row} WHERE {condition} OFFSET 0)"
        conditions.append(condition)
        params += values
    where = " AND ".join(conditions)
    return (
        f"shells_shell.id IN (SELECT asset_id0.shell_id FROM {', '.join(tables)} WHERE {where} OFFSET 0)",
        params,
    )


# --- Statements ---------------------------------------------------------------------------------------


@contextmanager
def time_limit(milliseconds: int) -> Iterator[None]:
    """Each statement may take so long. Raises QueryTooExpensive.

    The limit goes with a statement in one message to the server, which is one transaction: it is of this one alone.
    """

    def limited(
        execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        result = execute(f"SET LOCAL statement_timeout = {milliseconds:d}; {sql}", params, many, context)
        context["cursor"].nextset()
        return result

    try:
        with connection.execute_wrapper(limited):
            yield
    except OperationalError as error:
        if isinstance(error.__cause__, psycopg.errors.QueryCanceled):
            raise QueryTooExpensive from None
        raise


def fetch_row(sql: str, params: Sequence[str | None]) -> tuple[bytes | None, ...] | None:
    """One row by one prepared statement; see `registry_project/postgresql/base.py`.

    For the statements of the request path only: building one with the ORM takes longer than running it.
    """
    row: tuple[bytes | None, ...] | None = connection.fetch_row(sql, params)  # type: ignore[attr-defined]
    return row
