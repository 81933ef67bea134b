"""Statements per operation, against `query_counts.json`."""

import pytest
from django.test import Client
from pytest_django import Settings

from shells.models import Shell
from tests.bodies import submodel
from tests.conftest import Persona, post_form
from tests.query_counts import expected_query_count


@pytest.fixture(autouse=True)
def _believe_tokens_for_long(settings: Settings) -> None:
    settings.TOKEN_CACHE_SECONDS = 1_000_000


@pytest.mark.parametrize("submodels", [0, 1, 10, 100])
def test_post_does_not_depend_on_the_number_of_submodels(alice: Persona, submodels: int) -> None:
    alice.fetch("warm-up")
    body = {"id": "a", "submodelDescriptors": [submodel(f"urn:{number}") for number in range(submodels)]}
    with expected_query_count("POST shell-descriptors"):
        assert alice.register(body).status_code == 201


def test_get(alice: Persona) -> None:
    alice.register({"id": "a"})
    with expected_query_count("GET shell-descriptors/{aasIdentifier}"):
        assert alice.fetch("a").status_code == 200


def test_get_with_a_token_that_was_not_seen_yet(alice: Persona) -> None:
    alice.register({"id": "a"})
    alice.token = alice.new_token()
    with expected_query_count("GET shell-descriptors/{aasIdentifier}, new token"):
        assert alice.fetch("a").status_code == 200


def test_a_refused_tenant_costs_no_statement(alice: Persona, charlie: Persona) -> None:
    charlie.fetch("warm-up")
    with expected_query_count("GET of another tenant"):
        charlie.client.get(f"{alice.base}/x", headers={"Authorization": f"Bearer {charlie.token}"})


def test_token(alice: Persona) -> None:
    with expected_query_count("POST token"):
        assert post_form(alice.client, alice.token_url, alice.form()).status_code == 200


@pytest.mark.parametrize("shells", [1, 10, 50])
@pytest.mark.parametrize("model", ["shell", "submodel", "endpoint", "assetid"])
def test_admin_lists_do_not_depend_on_the_number_of_rows(
    admin_client: Client, alice: Persona, model: str, shells: int
) -> None:
    for number in range(shells):
        body = {
            "id": f"urn:{number}",
            "submodelDescriptors": [submodel()],
            "specificAssetIds": [{"name": "n", "value": "v"}],
        }
        alice.register(body)
    assert Shell.objects.count() == shells
    with expected_query_count(f"admin list of {model}"):
        assert admin_client.get(f"/admin/shells/{model}/").status_code == 200


@pytest.mark.parametrize("model", ["tenant", "module"])
def test_admin_lists_of_tenants_and_modules(
    admin_client: Client, alice: Persona, bob: Persona, charlie: Persona, model: str
) -> None:
    with expected_query_count(f"admin list of {model}"):
        assert admin_client.get(f"/admin/tenants/{model}/").status_code == 200
