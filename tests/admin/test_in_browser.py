"""The admin as a person opens it."""

import re

from playwright.sync_api import Page, expect

from tests.admin.conftest import screenshot


def test_sign_in(anonymous_page: Page) -> None:
    anonymous_page.goto("/")
    expect(anonymous_page).to_have_url(re.compile("/admin/login/"))
    screenshot(anonymous_page, "sign-in")


def test_start(page: Page) -> None:
    page.goto("/admin/")
    expect(page.get_by_role("link", name="Shells", exact=True).first).to_be_visible()
    screenshot(page, "start")
