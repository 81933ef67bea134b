"""No route shows, changes or reveals anything of another tenant (check 34, aas-registry-api.md §0.1)."""

import re
from collections.abc import Iterator

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from shells.identifiers import encode
from shells.models import AssetLinks, BulkOperation, Shell, StandaloneSubmodel
from tests.conftest import Persona, texts

METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]


def routes(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        else:
            yield route


API_ROUTES = [
    route for route in routes(get_resolver().url_patterns) if route.startswith("aas-api/v3/<str:tenantId>/")
]


def address(route: str, tenant: str, identifier: str) -> str:
    """An address of `route`; `identifier` stands for every id in it."""
    return "/" + re.sub(r"<str:\w+>", encode(identifier), route.replace("<str:tenantId>", tenant))


def test_the_walk_finds_the_routes() -> None:
    assert "aas-api/v3/<str:tenantId>/shell-descriptors/<str:aasIdentifier>" in API_ROUTES
    assert len(API_ROUTES) == 17


@pytest.mark.spec("check", "34")
@pytest.mark.parametrize("route", API_ROUTES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tenant", ["tenant-a", "unknown"])
def test_every_route_refuses_the_token_of_another_tenant(
    alice: Persona, charlie: Persona, route: str, method: str, tenant: str
) -> None:
    alice.register({"id": "urn:1", "idShort": "Secret"})
    alice.post("/submodel-descriptors", {"id": "urn:1", "idShort": "Secret"})
    response = charlie.client.generic(
        method,
        address(route, tenant, "urn:1"),
        b'{"id":"urn:2"}',
        "application/json",
        headers={"Authorization": f"Bearer {charlie.token}"},
    )
    assert response.status_code == 403
    assert texts(response) == ["the token is not for this tenant"]
    assert "Secret" not in response.content.decode()
    assert Shell.objects.count() == StandaloneSubmodel.objects.count() == 1
    assert not AssetLinks.objects.exists()
    assert not BulkOperation.objects.exists()


@pytest.mark.spec("check", "33")
@pytest.mark.parametrize("route", API_ROUTES)
@pytest.mark.parametrize("method", METHODS)
def test_every_route_needs_a_token(alice: Persona, route: str, method: str) -> None:
    path = address(route, "tenant-a", "a")
    response = alice.client.generic(method, path, b'{"id":"urn:2"}', "application/json")
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Bearer")
    assert texts(response)
    assert not Shell.objects.exists()


@pytest.mark.spec("check", "34")
def test_a_shell_of_another_tenant_is_not_there(alice: Persona, charlie: Persona) -> None:
    alice.register({"id": "urn:1"})
    assert charlie.fetch("urn:1").status_code == 404
    assert charlie.register({"id": "urn:1", "idShort": "Mine"}).status_code == 201
    assert alice.fetch("urn:1").json() == {"id": "urn:1"}
