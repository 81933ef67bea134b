"""Condition → SQL (aas-registry-api.md §7.3, §7.4).

Every piece that is a condition is true or false, never NULL: NULL would survive NOT. A member that is missing
is NULL, or no row; each row belongs to the tenant of the row that owns it.

An explicit cast is *invalid* for a descriptor if the member has values, but none converts (E10, E11). That is
a matter of the member in the whole descriptor, also where the cast is in a `$match`: there an element whose
value does not convert is just not the one. What makes one cast invalid makes the whole query so, wherever the
cast stands: below `$not`, or beside something true in `$or`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import count
from typing import assert_never

from shells import projections
from shells.collections import SHELLS, SUBMODELS, Collection
from shells.identifiers import INDEXED_BEGINNING, digest, pair_hash
from shells.query.conditions import (
    BOOLEAN_ORDERS,
    And,
    Boolean,
    Comparison,
    Condition,
    Constant,
    Field,
    Lists,
    Match,
    Not,
    Nothing,
    Operand,
    Or,
    Values,
    operands,
)
from shells.query.fragments import Sql, join, param, sql
from shells.query.values import Type, cast_sql, constant_sql, key_sql

#: The items of a list: their table, and how a `row` refers to its `owner`. By the names of lists.
_TABLES: dict[Collection, dict[tuple[str, ...], tuple[str, str]]] = {
    SHELLS: {
        ("specificAssetIds",): (projections.ASSET_IDS.table, "{row}.shell_id = {owner}.id"),
        ("endpoints",): (
            projections.ENDPOINTS.table,
            "{row}.shell_id = {owner}.id AND {row}.submodel_position IS NULL",
        ),
        ("submodelDescriptors",): (projections.SUBMODELS.table, "{row}.shell_id = {owner}.id"),
        ("submodelDescriptors", "endpoints"): (
            projections.ENDPOINTS.table,
            "{row}.shell_id = {owner}.shell_id AND {row}.submodel_position = {owner}.position",
        ),
    },
    SUBMODELS: {("endpoints",): (projections.STANDALONE_ENDPOINTS.table, "{row}.submodel_id = {owner}.id")},
}
_COLUMNS = {
    "id": "identifier",
    "idShort": "id_short",
    "assetKind": "asset_kind",
    "assetType": "asset_type",
    "globalAssetId": "global_asset_id",
    "name": "name",
    "value": "value",
    "type": "type",
    "interface": "interface",
    "protocolinformation.href": "href",
    "semanticId": "semantic_id",
    "externalSubjectId": "external_subject_id",
}
#: A reference: the column of its first key, and the column of all of it if it is unusual.
_REFERENCES = {
    "semanticId": ("semantic_id", "semantic_reference"),
    "externalSubjectId": ("external_subject_id", "external_subject_reference"),
}
_REFERENCE_TYPE = (
    "CASE WHEN {owner}.{whole} IS NOT NULL THEN {owner}.{whole} ->> 'type'"
    " WHEN {owner}.{first} IS NOT NULL THEN 'ExternalReference' END"
)
_KEYS = (
    "LATERAL (SELECT 0 AS position, 'GlobalReference' AS type, {owner}.{first} AS value"
    " WHERE {owner}.{whole} IS NULL AND {owner}.{first} IS NOT NULL"
    " UNION ALL SELECT number - 1, key ->> 'type', key ->> 'value'"
    " FROM jsonb_path_query({owner}.{whole}, '$.keys[*]') WITH ORDINALITY AS keys (key, number))"
)
#: Columns that are indexed by a hash. By names of lists and member.
_HASHED = {
    ("assetType",),
    ("globalAssetId",),
    ("submodelDescriptors", "semanticId"),
    ("semanticId",),
}
#: Columns that are indexed by their beginning (`models.beginning`).
_BY_BEGINNING = {("idShort",)}
_BEGINNING = f'left({{}}, {INDEXED_BEGINNING}) COLLATE "C"'
#: As many lists may be joined to the descriptors of each sort; planning more takes long.
MAX_JOINS = 6
#: Whether a row of an asset id is seen; one parameter, the subject.
SEES = "shells_sees(%s, {row}.external_subject_id, {row}.external_subject_reference)"
_ORDERS = {"$eq": "=", "$ne": "<>", "$gt": ">", "$ge": ">=", "$lt": "<", "$le": "<="}
_TEXTS = {
    "$contains": "strpos({}, {}) > 0",
    "$starts-with": "starts_with({}, {})",
    "$ends-with": "right({}, length({})) = {}",
    "$regex": "{} ~ {}",
}
TRUE, FALSE = Sql("TRUE"), Sql("FALSE")

#: Lists of which one element is known → its alias; () is the descriptor.
Scope = Mapping[Lists, str]


@dataclass(frozen=True)
class Rows:
    """Rows that are joined to what is in scope already, to reach an item of a list."""

    #: The alias of the item.
    alias: str
    scope: Scope
    tables: tuple[str, ...] = ()
    conditions: tuple[Sql, ...] = ()

    def exist(self, *conditions: Sql, joined: bool = False) -> Sql:
        """There are such rows for which the conditions hold, of which there is at least one.

        `joined` lets the planner look for these rows first, and for the descriptors by them. Otherwise OFFSET
        has them looked up for each descriptor, in an index: planning 200 joins takes three minutes.
        """
        everything = join(" AND ", [*self.conditions, *conditions])
        if not self.tables:
            return sql("({})", everything)
        tables, end = Sql(", ".join(self.tables)), Sql("" if joined else " OFFSET 0")
        return sql("EXISTS (SELECT FROM {} WHERE {}{})", tables, everything, end)


class Compiler:
    """Makes SQL of the conditions of one query."""

    def __init__(self, collection: Collection, tenant_pk: int, subject: str | None) -> None:
        self.collection = collection
        #: As whom the caller sees asset ids; None sees all.
        self.subject = subject
        self.tenant_pk = tenant_pk
        self.descriptor = Rows(collection.table, {(): collection.table})
        self._numbers = count(1)
        #: Left for lists that an index leads to, and for others.
        self._joins = {True: MAX_JOINS, False: MAX_JOINS}
        self._in_or = False

    def query(self, condition: Condition) -> Sql:
        """The condition, and that no explicit cast in it is invalid."""
        values = {operand: None for operand in operands(condition) if isinstance(operand, Values)}
        checks = [self._is_valid(value) for value in values if set(value.casts) - {Type.STRING}]
        main = self.condition(condition, self.descriptor.scope)
        return sql("({})", join(" AND ", [main, *filter(None, checks)]))

    def condition(self, condition: Condition, scope: Scope) -> Sql:
        """A condition about the descriptor and the elements in `scope`."""
        match condition:
            case Boolean(value):
                return TRUE if value else FALSE
            case Not(item):
                return sql("NOT {}", self.condition(item, scope))
            case And(items):
                return sql("({})", join(" AND ", [self.condition(item, scope) for item in items]))
            case Or(items):
                around, self._in_or = self._in_or, True
                alternatives = [self.condition(item, scope) for item in items]
                self._in_or = around
                return sql("({})", join(" OR ", alternatives))
            case Match():
                return self._match(condition, scope)
            case Comparison():
                return self._comparison(condition, scope)
        assert_never(condition)

    # --- Rows -----------------------------------------------------------------------------------------

    def _reach(self, lists: Lists, rows: Rows) -> Rows:
        """`rows`, with those that lead to an item of `lists`."""
        known = next(at for at in range(len(lists), -1, -1) if lists[:at] in rows.scope)
        owner = rows.scope[lists[:known]]
        scope, tables, conditions = dict(rows.scope), list(rows.tables), list(rows.conditions)
        for at in range(known, len(lists)):
            names = tuple(step.name for step in lists[: at + 1])
            row = f"row{next(self._numbers)}"
            reference, _, keys = names[-1].partition(".")
            if keys:
                first, whole = _REFERENCES[reference]
                tables.append(f"{_KEYS.format(owner=owner, first=first, whole=whole)} AS {row}")
            else:
                table, refers = _TABLES[self.collection][names]
                tables.append(f"{table} AS {row}")
                conditions.append(Sql(f"{row}.tenant_id = {owner}.tenant_id"))
                conditions.append(Sql(refers.format(row=row, owner=owner)))
                if self.subject is not None and table == projections.ASSET_IDS.table:
                    conditions.append(Sql(SEES.format(row=row), (self.subject,)))
            if lists[at].index is not None:
                conditions.append(Sql(f"{row}.position = {lists[at].index}"))
            scope[lists[: at + 1]] = owner = row
        return Rows(owner, scope, tuple(tables), tuple(conditions))

    def _is_valid(self, values: Values) -> Sql | None:
        """No value of the member, or one that converts."""
        if isinstance(values.field, Nothing):
            return None
        rows = self._reach(values.field.lists, self.descriptor)
        text = _text(values.field, rows.alias)
        converts = sql("{} IS NOT NULL", _cast_text(values, rows.alias))
        if not rows.tables:
            return sql("({} IS NULL OR {})", text, converts)
        there = join(" AND ", [*rows.conditions, sql("{} IS NOT NULL", text)])
        tables = Sql(", ".join(rows.tables))
        return sql("coalesce((SELECT bool_or({}) FROM {} WHERE {}), TRUE)", converts, tables, there)

    # --- Comparisons ----------------------------------------------------------------------------------

    def _comparison(self, comparison: Comparison, scope: Scope) -> Sql:
        """Some value on the left and some value on the right compare (E1), or there are none (E2)."""
        sides = (comparison.left, comparison.right)
        # Each side has an element of its own (E13), unless a $match has bound one for both.
        reached = [self._reach_operand(operand, scope) for operand in sides]
        found = _field_and_text(comparison)
        compares = _compared(comparison, reached[0].alias, reached[1].alias)
        tables = reached[0].tables + reached[1].tables
        if tables and compares is not FALSE:
            rows = Rows("", scope, tables, reached[0].conditions + reached[1].conditions)
            indexed = found is not None and _is_indexed(found[0])
            compares = rows.exist(compares, joined=self._may_join(indexed))
        match comparison:
            case Comparison("$eq" | "$le" | "$ge", Values(left, ()), Values(right, ())):
                missing = [sql("NOT {}", self._is_there(field, scope)) for field in (left, right)]
                return sql("({} OR {})", compares, join(" AND ", missing))
        return compares

    def _reach_operand(self, operand: Operand, scope: Scope) -> Rows:
        if isinstance(operand, Values) and isinstance(operand.field, Field):
            return self._reach(operand.field.lists, Rows("", scope))
        return Rows("", scope)

    def _is_there(self, field: Field | Nothing, scope: Scope) -> Sql:
        if isinstance(field, Nothing):
            return FALSE
        rows = self._reach(field.lists, Rows("", scope))
        return rows.exist(sql("{} IS NOT NULL", _text(field, rows.alias)))

    # --- $match ---------------------------------------------------------------------------------------

    def _match(self, matched: Match, scope: Scope) -> Sql:
        """One element, and one of each nested list that the comparisons are about, for which all items hold.

        A `$match` inside has the element, too, but chooses for itself from the nested lists.
        """
        if not matched.lists:  # its fields name nothing that this collection has
            return FALSE
        element = rows = self._reach(matched.lists, Rows("", scope))
        comparisons = [item for item in matched.items if isinstance(item, Comparison)]
        for comparison in comparisons:
            for operand in operands(comparison):
                if isinstance(operand, Values) and isinstance(operand.field, Field):
                    rows = self._reach(_nested(operand.field.lists), rows)
        conditions = [
            self.condition(item, element.scope if isinstance(item, Match) else rows.scope)
            for item in matched.items
        ]
        texts = dict(filter(None, map(_field_and_text, comparisons)))
        indexed = any(map(_is_indexed, texts))
        name, value = (texts.get(Field(matched.lists, member)) for member in ("name", "value"))
        if name is not None and value is not None:
            conditions.append(
                Sql(f"{element.alias}.pair = %s::bigint", (pair_hash(self.tenant_pk, name, value),))
            )
            indexed = True
        outermost = matched.lists not in scope
        return rows.exist(*conditions, joined=outermost and self._may_join(indexed))

    def _may_join(self, indexed: bool) -> bool:
        """Whether one more list may be joined. In OR none is: its rows are found once, and hashed."""
        if not self._in_or:
            self._joins[indexed] -= 1
        return self._in_or or self._joins[indexed] >= 0


def _nested(lists: Lists) -> Lists:
    """`lists` up to the last `[]`."""
    return lists[: max(at for at in range(len(lists) + 1) if at == 0 or lists[at - 1].index is None)]


# --- Values -------------------------------------------------------------------------------------------


def _text(field: Field, alias: str) -> Sql:
    """The text of a member, NULL if it is missing."""
    reference, _, part = field.member.partition(".")
    if part == "type":
        first, whole = _REFERENCES[reference]
        return Sql(_REFERENCE_TYPE.format(owner=alias, first=first, whole=whole))
    return Sql(f"{alias}.{_COLUMNS[field.member]}")


def _compared(comparison: Comparison, left_alias: str, right_alias: str) -> Sql:
    """A comparison of one value with one value."""
    if found := _field_and_text(comparison):
        return _equals(*found, left_alias or right_alias)
    match comparison:
        case Comparison("$starts-with", Values(Field() as field, ()), Constant(Type.STRING, start)) if (
            _path(field) in _BY_BEGINNING
        ):
            return _starts_with(field, start, left_alias)
    sides = [(comparison.left, left_alias), (comparison.right, right_alias)]
    if any(isinstance(operand, Values) and isinstance(operand.field, Nothing) for operand, _ in sides):
        return FALSE
    if comparison.operator in _TEXTS:
        left, right = (_cast_text(operand, alias) for operand, alias in sides)
        parts = [left, right, right] if comparison.operator == "$ends-with" else [left, right]
        return sql(f"coalesce({_TEXTS[comparison.operator]}, FALSE)", *parts)
    types = {type_ for operand, _ in sides if (type_ := _type(operand))}
    if len(types) > 1:  # E8
        return FALSE
    return _ordered(comparison.operator, types.pop() if types else Type.STRING, sides)


def _ordered(operator: str, type_: Type, sides: list[tuple[Operand, str]]) -> Sql:
    """A comparison of two values as values of one type, into which a member is converted (E9)."""
    if type_ is Type.BOOLEAN:
        if operator not in BOOLEAN_ORDERS:
            return FALSE
        operator = BOOLEAN_ORDERS[operator]
    left, right = (_key(operand, type_, alias) for operand, alias in sides)
    if operator == "$ne" and type_ is not Type.STRING:
        # A member that does not convert is not equal. What does not survive an explicit cast is not there.
        there = [
            _cast_text(operand, alias) if _type(operand) is None else _key(operand, type_, alias)
            for operand, alias in sides
        ]
        return sql("({} IS NOT NULL AND {} IS NOT NULL AND {} IS DISTINCT FROM {})", *there, left, right)
    by_code_point = type_ in (Type.STRING, Type.HEX) and operator not in ("$eq", "$ne")
    collation = ' COLLATE "C"' if by_code_point else ""
    return sql(f"coalesce({{}}{collation} {_ORDERS[operator]} {{}}, FALSE)", left, right)


def _field_and_text(comparison: Comparison) -> tuple[Field, str] | None:
    """What is compared, if it is whether a member equals a text."""
    match comparison:
        case Comparison("$eq", Values(Field() as field, ()), Constant(Type.STRING, text)) | Comparison(
            "$eq", Constant(Type.STRING, text), Values(Field() as field, ())
        ):
            return field, text
    return None


def _equals(field: Field, text: str, alias: str) -> Sql:
    """A member equals a text. COALESCE would keep the planner from using an index."""
    column, constant = _text(field, alias), param(text)
    conditions = [sql("{} IS NOT NULL", column)]
    if field.member == "id":
        conditions.append(Sql(f"{alias}.digest = %s::uuid", (digest(text),)))
    elif _path(field) in _HASHED:
        conditions.append(sql("hashtextextended({}, 0) = hashtextextended({}, 0)", column, constant))
    elif _path(field) in _BY_BEGINNING:
        conditions.append(sql(f"{_BEGINNING} = {_BEGINNING}", column, constant))
    return sql("({} AND {} = {})", join(" AND ", conditions), column, constant)


def _starts_with(field: Field, start: str, alias: str) -> Sql:
    """A member begins with a text, by the index."""
    column, constant = _text(field, alias), param(start)
    by_index = sql(f"starts_with({_BEGINNING}, {_BEGINNING})", column, constant)
    return sql("({} IS NOT NULL AND {} AND starts_with({}, {}))", column, by_index, column, constant)


def _is_indexed(field: Field) -> bool:
    """Whether there is an index by which a member is found that equals a text."""
    return field.member == "id" or _path(field) in _HASHED | _BY_BEGINNING


def _path(field: Field) -> tuple[str, ...]:
    return *(step.name for step in field.lists), field.member


def _type(operand: Operand) -> Type | None:
    """The type of a constant or cast; None: a member, which takes that of the other side."""
    if isinstance(operand, Constant):
        return operand.type
    return operand.casts[-1] if operand.casts else None


def _cast_text(operand: Operand, alias: str, last: int | None = None) -> Sql:
    """The text of an operand after its casts, or after those before the `last`."""
    if isinstance(operand, Constant):
        return param(operand.text)
    assert isinstance(operand.field, Field)
    return reduce(
        lambda text, type_: cast_sql(type_, text), operand.casts[:last], _text(operand.field, alias)
    )


def _key(operand: Operand, type_: Type, alias: str) -> Sql:
    """What an operand is compared by as a value of `type_`."""
    if isinstance(operand, Constant):
        return constant_sql(type_, operand.text)
    return key_sql(type_, _cast_text(operand, alias, -1))
