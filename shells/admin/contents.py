"""What is found in the documents of shells: submodels, endpoints and asset ids, to look at and to search."""

from django.contrib import admin

from shells.admin.search import DigestSearch
from shells.models import AssetId, Endpoint, Submodel
from tenants.admin.base import TenantRowsAdmin


@admin.register(AssetId)
class AssetIdAdmin(TenantRowsAdmin):
    list_display = ["name", "value", "tenant", "shell", "external_subject_id"]
    list_select_related = ["tenant", "shell"]
    search_fields = ["=shell__identifier"]


@admin.register(Endpoint)
class EndpointAdmin(TenantRowsAdmin):
    list_display = ["href", "tenant", "interface", "shell"]
    list_select_related = ["tenant", "shell"]
    search_fields = ["=shell__identifier"]


@admin.register(Submodel)
class SubmodelAdmin(DigestSearch, TenantRowsAdmin):
    list_display = ["identifier", "tenant", "shell", "id_short", "semantic_id"]
    list_select_related = ["tenant", "shell"]
