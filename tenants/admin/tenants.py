"""Tenants, modules and trusted issuers in the admin: to look at; the commands of `manage.py` write."""

from django.contrib import admin

from tenants.admin.base import TenantFilter, TenantRowsAdmin
from tenants.models import Module, Tenant, TrustedIssuer


@admin.register(Tenant)
class TenantAdmin(TenantRowsAdmin):
    tenant_field = "pk"
    list_display = ["identifier", "name", "validation", "created_at"]
    list_filter = ["validation"]
    list_select_related = []
    ordering = ["identifier"]
    search_fields = ["identifier", "name"]


@admin.register(Module)
class ModuleAdmin(TenantRowsAdmin):
    list_display = ["name", "tenant", "client_id", "role", "enabled", "expires_at", "last_used_at"]
    list_filter = [("tenant", TenantFilter), "role", "enabled"]
    search_fields = ["name", "client_id"]
    exclude = ["secret_digest", "previous_secret_digest"]
    deferred = exclude


@admin.register(TrustedIssuer)
class TrustedIssuerAdmin(TenantRowsAdmin):
    list_display = ["issuer", "tenant", "audiences", "tenant_claim", "roles_claim", "enabled"]
    list_filter = [("tenant", TenantFilter), "enabled"]
    search_fields = ["issuer"]
