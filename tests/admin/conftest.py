"""People in the admin, and Debian's Chromium in front of the real server.

The server of these tests has a database of its own: what a page is to show is registered over the API, or with
`server.manage(...)`. A page fails its test if anything on it fails: a script, a style, an outside address.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, Page, sync_playwright

from tenants.models import Membership, Role, Tenant
from tenants.secrets import DEMO_ADMIN, DEMO_ADMIN_PASSWORD
from tests.server import ROOT, Server, running_server

#: Each test may put pictures of what it sees here; they are not committed.
SCREENSHOTS = ROOT / "var" / "screenshots"
#: The options with which Chromium runs as root, and calls nobody.
CHROMIUM = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests that need the browser run in one process: they share it, and the server."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", []):
            item.add_marker(pytest.mark.xdist_group("browser"))


# --- Over the test client -----------------------------------------------------------------------------


def member(tenant: Tenant, role: Role, name: str = "") -> Client:
    """Somebody who is signed in to the admin, and has a role in one tenant."""
    user = User.objects.create_user(name or f"{role}-of-{tenant.identifier}", is_staff=True)
    Membership.objects.create(person=user, tenant=tenant, role=role)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def reader(tenant_a: Tenant) -> Client:
    return member(tenant_a, Role.READER)


@pytest.fixture
def editor(tenant_a: Tenant) -> Client:
    return member(tenant_a, Role.EDITOR)


@pytest.fixture
def tenant_admin(tenant_a: Tenant) -> Client:
    return member(tenant_a, Role.ADMIN)


# --- In the browser -----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("admin-server")) as server:
        yield server


@pytest.fixture(scope="session")
def browser(django_db_setup: None) -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        reason = "chromium not found: the admin cannot be driven in a browser"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    # Playwright leaves an event loop running in this thread, which Django takes for asynchronous code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM)
        yield browser
        browser.close()
        connections.close_all()  # beside a running event loop Django has connections of its own
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="session")
def signed_in(browser: Browser, server: Server) -> Any:
    """The cookies of the demo's admin, a superuser."""
    context = browser.new_context(base_url=server.url)
    sign_in(context.new_page())
    state = context.storage_state()
    context.close()
    return state


def sign_in(page: Page) -> None:
    """As the demo's admin."""
    page.goto("/admin/")
    page.fill("#id_username", DEMO_ADMIN)
    page.fill("#id_password", DEMO_ADMIN_PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url("**/admin/")


@pytest.fixture
def page(browser: Browser, server: Server, signed_in: Any) -> Iterator[Page]:
    """A page of the demo's admin."""
    context = browser.new_context(
        base_url=server.url, storage_state=signed_in, viewport={"width": 1280, "height": 900}
    )
    yield from watched(context.new_page(), server)
    context.close()


@pytest.fixture
def anonymous_page(browser: Browser, server: Server) -> Iterator[Page]:
    """A page of somebody who is not signed in."""
    context = browser.new_context(base_url=server.url)
    yield from watched(context.new_page(), server)
    context.close()


def watched(page: Page, server: Server, *known: str) -> Iterator[Page]:
    """The page; afterwards nothing on it may have failed, and nothing outside but `known` may have been asked."""
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(f"script: {error}"))
    page.on(
        "console",
        lambda message: (
            complaints.append(f"console: {message.text} {message.location['url']}")
            if message.type == "error"
            else None
        ),
    )
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((server.url, "data:", "blob:", *known))
            else complaints.append(f"outside: {request.url}")
        ),
    )
    yield page
    assert not complaints, complaints


def screenshot(page: Page, name: str) -> Path:
    """A picture of the whole page, to be looked at."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / f"{name}.png"
    page.screenshot(path=path, full_page=True)
    return path
