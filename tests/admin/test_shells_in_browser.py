"""The journey of an editor: register, read, edit, meet another writer, look back, delete."""

import json

from playwright.sync_api import Page, expect

from tests.admin.conftest import screenshot
from tests.server import Server


def test_from_registering_to_deleting(page: Page, server: Server) -> None:
    server.manage("create_tenant", "journey")
    page.goto("/admin/shells/shell/add/")
    page.select_option("#id_tenant", label="journey")
    page.fill("#id_document", '{"id": "urn:journey", "idShort": "Drive"')
    page.get_by_role("button", name="Register").click()
    expect(page.locator("#defects")).to_contain_text("not JSON")
    assert page.input_value("#id_document") == '{"id": "urn:journey", "idShort": "Drive"'
    page.fill("#id_document", '{"id": "urn:journey", "idShort": "Drive"}')
    page.get_by_role("button", name="Register").click()
    expect(page.locator("#identifier")).to_have_text("urn:journey")
    screenshot(page, "journey-registered")

    page.get_by_role("link", name="Edit").click()
    expect(page.locator(".shell-lines div")).to_have_count(4)
    typed = json.loads(page.input_value("#id_document"))
    page.fill("#id_document", json.dumps({**typed, "idShort": "Mine"}))
    theirs = json.dumps({"id": "urn:journey", "idShort": "Theirs"}).encode()
    server.manage("import_shells", "--tenant", "journey", "--on-conflict", "replace", "-", stdin=theirs)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#conflict")).to_contain_text("Theirs")
    expect(page.locator("#conflict .diff-new")).to_contain_text("Mine")
    screenshot(page, "journey-conflict")
    page.get_by_role("button", name="Overwrite").click()
    expect(page.locator(".shell-facts").first).to_contain_text("Mine")

    page.get_by_role("link", name="History", exact=True).click()
    expect(page.locator(".diff-old").first).to_contain_text("Theirs")
    screenshot(page, "journey-history")
    page.get_by_role("link", name="urn:journey").click()
    page.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Yes").click()
    page.goto("/admin/shells/shell/?q=urn:journey")
    expect(page.locator("#result_list")).to_have_count(0)


def test_a_tree_is_folded_and_unfolded(page: Page, server: Server) -> None:
    body = json.dumps({"id": "urn:tree", "description": [{"language": "en", "text": "deep"}]})
    server.manage("create_tenant", "tree")
    server.manage("import_shells", "--tenant", "tree", "-", stdin=body.encode())
    page.goto("/admin/shells/shell/?q=urn:tree")
    page.locator("#result_list tbody a").first.click()
    page.get_by_role("button", name="Fold all", exact=True).click()
    expect(page.locator("#document-tree .json-key").first).to_be_hidden()
    page.get_by_role("button", name="Unfold all").click()
    expect(page.locator("#document-tree .json-key").last).to_be_visible()
