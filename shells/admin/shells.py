"""Shells in the admin."""

from django.contrib import admin

from shells.admin.search import DigestSearch
from shells.models import Shell
from tenants.admin.base import TenantRowsAdmin


@admin.register(Shell)
class ShellAdmin(DigestSearch, TenantRowsAdmin):
    list_display = ["identifier", "tenant", "id_short", "asset_kind", "created_at", "updated_at"]
    deferred = ["document"]
