"""Text that wants to be more than text: nothing of it runs, and no page becomes wider than the window."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.admin.conftest import screenshot
from tests.bodies import endpoint, reference
from tests.server import Server

SCRIPT = '"><script>document.title="ran"</script><img src=x onerror=\'document.title="ran"\'>'
BREAKOUT = '</script><script>document.title="ran"</script>{{ 7*7 }}{% now "Y" %}<!--'
TURNED = "\u202egnp.exe\u202c \u05d0\u05d1\u05d2 \u2066unclosed"
LONG = "urn:" + "x" * 2044

HOSTILE: dict[str, Any] = {
    "id": f"urn:hostile:{SCRIPT}{TURNED}",
    "displayName": [{"language": "en", "text": (SCRIPT + TURNED)[:128]}],
    "description": [{"language": "en", "text": BREAKOUT}],
    "globalAssetId": SCRIPT + "y" * 1900,
    "assetType": BREAKOUT,
    "specificAssetIds": [
        {"name": "<b>name</b>", "value": SCRIPT, "externalSubjectId": reference(BREAKOUT)},
        {"name": "long", "value": "z" * 2000},
    ],
    "endpoints": [
        endpoint("javascript:document.title='ran'"),
        endpoint("data:text/html,<script>1</script>"),
        endpoint("https://example.org/" + "w" * 2000),
        endpoint('https://example.org/"onmouseover="document.title=1'),
    ],
    "submodelDescriptors": [
        {"id": SCRIPT, "endpoints": [endpoint("vbscript:x")], "semanticId": reference(BREAKOUT)}
    ],
}
LIST = "/admin/shells/shell/"


@pytest.fixture(scope="module")
def keys(server: Server) -> list[str]:
    """The keys of the hostile shells, the newest first, in a tenant of their own; they were replaced once."""
    server.manage("create_tenant", "hostile")
    bodies = [HOSTILE, {**HOSTILE, "id": LONG}]
    for round_ in ("Ab", "Bc"):
        lines = "\n".join(json.dumps({**body, "idShort": round_}) for body in bodies)
        server.manage(
            "import_shells", "--tenant", "hostile", "--on-conflict", "replace", "-", stdin=lines.encode()
        )
    shown = server.manage(
        "shell", "-v0", "-c",
        "from shells.models import Shell\n"
        "for key in Shell.objects.filter(tenant__identifier='hostile').order_by('-pk').values_list('pk', flat=True):\n"
        "    print(key)",
    )  # fmt: skip
    found = shown.split()
    assert len(found) == 2
    return found


#: A desk and a phone.
WIDTHS = [1280, 390]


def looks_right(page: Page, name: str) -> None:
    """Nothing ran, nothing came into being that a text asked for, nothing is wider than the window."""
    assert "ran" not in page.title().split()
    assert page.locator("img[src=x], [onerror], [onmouseover]").count() == 0
    assert page.locator('a[href^="javascript:document"], a[href^="data:"], a[href^="vbscript:"]').count() == 0
    for width in reversed(WIDTHS):
        page.set_viewport_size({"width": width, "height": 900})
        screenshot(page, f"hostile-{name}-{width}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("list", "/admin/shells/shell/"),
        ("page", "/admin/shells/shell/{}/change/"),
        ("edit", "/admin/shells/shell/{}/change/?edit=1"),
        ("history", "/admin/shells/shell/{}/history/"),
        ("delete", "/admin/shells/shell/{}/delete/"),
        ("changes", "/admin/shells/change/"),
        ("submodels", "/admin/shells/submodel/"),
        ("endpoints", "/admin/shells/endpoint/"),
        ("asset-ids", "/admin/shells/assetid/"),
    ],
)
def test_no_page_runs_it(page: Page, keys: list[str], name: str, address: str) -> None:
    for number, key in enumerate(keys if "{}" in address else keys[:1]):
        page.goto(address.format(key))
        looks_right(page, f"{name}-{number}")


def test_texts_are_kept_apart_in_their_direction(page: Page, keys: list[str]) -> None:
    page.goto(f"/admin/shells/shell/{keys[1]}/change/")
    name = page.locator("#identifier")
    expect(name).to_have_text(HOSTILE["id"])
    assert name.evaluate("node => getComputedStyle(node).unicodeBidi") == "isolate"


def test_what_is_copied_is_the_document(page: Page, keys: list[str]) -> None:
    page.goto(f"/admin/shells/shell/{keys[1]}/change/")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("[data-copy=document-text]").click()
    expect(page.locator("[data-copy=document-text]")).to_have_text("✓")
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert copied == {**HOSTILE, "idShort": "Bc"}


def test_it_goes_through_the_editor_unharmed(page: Page, keys: list[str]) -> None:
    page.goto(f"/admin/shells/shell/{keys[1]}/change/?edit=1")
    typed = json.loads(page.input_value("#id_document"))
    assert typed == {**HOSTILE, "idShort": "Bc"}
    page.fill("#id_document", json.dumps({**typed, "assetKind": SCRIPT}, indent=2))
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#defects")).to_be_visible()
    looks_right(page, "edit-refused")
    line = page.locator("#defects [data-line]").first
    line.click()
    selected = page.evaluate(
        "(() => { const area = document.querySelector('#id_document');"
        " return area.value.slice(area.selectionStart, area.selectionEnd); })()"
    )
    assert re.match(r'\s*"assetKind"', selected)
    page.on("dialog", lambda dialog: dialog.accept())
