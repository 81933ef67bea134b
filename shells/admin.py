"""Shells and their projections in the admin: to look at; the API writes."""

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
class ShellAdmin(DigestSearch, ReadOnlyAdmin):
    list_display = ["identifier", "tenant", "id_short", "asset_kind", "created_at", "updated_at"]
    list_filter = ["tenant"]
    list_select_related = ["tenant"]
    ordering = ["-id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Shell]:
        queryset: QuerySet[Shell] = super().get_queryset(request)
        return queryset.defer("document")


@admin.register(Submodel)
class SubmodelAdmin(DigestSearch, ReadOnlyAdmin):
    list_display = ["identifier", "tenant", "shell", "id_short", "semantic_id"]
    list_filter = ["tenant"]
    list_select_related = ["tenant", "shell"]
    ordering = ["-id"]


@admin.register(Endpoint)
class EndpointAdmin(ReadOnlyAdmin):
    list_display = ["href", "tenant", "interface", "shell"]
    list_filter = ["tenant"]
    list_select_related = ["tenant", "shell"]
    search_fields = ["=shell__identifier"]
    ordering = ["-id"]


@admin.register(AssetId)
class AssetIdAdmin(ReadOnlyAdmin):
    list_display = ["name", "value", "tenant", "shell", "external_subject_id"]
    list_filter = ["tenant"]
    list_select_related = ["tenant", "shell"]
    search_fields = ["=shell__identifier"]
    ordering = ["-id"]


@admin.register(StandaloneSubmodel)
class StandaloneSubmodelAdmin(DigestSearch, ReadOnlyAdmin):
    list_display = ["identifier", "tenant", "id_short", "semantic_id", "created_at", "updated_at"]
    list_filter = ["tenant"]
    list_select_related = ["tenant"]
    ordering = ["-id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Shell]:
        queryset: QuerySet[Shell] = super().get_queryset(request)
        return queryset.defer("document")


@admin.register(StandaloneEndpoint)
class StandaloneEndpointAdmin(ReadOnlyAdmin):
    list_display = ["href", "tenant", "interface", "submodel"]
    list_filter = ["tenant"]
    list_select_related = ["tenant", "submodel"]
    search_fields = ["=submodel__identifier"]
    ordering = ["-id"]


@admin.register(AssetLinks)
class AssetLinksAdmin(DigestSearch, ReadOnlyAdmin):
    list_display = ["identifier", "tenant", "document", "updated_at"]
    list_filter = ["tenant"]
    list_select_related = ["tenant"]
    ordering = ["-id"]


@admin.register(Change)
class ChangeAdmin(DigestSearch, ReadOnlyAdmin):
    list_display = ["at", "action", "identifier", "tenant", "author", "correlation_id"]
    list_filter = ["tenant", "action"]
    list_select_related = ["tenant"]
    ordering = ["-id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Change]:
        queryset: QuerySet[Change] = super().get_queryset(request)
        return queryset.defer("before")


@admin.register(BulkOperation)
class BulkOperationAdmin(ReadOnlyAdmin):
    list_display = ["handle", "tenant", "verb", "collection", "state", "created_at", "finished_at"]
    list_filter = ["tenant", "state"]
    list_select_related = ["tenant"]
    exclude = ["body"]
    ordering = ["-id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[BulkOperation]:
        queryset: QuerySet[BulkOperation] = super().get_queryset(request)
        return queryset.defer("body")


@admin.register(ImportRun)
class ImportRunAdmin(ReadOnlyAdmin):
    list_display = ["__str__", "tenant", "counts", "started_at", "updated_at", "finished_at"]
    list_filter = ["tenant"]
    list_select_related = ["tenant"]
    ordering = ["-updated_at"]
