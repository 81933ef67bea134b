"""Tenants, modules and trusted issuers in the admin: to look at; the commands of `manage.py` write."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from tenants.models import Module, Tenant, TrustedIssuer


class ReadOnlyAdmin(ModelAdmin):  # type: ignore[misc]
    """Rows that are shown, and written elsewhere."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(Tenant)
class TenantAdmin(ReadOnlyAdmin):
    list_display = ["identifier", "name", "validation", "created_at"]
    search_fields = ["identifier", "name"]


@admin.register(Module)
class ModuleAdmin(ReadOnlyAdmin):
    list_display = ["name", "tenant", "client_id", "role", "enabled", "expires_at", "last_used_at"]
    list_filter = ["tenant", "role", "enabled"]
    list_select_related = ["tenant"]
    search_fields = ["name", "client_id"]
    exclude = ["secret_digest", "previous_secret_digest"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Module]:
        queryset: QuerySet[Module] = super().get_queryset(request)
        return queryset.defer(*self.exclude)


@admin.register(TrustedIssuer)
class TrustedIssuerAdmin(ReadOnlyAdmin):
    list_display = ["issuer", "tenant", "audiences", "tenant_claim", "roles_claim", "enabled"]
    list_filter = ["tenant", "enabled"]
    list_select_related = ["tenant"]
    search_fields = ["issuer"]
