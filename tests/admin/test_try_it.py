"""The page on which somebody tries the API."""

from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django import Settings

from shells.admin.try_it import example
from tenants import secrets, services
from tests.admin.conftest import screenshot
from tests.conftest import Persona

PATH = "/admin/try-it/"


def modules(client: Client) -> list[str]:
    return [module["label"] for module in client.get(PATH).context["setup"]["modules"]]


def test_live_modules_of_the_own_tenants(
    reader: Client, admin_client: Client, alice: Persona, bob: Persona, charlie: Persona
) -> None:
    assert modules(reader) == ["tenant-a / alice (editor)", "tenant-a / bob (reader)"]
    assert len(modules(admin_client)) == 3
    services.disable_module("tenant-a", "alice")
    assert modules(reader) == ["tenant-a / bob (reader)"]


def test_the_secret_of_the_demo_is_there_in_debug_only(
    admin_client: Client, alice: Persona, settings: Settings
) -> None:
    services.add_module("tenant-a", "demo", client_id=secrets.DEMO_CLIENT_ID, secret=secrets.DEMO_SECRET)
    settings.DEBUG = False
    assert secrets.DEMO_SECRET not in admin_client.get(PATH).content.decode()
    settings.DEBUG = True
    assert secrets.DEMO_SECRET in admin_client.get(PATH).content.decode()


def test_not_for_somebody_without_a_tenant(client: Client, django_user_model: type) -> None:
    client.force_login(django_user_model.objects.create_user("newcomer", is_staff=True))  # type: ignore[attr-defined]
    assert client.get(PATH).status_code == 403


def test_hostile_names_are_text(admin_client: Client, alice: Persona) -> None:
    services.add_module("tenant-a", "</script><script>alert(1)</script>")
    page = admin_client.get(PATH).content.decode()
    assert "alert(1)" in page
    assert "<script>alert(1)" not in page


def test_the_example_is_strictly_valid(strict_alice: Persona) -> None:
    assert strict_alice.register(example("urn:example:1")).status_code == 201


# --- In the browser -----------------------------------------------------------------------------------


def test_the_demo_with_one_click(page: Page) -> None:
    page.goto(PATH)
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("status")).to_have_text("All went well.")
    steps = page.locator(".reg-step h3")
    expect(steps).to_have_count(5)
    for step, status in enumerate(["200", "201", "200", "200", "204"]):
        expect(steps.nth(step)).to_contain_text(status)
    expect(page.locator(".reg-step").nth(2)).to_contain_text('"idShort": "Pump"')
    page.locator(".reg-step").nth(1).get_by_text("As curl").click()
    expect(page.locator(".reg-step").nth(1)).to_contain_text("curl -i -X POST")
    screenshot(page, "try-it")


def test_what_goes_wrong_is_shown(page: Page) -> None:
    page.goto(PATH)
    page.fill("#try-it-document", "{")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("status")).to_contain_text("no JSON object with an id")
    expect(page.locator(".reg-step")).to_have_count(0)
