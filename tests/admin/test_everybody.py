"""Everybody can use each page of the admin, in English and German: axe-core finds nothing serious.

In light and dark, and on a phone. The pages are those that links lead to, one of each kind: a new page is looked at
without being named here.
"""

import json
import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.admin.conftest import screenshot
from tests.bodies import CONTRACT_EXAMPLE, EVERYTHING
from tests.server import Server

#: What a link leads to and is no page of ours to look at.
NO_PAGES = re.compile(r"/logout/|/jsi18n/|/report/|/progress/|^(?!/admin/)")
SERIOUS = {"serious", "critical"}
#: The Web Content Accessibility Guidelines, levels A and AA.
GUIDELINES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


@pytest.fixture(scope="module")
def _filled(server: Server) -> None:
    lines = "\n".join(json.dumps(body) for body in (CONTRACT_EXAMPLE, EVERYTHING))
    server.manage("import_shells", "--tenant", "demo", "--on-conflict", "skip", "-", stdin=lines.encode())
    server.manage("trust_issuer", "demo", "https://login.example.com", "--audience", "registry")


def kind(address: str) -> str:
    """Pages of one kind differ in a number."""
    return re.sub(r"\d+", "N", address)


def pages(page: Page) -> Iterator[str]:
    """Goes to each page that links lead to from the start, breadth first, and gives its address."""
    waiting, seen = ["/admin/"], {"/admin/"}
    while waiting:
        address = waiting.pop(0)
        response = page.goto(address)
        assert response is not None
        assert response.status == 200, address
        yield address
        for link in page.locator("a[href]").evaluate_all("links => links.map(link => link.href)"):
            path = urlsplit(link).path
            if not NO_PAGES.search(path) and kind(path) not in seen:
                seen.add(kind(path))
                waiting.append(path)


def violations(page: Page, only: list[str]) -> list[str]:
    """What axe-core finds with these rules, or groups of rules."""
    found = Axe().run(page, options={"runOnly": only, "resultTypes": ["violations"]}).response["violations"]
    return [
        f"{item['id']}: {node['html'][:150]}: {[check['message'] for check in node['any']]}"
        for item in found
        if item["impact"] in SERIOUS
        for node in item["nodes"]
    ]


@pytest.mark.soak
@pytest.mark.usefixtures("_filled")
@pytest.mark.parametrize("language", ["en", "de"])
def test_each_page(page: Page, server: Server, language: str) -> None:
    page.context.add_cookies([{"name": "django_language", "value": language, "url": server.url}])
    complaints: dict[str, list[str]] = {}
    looked_at = []
    for address in pages(page):
        looked_at.append(address)
        assert page.locator("html").get_attribute("lang") == language
        screenshot(page, f"each-{language}{kind(address).replace('/', '-')}")
        found = violations(page, GUIDELINES)
        page.evaluate("document.documentElement.classList.add('dark')")
        found += [f"dark: {text}" for text in violations(page, ["color-contrast"])]
        page.set_viewport_size({"width": 390, "height": 800})
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            found.append("wider than a phone")
            screenshot(page, "wide" + kind(address).replace("/", "-"))
        page.set_viewport_size({"width": 1280, "height": 900})
        if found:
            complaints[address] = found
    assert len(looked_at) > 20
    assert complaints == {}, json.dumps(complaints, indent=1)
