"""/lookup/…: discovery, operations O18 to O22, checks 35 to 37."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from shells.identifiers import encode
from shells.models import AssetLink, AssetLinks, Shell
from tests.bodies import reference
from tests.conftest import Persona, pages, shell_path, texts

SEARCH = "/lookup/shellsByAssetLink"


def link(name: str, value: str, **members: Any) -> dict[str, Any]:
    return {"name": name, "value": value, **members}


def links_path(identifier: str) -> str:
    return f"/lookup/shells/{encode(identifier)}"


def by_post(someone: Persona, *links: Any) -> list[str]:
    return [shell for page in pages(someone, SEARCH, list(links)) for shell in page]


def by_repeated(someone: Persona, *links: Any) -> list[str]:
    query = "&".join(f"assetIds={encode(json.dumps(item))}" for item in links)
    return [shell for page in pages(someone, f"/lookup/shells?{query}") for shell in page]


def by_commas(someone: Persona, *links: Any) -> list[str]:
    query = ",".join(encode(json.dumps(item)) for item in links)
    return [shell for page in pages(someone, f"/lookup/shells?assetIds={query}") for shell in page]


def by_array(someone: Persona, *links: Any) -> list[str]:
    query = encode(json.dumps(links))
    return [shell for page in pages(someone, f"/lookup/shells?assetIds={query}%3D") for shell in page]


WAYS = [by_post, by_repeated, by_commas, by_array]


@pytest.fixture
def plant(alice: Persona) -> Persona:
    """alice, with three shells."""
    serial = link("serialNumber", "4711")
    for body in (
        {"id": "urn:1", "globalAssetId": "g1", "specificAssetIds": [serial, link("batch", "7"), serial]},
        {"id": "urn:2", "globalAssetId": "g2", "specificAssetIds": [link("serialNumber", "4711")]},
        {"id": "urn:3", "specificAssetIds": [link("batch", "4711"), link("serialNumber", "7")]},
    ):
        assert alice.register(body).status_code == 201
    return alice


# --- From links to shells (O18, O19) ------------------------------------------------------------------


@pytest.mark.spec("check", "35")
@pytest.mark.spec("check", "36")
@pytest.mark.parametrize("find", WAYS)
def test_all_links_must_be_there(plant: Persona, find: Callable[..., list[str]]) -> None:
    assert find(plant, link("serialNumber", "4711")) == ["urn:1", "urn:2"]
    assert find(plant, link("serialNumber", "4711"), link("globalAssetId", "g1")) == ["urn:1"]
    assert find(plant, link("globalAssetId", "g1"), link("serialNumber", "4711")) == ["urn:1"]
    assert find(plant, link("serialNumber", "4711"), link("batch", "7")) == ["urn:1"]
    assert find(plant, link("serialNumber", "4711"), link("batch", "8")) == []
    assert find(plant, link("batch", "7"), link("batch", "4711")) == []


@pytest.mark.parametrize("find", WAYS)
def test_names_and_values_are_exact_but_the_reserved_name(
    plant: Persona, find: Callable[..., list[str]]
) -> None:
    for name in ("globalAssetId", "globalassetid", "GLOBALASSETID"):
        assert find(plant, link(name, "g2")) == ["urn:2"]
    assert find(plant, link("globalAssetId", "G2")) == []
    assert find(plant, link("serialnumber", "4711")) == []
    assert find(plant, link("serialNumber", "471_")) == []
    assert find(plant, link("serialNumber", "4711' OR 'a'='a")) == []


@pytest.mark.parametrize("find", WAYS)
def test_members_that_are_not_looked_at(plant: Persona, find: Callable[..., list[str]]) -> None:
    """The example of the specification has a reference of an impossible type (aas-registry-api.md §1.4)."""
    subject = {"type": "GlobalReference", "keys": []}
    assert find(plant, link("batch", "7", externalSubjectId=subject, foo=None)) == ["urn:1"]


@pytest.mark.spec("check", "35")
def test_nothing_is_asked_for(plant: Persona) -> None:
    for response in (plant.post(SEARCH, []), plant.get("/lookup/shells")):
        assert response.status_code == 200
        assert response.json() == {"paging_metadata": {}, "result": []}


@pytest.mark.parametrize("find", WAYS)
def test_as_many_links_as_can_be_asked_for(alice: Persona, find: Callable[..., list[str]]) -> None:
    links = [link("n", str(number)) for number in range(50)]
    alice.register({"id": "urn:1", "specificAssetIds": links})
    alice.register({"id": "urn:2", "specificAssetIds": links[:-1]})
    alice.post(links_path("urn:3"), links)
    assert find(alice, *links) == ["urn:1", "urn:3"]
    assert find(alice, *links[:-1]) == ["urn:1", "urn:2", "urn:3"]


def test_pages_of_ids(plant: Persona) -> None:
    for number in range(10, 15):
        plant.register({"id": f"urn:{number}", "specificAssetIds": [link("line", "A")]})
    walk = list(pages(plant, f"{SEARCH}?limit=2", [link("line", "A")]))
    assert walk == [["urn:10", "urn:11"], ["urn:12", "urn:13"], ["urn:14"]]
    query = encode(json.dumps(link("line", "A")))
    assert list(pages(plant, f"/lookup/shells?limit=2&assetIds={query}")) == walk


def test_a_cursor_belongs_to_its_links(plant: Persona) -> None:
    cursor = plant.post(f"{SEARCH}?limit=1", [link("serialNumber", "4711")]).json()["paging_metadata"][
        "cursor"
    ]
    response = plant.post(f"{SEARCH}?cursor={cursor}", [link("batch", "7")])
    assert response.status_code == 400
    assert plant.post(f"{SEARCH}?cursor={cursor}", [link("serialNumber", "4711")]).json()["result"] == [
        "urn:2"
    ]


@pytest.mark.spec("check", "35")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ([{"name": "serialNumber"}], "/0/value: this member is required"),
        ([{"value": "4711"}], "/0/name: this member is required"),
        ([link("a", "b"), link("", "b")], "/1/name: must not be empty"),
        ([{"name": "a", "value": 4711}], "/0/value: must be a string"),
        ([link("a", "\0")], "/0/value: contains a character that is not allowed"),
        ([link("a", "x" * 2049)], "/0/value: has more than 2048 characters"),
        ([link("a", "b")] * 101, "more than 100 asset links at once"),
        ([link("a", "b")] * 100_000, "more than 100 asset links at once"),
        ({"name": "a", "value": "b"}, "the body must be a JSON array of asset links"),
        (["a"], "/0: must be an object"),
        (b"", "the request has no body; JSON is expected"),
    ],
)
def test_bad_searches(plant: Persona, body: Any, text: str) -> None:
    response = plant.post(SEARCH, body)
    assert response.status_code == 400
    assert texts(response)[0].startswith(text)


@pytest.mark.parametrize("value", ["", "%%%", "YQ", "W10x", "bnVsbA", encode("[1]")])
def test_bad_asset_ids(plant: Persona, value: str) -> None:
    response = plant.get(f"/lookup/shells?assetIds={value}")
    assert response.status_code == 400
    assert texts(response)[0].startswith("assetIds: ")


def test_replacing_and_removing_a_shell(plant: Persona) -> None:
    plant.put(shell_path("urn:1"), {"id": "urn:1", "specificAssetIds": [link("serialNumber", "new")]})
    plant.delete(shell_path("urn:2"))
    assert by_post(plant, link("serialNumber", "4711")) == []
    assert by_post(plant, link("globalAssetId", "g1")) == []
    assert by_post(plant, link("serialNumber", "new")) == ["urn:1"]


# --- From a shell to its links (O20) ------------------------------------------------------------------


@pytest.mark.spec("check", "37")
def test_links_of_a_registered_shell(plant: Persona) -> None:
    response = plant.get(links_path("urn:2"))
    assert response.status_code == 200
    assert response.json() == [link("globalAssetId", "g2"), link("serialNumber", "4711")]
    assert plant.get(links_path("urn:3")).json() == [link("batch", "4711"), link("serialNumber", "7")]


def test_whole_specific_asset_ids_come_back(alice: Persona) -> None:
    item = link("serialNumber", "1", externalSubjectId=reference("BPNL1"), semanticId=reference("urn:s"))
    alice.register({"id": "urn:1", "specificAssetIds": [item]})
    assert alice.get(links_path("urn:1")).json() == [item]


def test_an_unknown_shell_and_one_without_links(alice: Persona) -> None:
    alice.register({"id": "urn:1"})
    for identifier in ("urn:1", "urn:unknown"):
        response = alice.get(links_path(identifier))
        assert response.status_code == 404
        assert texts(response) == ["no shell with asset links with this id is registered"]


# --- Setting links (O21) ------------------------------------------------------------------------------


@pytest.mark.spec("check", "37")
def test_set_and_delete(plant: Persona) -> None:
    document = plant.fetch("urn:1").content
    new = [link("inventory", "i-9"), link("GlobalAssetId", "g9")]
    response = plant.post(links_path("urn:1"), new)
    assert response.status_code == 201
    assert response.json() == new
    assert plant.get(links_path("urn:1")).json() == new
    assert by_post(plant, link("serialNumber", "4711")) == ["urn:2"]
    assert by_post(plant, link("inventory", "i-9"), link("globalAssetId", "g9")) == ["urn:1"]
    assert plant.delete(links_path("urn:1")).status_code == 204
    assert plant.get(links_path("urn:1")).status_code == 404
    assert plant.delete(links_path("urn:1")).status_code == 404
    assert by_post(plant, link("inventory", "i-9")) == []
    assert by_post(plant, link("globalAssetId", "g1")) == []
    assert plant.fetch("urn:1").content == document  # discovery does not touch the registry


def test_set_again_replaces_all(alice: Persona) -> None:
    for value in ("1", "2"):
        assert alice.post(links_path("urn:x"), [link("a", value)]).status_code == 201
    assert alice.get(links_path("urn:x")).json() == [link("a", "2")]
    assert by_post(alice, link("a", "1")) == []
    assert AssetLinks.objects.count() == AssetLink.objects.count() == 1


def test_links_of_a_shell_that_is_not_registered(alice: Persona) -> None:
    """Discovery stands alone (aas-registry-api.md §1.5)."""
    alice.post(links_path("urn:x"), [link("a", "1")])
    assert by_post(alice, link("a", "1")) == ["urn:x"]
    assert alice.fetch("urn:x").status_code == 404
    assert alice.delete(links_path("urn:x")).status_code == 204
    assert not AssetLinks.objects.exists()
    assert not AssetLink.objects.exists()


@pytest.mark.parametrize("write", ["put", "delete and register", "bulk"])
def test_the_last_writer_wins(plant: Persona, write: str) -> None:
    from shells import services
    from shells.collections import SHELLS
    from shells.descriptors import check_shell

    plant.post(links_path("urn:2"), [link("a", "1")])
    body = {"id": "urn:2", "globalAssetId": "g2"}
    if write == "put":
        plant.put(shell_path("urn:2"), body)
    elif write == "bulk":
        services.replace_many(SHELLS, plant.tenant.pk, [check_shell(body, strict=False)])
    else:
        plant.delete(shell_path("urn:2"))
        plant.register(body)
    assert plant.get(links_path("urn:2")).json() == [link("globalAssetId", "g2")]
    assert by_post(plant, link("a", "1")) == []
    assert by_post(plant, link("globalAssetId", "g2")) == ["urn:2"]


def test_registering_ends_what_discovery_said(alice: Persona) -> None:
    alice.post(links_path("urn:x"), [link("a", "1")])
    alice.register({"id": "urn:x", "globalAssetId": "g"})
    assert alice.get(links_path("urn:x")).json() == [link("globalAssetId", "g")]
    assert by_post(alice, link("a", "1")) == []


def test_pages_over_descriptors_and_set_links(alice: Persona) -> None:
    for number in range(3):
        alice.register({"id": f"urn:{number}", "specificAssetIds": [link("a", "1")]})
    for name in ("urn:x", "urn:1", "urn:y"):
        alice.post(links_path(name), [link("a", "1")])
    walk = list(pages(alice, f"{SEARCH}?limit=2", [link("a", "1")]))
    assert walk == [["urn:0", "urn:2"], ["urn:x", "urn:1"], ["urn:y"]]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "the body must be a JSON array of specific asset ids"),
        ([{"name": "a"}], "/0/value: this member is required"),
        ([link("", "b")], "/0/name: must not be empty"),
        ([link("a", "b"), 1], "/1: must be an object"),
        (
            [link("globalAssetId", "g", externalSubjectId=reference("x"))],
            "/0/externalSubjectId: a global asset id has none",
        ),
        ([link("globalAssetId", "g"), link("GLOBALASSETID", "h")], "/1/name: there is a global asset id"),
    ],
)
def test_bad_links_change_nothing(plant: Persona, body: Any, text: str) -> None:
    response = plant.post(links_path("urn:3"), body)
    assert response.status_code == 400
    assert texts(response)[0].startswith(text)
    assert len(plant.get(links_path("urn:3")).json()) == 2


def test_strict_tenants_are_strict(alice: Persona, strict_alice: Persona) -> None:
    for body in ([link("a", "b", foo=1)], [link("a", "b", externalSubjectId={"type": "ExternalReference"})]):
        assert alice.post(links_path("urn:x"), body).status_code == 201
        assert strict_alice.post(links_path("urn:x"), body).status_code == 400


def test_a_reader_may_look_up_only(plant: Persona, bob: Persona) -> None:
    assert by_post(bob, link("batch", "7")) == by_array(bob, link("batch", "7")) == ["urn:1"]
    assert bob.get(links_path("urn:1")).status_code == 200
    assert bob.post(links_path("urn:1"), []).status_code == 403
    assert bob.delete(links_path("urn:1")).status_code == 403
    assert Shell.objects.count() == 3
    assert not AssetLinks.objects.exists()


def test_tenants_do_not_see_each_other(plant: Persona, charlie: Persona) -> None:
    plant.post(links_path("urn:x"), [link("a", "1")])
    assert by_post(charlie, link("a", "1")) == by_post(charlie, link("batch", "7")) == []
    for identifier in ("urn:x", "urn:1"):
        assert charlie.get(links_path(identifier)).status_code == 404
        assert charlie.delete(links_path(identifier)).status_code == 404
    charlie.post(links_path("urn:1"), [link("b", "1")])
    assert len(plant.get(links_path("urn:1")).json()) == 4
