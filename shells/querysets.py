"""Named reads. Each is bound to one tenant: nothing is seen that is not the caller's."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, Self, TypeVar

import psycopg
from django.db import DataError, OperationalError, connection, models
from django.db.models import F, Q, Value
from django.db.models.expressions import RawSQL
from pydantic_core import from_json, to_json

from shells.collections import Collection
from shells.defects import Defect
from shells.identifiers import GLOBAL_ASSET_ID, digest, is_global_asset_id, pair_hash
from shells.projections import Projection
from shells.query import InvalidQuery, Query

Row = TypeVar("Row", bound=models.Model)
#: Rows of a page: the key by which the next page begins, and what was asked for.
Page = list[tuple[Any, ...]]
AssetLinkPairs = Sequence[tuple[str, str]]


class TenantQuerySet(models.QuerySet[Row]):
    """Rows that each belong to a tenant."""

    def of(self, tenant_pk: int) -> Self:
        """The rows of one tenant."""
        return self.filter(tenant_id=tenant_pk)

    def page(self, *fields: str, after: int, size: int) -> Page:
        """The key and `fields` of up to `size` rows with a greater key than `after`, in the order of the keys."""
        return list(self.filter(pk__gt=after).order_by("pk").values_list("pk", *fields)[:size])

    def page_of_changed(self, changed: Q, tenant_pk: int, *fields: str, after: int, size: int) -> Page:
        """As `page`, of the rows for which `changed` holds, a condition on the time.

        What is recent has high keys: in the order of the keys all older rows would be read before it. So the
        rows are found by their time first, in an index alone (`+ 0` keeps the planner from the other order).
        """
        found = self.filter(changed, pk__gt=after).order_by(F("pk") + Value(0)).values("pk")[:size]
        rows = self.model._default_manager.filter(tenant_id=tenant_pk, pk__in=found)
        return list(rows.order_by("pk").values_list("pk", *fields))


class ShellQuerySet(TenantQuerySet[Any]):
    """Shells."""

    def with_asset_type(self, asset_type: str) -> Self:
        sql, params = _equals("asset_type", asset_type)
        return self.filter(RawSQL(sql, params, models.BooleanField()))

    def with_asset_ids(self, tenant_pk: int, pairs: AssetLinkPairs) -> Self:
        """The shells of a tenant whose descriptors have all these asset ids (aas-registry-api.md §1.4)."""
        found = self
        for name, value in pairs:
            sql, params = _has_asset_id(tenant_pk, name, value)
            found = found.filter(RawSQL(sql, params, models.BooleanField()))
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
def _stored(collection: Collection) -> str:
    return f"""
SELECT document, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
       to_char(updated_at AT TIME ZONE 'UTC', 'Dy, DD Mon YYYY HH24:MI:SS "GMT"')
FROM {collection.table} WHERE tenant_id = %s AND digest = %s AND identifier = %s
"""


def stored(collection: Collection, tenant_pk: int, identifier: str) -> Stored | None:
    """A tenant's descriptor; None if there is none.

    It is found by the digest of its identifier and told apart by the text.
    """
    row = fetch_row(_stored(collection), [str(tenant_pk), digest(identifier), identifier])
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
SELECT links.document, shell.document
FROM (SELECT %s::int AS tenant_id, %s::uuid AS digest) AS asked
LEFT JOIN shells_assetlinks AS links ON links.tenant_id = asked.tenant_id AND links.digest = asked.digest
LEFT JOIN shells_shell AS shell ON shell.tenant_id = asked.tenant_id AND shell.digest = asked.digest
"""


def asset_links(tenant_pk: int, identifier: str) -> bytes | None:
    """The asset links of a shell as a JSON array of SpecificAssetId; None if it has none.

    They are what was set through discovery, or else what the descriptor says.
    """
    row = fetch_row(_ASSET_LINKS, [str(tenant_pk), digest(identifier)])
    assert row is not None
    links, document = row
    if links is None and document is not None:
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


def shells_by_asset_links(
    tenant_pk: int, pairs: AssetLinkPairs, after: tuple[int, int], size: int
) -> list[tuple[tuple[int, int], str]]:
    """The ids of the shells of a tenant that have all these asset links, each with its key, from `after` on.

    The shells whose links are those of their descriptors come first, then those whose links were set through
    discovery.
    """
    source, last = after
    conditions = {0: [_has_asset_id(tenant_pk, *pair) for pair in pairs]}
    conditions[1] = [_has_asset_link(tenant_pk, *pair) for pair in pairs]
    conditions[0].append(
        (
            "NOT EXISTS (SELECT FROM shells_assetlinks AS links"
            " WHERE links.tenant_id = shells_shell.tenant_id AND links.digest = shells_shell.digest)",
            [],
        )
    )
    parts, params = [], []
    for number, table in enumerate(["shells_shell", "shells_assetlinks"]):
        if number < source:
            continue
        where = " AND ".join(sql for sql, _ in conditions[number])
        parts.append(
            f"(SELECT {number} AS source, id, identifier FROM {table}"
            f" WHERE tenant_id = %s AND id > %s AND {where} ORDER BY id LIMIT %s)"
        )
        params += [tenant_pk, last if number == source else 0]
        params += [value for _, values in conditions[number] for value in values]
        params.append(size)
    sql = f"SELECT * FROM ({' UNION ALL '.join(parts)}) AS found ORDER BY source, id LIMIT %s"
    with connection.cursor() as cursor:
        cursor.execute(sql, [*params, size])
        return [((number, key), identifier) for number, key, identifier in cursor.fetchall()]


# --- Queries ------------------------------------------------------------------------------------------


class QueryTooExpensive(Exception):
    """The query takes longer than the registry lets it."""


def matching(
    collection: Collection, tenant_pk: int, query: Query, after: int, size: int, timeout_ms: int
) -> Page:
    """The key of up to `size` descriptors for which the condition of `query` holds, with id or document.

    Raises QueryTooExpensive after `timeout_ms`, and InvalidQuery if PostgreSQL cannot read one of its patterns.
    """
    column = "identifier" if query.ids_only else "document"
    # One message to the server, and so one transaction: the timeout is that of these statements alone.
    checks = "".join(" SELECT '' ~ %s;" for _ in query.patterns)
    sql = (
        f"SET LOCAL statement_timeout = %s;{checks} SELECT id, {column} FROM {collection.table}"
        f" WHERE tenant_id = %s AND id > %s AND ({query.condition}) ORDER BY id LIMIT %s"
    )
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql, [timeout_ms, *query.patterns, tenant_pk, after, *query.params, size])
            while cursor.nextset():
                pass
            return list(cursor.fetchall())
    except OperationalError as error:
        if isinstance(error.__cause__, psycopg.errors.QueryCanceled):
            raise QueryTooExpensive from None
        raise
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


def _has_asset_id(tenant_pk: int, name: str, value: str) -> tuple[str, list[Any]]:
    """The shell's descriptor has this asset id."""
    if is_global_asset_id(name):
        return _equals("global_asset_id", value)
    return (
        "EXISTS (SELECT FROM shells_assetid AS asset_id WHERE asset_id.tenant_id = shells_shell.tenant_id"
        " AND asset_id.shell_id = shells_shell.id AND asset_id.pair = %s AND asset_id.name = %s"
        " AND asset_id.value = %s)",
        [pair_hash(tenant_pk, name, value), name, value],
    )


def _has_asset_link(tenant_pk: int, name: str, value: str) -> tuple[str, list[Any]]:
    """Among the links that were set through discovery is this one."""
    name = GLOBAL_ASSET_ID if is_global_asset_id(name) else name
    return (
        "EXISTS (SELECT FROM shells_assetlink AS link WHERE link.tenant_id = shells_assetlinks.tenant_id"
        " AND link.links_id = shells_assetlinks.id AND link.pair = %s AND link.name = %s AND link.value = %s)",
        [pair_hash(tenant_pk, name, value), name, value],
    )


# --- Statements ---------------------------------------------------------------------------------------


def fetch_row(sql: str, params: Sequence[str | None]) -> tuple[bytes | None, ...] | None:
    """One row by one prepared statement; see `registry_project/postgresql/base.py`.

    For the statements of the request path only: building one with the ORM takes longer than running it.
    """
    row: tuple[bytes | None, ...] | None = connection.fetch_row(sql, params)  # type: ignore[attr-defined]
    return row
