"""What was done: changes, bulk operations and imports."""

from django.contrib import admin

from shells.admin.search import DigestSearch
from shells.models import BulkOperation, Change, ImportRun
from tenants.admin.base import TenantFilter, TenantRowsAdmin


@admin.register(BulkOperation)
class BulkOperationAdmin(TenantRowsAdmin):
    list_display = ["handle", "tenant", "verb", "collection", "state", "created_at", "finished_at"]
    list_filter = [("tenant", TenantFilter), "state"]
    exclude = ["body"]
    deferred = ["body"]


@admin.register(Change)
class ChangeAdmin(DigestSearch, TenantRowsAdmin):
    list_display = ["at", "action", "identifier", "tenant", "author", "correlation_id"]
    list_filter = [("tenant", TenantFilter), "action"]
    deferred = ["before"]


@admin.register(ImportRun)
class ImportRunAdmin(TenantRowsAdmin):
    list_display = ["__str__", "tenant", "counts", "started_at", "updated_at", "finished_at"]
    ordering = ["-updated_at"]
