"""The AAS query language (aas-registry-api.md §7), on PostgreSQL."""

import json
import re
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import from_json

from shells import services
from shells.collections import SHELLS, SUBMODELS, Collection
from shells.query import InvalidQuery, Query, compile_query, values
from shells.query.fragments import Sql
from tenants.models import Tenant
from tests.bodies import reference
from tests.query_evaluator import selects
from tests.query_strategies import (
    MATCHES,
    SHELL_MEMBERS,
    SOME_TEXTS,
    SUBMODEL,
    SUBMODEL_MATCHES,
    conditions,
    descriptors,
)

pytestmark = pytest.mark.django_db

Json = Any

# --- Helpers ------------------------------------------------------------------------------------------


def put(tenant: Tenant, *descriptors: Json, collection: Collection = SHELLS) -> None:
    for descriptor in descriptors:
        services.register(collection, tenant.pk, collection.check(descriptor, strict=False))


def run(tenant: Tenant, query: Query, collection: Collection = SHELLS) -> list[str]:
    with connection.cursor() as cursor:
        for pattern in query.patterns:
            cursor.execute("SELECT '' ~ %s", [pattern])
        cursor.execute(
            f"SELECT identifier, ({query.condition}) IS NULL FROM {collection.table} WHERE tenant_id = %s"
            f" AND ({query.condition}) IS NOT FALSE ORDER BY id",
            [*query.params, tenant.pk, *query.params],
        )
        rows = cursor.fetchall()
    assert not any(is_null for _, is_null in rows)
    return [identifier for identifier, _ in rows]


def found(tenant: Tenant, condition: Json, collection: Collection = SHELLS) -> list[str]:
    """The ids of what a condition selects."""
    return run(tenant, compile_query({"$condition": condition}, collection, tenant.pk), collection)


def refused(condition: Json, collection: Collection = SHELLS, **members: Json) -> list[str]:
    """What is said of a bad condition, without its place `/$condition`."""
    return refused_query({"$condition": condition, **members}, collection)


def refused_query(query: Json, collection: Collection = SHELLS) -> list[str]:
    with pytest.raises(InvalidQuery) as refusal:
        compile_query(query, collection, 1)
    return [str(defect).removeprefix("/$condition").removeprefix(": ") for defect in refusal.value.defects]


def field(name: str) -> Json:
    return {"$field": name if name.startswith("$") else f"$aasdesc#{name}"}


def text(value: str) -> Json:
    return {"$strVal": value}


def number(value: float) -> Json:
    return {"$numVal": value}


def eq(left: Json, right: Json) -> Json:
    return compare("$eq", left, right)


def compare(operator: str, left: Json, right: Json) -> Json:
    """A comparison; a plain string on the left is the name of a field, on the right a text."""
    left = field(left) if isinstance(left, str) else left
    right = text(right) if isinstance(right, str) else right
    return {operator: [left, right]}


def shell(identifier: str, *asset_ids: tuple[str, str], **members: Json) -> Json:
    if asset_ids:
        members["specificAssetIds"] = [{"name": name, "value": value} for name, value in asset_ids]
    return {"id": identifier, **members}


def with_values(identifier: str, *values: str) -> Json:
    return shell(identifier, *(("n", value) for value in values))


def endpoint(interface: str, href: str = "https://example.org") -> Json:
    return {"interface": interface, "protocolInformation": {"href": href}}


def keys(*pairs: tuple[str, str], kind: str = "ModelReference") -> Json:
    return {"type": kind, "keys": [{"type": type_, "value": value} for type_, value in pairs]}


VALUE = "specificAssetIds[].value"
COMPARISONS = ("$eq", "$ne", "$gt", "$ge", "$lt", "$le")

# --- Worked examples (§7.5) ---------------------------------------------------------------------------

ONE, TWO, THREE = "https://acme.example/aas/1", "https://acme.example/aas/2", "urn:x:3"


@pytest.fixture
def examples(tenant_a: Tenant) -> Tenant:
    def sm(identifier: str, interface: str, **members: Json) -> Json:
        return {"id": identifier, "endpoints": [endpoint(interface)], **members}

    serial = {"name": "serialNumber", "value": "4711", "externalSubjectId": reference("BPNL1")}
    put(
        tenant_a,
        shell(
            ONE,
            idShort="Motor",
            assetKind="Instance",
            globalAssetId="g1",
            specificAssetIds=[serial, {"name": "weight", "value": "250"}],
            endpoints=[endpoint("AAS-3.1", "https://h1/aas")],
            submodelDescriptors=[sm("sm1", "SUBMODEL-3.1", semanticId=reference("urn:np:2"))],
        ),
        shell(
            TWO,
            ("serialNumber", "9"),
            ("batch", "4711"),
            assetKind="Instance",
            globalAssetId="g2",
            submodelDescriptors=[
                sm("sm2", "SUBMODEL-2.0", semanticId=reference("urn:np:2")),
                sm("sm3", "SUBMODEL-3.1"),
            ],
        ),
        shell(THREE, ("weight", "heavy"), idShort="Pump", assetKind="Type"),
    )
    return tenant_a


SERIAL_4711 = [eq("specificAssetIds[].name", "serialNumber"), eq(VALUE, "4711")]
IS_MOTOR = eq("idShort", "Motor")


@pytest.mark.spec("check", "40")
@pytest.mark.spec("registry-api", "7.5")
class TestWorkedExamples:
    def test_q1_conjunction(self, examples: Tenant) -> None:
        kind = eq("assetKind", "Instance")
        starts = compare("$starts-with", "id", "https://acme.example/")
        assert found(examples, {"$and": [kind, starts]}) == [ONE, TWO]

    def test_q2_same_element(self, examples: Tenant) -> None:
        assert found(examples, {"$match": SERIAL_4711}) == [ONE]
        assert found(examples, {"$and": SERIAL_4711}) == [ONE, TWO]

    @pytest.mark.parametrize("root", ["$aasdesc#submodelDescriptors[].", "$smdesc#"])
    def test_q3_nested_lists(self, examples: Tenant, root: str) -> None:
        semantic = eq(f"{root}semanticId", "urn:np:2")
        speaks = compare("$starts-with", f"{root}endpoints[].interface", "SUBMODEL-3")
        assert found(examples, {"$match": [semantic, speaks]}) == [ONE]
        assert found(examples, {"$and": [semantic, speaks]}) == [ONE, TWO]

    def test_q4_ids_only(self, examples: Tenant) -> None:
        subject = "specificAssetIds[].externalSubjectId.keys[].value"
        condition = {"$or": [eq("globalAssetId", "g2"), eq(subject, "BPNL1")]}
        query = compile_query({"$select": "id", "$condition": condition}, SHELLS, examples.pk)
        assert query.ids_only
        assert run(examples, query) == [ONE, TWO]

    def test_q5_negation_and_missing_members(self, examples: Tenant) -> None:
        assert found(examples, {"$not": IS_MOTOR}) == [TWO, THREE]
        assert found(examples, compare("$ne", "idShort", "Motor")) == [THREE]

    def test_q6_number_and_regular_expression(self, examples: Tenant) -> None:
        weight = {"$match": [eq("specificAssetIds[].name", "weight"), compare("$gt", VALUE, number(100))]}
        https = compare("$regex", "endpoints[0].protocolinformation.href", "^https://")
        query = compile_query({"$condition": {"$and": [weight, https]}}, SHELLS, examples.pk)
        assert query.patterns == ["^https://"]
        assert not query.ids_only
        assert run(examples, query) == [ONE]
        assert found(examples, weight) == [ONE]


# --- What is refused (§7.1) ---------------------------------------------------------------------------

DEEP: Json = {"$boolean": True}
for _ in range(1000):
    DEEP = {"$not": DEEP}
DEEP_CAST: Json = text("x")
for _ in range(1000):
    DEEP_CAST = {"$strCast": DEEP_CAST}
DEEP_PLACE = "/$not" * 32

REFUSED: list[tuple[Json, str]] = [
    ([], "must be an object"),
    ({}, "must have exactly one member"),
    ({"$eq": [], "$ne": []}, "must have exactly one member"),
    ({"$and": [IS_MOTOR]}, "/$and: must have at least 2 items"),
    ({"$or": []}, "/$or: must have at least 2 items"),
    ({"$and": IS_MOTOR}, "/$and: must be an array"),
    ({"$not": [IS_MOTOR]}, "/$not: must be an object"),
    ({"$match": []}, "/$match: must have at least 1 item"),
    ({"$boolean": "true"}, "/$boolean: must be true or false"),
    ({"$eq": [field("id")]}, "/$eq: must have exactly 2 items"),
    ({"$eq": [field("id")] * 3}, "/$eq: must have exactly 2 items"),
    ({"$starts_with": [field("id"), text("x")]}, "/$starts_with: there is no such operator"),
    ({"a/b~c": 1}, "/a~1b~0c: there is no such operator"),
    ({"$boolCast": field("id")}, "/$boolCast: is a value, not a condition"),
    ({"$match": [{"$and": SERIAL_4711}]}, "/$match/0/$and: is not allowed inside $match"),
    ({"$match": [{"$or": SERIAL_4711}]}, "/$match/0/$or: is not allowed inside $match"),
    ({"$match": [{"$not": IS_MOTOR}]}, "/$match/0/$not: is not allowed inside $match"),
    (
        {"$match": [{"$match": [{"$not": IS_MOTOR}]}]},
        "/$match/0/$match/0/$not: is not allowed inside $match",
    ),
    (eq("id", {"$attribute": {"CLAIM": "x"}}), "/$eq/1/$attribute: there is no such value"),
    (eq("id", {"$eq": []}), "/$eq/1/$eq: there is no such value"),
    (eq("id", ["x"]), "/$eq/1: must be an object"),
    (eq("id", {"$strVal": "x", "$numVal": 1}), "/$eq/1: must have exactly one member"),
    (compare("$contains", "id", number(1)), "/$contains/1/$numVal: is not a string; use $strCast"),
    (
        compare("$regex", {"$numCast": field("id")}, "x"),
        "/$regex/0/$numCast: is not a string; use $strCast",
    ),
    (eq("id", {"$strVal": 1}), "/$eq/1/$strVal: must be a string"),
    (eq("id", "$x"), "/$eq/1/$strVal: must not start with '$'"),
    (eq("id", "x" * 2049), "/$eq/1/$strVal: has more than 2048 characters"),
    *(
        (
            eq("id", bad),
            "/$eq/1/$strVal: contains a character that is not allowed (control character or surrogate)",
        )
        for bad in ("\0", "a\x1f", "\ud800", "\uffff")
    ),
    *(
        (eq("id", {"$numVal": bad}), f"/$eq/1/$numVal: {why}")
        for bad, why in [
            ("1", "must be a number"),
            (True, "must be a number"),
            (None, "must be a number"),
            (10**5000, "is a number out of range"),
            (float("nan"), "is a number out of range"),
            (float("inf"), "is a number out of range"),
        ]
    ),
    *(
        (eq("id", {"$hexVal": bad}), "/$eq/1/$hexVal: must be '16#' and hexadecimal digits in upper case")
        for bad in ("16#ff", "FF", "16#", "16#FF\n")
    ),
    *(
        (eq("id", {"$timeVal": bad}), "/$eq/1/$timeVal: must be a time, hh:mm or hh:mm:ss")
        for bad in ("25:61", "12:00:00.5", "1:00", "12:00Z", "24:00", "12:00\n", "١٢:00")
    ),
    *(
        (
            eq("id", {name: bad}),
            f"/$eq/1/{name}: must be a date and time as in RFC 3339, such as 2024-12-31T23:59:59Z",
        )
        for name in ("$dateTimeVal", "$dayOfWeek", "$dayOfMonth", "$month", "$year")
        for bad in ("2024-02-30T00:00:00Z", "2024-01-01T00:00:00", "2024-01-01", "x", "2024-01-01T00:00:00Z\n")
    ),
    (eq("id", {"$year": field("id")}), "/$eq/1/$year: must be a string"),
    (eq("id", {"$boolean": 1}), "/$eq/1/$boolean: must be true or false"),
    (DEEP, f"{DEEP_PLACE}: is nested more than 32 deep"),
    (eq("id", DEEP_CAST), f"/$eq/1{'/$strCast' * 32}: is nested more than 32 deep"),
    ({"$and": [IS_MOTOR] * 201}, "has more than 200 comparisons"),
    ({"$and": [{"$boolean": True}] * 201}, "has more than 200 comparisons"),
    # $regex
    (
        {"$regex": [field("id"), field("idShort")]},
        "/$regex/1: must be a constant: a pattern is not read from a field",
    ),
    (compare("$regex", "id", "x" * 257), "/$regex/1: is a pattern of more than 256 characters"),
    *(
        (compare("$regex", "id", bad), "/$regex/1: has a back-reference, which is not supported")
        for bad in (r"(a)\1", r"\\\2", r"[\1]")
    ),
    *(
        (
            compare("$regex", "id", bad),
            "/$regex/1: has an option or a lookaround, which are not supported",
        )
        for bad in ("***=x", "(?i)x", "x(?=y)", "x(?!y)", "(?<=x)y", "(?<!x)y", r"[\]](?=x)[a]", "[^]](?=x)")
    ),
    # $match
    ({"$match": [IS_MOTOR]}, "/$match: must be about a list: at least one field needs []"),
    ({"$match": [{"$boolean": True}]}, "/$match: must be about a list: at least one field needs []"),
    (
        {"$match": [eq("specificAssetIds[0].name", "x")]},
        "/$match: must be about a list: at least one field needs []",
    ),
    (
        {"$match": [*SERIAL_4711, {"$match": [{"$boolean": True}]}]},
        "/$match/2/$match: must be about a list: at least one field needs []",
    ),
    *(
        ({"$match": [*SERIAL_4711, stranger]}, "/$match/2/$eq: must be about the same list as all of its $match")
        for stranger in [
            IS_MOTOR,
            eq("endpoints[].interface", "x"),
            eq("specificAssetIds[0].name", "x"),
            eq(VALUE, field("id")),
            eq(text("x"), "x"),
        ]
    ),
    (
        {"$match": [*SERIAL_4711, {"$match": [eq("endpoints[].interface", "x")]}]},
        "/$match/2/$match/0/$eq: must be about the same list as all of its $match",
    ),
    (
        {"$match": [eq("specificAssetIds[0].name", "x"), eq("$sm#x[]", "x")]},
        "/$match/0/$eq: must be about the same list as all of its $match",
    ),
]  # fmt: skip

BAD_FIELDS = [
    ("", "is not a field identifier"),
    ("id", "is not a field identifier"),
    ("$aasdesc", "is not a field of $aasdesc"),
    ("$aasdesc#", "is not a field of $aasdesc"),
    ("$aasdesc#ID", "is not a field of $aasdesc"),
    ("$aasdesc# id", "is not a field of $aasdesc"),
    ("$aasdesc#id ", "is not a field of $aasdesc"),
    ("$aasdesc#id\n", "is not a field of $aasdesc"),
    ("$aasdesc#id.x", "is not a field of $aasdesc"),
    ("$aasdesc#id[0]", "id is not a list"),
    ("$aasdesc#description[].text", "is not a field of $aasdesc"),
    ("$aasdesc#specificAssetIds[]", "does not name a text"),
    ("$aasdesc#specificAssetIds[-1].name", "is not a field of $aasdesc"),
    ("$aasdesc#specificAssetIds[x].name", "is not a field of $aasdesc"),
    ("$aasdesc#specificAssetIds[][].name", "is not a field of $aasdesc"),
    ("$aasdesc#specificAssetIds[].externalSubjectId.keys[]", "does not name a text"),
    ("$aasdesc#specificAssetIds[].externalSubjectId[].type", "externalSubjectId is not a list"),
    ("$aasdesc#specificAssetIds[2147483648].name", "has an index greater than 2147483647"),
    ("$aasdesc#endpoints[].protocolinformation", "does not name a text"),
    ("$aasdesc#submodelDescriptors[].assetKind", "is not a field of $aasdesc"),
    ("$smdesc#assetKind", "is not a field of $smdesc"),
    ("$smdesc#semanticId.", "is not a field of $smdesc"),
    ("$other#id", "is not a field identifier"),
    ("$aas#", "is not a field identifier"),
    ("$smx#id", "is not a field identifier"),
]


@pytest.mark.spec("registry-api", "7.1")
class TestRefused:
    @pytest.mark.parametrize(("condition", "defect"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
    def test_condition(self, condition: Json, defect: str) -> None:
        assert refused(condition) == [defect]

    @pytest.mark.spec("registry-api", "7.2")
    @pytest.mark.parametrize(("name", "defect"), BAD_FIELDS)
    @pytest.mark.parametrize("collection", [SHELLS, SUBMODELS], ids=lambda collection: collection.name)
    def test_field(self, name: str, defect: str, collection: Collection) -> None:
        condition = {"$eq": [{"$field": name}, text("x")]}
        assert refused(condition, collection) == [f"/$eq/0/$field: {defect}"]

    @pytest.mark.parametrize("query", [None, [], "x", 1])
    def test_no_object(self, query: Json) -> None:
        assert refused_query(query) == ["the body must be a JSON object, a query"]

    def test_wrapper(self) -> None:
        defects = ["/Query: there is no such member", "this member is required"]
        assert refused_query({"Query": {"$condition": IS_MOTOR}}) == defects

    def test_no_condition(self) -> None:
        assert refused_query({}) == ["this member is required"]
        assert refused_query({"$condition": None}) == ["must be an object"]

    @pytest.mark.parametrize("select", ["value", ["id"], None, "ID"])
    def test_select(self, select: Json) -> None:
        assert refused_query({"$condition": IS_MOTOR, "$select": select}) == ["/$select: must be 'id'"]

    def test_all_defects_at_once(self) -> None:
        defects = [
            "/x: there is no such member",
            "/$select: must be 'id'",
            "/$and/0/$eq: must have exactly 2 items",
            "/$and/1/$eq/0/$field: is not a field of $aasdesc",
            "/$and/1/$eq/1/$strVal: must not start with '$'",
            "/$and/2/$match: must have at least 1 item",
        ]
        condition = {"$and": [{"$eq": []}, eq("nonsense", "$"), {"$match": []}]}
        query = {"x": 1, "$condition": condition, "$select": "x"}
        assert refused_query(query) == defects

    def test_no_more_defects_than_anybody_reads(self) -> None:
        assert len(refused({"$and": [{}] * 100_000})) == 100

    def test_the_name_of_a_member_is_not_echoed_in_full(self) -> None:
        assert refused({"\0" + "x" * 1000: 1}) == ["/\ufffd" + "x" * 63 + ": there is no such operator"]

    def test_the_first_defects_are_the_message(self) -> None:
        with pytest.raises(InvalidQuery, match=r"^/\$condition: this member is required$"):
            compile_query({}, SHELLS, 1)

    def test_limits_can_be_reached(self, tenant_a: Tenant) -> None:
        put(tenant_a, with_values("a", "1"))
        deep: Json = {"$boolean": True}
        for _ in range(31):
            deep = {"$not": deep}
        assert found(tenant_a, {"$and": [eq(VALUE, "1")] * 200}) == ["a"]
        assert found(tenant_a, {"$not": deep["$not"]}) == []
        assert found(tenant_a, eq("specificAssetIds[2147483647].value", "x" * 2048)) == []


# --- Rules of evaluation (§7.3) -----------------------------------------------------------------------


def holding(tenant: Tenant, left: Json, right: Json) -> list[str]:
    """The operators of order that hold for the one shell of a tenant."""
    return [name for name in COMPARISONS if found(tenant, compare(name, left, right))]


class TestRules:
    @pytest.mark.spec("registry-api", "E1")
    def test_some_pair(self, tenant_a: Tenant) -> None:
        put(tenant_a, with_values("a", "1", "2"), with_values("b", "3"))
        assert found(tenant_a, eq(VALUE, "2")) == ["a"]
        assert found(tenant_a, compare("$ne", VALUE, "2")) == ["a", "b"]
        assert found(tenant_a, compare("$lt", VALUE, field(VALUE))) == ["a"]

    @pytest.mark.spec("registry-api", "E2")
    def test_two_missing_fields_are_equal(self, tenant_a: Tenant) -> None:
        put(tenant_a, shell("a"))
        assert holding(tenant_a, field("idShort"), field("assetType")) == ["$eq", "$ge", "$le"]
        assert holding(tenant_a, field(VALUE), field("endpoints[].interface")) == ["$eq", "$ge", "$le"]
        assert holding(tenant_a, field("$sm#id"), field(VALUE)) == ["$eq", "$ge", "$le"]
        assert holding(tenant_a, {"$strCast": field("idShort")}, field("assetType")) == []
        assert found(tenant_a, {"$contains": [field("idShort"), field("assetType")]}) == []

    @pytest.mark.spec("registry-api", "E3")
    @pytest.mark.parametrize(
        "missing", ["idShort", VALUE, "specificAssetIds[0].value", "$sm#id", "$cd#idShort"]
    )
    def test_a_missing_field_compares_to_nothing(self, tenant_a: Tenant, missing: str) -> None:
        put(tenant_a, shell("a"))
        for other in [field("id"), text("a"), number(1), {"$boolean": True}]:
            assert holding(tenant_a, field(missing), other) == []
            assert holding(tenant_a, other, field(missing)) == []
        for name in ("$contains", "$starts-with", "$ends-with", "$regex"):
            assert found(tenant_a, compare(name, missing, "")) == []

    @pytest.mark.spec("registry-api", "E4")
    def test_not_inverts(self, tenant_a: Tenant) -> None:
        put(tenant_a, shell("a"), shell("b", idShort="Motor"))
        assert found(tenant_a, {"$not": IS_MOTOR}) == ["a"]
        assert found(tenant_a, {"$not": {"$not": IS_MOTOR}}) == ["b"]
        assert found(tenant_a, {"$not": compare("$lt", "idShort", "A")}) == ["a", "b"]
        assert found(tenant_a, {"$not": compare("$regex", "idShort", "x")}) == ["a", "b"]
        assert found(tenant_a, {"$not": compare("$gt", "idShort", number(1))}) == ["a", "b"]
        assert found(tenant_a, {"$not": {"$boolean": True}}) == []

    @pytest.mark.spec("registry-api", "E5")
    def test_strings_compare_by_code_point(self, tenant_a: Tenant) -> None:
        put(tenant_a, shell("11", idShort="Motor", assetType="\uffe6"))
        assert holding(tenant_a, field("id"), text("2")) == ["$ne", "$lt", "$le"]
        assert holding(tenant_a, field("idShort"), text("motor")) == ["$ne", "$lt", "$le"]
        assert holding(tenant_a, field("assetType"), text("\U0001d11e")) == ["$ne", "$lt", "$le"]
        assert holding(tenant_a, text("11"), text("2")) == ["$ne", "$lt", "$le"]

    @pytest.mark.spec("registry-api", "E6")
    def test_parts_of_strings(self, tenant_a: Tenant) -> None:
        put(tenant_a, shell("a.b", idShort="a", assetType="b"))
        for name, holds, fails in [
            ("$contains", [".", "a.b", ""], ["ab", "A", "_"]),
            ("$starts-with", ["a", "a.b", ""], [".b", "A", "a.b."]),
            ("$ends-with", ["b", "a.b", ""], ["a.", "B", "aa.b"]),
            ("$regex", ["[.]", "^a.b$", "", "b$"], ["B", "^b", "a..b"]),
        ]:
            for part in holds:
                assert found(tenant_a, compare(name, "id", part)) == ["a.b"]
            for part in fails:
                assert found(tenant_a, compare(name, "id", part)) == []
        assert found(tenant_a, compare("$starts-with", "id", field("idShort"))) == ["a.b"]
        assert found(tenant_a, compare("$ends-with", "id", field("idShort"))) == []
        assert found(tenant_a, compare("$contains", "id", {"$strCast": number(1)})) == []

    @pytest.mark.spec("registry-api", "E6")
    def test_an_id_short_that_is_longer_than_what_is_indexed_of_it(self, tenant_a: Tenant) -> None:
        """Its first 64 characters are in the index, the rest is compared as well."""
        names = {"1": "Motor" * 13, "2": "Motor" * 13 + "A", "3": "motor" * 13, "4": "M"}
        put(tenant_a, *(shell(id_, idShort=name) for id_, name in names.items()), shell("5"))
        for id_, name in names.items():
            assert found(tenant_a, compare("$eq", "idShort", name)) == [id_]
        for start, ids in {
            "M": ["1", "2", "4"],
            "Motor" * 12: ["1", "2"],
            "Motor" * 13: ["1", "2"],
            "Motor" * 13 + "A": ["2"],
            "Motor" * 14: [],
            "": ["1", "2", "3", "4"],
        }.items():
            condition = compare("$starts-with", "idShort", start)
            assert found(tenant_a, condition) == ids
            others = [id_ for id_ in "12345" if id_ not in ids]
            assert found(tenant_a, {"$not": condition}) == others

    @pytest.mark.parametrize("operator", ["$eq", "$starts-with"])
    def test_an_id_short_is_found_by_index(self, tenant_a: Tenant, operator: str) -> None:
        others = [shell(f"urn:{number}", idShort=f"Pump{number}") for number in range(500)]
        parsed = [SHELLS.check(body, strict=False) for body in others]
        services.register_many(SHELLS, tenant_a.pk, parsed)
        query = compile_query({"$condition": compare(operator, "idShort", "Motor")}, SHELLS, tenant_a.pk)
        select = f"SELECT id FROM shells_shell WHERE tenant_id = %s AND ({query.condition})"
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE shells_shell; SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN {select}", [tenant_a.pk, *query.params])
            plan = "\n".join(line for (line,) in cursor.fetchall())
        assert re.search(r"shell_id_short.*Index Cond: .*left", plan, re.DOTALL), plan

    @pytest.mark.spec("registry-api", "E7")
    def test_booleans_have_no_order(self, tenant_a: Tenant) -> None:
        put(tenant_a, shell("true"))
        true, false, cast = {"$boolean": True}, {"$boolean": False}, {"$boolCast": field("id")}
        for left in (field("id"), cast, true):
            assert holding(tenant_a, left, true) == ["$eq", "$ge", "$le"]
            assert holding(tenant_a, left, false) == ["$ne"]

    @pytest.mark.spec("registry-api", "E8")
    def test_different_types_never_match(self, tenant_a: Tenant) -> None:
        put(tenant_a, shell("13"))
        assert holding(tenant_a, number(13), text("13")) == []
        assert holding(tenant_a, {"$numCast": field("id")}, text("13")) == []
        assert holding(tenant_a, {"$numCast": field("id")}, {"$strCast": field("id")}) == []
        assert holding(tenant_a, {"$hexVal": "16#D"}, number(13)) == []
        assert holding(tenant_a, number(13), number(13.0)) == ["$eq", "$ge", "$le"]
        assert holding(tenant_a, {"$hexVal": "16#00D"}, {"$hexVal": "16#E"}) == ["$ne", "$lt", "$le"]

    @pytest.mark.spec("registry-api", "E9")
    @pytest.mark.parametrize(
        ("value", "constant"),
        [
            ("+1.50", number(1.5)),
            ("1e2", number(100)),
            ("2024-02-29T01:00:00+01:00", {"$dateTimeVal": "2024-02-29T00:00:00.0Z"}),
            ("2024-02-29T00:00:00", {"$dateTimeVal": "2024-02-29T00:00:00Z"}),
            ("10:00:00.0", {"$timeVal": "10:00"}),
            ("01f", {"$hexVal": "16#1F"}),
            ("16#1F", {"$hexVal": "16#1F"}),
        ],
    )
    def test_a_field_is_converted(self, tenant_a: Tenant, value: str, constant: Json) -> None:
        put(tenant_a, with_values("a", value))
        assert holding(tenant_a, field(VALUE), constant) == ["$eq", "$ge", "$le"]
        assert holding(tenant_a, constant, field(VALUE)) == ["$eq", "$ge", "$le"]

    @pytest.mark.spec("registry-api", "E9")
    @pytest.mark.parametrize(
        ("value", "constant"),
        [
            *(
                (value, number(1))
                for value in ["Instance", "1 ", "1,0", "0x1", "1e999999", "1e-1000", "NaN", "\u0661"]
            ),
            *(
                (value, {"$dateTimeVal": "2024-01-01T00:00:00Z"})
                for value in [
                    "2024-02-31T00:00:00Z",
                    "2023-02-29T00:00:00Z",
                    "1900-02-29T00:00:00Z",
                    "0000-01-01T00:00:00Z",
                    "2024-01-01",
                    "2024-01-01T25:00:00Z",
                    "2024-01-01T00:00:00+24:00",
                    "2024-01-01T00:00:00Z\n",
                    "infinity",
                    "now",
                ]
            ),
            *((value, {"$timeVal": "10:00"}) for value in ["10", "25:00", "10:60", "10:00:60", "noon"]),
            *((value, {"$hexVal": "16#1"}) for value in ["16#", "g", "0x1", "16#-1"]),
            *((value, {"$boolean": True}) for value in ["TRUE", "1", "t", "yes"]),
        ],
    )
    def test_what_does_not_convert_is_unequal(self, tenant_a: Tenant, value: str, constant: Json) -> None:
        put(tenant_a, with_values("a", value))
        assert holding(tenant_a, field(VALUE), constant) == ["$ne"]
        assert holding(tenant_a, constant, field(VALUE)) == ["$ne"]

    @pytest.mark.spec("registry-api", "E9")
    def test_extreme_values(self, tenant_a: Tenant) -> None:
        put(tenant_a, shell("9" * 2000 + "e999", idShort="0." + "0" * 120 + "1"))
        assert holding(tenant_a, field("id"), number(1e299)) == ["$ne", "$gt", "$ge"]
        assert holding(tenant_a, field("idShort"), number(0)) == ["$ne", "$gt", "$ge"]
        assert holding(tenant_a, {"$strCast": {"$numCast": field("id")}}, text("9" * 2000 + "0" * 48)) == [
            "$ne",
            "$gt",
            "$ge",
        ]

    @pytest.mark.spec("registry-api", "E10")
    def test_an_explicit_cast_that_fails_is_invalid(self, tenant_a: Tenant) -> None:
        put(tenant_a, shell("a", idShort="abc"), shell("b", idShort="42"), shell("c"))
        cast = compare("$gt", {"$numCast": field("idShort")}, number(1))
        assert found(tenant_a, cast) == ["b"]
        assert found(tenant_a, {"$not": cast}) == ["c"]
        assert found(tenant_a, {"$or": [{"$boolean": True}, cast]}) == ["b", "c"]
        assert found(tenant_a, {"$or": [{"$boolean": True}, eq({"$numCast": text("abc")}, number(1))]}) == []
        assert found(tenant_a, {"$not": eq({"$numCast": {"$boolCast": field("idShort")}}, "x")}) == ["c"]

    @pytest.mark.spec("registry-api", "E11")
    def test_elements_that_do_not_convert_are_skipped(self, tenant_a: Tenant) -> None:
        put(tenant_a, with_values("a", "abc", "42"), with_values("b", "abc", "def"), shell("c"))
        cast = compare("$gt", {"$numCast": field(VALUE)}, number(1))
        assert found(tenant_a, cast) == ["a"]
        assert found(tenant_a, {"$not": cast}) == ["c"]
        assert found(tenant_a, compare("$ne", {"$numCast": field(VALUE)}, number(42))) == []

    @pytest.mark.spec("registry-api", "E11")
    def test_a_cast_in_a_match_is_judged_by_the_whole_list(self, tenant_a: Tenant) -> None:
        serial_and_weight = shell("a", ("serial", "abc"), ("weight", "250"))
        put(
            tenant_a,
            serial_and_weight,
            shell("b", ("weight", "heavy")),
            shell("c", ("weight", "1"), ("n", "999")),
        )
        heavy = compare("$gt", {"$numCast": field(VALUE)}, number(100))
        matched = {"$match": [eq("specificAssetIds[].name", "weight"), heavy]}
        assert found(tenant_a, matched) == ["a"]
        assert found(tenant_a, {"$not": matched}) == ["c"]

    @pytest.mark.spec("registry-api", "E12")
    def test_match_is_about_one_element(self, tenant_a: Tenant) -> None:
        subject = {"externalSubjectId": keys(("Submodel", "x"), ("Property", "y"))}
        put(
            tenant_a,
            shell(
                "a", specificAssetIds=[{"name": "n", "value": "1", **subject}, {"name": "m", "value": "2"}]
            ),
            shell("b", ("n", "2"), ("m", "1")),
        )
        name, value = eq("specificAssetIds[].name", "n"), eq(VALUE, "1")
        assert found(tenant_a, {"$match": [name, value]}) == ["a"]
        assert found(tenant_a, {"$match": [name, eq("$sm#id", "x")]}) == []
        assert found(tenant_a, {"$match": [name, {"$boolean": False}]}) == []
        assert found(tenant_a, {"$match": [name, compare("$ne", VALUE, "1")]}) == ["b"]
        key = "specificAssetIds[].externalSubjectId.keys"
        for type_, expected in [
            ("Submodel", ["a"]),
            ("Property", []),
        ]:  # the nested list has one element, too
            pair = [eq(f"{key}[].type", type_), eq(f"{key}[].value", "x")]
            assert found(tenant_a, {"$match": [name, *pair]}) == expected
        first = "specificAssetIds[0].externalSubjectId.keys[]"
        assert found(tenant_a, {"$match": [eq(f"{first}.type", "Property"), eq(f"{first}.value", "y")]}) == [
            "a"
        ]
        missing = eq(
            "specificAssetIds[].externalSubjectId.type", field("specificAssetIds[].externalSubjectId")
        )
        assert found(tenant_a, {"$match": [value, missing]}) == ["b"]  # E2, of this element

    @pytest.mark.spec("registry-api", "E13")
    def test_and_may_be_about_different_elements(self, tenant_a: Tenant) -> None:
        put(tenant_a, shell("a", ("n", "2"), ("m", "1")), shell("b", ("n", "2")))
        assert found(tenant_a, {"$and": [eq("specificAssetIds[].name", "n"), eq(VALUE, "1")]}) == ["a"]

    @pytest.mark.spec("registry-api", "E14")
    def test_match_in_match_narrows_to_a_nested_list(self, tenant_a: Tenant) -> None:
        def sm(identifier: str, *endpoints: Json) -> Json:
            return {"id": identifier, "endpoints": list(endpoints)}

        put(
            tenant_a,
            shell("a", submodelDescriptors=[sm("1", endpoint("i", "x"), endpoint("j", "y"))]),
            shell("b", submodelDescriptors=[sm("1", endpoint("i", "x")), sm("2", endpoint("j", "y"))]),
            shell("c", submodelDescriptors=[sm("1", endpoint("i", "y"), endpoint("j", "x"))]),
        )
        at = "submodelDescriptors[].endpoints[]"
        ix = [eq(f"{at}.interface", "i"), eq(f"{at}.protocolinformation.href", "x")]
        jy = [eq(f"{at}.interface", "j"), eq(f"{at}.protocolInformation.href", "y")]
        one = eq("submodelDescriptors[].id", "1")
        assert found(tenant_a, {"$match": [one, *ix]}) == ["a", "b"]
        assert found(tenant_a, {"$match": [one, {"$match": ix}]}) == ["a", "b"]
        assert found(tenant_a, {"$match": [{"$match": ix}, {"$match": jy}]}) == ["a"]
        assert found(tenant_a, {"$match": [*ix, *jy]}) == []  # one endpoint is not both
        assert found(tenant_a, {"$match": [*ix, {"$match": jy}]}) == ["a"]  # but there may be another
        assert found(tenant_a, {"$match": [{"$match": [one, *ix]}]}) == ["a", "b"]
        assert found(tenant_a, {"$match": [one, {"$match": [eq("$sme#a[]", "x")]}]}) == []

    @pytest.mark.spec("registry-api", "E15")
    def test_casts(self, tenant_a: Tenant) -> None:
        put(tenant_a, with_values("a", "007.10", "true", "2024-02-29T00:00:00Z", "10:00", "16#0a"))
        for name, constant in [
            ("$strCast", text("true")),
            ("$numCast", number(7.1)),
            ("$boolCast", {"$boolean": True}),
            ("$dateTimeCast", {"$dateTimeVal": "2024-02-29T01:00:00+01:00"}),
            ("$timeCast", {"$timeVal": "10:00:00"}),
            ("$hexCast", {"$hexVal": "16#A"}),
        ]:
            assert found(tenant_a, eq({name: field(VALUE)}, constant)) == ["a"]
            assert found(
                tenant_a, eq({name: {"$strCast": field(VALUE)}}, {name: {"$strCast": constant}})
            ) == ["a"]
        assert found(tenant_a, eq({"$strCast": {"$numCast": field(VALUE)}}, "7.1")) == ["a"]
        assert found(tenant_a, eq({"$strCast": {"$numCast": text("007")}}, "7")) == ["a"]
        assert found(tenant_a, eq(field("id"), {"$numCast": field(VALUE)})) == []

    @pytest.mark.spec("registry-api", "E16")
    @pytest.mark.parametrize(
        ("name", "expected"), [("$dayOfWeek", 0), ("$dayOfMonth", 4), ("$month", 2), ("$year", 2024)]
    )
    def test_parts_of_dates(self, tenant_a: Tenant, name: str, expected: int) -> None:
        put(tenant_a, with_values("a", str(expected)))
        part = {name: "2024-02-04T00:30:00+02:00"}  # a Sunday where the clock says so
        assert holding(tenant_a, part, number(expected)) == ["$eq", "$ge", "$le"]
        assert holding(tenant_a, field(VALUE), part) == ["$eq", "$ge", "$le"]


@pytest.mark.spec("registry-api", "E15")
@pytest.mark.parametrize("type_", [type_ for type_ in values.Type if type_ is not values.Type.STRING])
def test_python_and_postgresql_convert_alike(type_: values.Type) -> None:
    days = [
        f"{y}-{m:02}-{d:02}"
        for y in ("0000", "0001", "1900", "2000", "2023")
        for m in range(14)
        for d in range(33)
    ]
    texts = [
        *(f"{day}T23:59:59.5+23:59" for day in days),
        *SOME_TEXTS,
        "1" * 2048,
        "F" * 2048,
        "1." + "0" * 2000,
    ]
    text_sql = Sql("x")
    key, cast = values.key_sql(type_, text_sql), values.cast_sql(type_, text_sql)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT x, {key.text}, {cast.text} FROM unnest(%s::text[]) AS x",
            [*key.params, *cast.params, texts],
        )
        rows = cursor.fetchall()
    assert len(rows) == len(texts)
    for text_, key_, cast_ in rows:
        assert cast_ == values.cast(type_, text_)
        assert key_ == (None if cast_ is None else values.key(type_, text_))


# --- Fields (§7.2) ------------------------------------------------------------------------------------


@pytest.mark.spec("registry-api", "7.2")
class TestFields:
    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("id", ["a"]),
            ("idShort", ["short"]),
            ("assetKind", ["Type"]),
            ("assetType", ["type"]),
            ("globalAssetId", ["asset"]),
            ("specificAssetIds[].name", ["n", "m"]),
            ("specificAssetIds.value", ["1", "2"]),
            ("specificAssetIds[1].value", ["2"]),
            ("specificAssetIds[01].value", ["2"]),
            ("specificAssetIds[2].value", []),
            ("specificAssetIds[].externalSubjectId", ["usual", "x"]),
            ("specificAssetIds[].externalSubjectId.type", ["ExternalReference", "ModelReference"]),
            ("specificAssetIds[].externalSubjectId.keys[].type", ["GlobalReference", "Submodel", "Property"]),
            ("specificAssetIds[].externalSubjectId.keys[].value", ["usual", "x", "y"]),
            ("specificAssetIds[].externalSubjectId.keys[0].value", ["usual", "x"]),
            ("specificAssetIds[].externalSubjectId.keys[1].value", ["y"]),
            ("specificAssetIds[0].externalSubjectId.keys[1].type", []),
            ("endpoints[].interface", ["AAS"]),
            ("endpoints[0].protocolinformation.href", ["h1"]),
            ("endpoints.protocolInformation.href", ["h1"]),
            ("submodelDescriptors[].id", ["sm1", "sm2"]),
            ("submodelDescriptors[0].idShort", ["Sm1"]),
            ("submodelDescriptors[].semanticId", ["usual", "x"]),
            ("submodelDescriptors.semanticId.keys.type", ["GlobalReference", "Submodel", "Property"]),
            ("submodelDescriptors[1].semanticId.type", ["ModelReference"]),
            ("submodelDescriptors[1].semanticId.keys[].type", ["Submodel", "Property"]),
            ("submodelDescriptors[0].semanticId.keys[].type", ["GlobalReference"]),
            ("submodelDescriptors[0].semanticId.type", ["ExternalReference"]),
            ("submodelDescriptors[].endpoints[].interface", ["SM"]),
            ("submodelDescriptors[0].endpoints[0].protocolinformation.href", ["h2"]),
            ("$smdesc#id", ["sm1", "sm2"]),
            ("$smdesc#semanticId.keys[1].value", ["y"]),
            ("$smdesc#endpoints[0].interface", ["SM"]),
            ("$aas#idShort", []),
            ("$sme.a.b[3]#value", []),
            ("$cd#id", []),
        ],
    )
    def test_values(self, tenant_a: Tenant, name: str, values: list[str]) -> None:
        unusual = keys(("Submodel", "x"), ("Property", "y"))
        sm1 = {
            "id": "sm1",
            "idShort": "Sm1",
            "semanticId": reference("usual"),
            "endpoints": [endpoint("SM", "h2")],
        }
        asset_id = {"name": "n", "value": "1", "externalSubjectId": reference("usual")}
        put(
            tenant_a,
            shell(
                "a",
                idShort="short",
                assetKind="Type",
                assetType="type",
                globalAssetId="asset",
                endpoints=[endpoint("AAS", "h1")],
                specificAssetIds=[asset_id, {"name": "m", "value": "2", "externalSubjectId": unusual}],
                submodelDescriptors=[sm1, {"id": "sm2", "semanticId": unusual}],
            ),
        )
        every = "a short Type type asset n m 1 2 usual x y ExternalReference ModelReference GlobalReference Submodel"
        every += " Property AAS h1 sm1 sm2 Sm1 SM h2"
        assert [value for value in every.split() if found(tenant_a, eq(name, value))] == sorted(
            values, key=every.split().index
        )

    def test_references_that_lack_something(self, tenant_a: Tenant) -> None:
        put(
            tenant_a,
            shell("a", submodelDescriptors=[{"id": "1", "semanticId": {"keys": [{"value": "x"}]}}]),
            shell(
                "b", submodelDescriptors=[{"id": "1", "semanticId": {"type": "ModelReference", "keys": []}}]
            ),
        )
        assert found(tenant_a, eq("$smdesc#semanticId", "x")) == ["a"]
        assert found(tenant_a, compare("$ne", "$smdesc#semanticId.type", "")) == ["b"]
        assert found(tenant_a, compare("$ne", "$smdesc#semanticId.keys[].type", "")) == []

    def test_only_the_tenants_rows_are_joined(self, tenant_a: Tenant, tenant_b: Tenant) -> None:
        put(tenant_a, with_values("a", "1"))
        put(tenant_b, with_values("a", "2"))
        assert found(tenant_a, eq(VALUE, "2")) == []
        query = compile_query({"$condition": {"$match": SERIAL_4711}}, SHELLS, tenant_a.pk)
        assert "tenant_id = shells_shell.tenant_id" in query.condition


# --- Submodels ----------------------------------------------------------------------------------------


class TestSubmodels:
    @pytest.fixture
    def submodels(self, tenant_a: Tenant) -> Tenant:
        put(
            tenant_a,
            {"id": "1", "idShort": "S1", "semanticId": reference("x"), "endpoints": [endpoint("i", "h")]},
            {
                "id": "2",
                "semanticId": keys(("Submodel", "x"), ("Property", "y")),
                "endpoints": [endpoint("j", "h")],
            },
            {"id": "3", "endpoints": [endpoint("i", "g"), endpoint("j", "h")]},
            collection=SUBMODELS,
        )
        return tenant_a

    @pytest.mark.parametrize(
        ("condition", "expected"),
        [
            (eq("$smdesc#id", "1"), ["1"]),
            (eq("$smdesc#idShort", "S1"), ["1"]),
            (eq("$smdesc#semanticId", "x"), ["1", "2"]),
            (eq("$smdesc#semanticId.type", "ExternalReference"), ["1"]),
            (eq("$smdesc#semanticId.keys[].value", "y"), ["2"]),
            (eq("$smdesc#semanticId.keys[1].type", "Property"), ["2"]),
            (eq("$smdesc#endpoints[0].interface", "i"), ["1", "3"]),
            (eq("$smdesc#endpoints.protocolInformation.href", "h"), ["1", "2", "3"]),
            (
                {
                    "$match": [
                        eq("$smdesc#endpoints[].interface", "i"),
                        eq("$smdesc#endpoints[].protocolinformation.href", "h"),
                    ]
                },
                ["1"],
            ),
            ({"$not": eq("$smdesc#semanticId", "x")}, ["3"]),
            (eq("$aasdesc#id", "1"), []),
            (eq("$aasdesc#submodelDescriptors[].id", "1"), []),
            ({"$not": eq("$aasdesc#id", "1")}, ["1", "2", "3"]),
            (eq("$aasdesc#id", field("$smdesc#idShort")), ["2", "3"]),
            ({"$match": [eq("$aasdesc#specificAssetIds[].name", "x")]}, []),
            (compare("$ge", {"$numCast": field("$smdesc#id")}, number(2)), ["2", "3"]),
        ],
    )
    def test_it_works(self, submodels: Tenant, condition: Json, expected: list[str]) -> None:
        assert found(submodels, condition, SUBMODELS) == expected

    def test_a_list_of_one_root_only(self) -> None:
        condition = {"$match": [eq("$smdesc#endpoints[].interface", "i"), eq("$smdesc#id", "1")]}
        assert refused(condition, SUBMODELS) == [
            "/$match/1/$eq: must be about the same list as all of its $match"
        ]


# --- Injection ----------------------------------------------------------------------------------------

HOSTILE = [
    "'",
    "''; DROP TABLE shells_shell; --",
    "%",
    "%s",
    "%(x)s",
    "100%%",
    "\\",
    "\\'",
    '"',
    "{}",
    "{0}",
    "/*",
    "a\nb",
    "?",
    ":x",
]


@pytest.mark.parametrize("hostile", HOSTILE)
class TestInjection:
    def test_in_every_operator(self, tenant_a: Tenant, hostile: str) -> None:
        put(tenant_a, shell(hostile, (hostile, hostile), idShort=hostile, globalAssetId=hostile), shell("x"))
        both = [eq("specificAssetIds[].name", hostile), eq(VALUE, hostile)]
        conditions = [
            *(eq(name, hostile) for name in ("id", "idShort", "globalAssetId", VALUE)),
            *(
                compare(name, "id", hostile)
                for name in ("$contains", "$starts-with", "$ends-with", "$ge", "$le")
            ),
            {"$match": both},
            eq({"$strCast": field("id")}, hostile),
            {"$and": [eq({"$strCast": text(hostile)}, hostile), eq("id", hostile)]},
        ]
        for condition in conditions:
            assert hostile in found(tenant_a, condition)
        assert found(tenant_a, compare("$contains", text("x"), hostile)) == []

    def test_in_patterns(self, tenant_a: Tenant, hostile: str) -> None:
        put(tenant_a, shell(hostile), shell("x"))
        assert found(tenant_a, compare("$regex", "id", "^" + re.escape(hostile) + "$")) == [hostile]

    def test_in_other_places(self, hostile: str) -> None:
        for name in ("$hexVal", "$timeVal", "$dateTimeVal", "$year", "$field"):
            assert len(refused({"$eq": [field("id"), {name: hostile}]})) == 1
        for name in (f"$aasdesc#{hostile}", f"$aasdesc#specificAssetIds[{hostile}].name"):
            assert len(refused(eq(name, "x"))) == 1

    def test_in_fields_that_name_nothing(self, tenant_a: Tenant, hostile: str) -> None:
        put(tenant_a, shell("x"))
        if "\n" not in hostile:
            assert found(tenant_a, {"$not": eq(f"$sme#{hostile}", "x")}) == ["x"]


# --- Speed --------------------------------------------------------------------------------------------


class TestIndexes:
    @pytest.mark.parametrize(
        ("condition", "indexed"),
        [
            (eq("id", "a"), "shells_shell.digest = "),
            (eq(text("a"), field("globalAssetId")), "hashtextextended(shells_shell.global_asset_id, 0) = "),
            (eq("assetType", "a"), "hashtextextended(shells_shell.asset_type, 0) = "),
            ({"$match": SERIAL_4711}, "row1.pair = "),
            (eq("$smdesc#semanticId", "a"), "hashtextextended(row1.semantic_id, 0) = "),
            (eq("$smdesc#semanticId.keys[0].value", "a"), "hashtextextended(row1.semantic_id, 0) = "),
            (eq("$smdesc#id", "a"), "row1.digest = "),
            ({"$match": [compare("$ge", "$smdesc#id", "a"), eq("$smdesc#id", "a")]}, "row1.digest = "),
        ],
    )
    def test_what_equals_a_text_is_found_by_an_index(self, condition: Json, indexed: str) -> None:
        query = compile_query({"$condition": condition}, SHELLS, 1)
        assert indexed in query.condition
        assert "OFFSET" not in query.condition

    def test_few_lists_are_joined(self) -> None:
        """Planning 200 joins took three minutes."""
        condition = {"$and": [eq("$smdesc#id", "a")] * 100 + [eq(VALUE, "a")] * 100}
        query = compile_query({"$condition": condition}, SHELLS, 1)
        assert query.condition.count("EXISTS") == 200
        assert query.condition.count("OFFSET 0") == 188

    def test_a_statement_does_not_grow_with_the_power_of_casts(self) -> None:
        cast = field("id")
        for _ in range(15):
            cast = {"$boolCast": {"$numCast": cast}}
        query = compile_query({"$condition": compare("$ne", cast, cast)}, SHELLS, 1)
        assert len(query.condition) < 10_000


def test_a_pattern_that_only_postgresql_can_judge() -> None:
    query = compile_query({"$condition": compare("$regex", "id", "(")}, SHELLS, 1)
    assert query.patterns == ["("]


# --- Random queries -----------------------------------------------------------------------------------

#: Few examples unless a profile asks for more; see `tests/query_evaluator.py`.
EXAMPLES = (
    settings()
    if settings.get_current_profile_name() == "long"
    else settings(
        max_examples=100,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
)


class TestRandomQueries:
    """The same descriptors are found as by the plain evaluator of `tests/query_evaluator.py`."""

    def check(
        self, tenant: Tenant, collection: Collection, root: str, data: list[Json], queries: list[Json]
    ) -> None:
        with transaction.atomic():
            put(tenant, *data, collection=collection)
            with connection.cursor() as cursor:  # what is stored: without empty arrays
                cursor.execute(
                    f"SELECT document FROM {collection.table} WHERE tenant_id = %s ORDER BY id", [tenant.pk]
                )
                stored = [from_json(document) for (document,) in cursor.fetchall()]
            for condition in [*queries, *({"$not": condition} for condition in queries)]:
                expected = [item["id"] for item in stored if selects({"$condition": condition}, item, root)]
                assert found(tenant, condition, collection) == expected, json.dumps(condition)
            transaction.set_rollback(True)

    @EXAMPLES
    @given(data=descriptors(SHELL_MEMBERS), queries=st.lists(conditions(MATCHES), min_size=5, max_size=5))
    def test_random_queries_for_shells(self, tenant_a: Tenant, data: list[Json], queries: list[Json]) -> None:
        self.check(tenant_a, SHELLS, "$aasdesc", data, queries)

    @EXAMPLES
    @given(data=descriptors(SUBMODEL), queries=st.lists(conditions(SUBMODEL_MATCHES), min_size=5, max_size=5))
    def test_random_queries_for_submodels(
        self, tenant_a: Tenant, data: list[Json], queries: list[Json]
    ) -> None:
        self.check(tenant_a, SUBMODELS, "$smdesc", data, queries)
