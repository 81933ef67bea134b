"""Asset ids that are for somebody, in a tenant that shows them to nobody else (docs/identity.md)."""

import json
from typing import Any

import pytest
from django.test import Client

from shells.identifiers import encode
from tenants import services
from tenants.models import Role, Tenant
from tests.bodies import reference
from tests.conftest import Persona, persona, shell_path

BOTH = {
    "type": "ExternalReference",
    "keys": [{"type": "GlobalReference", "value": value} for value in ("BPNL1", "BPNL2")],
}


def asset_id(name: str, subject: Any = None) -> dict[str, Any]:
    return {"name": name, "value": "4711", **({"externalSubjectId": subject} if subject else {})}


OPEN = asset_id("open")
PUBLIC = asset_id("public", reference("PUBLIC_READABLE"))
FIRST = asset_id("first", reference("BPNL1"))
SECOND = asset_id("second", reference("BPNL2"))
SHARED = asset_id("shared", BOTH)
NOBODYS = asset_id("nobodys", {"type": "ExternalReference"})
ALL = [OPEN, PUBLIC, FIRST, SECOND, SHARED, NOBODYS]
SHELL = {
    "zz": {"b": "ä", "a": 1},
    "id": "urn:1",
    "globalAssetId": "g",
    "specificAssetIds": ALL,
    "yy": [None, 1.50],
}

#: Who reads → what they see. None is a caller with the right to write.
SEEN = {
    None: ALL,
    "": [OPEN, PUBLIC],
    "BPNL1": [OPEN, PUBLIC, FIRST, SHARED],
    "BPNL2": [OPEN, PUBLIC, SECOND, SHARED],
    "BPNL": [OPEN, PUBLIC],
    "PUBLIC_READABLE": [OPEN, PUBLIC],
}


@pytest.fixture
def plant(db: None) -> Tenant:
    return services.create_tenant("plant", asset_ids_by_subject=True)


@pytest.fixture
def owner(plant: Tenant) -> Persona:
    someone = persona(plant, "owner", Role.EDITOR)
    assert someone.register(SHELL).status_code == 201
    return someone


def reader(owner: Persona, subject: str | None) -> Persona:
    """Somebody of the owner's tenant who reads for `subject`."""
    if subject is None:
        return owner
    module, secret = services.add_module("plant", f"reader {subject}", role=Role.READER, subject=subject)
    someone = Persona(owner.tenant, module, secret, Client())
    someone.token = someone.new_token()
    return someone


everybody = pytest.mark.parametrize(("subject", "visible"), SEEN.items())


def names(subject: str | None) -> set[str]:
    return {item["name"] for item in SEEN[subject]}


@everybody
def test_single_reads(owner: Persona, subject: str | None, visible: Any) -> None:
    response = reader(owner, subject).fetch("urn:1")
    expected = {**SHELL, "specificAssetIds": visible, "yy": [None, 1.5]}
    assert response.content.decode() == json.dumps(expected, separators=(",", ":"), ensure_ascii=False)


@everybody
def test_lists(owner: Persona, subject: str | None, visible: Any) -> None:
    someone = reader(owner, subject)
    for query in ("", "?updatedFrom=2020-01-01T00:00:00Z", "?limit=1"):
        (shell,) = someone.get(f"/shell-descriptors{query}").json()["result"]
        assert shell["specificAssetIds"] == visible


@everybody
def test_lists_by_asset_ids_and_lookups(owner: Persona, subject: str | None, visible: Any) -> None:
    someone = reader(owner, subject)
    for item in ALL:
        links = [{"name": item["name"], "value": "4711"}]
        expected = ["urn:1"] if item in visible else []
        encoded = encode(json.dumps(links))
        assert someone.post("/lookup/shellsByAssetLink", links).json()["result"] == expected
        assert someone.get(f"/lookup/shells?assetIds={encoded}").json()["result"] == expected
        listed = someone.get(f"/shell-descriptors?assetIds={encoded}").json()["result"]
        assert [shell["id"] for shell in listed] == expected
    everything = [{"name": item["name"], "value": "4711"} for item in ALL]
    assert someone.post("/lookup/shellsByAssetLink", everything).json()["result"] == (
        ["urn:1"] if subject is None else []
    )


@everybody
def test_asset_links(owner: Persona, subject: str | None, visible: Any) -> None:
    someone = reader(owner, subject)
    path = f"/lookup/shells/{encode('urn:1')}"
    assert someone.get(path).json() == [{"name": "globalAssetId", "value": "g"}, *visible]
    owner.post(path, ALL)  # the same, set through discovery
    assert someone.get(path).json() == visible
    for item in ALL:
        links = [{"name": item["name"], "value": "4711"}]
        found = someone.post("/lookup/shellsByAssetLink", links).json()["result"]
        assert found == (["urn:1"] if item in visible else [])


@everybody
def test_queries(owner: Persona, subject: str | None, visible: Any) -> None:
    someone = reader(owner, subject)
    name, value = (
        {"$field": "$aasdesc#specificAssetIds[].name"},
        {"$field": "$aasdesc#specificAssetIds[].value"},
    )
    for item in ALL:
        is_it = {"$eq": [name, {"$strVal": item["name"]}]}
        match = {"$match": [is_it, {"$eq": [value, {"$strVal": "4711"}]}]}
        for condition, expected in (
            (is_it, item in visible),
            (match, item in visible),
            ({"$not": is_it}, item not in visible),
        ):
            result = someone.post("/query/shell-descriptors", {"$condition": condition}).json()["result"]
            assert [shell["specificAssetIds"] for shell in result] == ([visible] if expected else [])
    by_subject = {"$eq": [{"$field": "$aasdesc#specificAssetIds[].externalSubjectId"}, {"$strVal": "BPNL1"}]}
    found = someone.post("/query/shell-descriptors", {"$condition": by_subject, "$select": "id"}).json()[
        "result"
    ]
    assert found == (["urn:1"] if subject in (None, "BPNL1", "BPNL2") else [])


def test_a_shell_of_which_nothing_is_visible(owner: Persona) -> None:
    owner.put(shell_path("urn:1"), {"id": "urn:1", "specificAssetIds": [FIRST]})
    someone = reader(owner, "BPNL2")
    assert someone.fetch("urn:1").json() == {"id": "urn:1"}
    assert someone.get(f"/lookup/shells/{encode('urn:1')}").status_code == 404


def test_entity_tags_are_of_what_is_seen(owner: Persona) -> None:
    someone = reader(owner, "BPNL1")
    tag = someone.fetch("urn:1")["ETag"]
    assert tag != owner.fetch("urn:1")["ETag"]
    assert someone.get(shell_path("urn:1"), If_None_Match=tag).status_code == 304


def test_another_tenant_shows_all(alice: Persona, bob: Persona) -> None:
    alice.register(SHELL)
    assert bob.fetch("urn:1").json()["specificAssetIds"] == ALL


def test_a_subject_with_quotes(owner: Persona) -> None:
    subject = "' OR TRUE --"
    owner.put(
        shell_path("urn:1"), {"id": "urn:1", "specificAssetIds": [asset_id("a", reference(subject)), FIRST]}
    )
    assert len(reader(owner, subject).fetch("urn:1").json()["specificAssetIds"]) == 1
