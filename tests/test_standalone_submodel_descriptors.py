"""/submodel-descriptors: the standalone submodel registry, operations O23 to O27."""

import pytest
from django.db import connection

from shells.identifiers import encode
from shells.models import StandaloneEndpoint, StandaloneSubmodel, Submodel
from tests.bodies import EVERYTHING, endpoint, reference, submodel
from tests.conftest import Persona, pages, texts

PATH = "/submodel-descriptors"
EVERY_MEMBER = EVERYTHING["submodelDescriptors"][0]


def path(identifier: str) -> str:
    return f"{PATH}/{encode(identifier)}"


def test_post_and_get(alice: Persona, strict_alice: Persona) -> None:
    for someone in (alice, strict_alice):
        response = someone.post(PATH, EVERY_MEMBER)
        assert response.status_code == 201
        assert response["Location"] == f"http://testserver{someone.base}{path('urn:sm:1')}"
        assert response.json() == EVERY_MEMBER
        fetched = someone.get(path("urn:sm:1"))
        assert fetched.status_code == 200
        assert fetched.content == response.content
        assert fetched["ETag"] == response["ETag"]
    row = StandaloneSubmodel.objects.of(alice.tenant.pk).get()
    assert (row.id_short, row.semantic_id) == ("Nameplate", "urn:np")
    assert row.semantic_reference == EVERY_MEMBER["semanticId"]
    assert StandaloneEndpoint.objects.of(alice.tenant.pk).get().href == "opc.tcp://192.0.2.1:4840"


def test_post_of_a_known_id(alice: Persona) -> None:
    alice.post(PATH, submodel("urn:1", idShort="First"))
    response = alice.post(PATH, submodel("urn:1", idShort="Second"))
    assert response.status_code == 409
    assert texts(response) == ["/id: a submodel with this id is registered already"]
    assert alice.get(path("urn:1")).json()["idShort"] == "First"


@pytest.mark.parametrize(
    ("body", "lenient", "strict"),
    [
        ({"id": "a"}, 201, 400),
        ({"id": "a", "endpoints": []}, 201, 400),
        ({"id": "a", "endpoints": [endpoint()], "foo": 1}, 201, 400),
        ({"id": "a", "endpoints": [endpoint()], "supplementalSemanticId": [reference("b")]}, 201, 400),
        ({"id": "", "endpoints": [endpoint()]}, 400, 400),
        ({"endpoints": [endpoint()]}, 400, 400),
        ({"id": "a", "endpoints": "x"}, 400, 400),
        ({"id": "a", "extensions": [{"name": "x"}, {"name": "x"}]}, 400, 400),
        ([], 400, 400),
    ],
)
def test_what_is_a_submodel_descriptor(
    alice: Persona, strict_alice: Persona, body: object, lenient: int, strict: int
) -> None:
    for someone, expected in ((alice, lenient), (strict_alice, strict)):
        response = someone.post(PATH, body)
        assert response.status_code == expected, response.content
        assert someone.get(PATH).json()["result"] == ([response.json()] if expected == 201 else [])


def test_put(alice: Persona) -> None:
    response = alice.put(path("urn:1"), submodel("urn:1"))
    assert response.status_code == 201
    assert response["Location"].endswith(path("urn:1"))
    tag = response["ETag"]
    response = alice.put(path("urn:1"), {"id": "urn:1"}, If_Match=tag)
    assert (response.status_code, response.content) == (204, b"")
    assert alice.get(path("urn:1")).json() == {"id": "urn:1"}
    assert not StandaloneEndpoint.objects.exists()
    assert alice.put(path("urn:1"), submodel("urn:1"), If_Match=tag).status_code == 412
    assert alice.put(path("urn:1"), submodel("urn:2")).status_code == 400


def test_delete(alice: Persona) -> None:
    alice.post(PATH, submodel("urn:1"))
    assert alice.delete(path("urn:1")).status_code == 204
    assert alice.delete(path("urn:1")).status_code == 404
    assert texts(alice.get(path("urn:1"))) == ["no submodel with this id is registered"]
    assert not StandaloneEndpoint.objects.exists()


def test_list_in_pages(alice: Persona) -> None:
    for name in "cab":
        alice.post(PATH, submodel(name))
    assert [[item["id"] for item in page] for page in pages(alice, f"{PATH}?limit=2")] == [["c", "a"], ["b"]]


def test_created_and_updated_from(alice: Persona) -> None:
    alice.post(PATH, submodel("urn:old"))
    alice.post(PATH, submodel("urn:new"))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE shells_standalonesubmodel SET created_at = '2020-01-01Z', updated_at = '2021-01-01Z' "
            "WHERE identifier = 'urn:old'"
        )
    for query, expected in (
        ("createdFrom=2020-06-01T00:00:00Z", ["urn:new"]),
        ("updatedFrom=2020-06-01T00:00:00Z", ["urn:old", "urn:new"]),
        ("updatedFrom=2020-06-01T00:00:00Z&createdFrom=2020-06-01T00:00:00Z", ["urn:new"]),
    ):
        assert [item["id"] for item in alice.get(f"{PATH}?{query}").json()["result"]] == expected
    assert alice.get(f"{PATH}?createdFrom=x").status_code == 400


def test_it_is_a_collection_of_its_own(alice: Persona) -> None:
    """aas-registry-api.md §1.3: what is below a shell is not here, and the other way round."""
    alice.register({"id": "urn:shell", "submodelDescriptors": [submodel("urn:below")]})
    alice.post(PATH, submodel("urn:alone"))
    assert [item["id"] for item in alice.get(PATH).json()["result"]] == ["urn:alone"]
    assert alice.get(path("urn:below")).status_code == 404
    assert Submodel.objects.count() == StandaloneSubmodel.objects.count() == 1


def test_a_reader_may_only_read(alice: Persona, bob: Persona) -> None:
    alice.post(PATH, submodel("urn:1"))
    assert bob.get(PATH).status_code == bob.get(path("urn:1")).status_code == 200
    refused = [
        bob.post(PATH, submodel("urn:2")),
        bob.put(path("urn:1"), submodel("urn:1")),
        bob.delete(path("urn:1")),
    ]
    assert [response.status_code for response in refused] == [403] * 3


def test_tenants_do_not_see_each_other(alice: Persona, charlie: Persona) -> None:
    alice.post(PATH, submodel("urn:1"))
    assert charlie.get(path("urn:1")).status_code == 404
    assert charlie.get(PATH).json()["result"] == []
    assert charlie.delete(path("urn:1")).status_code == 404
    assert charlie.post(PATH, submodel("urn:1")).status_code == 201
