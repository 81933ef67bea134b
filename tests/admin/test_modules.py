"""Modules and trusted issuers are looked after by the admins of their tenant, and by nobody else."""

import re
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django import Settings

from tenants import services
from tenants.models import Module, Role, Tenant, TrustedIssuer
from tests.admin.conftest import screenshot
from tests.conftest import post_form, token_url
from tests.issuer import Issuer, running_issuer
from tests.server import Server

ADD = "/admin/tenants/module/add/"


def form(tenant: Tenant, name: str = "line-7", **values: str) -> dict[str, str]:
    empty = {"expires_at_0": "", "expires_at_1": "", "subject": ""}
    return {"tenant": str(tenant.pk), "name": name, "role": "editor", **empty, **values}


def secret_of(response: Any) -> str:
    """The secret on the page of credentials."""
    assert response.status_code == 200
    assert "credentials.html" in response.template_name
    return str(response.context["secret"])


def gets_a_token(tenant: Tenant, module: Module, secret: str) -> bool:
    credentials = {"client_id": module.client_id, "client_secret": secret}
    scope = "aud:i2zkcq1li0ps1pjh62gjj1892 openid"
    request = {"grant_type": "client_credentials", "scope": scope, **credentials}
    return bool(post_form(Client(), token_url(tenant.identifier), request).status_code == 200)


def module_page(module: Module) -> str:
    return f"/admin/tenants/module/{module.pk}/change/"


@pytest.fixture
def line_7(tenant_a: Tenant) -> Module:
    return services.add_module("tenant-a", "line-7")[0]


@pytest.fixture
def line_b(tenant_b: Tenant) -> Module:
    """A module of the other tenant."""
    return services.add_module("tenant-b", "line-b")[0]


class TestAdd:
    def test_its_secret_is_on_the_next_page_and_works(self, tenant_admin: Client, tenant_a: Tenant) -> None:
        response = tenant_admin.post(ADD, form(tenant_a, role="reader", subject="BPNL1"))
        secret = secret_of(response)
        module = Module.objects.get()
        assert (module.tenant, module.name, module.role, module.subject) == (
            tenant_a, "line-7", "reader", "BPNL1",
        )  # fmt: skip
        assert module.client_id in response.content.decode()
        assert gets_a_token(tenant_a, module, secret)

    def test_the_secret_is_kept_nowhere(self, tenant_admin: Client, tenant_a: Tenant) -> None:
        """That it is in no log either is seen below, on what the real server prints."""
        response = tenant_admin.post(ADD, form(tenant_a))
        secret = secret_of(response)
        assert "no-store" in response["Cache-Control"]
        module = Module.objects.get()
        assert secret not in str(vars(module))
        assert all(secret not in str(session.get_decoded()) for session in Session.objects.all())
        assert all(secret not in str(vars(entry)) for entry in LogEntry.objects.all())
        assert all(secret not in cookie.value for cookie in tenant_admin.cookies.values())
        assert secret not in tenant_admin.get(module_page(module)).content.decode()

    def test_the_same_form_again_is_refused_and_shows_no_secret(
        self, tenant_admin: Client, tenant_a: Tenant
    ) -> None:
        secret = secret_of(tenant_admin.post(ADD, form(tenant_a)))
        again = tenant_admin.post(ADD, form(tenant_a))
        assert secret not in again.content.decode()
        assert again.context["adminform"].form.errors
        assert Module.objects.count() == 1

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("name", {"name": ""}),
            ("name", {"name": "x" * 101}),
            ("name", {"name": "a\x00b"}),
            ("role", {"role": "owner"}),
            ("subject", {"subject": "x" * 201}),
            ("expires_at", {"expires_at_0": "2020-01-01", "expires_at_1": "00:00:00"}),
            ("expires_at", {"expires_at_0": "soon", "expires_at_1": ""}),
        ],
    )
    def test_errors_are_at_their_fields(
        self, tenant_admin: Client, tenant_a: Tenant, field: str, values: dict[str, str]
    ) -> None:
        response = tenant_admin.post(ADD, form(tenant_a, **values))
        assert list(response.context["adminform"].form.errors) == [field]
        assert Module.objects.count() == 0

    @pytest.mark.django_db(transaction=True)
    def test_of_many_at_once_with_one_name_one_is_added(self, tenant_admin: Client, tenant_a: Tenant) -> None:
        def add(_: int) -> Any:
            client = Client()
            client.cookies = tenant_admin.cookies
            try:
                return client.post(ADD, form(tenant_a))
            finally:
                connection.close()

        with ThreadPoolExecutor(6) as threads:
            responses = list(threads.map(add, range(6)))
        assert [response.status_code for response in responses] == [200] * 6
        added = [response for response in responses if "secret" in response.context_data]
        assert len(added) == Module.objects.count() == 1
        for response in responses:
            if response not in added:
                errors = response.context_data["adminform"].form.errors
                assert set(errors) <= {"name", "__all__"}
                assert errors

    @pytest.mark.parametrize("who", ["reader", "editor"])
    def test_readers_and_editors_may_not(
        self, request: pytest.FixtureRequest, who: str, tenant_a: Tenant
    ) -> None:
        client = request.getfixturevalue(who)
        assert client.get(ADD).status_code == 403
        assert client.post(ADD, form(tenant_a)).status_code == 403
        assert Module.objects.count() == 0

    def test_not_for_another_tenant(self, tenant_admin: Client, tenant_b: Tenant) -> None:
        assert "tenant-b" not in tenant_admin.get(ADD).content.decode()
        response = tenant_admin.post(ADD, form(tenant_b))
        assert list(response.context["adminform"].form.errors) == ["tenant"]
        assert Module.objects.count() == 0


class TestRotate:
    def path(self, module: Module) -> str:
        return f"/admin/tenants/module/{module.pk}/rotate/"

    def sent(self, module: Module, overlap: int = 24) -> dict[str, str]:
        return {"overlap": str(overlap), "seen": module.secret_mark}

    def test_both_secrets_work(self, tenant_admin: Client, tenant_a: Tenant) -> None:
        module, old = services.add_module("tenant-a", "line-7")
        response = tenant_admin.post(self.path(module), self.sent(module))
        assert "no-store" in response["Cache-Control"]
        new = secret_of(response)
        assert new != old
        assert gets_a_token(tenant_a, module, old)
        assert gets_a_token(tenant_a, module, new)
        module.refresh_from_db()
        assert module.previous_secret_expires_at is not None
        left = module.previous_secret_expires_at - timezone.now()
        assert timedelta(hours=23) < left <= timedelta(hours=24)

    def test_without_an_overlap_the_old_one_ends(self, tenant_admin: Client, tenant_a: Tenant) -> None:
        module, old = services.add_module("tenant-a", "line-7")
        new = secret_of(tenant_admin.post(self.path(module), self.sent(module, 0)))
        assert not gets_a_token(tenant_a, module, old)
        assert gets_a_token(tenant_a, module, new)

    def test_a_form_that_is_sent_twice_rotates_once(self, tenant_admin: Client, line_7: Module) -> None:
        sent = self.sent(line_7)
        secret_of(tenant_admin.post(self.path(line_7), sent))
        digest = Module.objects.get().secret_digest
        again = tenant_admin.post(self.path(line_7), sent)
        assert "rotated meanwhile" in again.content.decode()
        assert Module.objects.get().secret_digest == digest

    @pytest.mark.parametrize("overlap", ["", "-1", "1000000", "x"])
    def test_an_overlap_that_is_no_choice(self, tenant_admin: Client, line_7: Module, overlap: str) -> None:
        sent = {**self.sent(line_7), "overlap": overlap}
        response = tenant_admin.post(self.path(line_7), sent)
        assert response.context["form"].errors["overlap"]
        assert Module.objects.get().secret_digest == line_7.secret_digest

    @pytest.mark.parametrize("who", ["reader", "editor"])
    def test_readers_and_editors_may_not(
        self, request: pytest.FixtureRequest, who: str, line_7: Module
    ) -> None:
        client = request.getfixturevalue(who)
        assert client.get(self.path(line_7)).status_code == 403
        assert client.post(self.path(line_7), self.sent(line_7)).status_code == 403
        assert Module.objects.get().secret_digest == line_7.secret_digest

    def test_not_of_another_tenant(self, tenant_admin: Client, line_b: Module) -> None:
        assert tenant_admin.post(self.path(line_b), self.sent(line_b)).status_code in (403, 404)
        assert Module.objects.get().secret_digest == line_b.secret_digest


class TestChange:
    def test_role_expiry_and_subject(self, tenant_admin: Client, line_7: Module) -> None:
        sent = {
            "role": "reader",
            "subject": "BPNL2",
            "expires_at_0": "2999-01-01",
            "expires_at_1": "00:00:00",
        }
        assert tenant_admin.post(module_page(line_7), sent).status_code == 302
        module = Module.objects.get()
        assert (module.role, module.subject) == ("reader", "BPNL2")
        assert module.expires_at is not None
        assert module.expires_at.year == 2999
        assert module.secret_digest == line_7.secret_digest

    def test_tenant_name_and_credentials_stay(
        self, tenant_admin: Client, line_7: Module, tenant_b: Tenant
    ) -> None:
        sent = {**form(tenant_b, "other"), "client_id": "x", "secret_digest": "x", "enabled": ""}
        assert tenant_admin.post(module_page(line_7), sent).status_code == 302
        module = Module.objects.get()
        for field in ("tenant", "name", "client_id", "secret_digest", "enabled"):
            assert getattr(module, field) == getattr(line_7, field)

    def test_disable_and_enable(self, tenant_admin: Client, tenant_a: Tenant) -> None:
        module, secret = services.add_module("tenant-a", "line-7")
        for button, works in (("_disable", False), ("_enable", True)):
            tenant_admin.post(module_page(module), {**form(tenant_a), button: ""})
            assert gets_a_token(tenant_a, module, secret) is works

    def test_disable_many_of_the_own_tenants_only(
        self, admin_client: Client, tenant_admin: Client, line_7: Module, line_b: Module
    ) -> None:
        chosen = {"action": "disable", "_selected_action": [str(line_7.pk), str(line_b.pk)]}
        assert tenant_admin.post("/admin/tenants/module/", chosen).status_code == 302
        assert dict(Module.objects.values_list("name", "enabled")) == {"line-7": False, "line-b": True}
        admin_client.post("/admin/tenants/module/", chosen)
        assert not Module.objects.filter(enabled=True).exists()

    @pytest.mark.parametrize("who", ["reader", "editor"])
    def test_readers_and_editors_see_and_do_nothing_more(
        self, request: pytest.FixtureRequest, who: str, line_7: Module
    ) -> None:
        client = request.getfixturevalue(who)
        page = client.get(module_page(line_7)).content.decode()
        assert line_7.client_id in page
        for button in ("_save", "_disable", "rotate/"):
            assert button not in page
        assert client.post(module_page(line_7), {"role": "admin", "_disable": ""}).status_code == 403
        chosen = {"action": "disable", "_selected_action": [str(line_7.pk)]}
        client.post("/admin/tenants/module/", chosen)
        module = Module.objects.get()
        assert (module.role, module.enabled) == ("editor", True)

    def test_not_of_another_tenant(self, tenant_admin: Client, line_b: Module) -> None:
        response = tenant_admin.post(module_page(line_b), {"role": "admin", "_disable": ""})
        assert response["Location"] == "/admin/"
        module = Module.objects.get()
        assert (module.role, module.enabled) == ("editor", True)

    def test_it_cannot_be_deleted(self, admin_client: Client, line_7: Module) -> None:
        path = f"/admin/tenants/module/{line_7.pk}/delete/"
        assert admin_client.post(path, {"post": "yes"}).status_code == 403

    def test_a_digest_is_nowhere(self, admin_client: Client, line_7: Module) -> None:
        module, _ = services.rotate_secret("tenant-a", "line-7", overlap=timedelta(hours=1))
        for path in ("/admin/tenants/module/", module_page(module), TestRotate().path(module)):
            page = admin_client.get(path).content.decode()
            assert module.secret_digest not in page
            assert str(module.previous_secret_digest) not in page


def issuer_form(tenant: Tenant, issuer: str = "https://login.example/realm", **values: Any) -> dict[str, Any]:
    return {
        "tenant": str(tenant.pk),
        "issuer": issuer,
        "jwks_uri": "",
        "audiences": "aas-registry\r\nother",
        "audience_claim": "aud",
        "tenant_claim": "",
        "tenant_value": "",
        "roles_claim": "realm_access.roles",
        "role_map": "twin=editors=editor\r\n\r\nreaders=reader",
        "subject_claim": "",
        "algorithms": ["RS256", "ES256"],
        **values,
    }


@pytest.fixture
def issuer(settings: Settings) -> Iterator[Issuer]:
    """An issuer on this machine; only DEBUG lets its keys be fetched over http."""
    settings.DEBUG = True
    with running_issuer() as issuer:
        yield issuer


class TestIssuers:
    add = "/admin/tenants/trustedissuer/add/"

    def page(self, trusted: TrustedIssuer) -> str:
        return f"/admin/tenants/trustedissuer/{trusted.pk}/change/"

    def test_add_and_change(self, tenant_admin: Client, tenant_a: Tenant) -> None:
        assert tenant_admin.post(self.add, issuer_form(tenant_a)).status_code == 302
        trusted = TrustedIssuer.objects.get()
        assert trusted.audiences == ["aas-registry", "other"]
        assert trusted.role_map == {"twin=editors": "editor", "readers": "reader"}
        shown = tenant_admin.get(self.page(trusted)).context["adminform"].form
        assert shown["role_map"].value() == "readers=reader\ntwin=editors=editor"
        tenant_admin.post(self.page(trusted), issuer_form(tenant_a, audiences="one", role_map=""))
        trusted.refresh_from_db()
        assert trusted.audiences == ["one"]
        assert trusted.role_map == {role: role for role in Role.values}
        assert trusted.issuer == "https://login.example/realm"

    def test_disable_change_enable(self, tenant_admin: Client, tenant_a: Tenant) -> None:
        tenant_admin.post(self.add, issuer_form(tenant_a))
        trusted = TrustedIssuer.objects.get()
        for button, enabled in (("_disable", False), ("_save", False), ("_enable", True)):
            tenant_admin.post(self.page(trusted), issuer_form(tenant_a, **{button: ""}))
            trusted.refresh_from_db()
            assert trusted.enabled is enabled

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("issuer", {"issuer": "ftp://login.example"}),
            ("issuer", {"issuer": ""}),
            ("jwks_uri", {"jwks_uri": "file:///etc/passwd"}),
            ("audiences", {"audiences": " \r\n"}),
            ("audiences", {"audiences": "x" * 201}),
            ("role_map", {"role_map": "x=owner"}),
            ("algorithms", {"algorithms": ["HS256"]}),
            ("algorithms", {"algorithms": []}),
        ],
    )
    def test_errors_are_at_their_fields(
        self, tenant_admin: Client, tenant_a: Tenant, field: str, values: dict[str, Any]
    ) -> None:
        response = tenant_admin.post(self.add, issuer_form(tenant_a, **values))
        assert response.status_code == 200
        assert list(response.context["adminform"].form.errors) == [field]
        assert TrustedIssuer.objects.count() == 0

    def test_check_fetches_its_keys(self, tenant_admin: Client, tenant_a: Tenant, issuer: Issuer) -> None:
        response = tenant_admin.post(self.add, issuer_form(tenant_a, issuer.url, _check=""), follow=True)
        assert "publishes 1 usable keys" in response.content.decode()
        assert TrustedIssuer.objects.get().issuer == issuer.url

    def test_check_refuses_without_keys(
        self, tenant_admin: Client, tenant_a: Tenant, settings: Settings
    ) -> None:
        settings.DEBUG = True
        nobody = "http://127.0.0.1:9/realm"
        response = tenant_admin.post(self.add, issuer_form(tenant_a, nobody, _check=""))
        assert "cannot be fetched" in str(response.context["adminform"].form.errors["issuer"])
        assert TrustedIssuer.objects.count() == 0

    @pytest.mark.parametrize("who", ["reader", "editor"])
    def test_readers_and_editors_may_not(
        self, request: pytest.FixtureRequest, who: str, tenant_a: Tenant
    ) -> None:
        trusted = services.trust_issuer("tenant-a", "https://login.example", audiences=["x"])
        client = request.getfixturevalue(who)
        assert client.get(self.page(trusted)).status_code == 200
        assert client.post(self.page(trusted), issuer_form(tenant_a, _disable="")).status_code == 403
        assert client.post(self.add, issuer_form(tenant_a)).status_code == 403
        assert TrustedIssuer.objects.get().enabled

    def test_not_of_another_tenant(self, tenant_admin: Client, tenant_b: Tenant) -> None:
        trusted = services.trust_issuer("tenant-b", "https://login.example", audiences=["x"])
        assert tenant_admin.post(self.page(trusted), issuer_form(tenant_b))["Location"] == "/admin/"
        response = tenant_admin.post(self.add, issuer_form(tenant_b))
        assert list(response.context["adminform"].form.errors) == ["tenant"]
        assert TrustedIssuer.objects.get().audiences == ["x"]


# --- In the browser -----------------------------------------------------------------------------------


def fields_of(command: str) -> dict[str, str]:
    """What a pasted curl command sends."""
    words = shlex.split(command)
    assert words[0] == "curl"
    return dict(word.split("=", 1) for flag, word in pairwise(words) if flag == "-d")


def ask_for_token(command: str) -> httpx2.Response:
    """What the server answers to it."""
    return httpx2.post(shlex.split(command)[1], data=fields_of(command))


def copied(page: Page, label: str) -> str:
    """What is in the clipboard after the button beside a text was pressed."""
    box = page.locator(".reg-copied").filter(has=page.get_by_label(label, exact=True))
    box.get_by_role("button").click()
    expect(box.get_by_text("Copied")).to_be_visible()
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def test_a_module_from_its_first_token_to_its_last(page: Page, server: Server) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/admin/tenants/tenant/")
    page.get_by_role("link", name="demo", exact=True).click()
    page.get_by_role("link", name="Add a module").click()
    page.fill("#id_name", "line-7")
    page.get_by_role("button", name="Save", exact=True).click()

    first = copied(page, "Token request")
    secret = copied(page, "Client secret")
    assert secret in first
    assert ask_for_token(first).status_code == 200
    screenshot(page, "credentials")

    page.reload()
    expect(page).to_have_url(re.compile(r"/admin/tenants/module/\d+/change/$"))
    expect(page.get_by_text("line-7").first).to_be_visible()
    assert secret not in page.content()
    page.go_back()
    assert secret not in page.content()
    page.go_forward()
    assert secret not in page.content()

    page.get_by_role("link", name="Rotate the secret").click()
    page.select_option("#id_overlap", label="a day")
    page.get_by_role("button", name="Rotate").click()
    second = copied(page, "Token request")
    assert secret not in second
    assert ask_for_token(first).status_code == ask_for_token(second).status_code == 200

    page.get_by_role("link", name="I have kept the secret").click()
    page.get_by_role("link", name="Rotate the secret").click()
    page.select_option("#id_overlap", "0")
    page.get_by_role("button", name="Rotate").click()
    third = copied(page, "Token request")
    assert [ask_for_token(each).status_code for each in (first, second, third)] == [401, 401, 200]

    page.get_by_role("link", name="I have kept the secret").click()
    page.get_by_role("button", name="Disable").click()
    expect(page.get_by_text("is disabled: it gets no token")).to_be_visible()
    assert ask_for_token(third).status_code == 401
    screenshot(page, "module-disabled")

    log = server.output()
    secrets = [fields_of(command)["client_secret"] for command in (first, second, third)]
    assert secrets[0] == secret
    assert not [each for each in secrets if each in log]
    assert '"module":"line-7","role":"editor","event":"module_added"' in log
    added = next(line for line in log.splitlines() if "module_added" in line and "line-7" in line)
    assert '"person":"admin"' in added
