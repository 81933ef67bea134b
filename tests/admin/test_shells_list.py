"""The list of shells: pages by key, search and filters, each by an index and within the own tenants."""

import re
from typing import Any
from urllib.parse import unquote

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from shells.admin import search
from shells.identifiers import encode
from tenants.models import Membership, Role, Tenant
from tests.admin.conftest import member
from tests.bodies import reference, submodel
from tests.conftest import Persona, locked

LIST = "/admin/shells/shell/"


def found(client: Client, query: dict[str, str] | str = "", model: str = "shell") -> list[str]:
    address = f"/admin/shells/{model}/"
    response = client.get(address + query) if isinstance(query, str) else client.get(address, query)
    assert response.status_code == 200, response.content
    return [row.identifier for row in response.context["cl"].result_list]


def link(client: Client, address: str, relation: str) -> str | None:
    page = client.get(address).content.decode()
    match = re.search(rf'href="([^"]*)" rel="{relation}"', page)
    return None if match is None else LIST + unquote(match[1].replace("&amp;", "&"))


class TestPages:
    def test_forward_and_back_each_shell_is_seen_once_the_newest_first(
        self, admin_client: Client, alice: Persona, charlie: Persona
    ) -> None:
        for number in range(120):
            (alice if number % 3 else charlie).register({"id": f"urn:{number:03d}"})
        names = [f"urn:{number:03d}" for number in reversed(range(120))]
        address: str | None = LIST
        pages, last = [], LIST
        while address:
            pages.append(found(admin_client, address.removeprefix(LIST)))
            last, address = address, link(admin_client, address, "next")
        assert pages == [names[:50], names[50:100], names[100:]]
        back = link(admin_client, last, "prev")
        assert back is not None
        assert found(admin_client, back.removeprefix(LIST)) == names[50:100]
        first = link(admin_client, back, "prev")
        assert first is not None
        assert found(admin_client, first.removeprefix(LIST)) == names[:50]
        assert link(admin_client, first, "prev") is None

    def test_of_several_tenants_in_the_order_of_time(
        self, tenant_a: Tenant, tenant_b: Tenant, alice: Persona, charlie: Persona
    ) -> None:
        client = member(tenant_a, Role.READER, "both")
        Membership.objects.create(person=User.objects.get(username="both"), tenant=tenant_b, role=Role.READER)
        for number in range(60):
            (alice if number % 2 else charlie).register({"id": f"urn:{number}", "assetKind": "Type"})
        names = [f"urn:{number}" for number in reversed(range(60))]
        for query in ("?", "?asset_kind=Type&"):
            assert found(client, query) == names[:50]
            following = link(client, LIST + query, "next")
            assert following is not None
            assert found(client, following.removeprefix(LIST)) == names[50:]

    @pytest.mark.parametrize(
        "page",
        [
            "0",
            "x",
            ">",
            ">[]",
            ">[1,2]",
            '>["a"]',
            ">[null]",
            f">[{10**30}]",
            "<[-5]",
            ">{",
            ">[[1]]",
            ">[1e400]",
        ],
    )
    def test_a_page_that_is_none(self, admin_client: Client, page: str) -> None:
        assert admin_client.get(LIST, {"p": page}).status_code in (200, 302)

    def test_nothing_is_counted(self, admin_client: Client, alice: Persona) -> None:
        alice.register({"id": "urn:1"})
        with CaptureQueriesContext(connection) as queries:
            admin_client.get(LIST, {"_facets": "True", "all": ""})
        assert not [query for query in queries if re.search(r"^SELECT COUNT|OFFSET", query["sql"])]


BODY: dict[str, Any] = {
    "id": "https://example.com/shell?x=1",
    "idShort": "Motor_1",
    "assetKind": "Type",
    "assetType": "urn:type",
    "globalAssetId": "urn:asset",
    "specificAssetIds": [{"name": "serialNumber", "value": "4711"}],
    "submodelDescriptors": [
        submodel("urn:sm:1", semanticId=reference("urn:semantic")),
        submodel("urn:sm:2"),
    ],
}


@pytest.fixture
def _registered(alice: Persona, charlie: Persona) -> None:
    alice.register(BODY)
    alice.register({"id": "urn:other", "idShort": "Pump_1", "assetKind": "Instance"})
    charlie.register({**BODY, "id": "urn:of-b"})


@pytest.mark.usefixtures("_registered")
class TestSearch:
    @pytest.mark.parametrize(
        "term",
        [
            BODY["id"],
            encode(BODY["id"]),
            "urn:asset",
            "4711",
            "serialNumber=4711",
            "globalAssetId=urn:asset",
            "GLOBALASSETID=urn:asset",
            "Motor_1",
            "Motor_*",
            "M*",
            "  Motor_1 ",
        ],
    )
    def test_finds(self, reader: Client, term: str) -> None:
        assert found(reader, {"q": term}) == [BODY["id"]]

    @pytest.mark.parametrize(
        "term",
        [
            "otor_1",
            "motor_1",
            "Motor_",
            "%*",
            "_*",
            "M_tor*",
            "471",
            "serialNumber=471",
            "x=4711",
            "urn:of-b",
            "\0",
            "'",
            "=",
            "a=",
        ],
    )
    def test_does_not_find(self, reader: Client, term: str) -> None:
        assert found(reader, {"q": term}) == [] or "\0" in term

    def test_beginnings_come_in_alphabetical_order(self, reader: Client, alice: Persona) -> None:
        long = "Motor_" + "x" * 100
        for number, short in enumerate(["Motor_3", "Motor_2", f"{long}b", f"{long}a"]):
            alice.register({"id": f"urn:{number}", "idShort": short})
        assert found(reader, {"q": "Motor_*"})[:3] == [BODY["id"], "urn:1", "urn:0"]
        assert found(reader, {"q": f"{long}b*"}) == ["urn:2"]

    def test_within_a_tenant(self, admin_client: Client, tenant_b: Tenant) -> None:
        assert set(found(admin_client, {"q": "4711"})) == {BODY["id"], "urn:of-b"}
        assert found(admin_client, {"q": "4711", "tenant__id__exact": str(tenant_b.pk)}) == ["urn:of-b"]


@pytest.mark.usefixtures("_registered")
class TestFilters:
    @pytest.mark.parametrize(
        ("query", "names"),
        [
            ({"asset_kind": "Type"}, [BODY["id"]]),
            ({"asset_kind": "Role"}, []),
            ({"asset_type": "urn:type"}, [BODY["id"]]),
            ({"asset_type": "urn:typ"}, []),
            ({"semantic_id": "urn:semantic"}, [BODY["id"]]),
            ({"semantic_id": "urn:other"}, []),
            ({"created_at_from": "2020-01-01", "created_at_to": "2100-01-01"}, ["urn:other", BODY["id"]]),
            ({"created_at_to": "2020-01-01"}, []),
            ({"created_at_from": "nonsense"}, ["urn:other", BODY["id"]]),
            ({"created_at_to": "9999-12-31"}, ["urn:other", BODY["id"]]),
            ({"asset_kind": "Type", "created_at_from": "2020-01-01", "q": "Motor_*"}, [BODY["id"]]),
            ({"asset_type": "a\0b"}, []),
        ],
    )
    def test_filter(self, reader: Client, query: dict[str, str], names: list[str]) -> None:
        assert found(reader, query) == names

    def test_the_day_named_last_counts(self, reader: Client) -> None:
        today = timezone.now().strftime("%Y-%m-%d")
        assert len(found(reader, {"created_at_from": today, "created_at_to": today})) == 2


@pytest.mark.usefixtures("_registered")
def test_the_number_of_submodels(reader: Client) -> None:
    rows = reader.get(LIST).context["cl"].result_list
    assert {row.identifier: row.submodel_count for row in rows} == {BODY["id"]: 2, "urn:other": 0}


@pytest.mark.parametrize("tenant", ["abc", "9" * 40, "-1", "0", "\0"])
@pytest.mark.parametrize("term", ["", "4711", "a=b", "Motor_*"])
def test_a_tenant_that_is_none(reader: Client, tenant: str, term: str) -> None:
    response = reader.get(LIST, {"tenant__id__exact": tenant, "q": term})
    assert response.status_code in (200, 302)
    if response.status_code == 200:
        assert response.context["cl"].result_list == []


@pytest.mark.django_db(transaction=True)
class TestTime:
    """A list that is narrowed down may take as long as a query of the API, and no longer."""

    def test_what_takes_too_long_is_given_up(
        self, admin_client: Client, alice: Persona, settings: Any
    ) -> None:
        alice.register({"id": "urn:1", "assetKind": "Type"})
        settings.QUERY_TIMEOUT_MS = 200
        with locked("shells_shell"):
            response = admin_client.get(LIST, {"asset_kind": "Type"})
        assert "That takes too long" in response.content.decode()
        assert found(admin_client, {"asset_kind": "Type"}) == ["urn:1"]

    def test_the_limit_is_that_of_the_list_alone(self, admin_client: Client, alice: Persona) -> None:
        alice.register({"id": "urn:1", "assetKind": "Type"})
        assert found(admin_client, {"asset_kind": "Type"}) == ["urn:1"]
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            assert cursor.fetchone() == ("0",)


def test_who_sees_more_tenants_than_are_searched_is_told(
    admin_client: Client, alice: Persona, charlie: Persona, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_TENANTS", 1)
    told = "Searched in 1 of 2 tenants only: choose a tenant."
    assert told in admin_client.get(LIST, {"q": "urn:1"}).content.decode()
    chosen = {"q": "urn:1", "tenant__id__exact": str(charlie.tenant.pk)}
    assert told not in admin_client.get(LIST, chosen).content.decode()
