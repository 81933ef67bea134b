"""POST /query/…: operations O17 and O31 over HTTP, check 40; the language is in test_query_language.py."""

from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from tests.bodies import endpoint, reference, submodel
from tests.conftest import Persona, locked, pages, texts

SHELLS = "/query/shell-descriptors"
SUBMODELS = "/query/submodel-descriptors"

ALL = {"$condition": {"$boolean": True}}
MOTORS = {"$condition": {"$eq": [{"$field": "$aasdesc#idShort"}, {"$strVal": "Motor"}]}}


def matches(pattern: str) -> dict[str, Any]:
    return {"$condition": {"$regex": [{"$field": "$aasdesc#id"}, {"$strVal": pattern}]}}


@pytest.fixture
def plant(alice: Persona) -> Persona:
    """alice, with three shells and two standalone submodels."""
    for body in (
        {"id": "urn:1", "idShort": "Motor", "x": {"b": 1, "a": 2}},
        {"id": "urn:2", "idShort": "Pump"},
        {"id": "urn:3", "idShort": "Motor"},
    ):
        alice.register(body)
    alice.post("/submodel-descriptors", submodel("urn:a", semanticId=reference("urn:np")))
    alice.post("/submodel-descriptors", submodel("urn:b", endpoints=[endpoint("opc.tcp://192.0.2.1")]))
    return alice


@pytest.mark.spec("check", "40")
def test_whole_descriptors(plant: Persona) -> None:
    response = plant.post(SHELLS, MOTORS)
    assert response.status_code == 200
    assert response.json() == {
        "paging_metadata": {"resultType": "AssetAdministrationShellDescriptor"},
        "result": [
            {"id": "urn:1", "idShort": "Motor", "x": {"b": 1, "a": 2}},
            {"id": "urn:3", "idShort": "Motor"},
        ],
    }


@pytest.mark.spec("check", "40")
def test_ids_alone(plant: Persona) -> None:
    assert plant.post(SHELLS, {**MOTORS, "$select": "id"}).json() == {
        "paging_metadata": {"resultType": "Identifier"},
        "result": ["urn:1", "urn:3"],
    }


def test_submodels(plant: Persona) -> None:
    condition = {"$eq": [{"$field": "$smdesc#semanticId"}, {"$strVal": "urn:np"}]}
    assert plant.post(SUBMODELS, {"$condition": condition}).json() == {
        "paging_metadata": {"resultType": "SubmodelDescriptor"},
        "result": [submodel("urn:a", semanticId=reference("urn:np"))],
    }
    condition = {
        "$starts-with": [{"$field": "$smdesc#endpoints[].protocolinformation.href"}, {"$strVal": "opc"}]
    }
    assert plant.post(SUBMODELS, {"$condition": condition, "$select": "id"}).json()["result"] == ["urn:b"]


def test_nothing_matches(plant: Persona) -> None:
    response = plant.post(SHELLS, {"$condition": {"$boolean": False}})
    assert response.status_code == 200
    assert response.json()["result"] == []


def test_in_pages(plant: Persona) -> None:
    walk = list(pages(plant, f"{SHELLS}?limit=1", {**MOTORS, "$select": "id"}))
    assert walk == [["urn:1"], ["urn:3"]]


def test_a_cursor_belongs_to_its_query(plant: Persona) -> None:
    cursor = plant.post(f"{SHELLS}?limit=1", MOTORS).json()["paging_metadata"]["cursor"]
    assert plant.post(f"{SHELLS}?cursor={cursor}", MOTORS).status_code == 200
    for path, body in ((SHELLS, ALL), (SUBMODELS, MOTORS), (SHELLS, {**MOTORS, "$select": "id"})):
        response = plant.post(f"{path}?cursor={cursor}", body)
        assert response.status_code == 400
        assert texts(response) == ["cursor: is not one of this list; start again without a cursor"]


@pytest.mark.spec("check", "40")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        [],
        {},
        {"Query": ALL},
        {**ALL, "$select": "idShort"},
        {"$condition": {"$and": [{"$boolean": True}]}},
        {"$condition": {"$eq": [{"$field": "$aasdesc#foo"}, {"$strVal": "x"}]}},
        matches("("),
        matches("a{9,1}"),
        matches("[[:nonsense:]]"),
    ],
)
def test_what_is_no_query(plant: Persona, body: Any) -> None:
    response = plant.post(SHELLS, body)
    assert response.status_code == 400
    assert texts(response)


@pytest.mark.spec("check", "40")
@pytest.mark.django_db(transaction=True)  # the error ends the transaction of the query
def test_a_bad_pattern_is_found_where_nothing_is_searched(alice: Persona) -> None:
    response = alice.post(SHELLS, matches("("))
    assert response.status_code == 400
    assert texts(response) == [
        "a $regex cannot be read: invalid regular expression: parentheses () not balanced"
    ]
    assert alice.post(SHELLS, matches("a|b")).json()["result"] == []


@pytest.mark.spec("check", "40")
def test_a_cast_that_fails(plant: Persona) -> None:
    condition = {"$gt": [{"$numCast": {"$field": "$aasdesc#idShort"}}, {"$numVal": 1}]}
    response = plant.post(SHELLS, {"$condition": condition})
    assert response.status_code == 200
    assert response.json()["result"] == []


def test_depth_1_000(alice: Persona) -> None:
    body = b'{"$condition":' + b'{"$not":' * 1000 + b'{"$boolean":true}' + b"}" * 1001
    response = alice.post(SHELLS, body)
    assert response.status_code == 400
    assert texts(response)


def test_100_000_conditions(alice: Persona) -> None:
    response = alice.post(SHELLS, {"$condition": {"$and": [{"$boolean": True}] * 100_000}})
    assert response.status_code == 400
    assert texts(response)


@pytest.mark.django_db(transaction=True)
def test_a_query_that_takes_too_long(plant: Persona, settings: Settings) -> None:
    settings.QUERY_TIMEOUT_MS = 200
    with locked("shells_shell"):
        response = plant.post(SHELLS, ALL)
        assert response.status_code == 503
        assert response["Retry-After"] == "2"
        assert texts(response) == ["the query takes too long: make it more selective, or try again"]
    assert len(plant.post(SHELLS, ALL).json()["result"]) == 3
    with connection.cursor() as cursor:  # the timeout was that of the query alone
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)


def test_a_reader_may(plant: Persona, bob: Persona) -> None:
    assert len(bob.post(SHELLS, ALL).json()["result"]) == 3
    assert len(bob.post(SUBMODELS, ALL).json()["result"]) == 2


def test_tenants_do_not_see_each_other(plant: Persona, charlie: Persona) -> None:
    assert charlie.post(SHELLS, ALL).json()["result"] == []
    assert charlie.post(SUBMODELS, ALL).json()["result"] == []


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_another_method(alice: Persona, method: str) -> None:
    response = alice.call(method, SHELLS)
    assert response.status_code == 405
    assert response["Allow"] == "POST"
