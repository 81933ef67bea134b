"""People of a real identity provider sign in to the real server in Chromium.

The provider is on another host than the registry, as in life: cookies and policies of the browser count.
"""

import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tenants.secrets import DEMO_ADMIN, DEMO_ADMIN_PASSWORD
from tests.admin.conftest import screenshot, watched
from tests.oidc_provider import SECRET, Provider, require_node
from tests.server import Server

BUTTON = "Sign in with Factory Login"
#: A quarter of an hour in life.
RENEW_SECONDS = 2
#: Pages on which somebody is who has been at the provider, whatever came of it.
BACK = "/admin/(?!login|oidc/authenticate)"
DORA = {"preferred_username": "dora", "given_name": "Dora", "email": "dora@example.com"}


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    """Not started yet: it must know the server's address first."""
    require_node()
    provider = Provider("localhost")
    yield provider
    provider.stop()


@pytest.fixture(scope="module")
def registry(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that trusts the provider, with a tenant `demo` and a tenant `acme`."""
    server = Server(tmp_path_factory.mktemp("sign-in"))
    server.environment.update(
        ADMIN_OIDC_ISSUER=provider.url,
        ADMIN_OIDC_NAME="Factory Login",
        ADMIN_OIDC_CLIENT_ID="registry-admin",
        ADMIN_OIDC_CLIENT_SECRET=SECRET,
        ADMIN_OIDC_SCOPES="openid profile email registry",
        ADMIN_OIDC_TENANTS_CLAIM="tenants",
        ADMIN_OIDC_SUPERUSER_VALUES="registry-superuser",
        ADMIN_OIDC_RENEW_SECONDS=str(RENEW_SECONDS),
    )
    provider.web = [
        {
            "client_id": "registry-admin",
            "client_secret": SECRET,
            "redirect_uris": [f"{server.url}/admin/oidc/callback/"],
            "post_logout_redirect_uris": [f"{server.url}/admin/login/"],
        }
    ]
    provider.start()
    try:
        server.start()
        server.manage("create_tenant", "acme")
        yield server
    finally:
        server.close()


@pytest.fixture
def visitor(browser: Browser, registry: Server, provider: Provider) -> Iterator[Page]:
    """A page of somebody who is signed in nowhere."""
    context = browser.new_context(base_url=registry.url)
    yield from watched(context.new_page(), registry, provider.url)
    context.close()


@pytest.fixture
def refused(browser: Browser, registry: Server) -> Iterator[Page]:
    """The same, for somebody who will be refused: the browser notes an answer of 403 as an error."""
    context = browser.new_context(base_url=registry.url)
    yield context.new_page()
    context.close()


def sign_in(page: Page, account: str, address: str = "/admin/") -> None:
    """Begin at `address`; the provider asks who it is unless it knows."""
    page.goto(address)
    page.get_by_role("link", name=BUTTON).click()
    page.wait_for_url(re.compile(f"/interaction/|{BACK}"))
    if "/interaction/" in page.url:
        say(page, account)


def say(page: Page, account: str) -> None:
    page.get_by_label("Account").fill(account)
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(re.compile(BACK))


def until_renewal(page: Page) -> None:
    page.wait_for_timeout(1000 * RENEW_SECONDS)


def tenants_seen(page: Page) -> list[str]:
    page.goto("/admin/tenants/tenant/")
    return page.locator("#result_list tbody tr .field-identifier").all_inner_texts()


@pytest.mark.parametrize(
    ("tenants", "seen"),
    [
        (["acme:reader"], ["acme"]),
        ({"demo": "editor"}, ["demo"]),
        (["acme:admin", "demo:reader"], ["acme", "demo"]),
    ],
)
def test_a_member_sees_the_rows_of_the_own_tenants(
    visitor: Page, provider: Provider, registry: Server, tenants: Any, seen: list[str]
) -> None:
    provider.people(dora={**DORA, "tenants": tenants})
    sign_in(visitor, "dora", "/admin/tenants/module/")
    expect(visitor).to_have_url(f"{registry.url}/admin/tenants/module/")
    assert tenants_seen(visitor) == seen
    expect(visitor.get_by_role("link", name="Users")).to_have_count(0)


def test_a_superuser_sees_all(visitor: Page, provider: Provider) -> None:
    provider.people(sam={"preferred_username": "sam", "roles": ["registry-superuser"]})
    visitor.goto("/admin/")
    screenshot(visitor, "sign-in-with-provider")
    sign_in(visitor, "sam")
    assert tenants_seen(visitor) == ["acme", "demo"]
    visitor.goto("/admin/auth/user/")
    expect(visitor.locator("#result_list")).to_contain_text("sam")


def test_somebody_without_a_right_is_told_so(refused: Page, provider: Provider) -> None:
    provider.people(nina={"preferred_username": "nina", "tenants": ["nowhere:editor"]})
    sign_in(refused, "nina")
    expect(refused.get_by_text("Factory Login knows you, but you have no right")).to_be_visible()
    screenshot(refused, "sign-in-refused")
    refused.goto("/admin/")
    expect(refused).to_have_url(re.compile("/admin/login/"))
    provider.people(nina={"tenants": ["nowhere:editor"]}, dora={**DORA, "tenants": ["acme:reader"]})
    sign_in(refused, "nina")  # the provider knows her: no question, the same answer
    refused.get_by_role("link", name=BUTTON).click()  # and as somebody else
    say(refused, "dora")
    assert tenants_seen(refused) == ["acme"]


def test_somebody_whom_the_provider_refuses(refused: Page, provider: Provider) -> None:
    provider.people()
    sign_in(refused, "nobody")
    expect(refused.get_by_text("The provider did not sign you in")).to_be_visible()


def test_the_next_sign_in_brings_changed_rights(visitor: Page, provider: Provider) -> None:
    provider.people(dora={**DORA, "tenants": ["acme:reader"]})
    sign_in(visitor, "dora")
    assert tenants_seen(visitor) == ["acme"]
    provider.people(dora={**DORA, "tenants": ["demo:editor"]})
    visitor.context.clear_cookies(name="sessionid")
    sign_in(visitor, "dora")
    assert tenants_seen(visitor) == ["demo"]


def test_signing_out_here_and_there(visitor: Page, provider: Provider, registry: Server) -> None:
    provider.people(dora={**DORA, "tenants": ["acme:reader"]})
    sign_in(visitor, "dora")
    visitor.get_by_text("dora", exact=False).first.click()
    visitor.get_by_role("button", name="Log out").click()
    visitor.get_by_role("button", name="Yes, sign me out").click()
    expect(visitor).to_have_url(f"{registry.url}/admin/login/")
    visitor.get_by_role("link", name=BUTTON).click()
    expect(visitor.get_by_label("Account")).to_be_visible()  # the provider has forgotten her as well


class TestRenewal:
    """When it is time the browser is sent to the provider and back, unseen."""

    def test_rights_are_those_of_the_moment(
        self, visitor: Page, provider: Provider, registry: Server
    ) -> None:
        provider.people(dora={**DORA, "tenants": ["acme:reader"]})
        sign_in(visitor, "dora")
        provider.people(dora={**DORA, "tenants": ["demo:editor"]})
        until_renewal(visitor)
        assert tenants_seen(visitor) == ["demo"]
        expect(visitor).to_have_url(f"{registry.url}/admin/tenants/tenant/")

    def test_somebody_who_was_removed(self, refused: Page, provider: Provider, registry: Server) -> None:
        provider.people(dora={**DORA, "tenants": ["acme:reader"]})
        sign_in(refused, "dora")
        provider.restart("RS256", *provider.keys)  # knows nobody, and of no session
        until_renewal(refused)
        refused.goto("/admin/")
        expect(refused.get_by_text("your session there has ended")).to_be_visible()
        refused.goto("/admin/")
        expect(refused).to_have_url(re.compile("/admin/login/"))

    def test_after_a_form(self, visitor: Page, provider: Provider, registry: Server) -> None:
        """A form whose answer leads on to the provider is one that the policy must let go."""
        provider.people(sam={"preferred_username": "sam", "roles": ["registry-superuser"]})
        sign_in(visitor, "sam")
        visitor.goto("/admin/auth/user/add/")
        visitor.get_by_label("Username").fill("by-form")
        visitor.fill("#id_password1", "a-long-and-odd-one")
        visitor.fill("#id_password2", "a-long-and-odd-one")
        until_renewal(visitor)
        visitor.locator("[name=_save]").click()
        expect(visitor).to_have_url(re.compile(r"/admin/auth/user/\d+/change/"))


def test_a_password_beside_the_provider(visitor: Page, registry: Server) -> None:
    visitor.goto("/admin/")
    visitor.fill("#id_username", DEMO_ADMIN)
    visitor.fill("#id_password", DEMO_ADMIN_PASSWORD)
    visitor.press("#id_password", "Enter")
    assert tenants_seen(visitor) == ["acme", "demo"]


def test_the_provider_wants_pkce(provider: Provider, registry: Server) -> None:
    """Else the other tests would say nothing about it (RFC 7636 §4.4.1)."""
    query = {
        "client_id": "registry-admin",
        "response_type": "code",
        "scope": "openid",
        "redirect_uri": f"{registry.url}/admin/oidc/callback/",
    }
    response = httpx2.get(f"{provider.url}/auth", params=query)
    assert "error=invalid_request" in response.headers["Location"]
    assert "PKCE" in response.headers["Location"]
