"""Below `/aas-api/` (contract §4, aas-registry-api.md §1). No address ends with a slash."""

from typing import Any

from django.urls import include, path, re_path

from shells.api.views.base import UnknownRouteView
from shells.api.views.bulk import (
    BulkOutcomeViewSet,
    BulkShellDescriptorViewSet,
    BulkSubmodelDescriptorViewSet,
)
from shells.api.views.description import DescriptionViewSet
from shells.api.views.descriptors import ShellDescriptorViewSet, SubmodelDescriptorViewSet
from shells.api.views.discovery import AssetLinksViewSet, LookupViewSet
from shells.api.views.query import QueryShellDescriptorViewSet, QuerySubmodelDescriptorViewSet
from shells.api.views.superpath import SuperpathViewSet
from tenants.models import Role

#: Each address is written out: Django takes twice as long to find one that `include()` puts together.
TENANT = "aas-api/v3/<str:tenantId>/"

Actions = dict[str, Any]
COLLECTION: Actions = {"get": "list", "post": "create"}
MEMBER: Actions = {"get": "retrieve", "put": "update", "delete": "destroy"}
BULK: Actions = {"post": "create", "put": "update", "delete": "destroy"}
SEARCH: Actions = {"post": "search"}
UNKNOWN = [re_path(r"", UnknownRouteView.as_view(), name="unknown-route")]

urlpatterns = [
    # The AAS registry
    path(f"{TENANT}shell-descriptors", ShellDescriptorViewSet.as_view(COLLECTION), name="shell-descriptors"),
    path(
        f"{TENANT}shell-descriptors/<str:aasIdentifier>",
        ShellDescriptorViewSet.as_view(MEMBER),
        name="shell-descriptor",
    ),
    path(
        f"{TENANT}shell-descriptors/<str:aasIdentifier>/submodel-descriptors",
        SuperpathViewSet.as_view(COLLECTION),
        name="submodel-descriptors-of-shell",
    ),
    path(
        f"{TENANT}shell-descriptors/<str:aasIdentifier>/submodel-descriptors/<str:submodelIdentifier>",
        SuperpathViewSet.as_view(MEMBER),
        name="submodel-descriptor-of-shell",
    ),
    path(
        f"{TENANT}query/shell-descriptors",
        QueryShellDescriptorViewSet.as_view(SEARCH, required_role=Role.READER),
        name="query-shell-descriptors",
    ),
    path(
        f"{TENANT}bulk/shell-descriptors",
        BulkShellDescriptorViewSet.as_view(BULK),
        name="bulk-shell-descriptors",
    ),
    path(
        f"{TENANT}bulk/status/<str:handleId>",
        BulkOutcomeViewSet.as_view({"get": "status"}),
        name="bulk-status",
    ),
    path(
        f"{TENANT}bulk/result/<str:handleId>",
        BulkOutcomeViewSet.as_view({"get": "result"}),
        name="bulk-result",
    ),
    # Discovery
    path(f"{TENANT}lookup/shells", LookupViewSet.as_view({"get": "list"}), name="lookup-shells"),
    path(
        f"{TENANT}lookup/shellsByAssetLink",
        LookupViewSet.as_view(SEARCH, required_role=Role.READER),
        name="lookup-shells-by-asset-link",
    ),
    path(
        f"{TENANT}lookup/shells/<str:aasIdentifier>",
        AssetLinksViewSet.as_view({"get": "retrieve", "post": "create", "delete": "destroy"}),
        name="asset-links",
    ),
    # The standalone submodel registry
    path(
        f"{TENANT}submodel-descriptors",
        SubmodelDescriptorViewSet.as_view(COLLECTION),
        name="submodel-descriptors",
    ),
    path(
        f"{TENANT}submodel-descriptors/<str:submodelIdentifier>",
        SubmodelDescriptorViewSet.as_view(MEMBER),
        name="submodel-descriptor",
    ),
    path(
        f"{TENANT}query/submodel-descriptors",
        QuerySubmodelDescriptorViewSet.as_view(SEARCH, required_role=Role.READER),
        name="query-submodel-descriptors",
    ),
    path(
        f"{TENANT}bulk/submodel-descriptors",
        BulkSubmodelDescriptorViewSet.as_view(BULK),
        name="bulk-submodel-descriptors",
    ),
    # All of them
    path(f"{TENANT}description", DescriptionViewSet.as_view({"get": "retrieve"}), name="description"),
    path(TENANT, include(UNKNOWN)),
    path("aas-api/", include(UNKNOWN)),
]
