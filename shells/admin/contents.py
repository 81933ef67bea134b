"""What is found in the documents of shells: submodels, endpoints and asset ids, to look at and to search."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from shells.admin import search
from shells.admin.filters import SemanticIdFilter
from shells.admin.paging import KeysetChangeList, LargeListAdmin, Order
from shells.admin.texts import shell_link, text
from shells.models import AssetId, Endpoint, Shell, Submodel
from tenants.admin.base import TenantFilter


class ContentsAdmin(LargeListAdmin):
    """Rows that are read out of shells, in the order of these."""

    list_select_related = ["tenant", "shell"]
    deferred = ["shell__document"]
    search_fields = ["shell__identifier"]

    def list_order(self, changelist: KeysetChangeList) -> Order:
        return Order(("shell_id", "id"))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """What `found` finds."""
        term = search_term.strip()
        if not term:
            return queryset, False
        tenants = search.tenants_of(request)
        return self.found(queryset, tenants, term), False

    def found(self, queryset: QuerySet[Any], tenants: list[int], term: str) -> QuerySet[Any]:
        """The rows of the shell that a text identifies; if there is none, what `others` finds."""
        shells = Shell.objects.filter(search.identified(term), tenant__in=tenants)
        keys = list(shells.values_list("pk", flat=True))
        return queryset.filter(shell__in=keys) if keys else self.others(queryset, term)

    def others(self, queryset: QuerySet[Any], term: str) -> QuerySet[Any]:
        raise NotImplementedError

    def history(self, request: HttpRequest, row: Any) -> HttpResponse:
        """That of the shell: what is read out of it has none of its own."""
        return redirect("admin:shells_shell_history", row.shell_id)

    @admin.display(description=_("shell"))
    def link_to_shell(self, row: Any) -> SafeString:
        return shell_link(row.shell)


@admin.register(AssetId)
class AssetIdAdmin(ContentsAdmin):
    list_display = ["name", "text_of_value", "tenant", "link_to_shell", "text_of_subject"]
    search_help_text = _("Value, or name=value")
    search_explained = _(
        "Search finds serialNumber=4711, a whole value under one of the names in use, and the asset ids of the "
        "shell whose whole identifier is given."
    )

    def found(self, queryset: QuerySet[Any], tenants: list[int], term: str) -> QuerySet[Any]:
        pair = search.as_pair(term)
        if pair is not None:
            return search.with_asset_ids(queryset, tenants, [pair[0]], pair[1])
        known = search.asset_ids_known_as(tenants, search.names_in_use(tenants), term)
        return queryset.filter(pk__in=known)

    @admin.display(description=_("value"))
    def text_of_value(self, asset_id: AssetId) -> SafeString:
        return text(asset_id.value)

    @admin.display(description=_("for"))
    def text_of_subject(self, asset_id: AssetId) -> SafeString:
        return text(asset_id.external_subject_id)


@admin.register(Endpoint)
class EndpointAdmin(ContentsAdmin):
    list_display = ["text_of_href", "tenant", "interface", "link_to_shell"]
    search_help_text = _("Host, such as edc.example.com")
    search_explained = _(
        "Search finds the endpoints at a host, and those of the shell whose whole identifier is given."
    )

    def others(self, queryset: QuerySet[Any], term: str) -> QuerySet[Any]:
        return search.pointing_to(queryset, term)

    @admin.display(description=_("address"))
    def text_of_href(self, endpoint: Endpoint) -> SafeString:
        return text(endpoint.href)


@admin.register(Submodel)
class SubmodelAdmin(ContentsAdmin):
    list_display = [
        "text_of_identifier",
        "text_of_id_short",
        "tenant",
        "link_to_shell",
        "text_of_semantic_id",
    ]
    list_filter = [("tenant", TenantFilter), SemanticIdFilter]
    search_help_text = _("The whole identifier")
    search_explained = _("Search finds the whole identifier of a submodel, or of its shell.")

    def others(self, queryset: QuerySet[Any], term: str) -> QuerySet[Any]:
        return queryset.filter(search.identified(term))

    @admin.display(description=_("identifier"))
    def text_of_identifier(self, submodel: Submodel) -> SafeString:
        return text(submodel.identifier)

    @admin.display(description="idShort")
    def text_of_id_short(self, submodel: Submodel) -> SafeString:
        return text(submodel.id_short)

    @admin.display(description=_("semantic id"))
    def text_of_semantic_id(self, submodel: Submodel) -> SafeString:
        return text(submodel.semantic_id)
