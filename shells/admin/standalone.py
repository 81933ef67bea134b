"""The submodel registry and discovery: submodel descriptors of their own, and asset links that were set."""

from django.contrib import admin

from shells.admin.search import DigestSearch
from shells.models import AssetLinks, StandaloneEndpoint, StandaloneSubmodel
from tenants.admin.base import TenantRowsAdmin


@admin.register(AssetLinks)
class AssetLinksAdmin(DigestSearch, TenantRowsAdmin):
    list_display = ["identifier", "tenant", "document", "updated_at"]


@admin.register(StandaloneEndpoint)
class StandaloneEndpointAdmin(TenantRowsAdmin):
    list_display = ["href", "tenant", "interface", "submodel"]
    list_select_related = ["tenant", "submodel"]
    search_fields = ["=submodel__identifier"]


@admin.register(StandaloneSubmodel)
class StandaloneSubmodelAdmin(DigestSearch, TenantRowsAdmin):
    list_display = ["identifier", "tenant", "id_short", "semantic_id", "created_at", "updated_at"]
    deferred = ["document"]
