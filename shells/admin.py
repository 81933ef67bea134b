"""Shells and their projections in the admin: to look at; the API writes."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from shells import identifiers
from shells.models import (
    AssetId,
    AssetLinks,
    BulkOperation,
    Change,
    Endpoint,
    ImportRun,
    Shell,
    StandaloneEndpoint,
    StandaloneSubmodel,
    Submodel,
)
from tenants.admin import ReadOnlyAdmin


class TenantRowsAdmin(ReadOnlyAdmin):
    """Rows of tenants, the newest first, without what is large and not shown in a list."""

    list_filter = ["tenant"]
    list_select_related = ["tenant"]
    ordering = ["-id"]
    deferred: Sequence[str] = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        queryset: QuerySet[Any] = super().get_queryset(request)
        return queryset.defer(*self.deferred)


class DigestSearch:
    """Search by the exact identifier, through the index on its digest."""

    search_fields = ["identifier"]
    search_help_text = "The whole identifier."

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Shell], search_term: str
    ) -> tuple[QuerySet[Shell], bool]:
        if not search_term:
            return queryset, False
        return queryset.filter(digest=identifiers.digest(search_term), identifier=search_term), False


@admin.register(Shell)
class ShellAdmin(DigestSearch, TenantRowsAdmin):
    list_display = ["identifier", "tenant", "id_short", "asset_kind", "created_at", "updated_at"]
    deferred = ["document"]


@admin.register(Submodel)
class SubmodelAdmin(DigestSearch, TenantRowsAdmin):
    list_display = ["identifier", "tenant", "shell", "id_short", "semantic_id"]
    list_select_related = ["tenant", "shell"]


@admin.register(Endpoint)
class EndpointAdmin(TenantRowsAdmin):
    list_display = ["href", "tenant", "interface", "shell"]
    list_select_related = ["tenant", "shell"]
    search_fields = ["=shell__identifier"]


@admin.register(AssetId)
class AssetIdAdmin(TenantRowsAdmin):
    list_display = ["name", "value", "tenant", "shell", "external_subject_id"]
    list_select_related = ["tenant", "shell"]
    search_fields = ["=shell__identifier"]


@admin.register(StandaloneSubmodel)
class StandaloneSubmodelAdmin(DigestSearch, TenantRowsAdmin):
    list_display = ["identifier", "tenant", "id_short", "semantic_id", "created_at", "updated_at"]
    deferred = ["document"]


@admin.register(StandaloneEndpoint)
class StandaloneEndpointAdmin(TenantRowsAdmin):
    list_display = ["href", "tenant", "interface", "submodel"]
    list_select_related = ["tenant", "submodel"]
    search_fields = ["=submodel__identifier"]


@admin.register(AssetLinks)
class AssetLinksAdmin(DigestSearch, TenantRowsAdmin):
    list_display = ["identifier", "tenant", "document", "updated_at"]


@admin.register(Change)
class ChangeAdmin(DigestSearch, TenantRowsAdmin):
    list_display = ["at", "action", "identifier", "tenant", "author", "correlation_id"]
    list_filter = ["tenant", "action"]
    deferred = ["before"]


@admin.register(BulkOperation)
class BulkOperationAdmin(TenantRowsAdmin):
    list_display = ["handle", "tenant", "verb", "collection", "state", "created_at", "finished_at"]
    list_filter = ["tenant", "state"]
    exclude = ["body"]
    deferred = ["body"]


@admin.register(ImportRun)
class ImportRunAdmin(TenantRowsAdmin):
    list_display = ["__str__", "tenant", "counts", "started_at", "updated_at", "finished_at"]
    ordering = ["-updated_at"]
