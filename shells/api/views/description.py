"""What this registry offers (aas-registry-api.md §5)."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from pydantic_core import to_json
from rest_framework.request import Request

from shells.api import schema
from shells.api.requests import json_response
from shells.api.views.base import RegistryViewSet

_REGISTRY = "AssetAdministrationShellRegistryServiceSpecification"
_DISCOVERY = "DiscoveryServiceSpecification"
_SUBMODEL_REGISTRY = "SubmodelRegistryServiceSpecification"

#: (version, service, its profiles): SSP-001 is the full one, then read, bulk, query, minimal read.
OFFERED = [
    ("3/1", _REGISTRY, (1, 2, 3, 4, 5)),
    ("3/1", _DISCOVERY, (1, 2)),
    ("3/1", _SUBMODEL_REGISTRY, (1, 2, 3, 4)),
    ("3/0", _REGISTRY, (1, 2)),
    ("3/0", _DISCOVERY, (1,)),
    ("3/0", _SUBMODEL_REGISTRY, (1, 2)),
]
PROFILES = [
    f"https://admin-shell.io/aas/API/{version}/{service}/SSP-{number:03}"
    for version, service, numbers in OFFERED
    for number in numbers
]


@schema.description
class DescriptionViewSet(RegistryViewSet):
    """`/description` (O11)."""

    def get_authenticators(self) -> Any:
        return () if settings.OPEN_DESCRIPTION else super().get_authenticators()

    def get_permissions(self) -> Any:
        return () if settings.OPEN_DESCRIPTION else super().get_permissions()

    def retrieve(self, request: Request, **address: str) -> HttpResponse:
        return json_response(to_json({"profiles": PROFILES}))
