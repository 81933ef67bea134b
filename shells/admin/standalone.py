"""The submodel registry and discovery: submodel descriptors of their own, and asset links that were set."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from shells.admin.descriptors import DescriptorAdmin
from shells.admin.filters import CreatedFilter, SemanticIdFilter
from shells.admin.paging import KeysetChangeList, LargeListAdmin, Order
from shells.admin.reading import read_submodel
from shells.admin.search import DigestSearch, identified
from shells.admin.texts import text
from shells.collections import SUBMODELS
from shells.models import AssetLinks, StandaloneEndpoint, StandaloneSubmodel
from tenants.admin.base import TenantFilter


@admin.register(AssetLinks)
class AssetLinksAdmin(DigestSearch, LargeListAdmin):
    list_display = ["text_of_identifier", "tenant", "text_of_document", "updated_at"]

    @admin.display(description=gettext_lazy("identifier"))
    def text_of_identifier(self, links: AssetLinks) -> SafeString:
        return text(links.identifier)

    @admin.display(description=gettext_lazy("links"))
    def text_of_document(self, links: AssetLinks) -> SafeString:
        return text(links.document)


@admin.register(StandaloneEndpoint)
class StandaloneEndpointAdmin(LargeListAdmin):
    list_display = ["text_of_href", "tenant", "interface", "text_of_submodel"]
    list_select_related = ["tenant", "submodel"]
    deferred = ["submodel__document"]
    search_fields = ["submodel__identifier"]
    search_help_text = gettext_lazy("The whole identifier of the submodel")

    def list_order(self, changelist: KeysetChangeList) -> Order:
        return Order(("submodel_id", "id"))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        submodels = StandaloneSubmodel.objects.filter(identified(search_term.strip()))
        return (queryset.filter(submodel__in=submodels) if search_term.strip() else queryset), False

    @admin.display(description=gettext_lazy("address"))
    def text_of_href(self, endpoint: StandaloneEndpoint) -> SafeString:
        return text(endpoint.href)

    @admin.display(description=gettext_lazy("submodel"))
    def text_of_submodel(self, endpoint: StandaloneEndpoint) -> SafeString:
        return text(endpoint.submodel.identifier)


@admin.register(StandaloneSubmodel)
class StandaloneSubmodelAdmin(DigestSearch, DescriptorAdmin):
    collection = SUBMODELS
    reading = staticmethod(read_submodel)
    example = '{\n  "id": "",\n  "idShort": "",\n  "endpoints": []\n}'

    list_display = [
        "text_of_id_short",
        "text_of_identifier",
        "tenant",
        "text_of_semantic_id",
        "created",
        "updated",
    ]
    list_display_links = ["text_of_id_short", "text_of_identifier"]
    list_filter = [("tenant", TenantFilter), SemanticIdFilter, ("created_at", CreatedFilter)]

    def list_order(self, changelist: KeysetChangeList) -> Order:
        if changelist.params.get("created_at_from") or changelist.params.get("created_at_to"):
            return Order(("created_at", "id"))
        return Order()

    @admin.display(description="idShort")
    def text_of_id_short(self, submodel: StandaloneSubmodel) -> SafeString:
        return text(submodel.id_short)

    @admin.display(description=gettext_lazy("identifier"))
    def text_of_identifier(self, submodel: StandaloneSubmodel) -> SafeString:
        return text(submodel.identifier)

    @admin.display(description=gettext_lazy("semantic id"))
    def text_of_semantic_id(self, submodel: StandaloneSubmodel) -> SafeString:
        return text(submodel.semantic_id)

    def belongings(self, rows: list[Any]) -> dict[str, int]:
        endpoints = StandaloneEndpoint.objects.filter(
            tenant__in={row.tenant_id for row in rows}, submodel__in=[row.pk for row in rows]
        )
        return {_("endpoints"): endpoints.count()}
