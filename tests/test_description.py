"""GET /description: operation O11, check 32 (aas-registry-api.md §5)."""

import pytest
from django.test import Client
from pytest_django import Settings

from tests.conftest import Persona, texts

REGISTRY = "AssetAdministrationShellRegistryServiceSpecification"
PREFIX = "https://admin-shell.io/aas/API"


@pytest.mark.spec("check", "32")
def test_it_lists_the_profiles(bob: Persona) -> None:
    response = bob.get("/description")
    assert response.status_code == 200
    assert set(response.json()["profiles"]) == {
        *(f"{PREFIX}/3/1/{REGISTRY}/SSP-00{number}" for number in (1, 2, 3, 4, 5)),
        *(f"{PREFIX}/3/1/DiscoveryServiceSpecification/SSP-00{number}" for number in (1, 2)),
        *(f"{PREFIX}/3/1/SubmodelRegistryServiceSpecification/SSP-00{number}" for number in (1, 2, 3, 4)),
        *(f"{PREFIX}/3/0/{REGISTRY}/SSP-00{number}" for number in (1, 2)),
        f"{PREFIX}/3/0/DiscoveryServiceSpecification/SSP-001",
        *(f"{PREFIX}/3/0/SubmodelRegistryServiceSpecification/SSP-00{number}" for number in (1, 2)),
    }


@pytest.mark.spec("contract", "5.5")
def test_it_needs_a_token(alice: Persona, client: Client) -> None:
    response = client.get(f"{alice.base}/description")
    assert response.status_code == 401
    assert texts(response) == ["a bearer token is required"]


def test_a_setting_opens_it_and_it_alone(alice: Persona, client: Client, settings: Settings) -> None:
    settings.OPEN_DESCRIPTION = True
    assert client.get(f"{alice.base}/description").status_code == 200
    assert alice.get("/description").status_code == 200
    assert client.get(f"{alice.base}/description", headers={"Authorization": "Bearer x"}).status_code == 200
    for path in ("/shell-descriptors", "/lookup/shells", "/submodel-descriptors", "/description/"):
        assert client.get(alice.base + path).status_code == 401


def test_who_is_open_reveals_no_tenants(client: Client, db: None, settings: Settings) -> None:
    settings.OPEN_DESCRIPTION = True
    assert client.get("/aas-api/v3/nobody/description").status_code == 200
