"""Which role may call which route with which verb: every route, every verb, every role."""

from typing import Any

import pytest
from django.test import Client

from tenants.models import Role, Tenant
from tests.conftest import Persona, persona, texts
from tests.test_tenant_isolation import API_ROUTES, METHODS, address

#: What a reader may call beside GET, HEAD and OPTIONS: searches, whose conditions are in a body. Nothing can be
#: changed there; other verbs are answered with 405 to everybody.
SEARCHES = {"lookup/shellsByAssetLink", "query/shell-descriptors", "query/submodel-descriptors"}


def may_read(method: str, route: str) -> bool:
    path = route.removeprefix("aas-api/v3/<str:tenantId>/")
    return method in {"GET", "HEAD", "OPTIONS"} or path in SEARCHES


@pytest.fixture
def caller(tenant_a: Tenant, request: pytest.FixtureRequest) -> Persona:
    return persona(tenant_a, "somebody", Role(request.param))


@pytest.mark.parametrize("caller", Role.values, indirect=True)
@pytest.mark.parametrize("route", API_ROUTES)
@pytest.mark.parametrize("method", [*METHODS, "HEAD"])
def test_matrix(caller: Persona, method: str, route: str) -> None:
    response: Any = Client().generic(
        method,
        address(route, "tenant-a", "urn:1"),
        b"{}",
        "application/json",
        headers={"Authorization": f"Bearer {caller.token}"},
    )
    if caller.module.role == Role.READER and not may_read(method, route):
        assert response.status_code == 403
        assert texts(response) == ["this needs the role editor; the token has reader"]
    else:
        assert response.status_code not in (401, 403)
