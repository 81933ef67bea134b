"""The admin shows what is read out of shells, and tenants, read-only, with search and a filter by tenant."""

from datetime import timedelta

import pytest
from django.test import Client

from shells.models import Shell
from tenants import services
from tests.bodies import CONTRACT_EXAMPLE
from tests.conftest import Persona

MODELS = [
    "shells/submodel",
    "shells/endpoint",
    "shells/assetid",
]


@pytest.fixture
def _stored(alice: Persona, charlie: Persona) -> None:
    alice.register(CONTRACT_EXAMPLE)
    charlie.register({**CONTRACT_EXAMPLE, "id": "2222-shell"})


@pytest.mark.usefixtures("_stored")
@pytest.mark.parametrize("model", MODELS)
class TestEveryModel:
    def test_list(self, admin_client: Client, model: str) -> None:
        assert admin_client.get(f"/admin/{model}/").status_code == 200

    def test_nothing_can_be_added_changed_or_deleted(self, admin_client: Client, model: str) -> None:
        assert admin_client.get(f"/admin/{model}/add/").status_code == 403
        assert admin_client.post(f"/admin/{model}/add/", {}).status_code == 403
        row = admin_client.get(f"/admin/{model}/").context["cl"].result_list[0]
        assert admin_client.get(f"/admin/{model}/{row.pk}/change/").status_code == 200
        assert admin_client.post(f"/admin/{model}/{row.pk}/change/", {}).status_code == 403
        assert admin_client.post(f"/admin/{model}/{row.pk}/delete/", {"post": "yes"}).status_code == 403
        assert Shell.objects.count() == 2

    def test_it_needs_a_login(self, client: Client, model: str) -> None:
        response = client.get(f"/admin/{model}/")
        assert response.status_code == 302
        assert response["Location"].startswith("/admin/login/")


@pytest.mark.usefixtures("_stored")
@pytest.mark.parametrize(
    ("model", "term", "found"),
    [
        ("shell", "1111-shell", 1),
        ("shell", "1111-shel", 0),
        ("submodel", "0d9c3f9c-8a4f-4d3e-9c0b-111111111111", 2),
        ("endpoint", "1111-shell", 2),
        ("assetid", "2222-shell", 2),
        ("shell", "'%_", 0),
    ],
)
def test_search_by_identifier(admin_client: Client, model: str, term: str, found: int) -> None:
    response = admin_client.get(f"/admin/shells/{model}/", {"q": term})
    assert response.context["cl"].result_count == found


@pytest.mark.usefixtures("_stored")
@pytest.mark.parametrize(("model", "found"), [("shell", 1), ("submodel", 1), ("endpoint", 2), ("assetid", 2)])
def test_filter_by_tenant(admin_client: Client, alice: Persona, model: str, found: int) -> None:
    response = admin_client.get(f"/admin/shells/{model}/", {"tenant__id__exact": alice.tenant.pk})
    assert response.context["cl"].result_count == found


def test_a_secret_is_nowhere(admin_client: Client, alice: Persona) -> None:
    alice.module, _ = services.rotate_secret("tenant-a", "alice", overlap=timedelta(hours=1))
    page = admin_client.get(f"/admin/tenants/module/{alice.module.pk}/change/").content.decode()
    assert alice.module.client_id in page
    assert alice.module.secret_digest not in page
    assert str(alice.module.previous_secret_digest) not in page
    assert alice.secret not in page


def test_hostile_text_is_shown_as_text(admin_client: Client, alice: Persona) -> None:
    alice.register({"id": "<script>alert(1)</script>", "idShort": "<img src=x onerror=alert(2)>"})
    shell = Shell.objects.get()
    for path in ("/admin/shells/shell/", f"/admin/shells/shell/{shell.pk}/change/"):
        page = admin_client.get(path).content.decode()
        assert "alert(1)" in page
        assert "<script>alert(1)" not in page
        assert "<img src=x" not in page
