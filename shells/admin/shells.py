"""Shells in the admin."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from shells.admin import search
from shells.admin.descriptors import DescriptorAdmin
from shells.admin.filters import AssetKindFilter, AssetTypeFilter, CreatedFilter, SubmodelSemanticIdFilter
from shells.admin.paging import KeysetChangeList, Order
from shells.admin.reading import read_shell
from shells.admin.texts import text
from shells.collections import SHELLS
from shells.identifiers import is_global_asset_id
from shells.models import AssetId, AssetLinks, Endpoint, Shell, Submodel
from tenants.admin.base import TenantFilter


@admin.register(Shell)
class ShellAdmin(DescriptorAdmin):
    collection = SHELLS
    reading = staticmethod(read_shell)
    example = '{\n  "id": "",\n  "idShort": "",\n  "assetKind": "Instance",\n  "submodelDescriptors": []\n}'

    list_display = [
        "text_of_id_short",
        "text_of_identifier",
        "tenant",
        "asset_kind",
        "number_of_submodels",
        "created",
        "updated",
    ]
    list_display_links = ["text_of_id_short", "text_of_identifier"]
    list_filter = [
        ("tenant", TenantFilter),
        AssetKindFilter,
        AssetTypeFilter,
        SubmodelSemanticIdFilter,
        ("created_at", CreatedFilter),
    ]
    search_fields = ["identifier"]
    search_help_text = gettext_lazy("Identifier, asset id, idShort …")
    search_explained = gettext_lazy(
        "Search finds whole identifiers (also base64url), global asset ids, idShorts and values of asset ids. "
        "Motor_* finds each idShort that begins so, serialNumber=4711 one asset id."
    )

    def list_order(self, changelist: KeysetChangeList) -> Order:
        if changelist.query.strip().endswith("*"):
            return Order(("beginning", "id"), descending=False)
        if changelist.params.get("created_at_from") or changelist.params.get("created_at_to"):
            return Order(("created_at", "id"))
        return Order()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        submodels = Submodel.objects.filter(tenant=OuterRef("tenant"), shell=OuterRef("pk"))
        number = submodels.order_by().values("shell").values_list(Count("pk"))
        counted = Coalesce(Subquery(number, output_field=IntegerField()), 0)
        rows: QuerySet[Any] = super().get_queryset(request).annotate(submodel_count=counted)
        return rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        if term.endswith("*"):
            return search.starting_with(queryset, term[:-1]), False
        tenants = search.tenants_of(request)
        pair = search.as_pair(term)
        if pair is None:
            names = search.names_in_use(tenants)
            return search.shells_known_as(queryset, tenants, names, term), False
        name, value = pair
        if is_global_asset_id(name):
            return search.equals(queryset, "global_asset_id", value), False
        asset_ids = AssetId.objects.filter(tenant__in=tenants)
        found = search.with_asset_ids(asset_ids, tenants, [name], value)
        return queryset.filter(pk__in=found.values("shell_id")), False

    @admin.display(description="idShort")
    def text_of_id_short(self, shell: Shell) -> SafeString:
        return text(shell.id_short)

    @admin.display(description=gettext_lazy("identifier"))
    def text_of_identifier(self, shell: Shell) -> SafeString:
        return text(shell.identifier)

    @admin.display(description=gettext_lazy("submodels"))
    def number_of_submodels(self, shell: Any) -> int:
        number: int = shell.submodel_count
        return number

    def surroundings(self, row: Any) -> dict[str, Any]:
        links = AssetLinks.objects.of(row.tenant_id).filter(digest=row.digest, identifier=row.identifier)
        return {"asset_links": links.first()}

    def belongings(self, rows: list[Any]) -> dict[str, int]:
        of_rows = {"tenant__in": {row.tenant_id for row in rows}, "shell__in": [row.pk for row in rows]}
        links = AssetLinks.objects.filter(
            tenant__in=of_rows["tenant__in"], digest__in=[row.digest for row in rows]
        )
        return {
            _("submodels"): Submodel.objects.filter(**of_rows).count(),
            _("endpoints"): Endpoint.objects.filter(**of_rows).count(),
            _("asset ids"): AssetId.objects.filter(**of_rows).count(),
            _("asset links set through discovery"): links.count(),
        }
