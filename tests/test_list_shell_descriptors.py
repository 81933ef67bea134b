"""GET /shell-descriptors: operation O1, checks 27 to 31, and the filters of aas-registry-api.md §1.4."""

import json
from urllib.parse import quote

import pytest
from django.db import connection

from shells.identifiers import encode
from tests.conftest import Persona, pages, shell_path, texts

PATH = "/shell-descriptors"


def ids(someone: Persona, query: str = "") -> list[str]:
    return [shell["id"] for page in pages(someone, PATH + query) for shell in page]


def fill(someone: Persona, *identifiers: str) -> None:
    for identifier in identifiers:
        assert someone.register({"id": identifier}).status_code == 201


@pytest.mark.spec("check", "27")
def test_pages(alice: Persona) -> None:
    fill(alice, "urn:e", "urn:a", "urn:d", "urn:b", "urn:c")
    assert [[shell["id"] for shell in page] for page in pages(alice, f"{PATH}?limit=2")] == [
        ["urn:e", "urn:a"],
        ["urn:d", "urn:b"],
        ["urn:c"],
    ]


def test_the_last_page_is_not_empty(alice: Persona) -> None:
    fill(alice, "urn:a", "urn:b")
    assert [len(page) for page in pages(alice, f"{PATH}?limit=1")] == [1, 1]
    assert alice.get(f"{PATH}?limit=2").json()["paging_metadata"] == {}


def test_whole_documents(alice: Persona) -> None:
    body = b'{"x":{"b":1,"a":[2]},"id":"urn:1","idShort":"Motor"}'
    alice.post(PATH, body)
    response = alice.get(PATH)
    assert response["Content-Type"] == "application/json"
    assert response.content == b'{"paging_metadata":{},"result":[%b]}' % body


@pytest.mark.spec("check", "28")
def test_an_empty_tenant(alice: Persona, charlie: Persona) -> None:
    fill(charlie, "urn:1")
    assert alice.get(PATH).content == b'{"paging_metadata":{},"result":[]}'


def test_a_reader_may(alice: Persona, bob: Persona) -> None:
    fill(alice, "urn:1")
    assert ids(bob) == ["urn:1"]


def test_the_default_and_the_largest_page(alice: Persona) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO shells_shell (tenant_id, digest, identifier, document) "
            "SELECT %s, md5(n::text)::uuid, n::text, '{}' FROM generate_series(1, 1100) AS n",
            [alice.tenant.pk],
        )
    assert [len(page) for page in pages(alice, PATH)] == [100] * 11
    assert [len(page) for page in pages(alice, f"{PATH}?limit=1000000")] == [1000, 100]
    assert len(alice.get(f"{PATH}?limit=00000000000000000000000000099").json()["result"]) == 99


@pytest.mark.spec("check", "29")
@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("limit=0", "limit: must be a whole number from 1 on"),
        ("limit=-1", "limit: must be a whole number from 1 on"),
        ("limit=x", "limit: must be a whole number from 1 on"),
        ("limit=1.5", "limit: must be a whole number from 1 on"),
        ("limit=%D9%A3", "limit: must be a whole number from 1 on"),
        ("limit=", "limit: must be a whole number from 1 on"),
        ("limit=1&limit=2", "limit: is given more than once"),
        ("cursor=", "cursor: is not one of this list; start again without a cursor"),
        ("cursor=garbage", "cursor: is not one of this list; start again without a cursor"),
        ("cursor=MTI.garbage", "cursor: is not one of this list; start again without a cursor"),
        ("cursor=%00%ff", "cursor: is not one of this list; start again without a cursor"),
        ("cursor=a&cursor=b", "cursor: is given more than once"),
    ],
)
def test_bad_limits_and_cursors(alice: Persona, query: str, text: str) -> None:
    response = alice.get(f"{PATH}?{query}")
    assert response.status_code == 400
    assert texts(response) == [text]


def test_a_cursor_belongs_to_its_tenant_list_and_filters(alice: Persona, charlie: Persona) -> None:
    for someone in (alice, charlie):
        fill(someone, "urn:a", "urn:b")
    cursor = alice.get(f"{PATH}?limit=1").json()["paging_metadata"]["cursor"]
    assert alice.get(f"{PATH}?cursor={cursor}").status_code == 200
    assert charlie.get(f"{PATH}?cursor={cursor}").status_code == 400
    assert alice.get(f"/submodel-descriptors?cursor={cursor}").status_code == 400
    assert alice.get(f"{PATH}?assetKind=Instance&cursor={cursor}").status_code == 400


@pytest.mark.spec("check", "30")
def test_changes_between_pages(alice: Persona) -> None:
    fill(alice, *(f"urn:{number}" for number in range(6)))
    walk = pages(alice, f"{PATH}?limit=2")
    seen = [shell["id"] for shell in next(walk)]
    alice.put(shell_path("urn:0"), {"id": "urn:0", "idShort": "Changed"})
    alice.put(shell_path("urn:4"), {"id": "urn:4", "idShort": "Changed"})
    alice.delete(shell_path("urn:1"))  # the item of the cursor
    alice.delete(shell_path("urn:0"))
    alice.register({"id": "urn:new"})
    for page in walk:
        seen += [shell["id"] for shell in page]
    assert seen == ["urn:0", "urn:1", "urn:2", "urn:3", "urn:4", "urn:5", "urn:new"]


def test_unknown_parameters_are_ignored(alice: Persona) -> None:
    """aas-registry-api.md §0.3."""
    fill(alice, "urn:1", "urn:2")
    assert ids(alice, "?level=deep&limit=1") == ["urn:1", "urn:2"]


# --- Filters ------------------------------------------------------------------------------------------


@pytest.fixture
def plant(alice: Persona) -> Persona:
    """alice, with a few different shells."""
    for body in (
        {"id": "urn:1", "assetKind": "Instance", "assetType": "urn:type:a", "globalAssetId": "g1"},
        {"id": "urn:2", "assetKind": "Type", "assetType": "urn:type:b"},
        {
            "id": "urn:3",
            "assetKind": "Type",
            "assetType": "urn:type:a",
            "specificAssetIds": [{"name": "serial", "value": "4711"}, {"name": "batch", "value": "7"}],
        },
        {"id": "urn:4", "globalAssetId": "g1", "specificAssetIds": [{"name": "serial", "value": "4711"}]},
        {"id": "urn:5", "assetKind": "Batch"},
    ):
        assert alice.register(body).status_code == 201
    return alice


@pytest.mark.spec("check", "31")
def test_asset_kind(plant: Persona) -> None:
    assert ids(plant, "?assetKind=Type") == ["urn:2", "urn:3"]
    assert ids(plant, "?assetKind=Type&limit=1") == ["urn:2", "urn:3"]
    assert ids(plant, "?assetKind=Role") == []
    assert ids(plant, "?assetKind=Batch") == ["urn:5"]


@pytest.mark.spec("check", "31")
def test_asset_type(plant: Persona) -> None:
    encoded = encode("urn:type:a")
    assert ids(plant, f"?assetType={encoded}") == ["urn:1", "urn:3"]
    assert ids(plant, f"?assetType={encoded}%3D%3D") == ["urn:1", "urn:3"]
    assert ids(plant, f"?assetType={encode('urn:type:A')}") == []
    assert ids(plant, f"?assetType={encoded}&assetKind=Type") == ["urn:3"]


@pytest.mark.spec("check", "31")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "assetKind=Foo",
            ["assetKind: must be one of Instance, NotApplicable, Role, Type, Batch"],
        ),
        (
            "assetKind=type",
            ["assetKind: must be one of Instance, NotApplicable, Role, Type, Batch"],
        ),
        ("assetKind=", ["assetKind: must not be empty"]),
        ("assetKind=Type&assetKind=Role", ["assetKind: is given more than once"]),
        (
            "assetType=urn:type:a",
            ["assetType: is not base64url: use the encoded form of the id, not the id itself"],
        ),
        ("assetType=AAA", ["assetType: encodes a character that no identifier may contain"]),
        (f"assetType={encode('x' * 2049)}", ["assetType: encodes more than 2048 characters"]),
        (
            "createdFrom=yesterday",
            ["createdFrom: must be a date and time with its zone, such as 2026-01-31T12:00:00Z"],
        ),
        (
            "createdFrom=0001-01-01T00:00:00%2B16:00",
            ["createdFrom: must be a date and time with its zone, such as 2026-01-31T12:00:00Z"],
        ),
        (
            "updatedFrom=2026-13-01T00:00:00Z&assetKind=Foo",
            [
                "assetKind: must be one of Instance, NotApplicable, Role, Type, Batch",
                "updatedFrom: must be a date and time with its zone, such as 2026-01-31T12:00:00Z",
            ],
        ),
    ],
)
def test_bad_filters(plant: Persona, query: str, expected: list[str]) -> None:
    response = plant.get(f"{PATH}?{query}")
    assert response.status_code == 400
    assert sorted(texts(response)) == expected


def link(name: str, value: str) -> str:
    return encode(json.dumps({"name": name, "value": value}))


def test_asset_ids(plant: Persona) -> None:
    serial, batch, asset = link("serial", "4711"), link("batch", "7"), link("globalAssetId", "g1")
    assert ids(plant, f"?assetIds={serial}") == ["urn:3", "urn:4"]
    assert ids(plant, f"?assetIds={serial}&limit=1") == ["urn:3", "urn:4"]
    assert ids(plant, f"?assetIds={serial}&assetIds={batch}") == ["urn:3"]
    assert ids(plant, f"?assetIds={serial},{batch}") == ["urn:3"]
    both = encode(json.dumps([{"value": "4711", "name": "serial"}, {"name": "batch", "value": "7"}]))
    assert ids(plant, f"?assetIds={both}") == ["urn:3"]
    assert ids(plant, f"?assetIds={both}&assetKind=Instance") == []
    assert ids(plant, f"?assetIds={asset}") == ["urn:1", "urn:4"]
    assert ids(plant, f"?assetIds={asset},{serial}") == ["urn:4"]
    assert ids(plant, f"?assetIds={link('serial', '%')}") == []


@pytest.mark.parametrize(
    "value", ["", "x", "e30", encode('{"name":"a"}'), encode('[{"name":1,"value":"b"}]')]
)
def test_bad_asset_ids(plant: Persona, value: str) -> None:
    response = plant.get(f"{PATH}?assetIds={value}")
    assert response.status_code == 400
    assert all(text.startswith("assetIds: ") for text in texts(response))


@pytest.mark.parametrize(
    ("parameter", "column"), [("createdFrom", "created_at"), ("updatedFrom", "updated_at")]
)
def test_created_and_updated_from(plant: Persona, parameter: str, column: str) -> None:
    with connection.cursor() as cursor:
        for number in range(1, 6):
            moment = f"2026-01-0{number}T12:00:00.5Z"
            cursor.execute(
                f"UPDATE shells_shell SET {column} = %s WHERE identifier = %s", [moment, f"urn:{number}"]
            )
    assert ids(plant, f"?{parameter}=2026-01-03T12:00:00.5Z") == ["urn:3", "urn:4", "urn:5"]
    assert ids(plant, f"?{parameter}=2026-01-03T12:00:00.5Z&limit=1") == ["urn:3", "urn:4", "urn:5"]
    assert ids(plant, f"?{parameter}={quote('2026-01-04T00:00:00+02:00')}") == ["urn:4", "urn:5"]
    assert ids(plant, f"?{parameter}=2026-01-01T00:00:00Z&assetKind=Type") == ["urn:2", "urn:3"]
    assert ids(plant, f"?{parameter}=2027-01-01T00:00:00Z") == []
    assert ids(plant, f"?{parameter}=2027-01-01T00:00:00-23:59") == []  # too far for PostgreSQL
