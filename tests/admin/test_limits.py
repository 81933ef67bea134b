"""How many requests a minute a module and a tenant may make, set in the admin."""

import pytest
from django.test import Client

from shells.services import set_quota
from tests.conftest import Persona


def test_of_a_module(tenant_admin: Client, alice: Persona) -> None:
    address = f"/admin/tenants/module/{alice.module.pk}/change/"
    form = {"role": "editor", "subject": "", "requests_per_minute": "60"}
    assert tenant_admin.post(address, form).status_code == 302
    alice.module.refresh_from_db()
    assert alice.module.requests_per_minute == 60
    assert tenant_admin.post(address, {**form, "requests_per_minute": ""}).status_code == 302
    alice.module.refresh_from_db()
    assert alice.module.requests_per_minute is None


def test_of_a_new_module(tenant_admin: Client, alice: Persona) -> None:
    form = {"tenant": alice.tenant.pk, "name": "line-7", "role": "reader", "requests_per_minute": "7"}
    assert "line-7" in tenant_admin.post("/admin/tenants/module/add/", form).content.decode()
    assert alice.tenant.modules.get(name="line-7").requests_per_minute == 7


def test_of_a_tenant(admin_client: Client, tenant_admin: Client, alice: Persona) -> None:
    """By a superuser, not by the tenant itself."""
    address = f"/admin/tenants/tenant/{alice.tenant.pk}/change/"
    form = {"name": "A", "validation": "lenient", "requests_per_minute": "600"}
    assert tenant_admin.post(address, form).status_code == 403
    assert admin_client.post(address, form).status_code == 302
    alice.tenant.refresh_from_db()
    assert alice.tenant.requests_per_minute == 600


@pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 30])
def test_what_is_no_limit(tenant_admin: Client, alice: Persona, number: str) -> None:
    address = f"/admin/tenants/module/{alice.module.pk}/change/"
    response = tenant_admin.post(address, {"role": "editor", "subject": "", "requests_per_minute": number})
    assert response.status_code == 200
    assert "requests_per_minute" in response.context["adminform"].form.errors


def test_the_quota_of_a_tenant_is_on_its_page(admin_client: Client, alice: Persona) -> None:
    address = f"/admin/tenants/tenant/{alice.tenant.pk}/change/"
    assert "Quota of shells" not in admin_client.get(address).content.decode()
    alice.register({"id": "urn:1"})
    set_quota(alice.tenant.pk, 1500)
    page = admin_client.get(address).content.decode()
    assert "Quota of shells" in page
    assert "1 of 1,500" in page
