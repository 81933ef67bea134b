"""Which role each operation needs: a matrix of every route and verb (contract §5, aas-registry-api.md §8)."""

import json

import pytest

from shells.models import AssetLinks, BulkOperation, Shell, StandaloneSubmodel
from tenants.models import Role, Tenant
from tests.conftest import Persona, persona, texts
from tests.test_tenant_isolation import API_ROUTES, address

#: Route → verbs that a reader may use, and verbs for which a caller must be an editor.
MATRIX = {
    "shell-descriptors": ("GET", "POST"),
    "shell-descriptors/<str:aasIdentifier>": ("GET", "PUT DELETE"),
    "shell-descriptors/<str:aasIdentifier>/submodel-descriptors": ("GET", "POST"),
    "shell-descriptors/<str:aasIdentifier>/submodel-descriptors/<str:submodelIdentifier>": (
        "GET",
        "PUT DELETE",
    ),
    "query/shell-descriptors": ("POST", ""),
    "bulk/shell-descriptors": ("", "POST PUT DELETE"),
    "bulk/status/<str:handleId>": ("GET", ""),
    "bulk/result/<str:handleId>": ("GET", ""),
    "lookup/shells": ("GET", ""),
    "lookup/shellsByAssetLink": ("POST", ""),
    "lookup/shells/<str:aasIdentifier>": ("GET", "POST DELETE"),
    "submodel-descriptors": ("GET", "POST"),
    "submodel-descriptors/<str:submodelIdentifier>": ("GET", "PUT DELETE"),
    "query/submodel-descriptors": ("POST", ""),
    "bulk/submodel-descriptors": ("", "POST PUT DELETE"),
    "description": ("GET", ""),
}
PREFIX = "aas-api/v3/<str:tenantId>/"
READING = [(verb, route) for route, (verbs, _) in MATRIX.items() for verb in verbs.split()]
WRITING = [(verb, route) for route, (_, verbs) in MATRIX.items() for verb in verbs.split()]


def call(someone: Persona, verb: str, route: str) -> tuple[int, list[str]]:
    path = address(PREFIX + route, someone.tenant.identifier, "urn:1").removeprefix(someone.base)
    response = someone.call(verb, path, json.dumps({"id": "urn:1"}))
    return response.status_code, texts(response) if response.status_code >= 400 else []


def test_every_route_is_in_the_matrix() -> None:
    assert {route.removeprefix(PREFIX) for route in API_ROUTES} - set(MATRIX) == {""}  # any other address


@pytest.mark.parametrize(("verb", "route"), READING)
def test_a_reader_may_read(bob: Persona, verb: str, route: str) -> None:
    status, _ = call(bob, verb, route)
    assert status not in (401, 403, 405)


@pytest.mark.parametrize(("verb", "route"), WRITING)
def test_a_reader_may_not_write(bob: Persona, verb: str, route: str) -> None:
    assert call(bob, verb, route) == (403, ["this needs the role editor; the token has reader"])
    for model in (Shell, StandaloneSubmodel, AssetLinks, BulkOperation):
        assert not model._default_manager.exists()


@pytest.mark.parametrize("role", [Role.EDITOR, Role.ADMIN])
@pytest.mark.parametrize(("verb", "route"), READING + WRITING)
def test_others_may_do_both(tenant_a: Tenant, role: Role, verb: str, route: str) -> None:
    status, _ = call(persona(tenant_a, "somebody", role), verb, route)
    assert status not in (401, 403, 405)
