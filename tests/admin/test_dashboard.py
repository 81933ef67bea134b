"""The dashboard: figures of the own tenants, and as of when they are."""

from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from shells import figures
from shells.models import RefusedRequests, SlowRequest
from tests.admin.conftest import screenshot
from tests.bodies import reference, submodel
from tests.conftest import Persona, until_others_are_over
from tests.query_counts import expected_query_count
from tests.server import Server

#: Figures are of what is committed.
committed = pytest.mark.django_db(transaction=True)


def register(someone: Persona, *numbers: int) -> None:
    for number in numbers:
        plate = submodel(semanticId=reference(f"urn:plate-of-{someone.tenant.identifier}"))
        body = {"id": f"urn:{number}", "submodelDescriptors": [plate]}
        assert someone.register(body).status_code == 201
    figures.observed.write()
    until_others_are_over()
    figures.refresh()
    figures.count_submodels()


def shown(client: Client) -> dict[str, Any]:
    response = client.get("/admin/")
    assert response.status_code == 200
    return dict(response.context["figures"])


@committed
class TestFigures:
    def test_what_was_registered(self, reader: Client, alice: Persona) -> None:
        register(alice, 1, 2)
        figures_ = shown(reader)
        assert [number for _, number, _ in figures_["totals"]] == [2, 2, 0]
        assert [(row["name"], row["number"]) for row in figures_["tenants"]] == [("tenant-a", 2)]
        assert [(row["name"], row["number"]) for row in figures_["semantic_ids"]] == [
            ("urn:plate-of-tenant-a", 2)
        ]
        today = figures_["registered"]["bars"][-1]
        assert (today.number, today.height) == (2, 100)
        assert figures_["as_of"] is not None

    def test_of_the_own_tenants_only(
        self, reader: Client, admin_client: Client, alice: Persona, charlie: Persona
    ) -> None:
        figures.observed.write()  # what other tests have left in this process
        RefusedRequests.objects.all().delete()
        SlowRequest.objects.all().delete()
        register(alice, 1)
        charlie.fetch("urn:nowhere")
        figures.observed.note("tenant-b", "GET x", 200, 9.0, "slow-b")
        figures.observed.note("", "GET nowhere", 401, 9.0, "slow-nobody")
        register(charlie, 1, 2, 3)
        own, all_ = shown(reader), shown(admin_client)
        assert own["totals"][0][1] == 1
        assert all_["totals"][0][1] == 4
        assert own["registered"]["sum"] == 1
        assert [row["name"] for row in own["tenants"]] == ["tenant-a"]
        assert [row["name"] for row in own["semantic_ids"]] == ["urn:plate-of-tenant-a"]
        assert own["refused"]["sum"] == 0
        assert dict(all_["refused_statuses"]) == {401: 1, 404: 1}
        assert list(own["slowest"]) == []
        assert {row.correlation_id for row in SlowRequest.objects.all()} >= {"slow-b", "slow-nobody"}
        assert "tenant-b" not in reader.get("/admin/").content.decode()

    def test_before_the_first_count(self, admin_client: Client) -> None:
        assert "being counted for the first time" in admin_client.get("/admin/").content.decode()

    def test_hostile_text(self, admin_client: Client, alice: Persona) -> None:
        plate = submodel(semanticId=reference("<img src=x onerror=alert(1)>"))
        alice.register({"id": "urn:1", "submodelDescriptors": [plate]})
        figures.count_submodels()
        page = admin_client.get("/admin/").content.decode()
        assert "onerror=alert(1)" in page
        assert "<img src=x" not in page


def test_nothing_for_somebody_without_a_tenant(client: Client, django_user_model: Any) -> None:
    client.force_login(django_user_model.objects.create_user("newcomer", is_staff=True))
    assert client.get("/admin/").context["figures"] is None


@committed
@pytest.mark.parametrize("shells", [1, 12])
def test_its_statements_do_not_depend_on_what_is_there(
    admin_client: Client, reader: Client, alice: Persona, shells: int
) -> None:
    register(alice, *range(shells))
    admin_client.get("/admin/")  # what is looked up once in a process
    with expected_query_count("admin dashboard"):
        admin_client.get("/admin/")
    with expected_query_count("admin dashboard of a member"):
        reader.get("/admin/")


@pytest.mark.parametrize(
    "path", ["tenants/tenant/{0}/change/", "tenants/module/add/", "tenants/module/", "try-it/"]
)
def test_statements_of_other_pages(admin_client: Client, alice: Persona, bob: Persona, path: str) -> None:
    address = f"/admin/{path.format(alice.tenant.pk)}"
    assert admin_client.get(address).status_code == 200  # what is looked up once in a process
    with expected_query_count(f"admin {path}"):
        admin_client.get(address)


def test_the_server_keeps_the_figures_by_itself(page: Page, server: Server) -> None:
    server.manage("create_tenant", "figures")
    shells = server.manage("generate_shells", "25")
    server.manage("import_shells", "--tenant", "figures", "-", stdin=shells.encode())
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="figures", exact=True))
    for _ in range(60):
        page.goto("/admin/")
        if row.count():
            break
        page.wait_for_timeout(500)
    expect(row.get_by_role("cell").nth(1)).to_have_text("25")
    expect(page.get_by_text("Figures as of")).to_be_visible()
    expect(page.get_by_role("img", name="Shells registered each day")).to_be_visible()
    page.get_by_text("As a table").first.click()
    expect(page.get_by_role("columnheader", name="Day").first).to_be_visible()
    screenshot(page, "dashboard")
    page.emulate_media(color_scheme="dark")
    screenshot(page, "dashboard-dark")
