"""Superusers create tenants and change them; who works for one sees how it is reached."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from shells import figures
from tenants import services
from tenants.models import Membership, Tenant, Validation
from tests.conftest import Persona, until_others_are_over

ADD = "/admin/tenants/tenant/add/"


def form(identifier: str = "acme", **values: str) -> dict[str, str]:
    return {"identifier": identifier, "name": "Acme", "validation": "strict", **values}


def tenant_page(tenant: Tenant) -> str:
    return f"/admin/tenants/tenant/{tenant.pk}/change/"


class TestCreate:
    def test_a_superuser_creates_one(self, admin_client: Client) -> None:
        assert admin_client.post(ADD, form(asset_ids_by_subject="on")).status_code == 302
        tenant = Tenant.objects.get()
        assert (tenant.identifier, tenant.name, tenant.validation) == ("acme", "Acme", Validation.STRICT)
        assert tenant.asset_ids_by_subject

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("identifier", {"identifier": "tenant-a"}),
            ("identifier", {"identifier": "a/b"}),
            ("identifier", {"identifier": ""}),
            ("name", {"name": "x" * 201}),
            ("validation", {"validation": "none"}),
        ],
    )
    def test_errors_are_at_their_fields(
        self, admin_client: Client, tenant_a: Tenant, field: str, values: dict[str, str]
    ) -> None:
        response = admin_client.post(ADD, form(**values))
        assert list(response.context["adminform"].form.errors) == [field]
        assert Tenant.objects.count() == 1

    def test_the_admin_of_a_tenant_may_not(self, tenant_admin: Client) -> None:
        assert tenant_admin.get(ADD).status_code == 403
        assert tenant_admin.post(ADD, form()).status_code == 403
        assert Tenant.objects.count() == 1


class TestChange:
    def test_all_but_its_id(self, admin_client: Client, tenant_a: Tenant) -> None:
        assert admin_client.post(tenant_page(tenant_a), form("other")).status_code == 302
        tenant_a.refresh_from_db()
        assert (tenant_a.identifier, tenant_a.name, tenant_a.validation) == ("tenant-a", "Acme", "strict")

    def test_the_admin_of_a_tenant_may_not(self, tenant_admin: Client, tenant_a: Tenant) -> None:
        assert tenant_admin.get(tenant_page(tenant_a)).status_code == 200
        assert tenant_admin.post(tenant_page(tenant_a), form()).status_code == 403
        tenant_a.refresh_from_db()
        assert tenant_a.name == "Tenant A"

    def test_nobody_deletes_one(self, admin_client: Client, tenant_a: Tenant) -> None:
        path = f"/admin/tenants/tenant/{tenant_a.pk}/delete/"
        assert admin_client.post(path, {"post": "yes"}).status_code == 403

    def test_the_admin_of_a_tenant_gives_nobody_rights(self, tenant_admin: Client, tenant_a: Tenant) -> None:
        user = User.objects.get(username="admin-of-tenant-a")
        sent = {"username": user.username, "is_superuser": "on"}
        assert tenant_admin.post(f"/admin/auth/user/{user.pk}/change/", sent).status_code == 403
        assert tenant_admin.get("/admin/auth/user/add/").status_code == 403
        assert Membership.objects.count() == 1


class TestPage:
    def test_how_it_is_reached(self, reader: Client, tenant_a: Tenant) -> None:
        page = reader.get(tenant_page(tenant_a)).content.decode()
        assert "http://testserver/aas-api/v3/tenant-a<" in page
        assert "/iam/access-management/v1/tenants/tenant-a/openid-connect/token" in page

    @pytest.mark.django_db(transaction=True)
    def test_what_it_has(self, reader: Client, alice: Persona, charlie: Persona) -> None:
        alice.register({"id": "urn:mine"})
        charlie.register({"id": "urn:of-another"})
        until_others_are_over()
        figures.refresh()
        response = reader.get(tenant_page(alice.tenant))
        [(_, facts)] = response.context["panels"]
        assert facts["shells"] == 1
        assert [change.identifier for change in facts["changes"]] == ["urn:mine"]
        assert [module.name for module in response.context["modules"]] == ["alice"]

    def test_only_its_admins_are_offered_to_add_a_module(
        self, reader: Client, tenant_admin: Client, tenant_a: Tenant
    ) -> None:
        offer = f"/admin/tenants/module/add/?tenant={tenant_a.pk}"
        assert offer not in reader.get(tenant_page(tenant_a)).content.decode()
        assert offer in tenant_admin.get(tenant_page(tenant_a)).content.decode()

    def test_hostile_names_are_text(self, admin_client: Client) -> None:
        tenant = services.create_tenant("hostile", name="<script>alert(1)</script>")
        services.add_module("hostile", "<img src=x onerror=alert(2)>")
        page = admin_client.get(tenant_page(tenant)).content.decode()
        assert "alert(2)" in page
        assert "<script>alert(1)" not in page
        assert "<img src=x" not in page


class TestNavigation:
    def test_links_are_for_what_the_person_may_see(
        self, client: Client, reader: Client, admin_client: Client
    ) -> None:
        client.force_login(User.objects.create_user("newcomer", is_staff=True))

        def links(someone: Client) -> set[str]:
            groups = someone.get("/admin/").context["sidebar_navigation"]
            return {str(item["link"]) for group in groups for item in group["items"]}

        assert links(client) == {"/admin/", "/docs"}
        assert "/admin/tenants/module/" in links(reader)
        assert links(admin_client) - links(reader) == {"/admin/auth/user/"}

    def test_every_link_leads_somewhere(self, admin_client: Client) -> None:
        for group in admin_client.get("/admin/").context["sidebar_navigation"]:
            for item in group["items"]:
                assert admin_client.get(item["link"]).status_code == 200, item


class TestPeople:
    def test_a_superuser_adds_somebody_who_works_for_a_tenant(
        self, admin_client: Client, tenant_a: Tenant
    ) -> None:
        password = "quite-a-long-one-7"
        sent = {
            "username": "dora",
            "password1": password,
            "password2": password,
            "is_staff": "on",
            "memberships-TOTAL_FORMS": "1",
            "memberships-INITIAL_FORMS": "0",
            "memberships-0-tenant": str(tenant_a.pk),
            "memberships-0-role": "admin",
        }
        assert admin_client.get("/admin/auth/user/add/").status_code == 200
        response = admin_client.post("/admin/auth/user/add/", sent)
        assert response.status_code == 302, response.context["errors"]
        dora = Client()
        assert dora.login(username="dora", password=password)
        assert dora.get("/admin/tenants/module/add/").status_code == 200

    def test_the_list_says_for_whom_they_work(self, admin_client: Client, reader: Client) -> None:
        page = admin_client.get("/admin/auth/user/").content.decode()
        assert "tenant-a (reader)" in page
        assert "all tenants" in page
