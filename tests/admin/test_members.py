"""A person sees the rows of the own tenants only, and a superuser all."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tenants.models import Membership, Role, Tenant
from tests.admin.conftest import member
from tests.bodies import CONTRACT_EXAMPLE
from tests.conftest import Persona

MODELS = [
    "shells/shell",
    "shells/submodel",
    "shells/assetid",
    "shells/change",
    "tenants/tenant",
    "tenants/module",
]


@pytest.fixture(autouse=True)
def _stored(alice: Persona, charlie: Persona) -> None:
    alice.register(CONTRACT_EXAMPLE)
    charlie.register({**CONTRACT_EXAMPLE, "id": "2222-shell"})


def rows(client: Client, model: str, **query: str) -> list[str]:
    response = client.get(f"/admin/{model}/", query)
    assert response.status_code == 200
    return [str(getattr(row, "tenant", row)) for row in response.context["cl"].result_list]


@pytest.mark.parametrize("model", MODELS)
def test_a_list_has_the_rows_of_the_own_tenants(reader: Client, model: str) -> None:
    assert set(rows(reader, model)) == {"tenant-a"}


@pytest.mark.parametrize("model", MODELS)
def test_a_superuser_sees_all(admin_client: Client, model: str) -> None:
    assert set(rows(admin_client, model)) == {"tenant-a", "tenant-b"}


@pytest.mark.parametrize("model", MODELS)
def test_a_row_of_another_tenant_is_not_there(reader: Client, admin_client: Client, model: str) -> None:
    others = admin_client.get(f"/admin/{model}/").context["cl"].result_list
    other = next(row.pk for row in others if str(getattr(row, "tenant", row)) == "tenant-b")
    response = reader.get(f"/admin/{model}/{other}/change/")
    assert response.status_code == 302  # Django: back to the start, with "doesn't exist"
    assert response["Location"] == "/admin/"


def test_the_filter_names_the_own_tenants_only(reader: Client, tenant_b: Tenant) -> None:
    page = reader.get("/admin/shells/shell/").content.decode()
    assert "tenant-a" in page
    assert "tenant-b" not in page
    assert "tenant-b" not in rows(reader, "shells/shell", tenant__id__exact=str(tenant_b.pk))


def test_a_member_of_two_tenants_sees_both(tenant_a: Tenant, tenant_b: Tenant) -> None:
    client = member(tenant_a, Role.READER, "both")
    Membership.objects.create(person=User.objects.get(username="both"), tenant=tenant_b, role=Role.EDITOR)
    assert set(rows(client, "shells/shell")) == {"tenant-a", "tenant-b"}


def test_who_is_a_member_of_nothing_sees_nothing(client: Client) -> None:
    client.force_login(User.objects.create_user("newcomer", is_staff=True))
    assert client.get("/admin/").status_code == 200
    for model in MODELS:
        assert client.get(f"/admin/{model}/").status_code == 403


def test_people_are_for_superusers(tenant_admin: Client, admin_client: Client) -> None:
    assert tenant_admin.get("/admin/auth/user/").status_code == 403
    assert admin_client.get("/admin/auth/user/").status_code == 200


def test_a_superuser_gives_a_role_in_a_tenant(admin_client: Client, tenant_b: Tenant) -> None:
    user = User.objects.create_user("dora", is_staff=True)
    form = {
        "username": "dora",
        "is_active": "on",
        "is_staff": "on",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
        "memberships-TOTAL_FORMS": "1",
        "memberships-INITIAL_FORMS": "0",
        "memberships-0-person": str(user.pk),
        "memberships-0-tenant": str(tenant_b.pk),
        "memberships-0-role": "editor",
    }
    response = admin_client.post(f"/admin/auth/user/{user.pk}/change/", form)
    assert response.status_code == 302, response.context["errors"]
    assert [str(item) for item in user.memberships.all()] == ["dora is editor of tenant-b"]
