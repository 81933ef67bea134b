"""/shell-descriptors/{aasIdentifier}/submodel-descriptors: operations O6 to O10, checks 19 to 21."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from shells.identifiers import encode
from shells.models import Endpoint, Submodel
from tests.bodies import endpoint, reference, submodel
from tests.conftest import Persona, pages, shell_path, texts

SHELL = "urn:example:aas:1"
LIST = shell_path(SHELL) + "/submodel-descriptors"


def path(submodel_id: str, shell_id: str = SHELL) -> str:
    return f"{shell_path(shell_id)}/submodel-descriptors/{encode(submodel_id)}"


@pytest.fixture
def owner(alice: Persona) -> Persona:
    """alice, with one shell of three submodels."""
    body = {"id": SHELL, "submodelDescriptors": [submodel(f"urn:{n}") for n in range(3)], "x": 1}
    alice.register(body)
    return alice


def listed(someone: Persona) -> list[str]:
    """The ids of the submodels in the shell's own descriptor, after a look at the projection."""
    in_document = [item["id"] for item in someone.fetch(SHELL).json().get("submodelDescriptors", [])]
    rows = Submodel.objects.order_by("position").values_list("position", "identifier")
    assert list(rows) == list(enumerate(in_document))
    assert Endpoint.objects.count() == len(in_document)
    return in_document


# --- GET the list (O6) --------------------------------------------------------------------------------


def test_list(owner: Persona) -> None:
    response = owner.get(LIST)
    assert response.status_code == 200
    assert response.json() == {"paging_metadata": {}, "result": [submodel(f"urn:{n}") for n in range(3)]}


def test_list_in_pages(owner: Persona) -> None:
    walk = [[item["id"] for item in page] for page in pages(owner, f"{LIST}?limit=2")]
    assert walk == [["urn:0", "urn:1"], ["urn:2"]]


@pytest.mark.spec("check", "30")
def test_changes_between_pages(owner: Persona) -> None:
    walk = pages(owner, f"{LIST}?limit=1")
    seen = [item["id"] for item in next(walk)]
    owner.put(path("urn:1"), submodel("urn:1", idShort="Changed"))
    owner.delete(path("urn:0"))  # the item of the cursor
    owner.post(LIST, submodel("urn:3"))
    for page in walk:
        seen += [item["id"] for item in page]
    assert seen == ["urn:0", "urn:1", "urn:2", "urn:3"]


def test_list_of_a_shell_without_submodels(alice: Persona) -> None:
    alice.register({"id": SHELL})
    assert alice.get(LIST).json() == {"paging_metadata": {}, "result": []}


def test_list_of_an_unknown_shell(alice: Persona) -> None:
    response = alice.get(LIST)
    assert response.status_code == 404
    assert texts(response) == ["no shell with this id is registered"]


def test_a_cursor_belongs_to_its_shell(owner: Persona) -> None:
    cursor = owner.get(f"{LIST}?limit=1").json()["paging_metadata"]["cursor"]
    owner.register({"id": "urn:other", "submodelDescriptors": [submodel("a"), submodel("b")]})
    assert owner.get(f"{shell_path('urn:other')}/submodel-descriptors?cursor={cursor}").status_code == 400


# --- POST (O7) ----------------------------------------------------------------------------------------


@pytest.mark.spec("check", "19")
def test_post_appends(owner: Persona) -> None:
    body = submodel("urn:example:sm:1", idShort="Nameplate", semanticId=reference("urn:np"))
    response = owner.post(LIST, body)
    assert response.status_code == 201
    assert response["Location"] == f"http://testserver{owner.base}{path('urn:example:sm:1')}"
    assert response["Location"].endswith("/submodel-descriptors/dXJuOmV4YW1wbGU6c206MQ")
    assert response.json() == body
    assert listed(owner) == ["urn:0", "urn:1", "urn:2", "urn:example:sm:1"]
    assert owner.fetch(SHELL).json()["x"] == 1


def test_post_to_a_shell_without_submodels(alice: Persona) -> None:
    alice.register({"id": SHELL})
    assert alice.post(LIST, submodel("urn:0")).status_code == 201
    assert listed(alice) == ["urn:0"]


@pytest.mark.spec("check", "20")
def test_post_to_an_unknown_shell(alice: Persona) -> None:
    response = alice.post(LIST, submodel("urn:0"))
    assert response.status_code == 404
    assert texts(response) == ["no shell with this id is registered"]


@pytest.mark.spec("check", "20")
def test_post_of_a_known_id(owner: Persona) -> None:
    response = owner.post(LIST, submodel("urn:1", idShort="Other"))
    assert response.status_code == 409
    assert texts(response) == ["/id: a submodel with this id is registered already"]
    assert "Other" not in owner.fetch(SHELL).content.decode()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "/id: this member is required"),
        ([], "the body must be a JSON object, a submodel descriptor"),
        ({"id": "a", "endpoints": {}}, "/endpoints: must be an array"),
        ({"id": "a", "idShort": "\0"}, "/idShort: contains a character that is not allowed"),
    ],
)
def test_post_of_what_is_no_submodel_descriptor(owner: Persona, body: object, text: str) -> None:
    response = owner.post(LIST, body)
    assert response.status_code == 400
    assert texts(response)[0].startswith(text)
    assert len(listed(owner)) == 3


@pytest.mark.spec("check", "22")
def test_post_without_endpoints(alice: Persona, strict_alice: Persona) -> None:
    for someone, expected in ((alice, 201), (strict_alice, 400)):
        someone.register({"id": SHELL})
        assert someone.post(LIST, {"id": "urn:x"}).status_code == expected
    assert alice.get(path("urn:x")).json() == {"id": "urn:x"}


@pytest.mark.spec("check", "25")
def test_the_old_name_of_the_supplemental_semantic_ids(owner: Persona) -> None:
    names = {"semanticId": reference("a"), "supplementalSemanticId": [reference("b")]}
    assert owner.post(LIST, submodel("urn:x", **names)).status_code == 201
    assert owner.get(path("urn:x")).json()["supplementalSemanticIds"] == [reference("b")]


@pytest.mark.django_db(transaction=True)
def test_posts_at_the_same_time_all_count(alice: Persona) -> None:
    alice.register({"id": SHELL})

    def attempt(number: int) -> int:
        try:
            status: int = alice.post(LIST, submodel(f"urn:{number}")).status_code
        finally:
            connection.close()
        return status

    with ThreadPoolExecutor(8) as executor:
        assert set(executor.map(attempt, range(24))) == {201}
    assert sorted(listed(alice)) == sorted(f"urn:{number}" for number in range(24))


# --- GET one (O8) -------------------------------------------------------------------------------------


@pytest.mark.spec("check", "21")
def test_get(owner: Persona) -> None:
    response = owner.get(path("urn:1"))
    assert response.status_code == 200
    assert response.json() == submodel("urn:1")
    assert owner.get(path("urn:1"), If_None_Match=response["ETag"]).status_code == 304


def test_get_what_is_not_there(owner: Persona) -> None:
    assert texts(owner.get(path("urn:x"))) == ["no submodel with this id is registered"]
    assert texts(owner.get(path("urn:1", "urn:x"))) == ["no shell with this id is registered"]
    response = owner.get(LIST + "/urn:1")
    assert response.status_code == 400
    assert texts(response)[0].startswith("submodelIdentifier: is not base64url")


def test_the_longest_address(owner: Persona) -> None:
    """Two identifiers of 2,048 characters: some 11,000 characters of base64url."""
    longest = "\u65e5" * 2048
    owner.register({"id": longest, "submodelDescriptors": [submodel(longest)]})
    assert len(path(longest, longest)) > 10_900
    assert owner.get(path(longest, longest)).json() == submodel(longest)
    assert owner.delete(path(longest, longest)).status_code == 204
    assert owner.get(path(longest + "x", longest)).status_code == 400


# --- PUT (O9) -----------------------------------------------------------------------------------------


@pytest.mark.spec("check", "21")
def test_put_of_a_new_id_appends(owner: Persona) -> None:
    response = owner.put(path("urn:3"), submodel("urn:3"))
    assert response.status_code == 201
    assert response["Location"].endswith(path("urn:3"))
    assert response.json() == submodel("urn:3")
    assert listed(owner) == ["urn:0", "urn:1", "urn:2", "urn:3"]


@pytest.mark.spec("check", "21")
def test_put_of_a_known_id_keeps_its_place(owner: Persona) -> None:
    changed = submodel("urn:1", endpoints=[endpoint("opc.tcp://192.0.2.1")])
    response = owner.put(path("urn:1"), changed)
    assert (response.status_code, response.content) == (204, b"")
    assert owner.get(path("urn:1")).json() == changed
    assert listed(owner) == ["urn:0", "urn:1", "urn:2"]


def test_put_with_another_id(owner: Persona) -> None:
    response = owner.put(path("urn:1"), submodel("urn:9"))
    assert response.status_code == 400
    assert listed(owner) == ["urn:0", "urn:1", "urn:2"]


def test_put_below_an_unknown_shell(alice: Persona) -> None:
    assert alice.put(path("urn:1"), submodel("urn:1")).status_code == 404


def test_put_with_if_match(owner: Persona) -> None:
    tag = owner.get(path("urn:1"))["ETag"]
    assert owner.put(path("urn:1"), submodel("urn:1", idShort="AB"), If_Match=tag).status_code == 204
    assert owner.put(path("urn:1"), submodel("urn:1"), If_Match=tag).status_code == 412
    assert owner.put(path("urn:1"), submodel("urn:1"), If_None_Match="*").status_code == 412
    assert owner.get(path("urn:1")).json()["idShort"] == "AB"


# --- DELETE (O10) -------------------------------------------------------------------------------------


@pytest.mark.spec("check", "21")
def test_delete(owner: Persona) -> None:
    response = owner.delete(path("urn:1"))
    assert (response.status_code, response.content) == (204, b"")
    assert listed(owner) == ["urn:0", "urn:2"]
    again = owner.delete(path("urn:1"))
    assert again.status_code == 404
    assert texts(again) == ["no submodel with this id is registered"]


def test_delete_of_the_last(owner: Persona) -> None:
    """An empty array counts as absent, and is never emitted."""
    for number in range(3):
        owner.delete(path(f"urn:{number}"))
    assert owner.fetch(SHELL).json() == {"id": SHELL, "x": 1}


def test_delete_with_if_match(owner: Persona) -> None:
    assert owner.delete(path("urn:1"), If_Match='"other"').status_code == 412
    assert owner.delete(path("urn:1"), If_Match=owner.get(path("urn:1"))["ETag"]).status_code == 204


def test_a_reader_may_only_read(owner: Persona, bob: Persona) -> None:
    assert bob.get(LIST).status_code == bob.get(path("urn:1")).status_code == 200
    refused = [
        bob.post(LIST, submodel("urn:9")),
        bob.put(path("urn:1"), submodel("urn:1")),
        bob.delete(path("urn:1")),
    ]
    assert [response.status_code for response in refused] == [403] * 3
    assert listed(owner) == ["urn:0", "urn:1", "urn:2"]


def test_the_shell_is_changed_then(owner: Persona) -> None:
    """Whoever holds the shell's entity tag learns that it is another one now."""
    tag = owner.fetch(SHELL)["ETag"]
    owner.delete(path("urn:1"))
    assert owner.put(shell_path(SHELL), {"id": SHELL}, If_Match=tag).status_code == 412
