"""manage.py create_tenant, add_module and demo."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from tenants.models import Module, Role, Tenant, Validation
from tests.conftest import AUDIENCE, post_form, token_url

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    output = StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


class TestCreateTenant:
    def test_it_works(self) -> None:
        assert run("create_tenant", "acme") == "created tenant acme (lenient)\n"
        tenant = Tenant.objects.get()
        assert (tenant.identifier, tenant.name, tenant.validation) == ("acme", "", Validation.LENIENT)

    def test_options(self) -> None:
        run("create_tenant", "acme", "--name", "Acme GmbH", "--validation", "strict")
        tenant = Tenant.objects.get()
        assert (tenant.name, tenant.validation) == ("Acme GmbH", Validation.STRICT)

    def test_an_id_that_exists(self) -> None:
        run("create_tenant", "acme")
        with pytest.raises(CommandError, match=r"^tenant 'acme' exists already$"):
            run("create_tenant", "acme")

    @pytest.mark.parametrize("identifier", ["", "a/b", "a b", "-a", "ä", "a" * 65, "a\n", "a%"])
    def test_a_bad_id(self, identifier: str) -> None:
        with pytest.raises(CommandError, match=r"^identifier: ") as refusal:
            run("create_tenant", "--", identifier)
        assert "\n" not in str(refusal.value)
        assert not Tenant.objects.exists()

    def test_an_unknown_level(self) -> None:
        with pytest.raises(CommandError, match="--validation"):
            run("create_tenant", "acme", "--validation", "harsh")


class TestAddModule:
    @pytest.fixture(autouse=True)
    def _tenant(self, tenant_a: Tenant) -> None: ...

    def credentials(self, *options: str) -> dict[str, str]:
        document: dict[str, str] = json.loads(run("add_module", "tenant-a", "loader", "--json", *options))
        return document

    def test_the_printed_credentials_get_a_token(self, client: Any) -> None:
        credentials = self.credentials()
        assert set(credentials) == {"tenant_id", "client_id", "client_secret"}
        form = {
            "grant_type": "client_credentials",
            "client_id": credentials["client_id"],
            "client_secret": credentials["client_secret"],
            "scope": f"aud:{AUDIENCE} openid",
        }
        assert post_form(client, token_url("tenant-a"), form).status_code == 200

    def test_for_people(self) -> None:
        lines = run("add_module", "tenant-a", "loader").splitlines()
        assert [line.split(": ")[0] for line in lines] == ["client_id", "client_secret"]

    def test_the_secret_is_not_stored(self) -> None:
        secret = self.credentials()["client_secret"]
        assert len(secret) == 43
        module = Module.objects.values().get()
        assert secret not in str(module)

    @pytest.mark.parametrize("role", Role.values)
    def test_roles(self, role: str) -> None:
        self.credentials("--role", role)
        assert Module.objects.get().role == role

    def test_an_unknown_tenant(self) -> None:
        with pytest.raises(CommandError, match=r"^there is no tenant 'nobody'$"):
            run("add_module", "nobody", "loader")

    def test_a_name_that_exists(self) -> None:
        self.credentials()
        with pytest.raises(CommandError, match=r"^tenant 'tenant-a' has a module 'loader' already$"):
            run("add_module", "tenant-a", "loader")

    @pytest.mark.parametrize("name", ["", "x" * 101, "a\0b", "n\udcff"])
    def test_a_bad_name(self, name: str) -> None:
        with pytest.raises(CommandError, match=r"^name: "):
            run("add_module", "tenant-a", name)


class TestDemo:
    def test_it_makes_a_tenant_once_and_keeps_it(self, settings: Settings, django_user_model: Any) -> None:
        settings.DEBUG = True
        assert run("demo") == run("demo")
        assert (Tenant.objects.count(), Module.objects.count()) == (1, 1)
        assert django_user_model.objects.get().is_superuser

    def test_it_refuses_outside_debug(self) -> None:
        with pytest.raises(CommandError, match="DEBUG"):
            run("demo")
        assert not Tenant.objects.exists()
