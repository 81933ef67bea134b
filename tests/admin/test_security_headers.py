"""What every answer to a browser carries, and that no page of ours breaks its own rules."""

import httpx2
import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page, expect

from tenants.secrets import DEMO_CLIENT_ID, DEMO_SECRET
from tests.admin.conftest import screenshot
from tests.conftest import AUDIENCE
from tests.server import Server

PAGES = ["/admin/login/", "/docs", "/openapi.json", "/admin/nonsense/"]
TOKENS = "/iam/access-management/v1/tenants/acme/openid-connect"


def register(server: Server, descriptor: object) -> None:
    credentials = {
        "client_id": DEMO_CLIENT_ID,
        "client_secret": DEMO_SECRET,
        "scope": f"aud:{AUDIENCE} openid",
    }
    form = {"grant_type": "client_credentials", **credentials}
    token = httpx2.post(server.url + TOKENS.replace("acme", "demo") + "/token", data=form).json()
    headers = {"Authorization": f"Bearer {token['access_token']}"}
    address = f"{server.url}/aas-api/v3/demo/shell-descriptors"
    assert httpx2.post(address, json=descriptor, headers=headers).status_code in (201, 409)


def policy(value: str) -> dict[str, list[str]]:
    directives = [directive.split() for directive in value.split(";")]
    return {name: sources for name, *sources in directives}


@pytest.mark.django_db
class TestPages:
    @pytest.mark.parametrize("path", PAGES)
    def test_content_security_policy(self, client: Client, path: str) -> None:
        allowed = policy(client.get(path)["Content-Security-Policy"])
        assert "'unsafe-inline'" not in allowed["script-src"]
        assert set(allowed["script-src"]) <= {"'self'", "'unsafe-eval'"}
        assert allowed["default-src"] == allowed["form-action"] == ["'self'"]
        assert allowed["object-src"] == allowed["base-uri"] == allowed["frame-ancestors"] == ["'none'"]

    def test_documentation_needs_no_eval(self, client: Client) -> None:
        assert policy(client.get("/docs")["Content-Security-Policy"])["script-src"] == ["'self'"]
        assert "<script>" not in client.get("/docs").content.decode()

    @pytest.mark.parametrize("path", PAGES)
    def test_the_others(self, client: Client, path: str) -> None:
        response = client.get(path)
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["X-Frame-Options"] == "DENY"
        assert response["Referrer-Policy"] == "same-origin"
        assert response["Cross-Origin-Opener-Policy"] == "same-origin"
        assert "camera=()" in response["Permissions-Policy"]

    def test_cookies(self, client: Client, admin_user: User) -> None:
        client.get("/admin/login/")
        client.post("/admin/login/", {"username": admin_user.username, "password": "password"})
        for name in ("csrftoken", "sessionid"):
            assert client.cookies[name]["httponly"]
            assert client.cookies[name]["samesite"] == "Lax"
        assert 0 < client.cookies["sessionid"]["max-age"] <= 24 * 3600


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/certs", "/.well-known/openid-configuration", "/token"])
def test_the_identity_service(client: Client, path: str) -> None:
    response = client.post(TOKENS + path) if path == "/token" else client.get(TOKENS + path)
    assert response["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert response["X-Frame-Options"] == "DENY"
    assert response["X-Content-Type-Options"] == "nosniff"


class TestInTheBrowser:
    def test_pages_to_which_no_link_leads_keep_to_the_policy(self, page: Page) -> None:
        """All others are opened by test_everybody.py. The fixture fails on what a console calls an error."""
        page.goto("/admin/password_change/")
        page.goto("/docs")
        expect(page.get_by_text("Asset Administration Shell Registry API").first).to_be_visible()
        screenshot(page, "docs")

    def test_what_somebody_smuggles_into_a_page_is_not_run(
        self, browser: Browser, server: Server, signed_in: dict[str, object]
    ) -> None:
        context = browser.new_context(base_url=server.url, storage_state=signed_in)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto("/admin/")
        page.evaluate(
            """() => {
                document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.ran = 1'>");
                const script = document.createElement("script");
                script.textContent = "window.ran = 2";
                document.body.append(script);
            }"""
        )
        page.wait_for_timeout(200)
        assert page.evaluate("window.ran") is None
        context.close()

    def test_the_api_has_no_more_headers_than_it_needs(self, server: Server) -> None:
        headers = httpx2.get(f"{server.url}/aas-api/v3/demo/shell-descriptors").headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "Content-Security-Policy" not in headers
        assert "Referrer-Policy" not in headers
        assert "Permissions-Policy" not in headers
