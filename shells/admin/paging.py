"""Lists of any length in the admin: pages by key, as those of the API. Nothing is counted, nothing skipped.

A page is found from the row at the edge of the page before it, in the order of an index that begins with the
tenant; if several tenants are looked at, in each of them. So a page takes as long at a million rows as at a hundred.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.contrib.admin import ShowFacets
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import PAGE_VAR
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import F, Func, OuterRef, QuerySet
from django.db.models.fields.tuple_lookups import TupleGreaterThan, TupleLessThan
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from pydantic_core import from_json, to_json
from unfold.views import ChangeList

from shells.querysets import QueryTooExpensive, time_limit
from tenants.admin.base import TENANT, TenantRowsAdmin
from tenants.models import Tenant
from tenants.people import person_of

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True)
class Order:
    """The order of a list: fields that an index has behind the tenant, the last of them unique."""

    fields: tuple[str, ...] = ("id",)
    descending: bool = True

    def by(self, *, backwards: bool) -> list[str]:
        return [f"-{field}" if self.descending is not backwards else field for field in self.fields]

    def beyond(self, edge: Sequence[Any], *, backwards: bool) -> Any:
        """The condition on rows that come after `edge` (with `backwards`: before it)."""
        lookup = TupleLessThan if self.descending is not backwards else TupleGreaterThan
        return lookup(tuple(map(F, self.fields)), tuple(edge))


class Edge(NamedTuple):
    """The row at which a page begins, by the values of its order; as parameter `>[…]`, or `<[…]` for a page back."""

    values: Sequence[Any]
    backwards: bool

    def __str__(self) -> str:
        return ("<" if self.backwards else ">") + to_json(self.values).decode()

    @classmethod
    def read(cls, parameter: str, fields: Sequence[Any]) -> "Edge | None":
        """Raises IncorrectLookupParameters."""
        if parameter[:1] not in ("<", ">"):
            return None
        try:
            values = from_json(parameter[1:])
            if not isinstance(values, list) or len(values) != len(fields):
                raise ValueError
            cleaned = [field.to_python(value) for field, value in zip(fields, values, strict=True)]
            for field, value in zip(fields, cleaned, strict=True):
                field.run_validators(value)
                if value is None or "\0" in str(value):
                    raise ValueError
        except (ValueError, TypeError, OverflowError, ValidationError):
            raise IncorrectLookupParameters(PAGE_VAR) from None
        return cls(cleaned, parameter[0] == "<")


class NoCountPaginator(Paginator):  # type: ignore[type-arg]
    """Says how the links to other pages look; `KeysetChangeList` finds their rows."""

    template_name = "admin/shells/pages.html"
    count = 0


class KeysetChangeList(ChangeList):  # type: ignore[misc]
    """A list in the order that its admin names (`list_order`)."""

    next_edge: Edge | None = None
    previous_edge: Edge | None = None

    @cached_property
    def order(self) -> Order:
        order: Order = self.model_admin.list_order(self)
        return order

    @property
    def is_narrowed(self) -> bool:
        return bool(self.query or any(value != [""] for value in self.get_filters_params().values()))

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[str]:
        return []

    def get_ordering_field_columns(self) -> dict[int, str]:
        return {}

    def get_results(self, request: HttpRequest) -> None:
        edge = Edge.read(request.GET.get(PAGE_VAR, ""), self._order_fields())
        size = self.list_per_page
        try:
            with time_limit(settings.QUERY_TIMEOUT_MS) if self.is_narrowed else nullcontext():
                found = list(self._rows(request, edge)[: size + 1])
        except QueryTooExpensive:
            messages.warning(request, _("That takes too long. Choose a tenant, or ask for less at once."))
            found = []
        rows = found[:size]
        backwards = edge is not None and edge.backwards
        if backwards:
            rows.reverse()
        if rows and (backwards or len(found) > size):
            self.next_edge = Edge(self._values(rows[-1]), backwards=False)
        if rows and edge is not None and (not backwards or len(found) > size):
            self.previous_edge = Edge(self._values(rows[0]), backwards=True)
        self.result_list = rows
        self.result_count = self.full_result_count = len(rows)
        self.show_full_result_count = False
        self.show_admin_actions = True
        self.can_show_all = self.multi_page = False
        self.paginator = self.model_admin.get_paginator(request, rows, size)

    @property
    def next_url(self) -> str | None:
        return self._url(self.next_edge)

    @property
    def previous_url(self) -> str | None:
        return self._url(self.previous_edge)

    def _url(self, edge: Edge | None) -> str | None:
        return None if edge is None else self.get_query_string({PAGE_VAR: str(edge)})

    def _rows(self, request: HttpRequest, edge: Edge | None) -> QuerySet[Any]:
        """The rows from `edge` on, as many as one likes."""
        backwards = edge is not None and edge.backwards
        order = self.order.by(backwards=backwards)
        rows: QuerySet[Any] = self.queryset.order_by(*order)
        if edge is not None:
            rows = rows.filter(self.order.beyond(edge.values, backwards=backwards))
        person = person_of(request)
        tenants = person.tenants()
        one_tenant = self.params.get(TENANT) or (tenants is not None and len(tenants) == 1)
        if one_tenant or (tenants is None and self.order == Order() and not self.is_narrowed):
            return rows
        each = rows.filter(tenant_id=OuterRef("pk")).values("pk")[: self.list_per_page + 1]
        keys = Tenant.objects.filter(person.rows("pk")).values_list(
            Func(ArraySubquery(each), function="unnest")
        )
        found: QuerySet[Any] = self.queryset.filter(pk__in=keys).order_by(*order)
        return found

    def _order_fields(self) -> list[Any]:
        annotations = self.queryset.query.annotations
        columns = {field.attname: field for field in self.model._meta.concrete_fields}
        return [
            annotations[name].output_field
            if name in annotations
            else getattr(columns[name], "target_field", columns[name])
            for name in self.order.fields
        ]

    def _values(self, row: Any) -> list[Any]:
        return [getattr(row, field) for field in self.order.fields]


class LargeListAdmin(TenantRowsAdmin):
    """Rows that may be millions."""

    list_per_page = 50
    list_filter_submit = True
    paginator = NoCountPaginator
    sortable_by: Sequence[str] = ()
    show_facets = ShowFacets.NEVER  # they count everything
    list_before_template = "admin/shells/search_help.html"
    #: What the search finds, in a sentence above the list.
    search_explained: "StrOrPromise" = ""

    class Media:
        css = {"all": ["shells/admin.css"]}
        js = ["shells/admin.js"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return KeysetChangeList

    def list_order(self, changelist: KeysetChangeList) -> Order:
        """The order of the list, by what it is narrowed down to: the newest first."""
        return Order()

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        row = self.get_object(request, unquote(object_id))
        return self.gone(request, object_id) if row is None else self.history(request, row)

    def history(self, request: HttpRequest, row: Any) -> HttpResponse:
        """The page that says what became of a row."""
        response: HttpResponse = super().history_view(request, str(row.pk))
        return response

    def gone(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The answer where there is no such row, or none that the person sees."""
        response: HttpResponse = self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        return response
