"""What lists of the admin can be narrowed down to: each by an index."""

from datetime import date, datetime, time, timedelta
from typing import Any

from django.contrib.admin import ModelAdmin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter, RangeDateFilter, TextFilter
from unfold.utils import parse_date_str

from shells.admin.search import equals, with_semantic_id
from shells.models import Change


class ChoiceFilter(DropdownFilter):  # type: ignore[misc]
    """Rows whose column, called as the parameter, is what was chosen."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        return queryset.filter(**{self.parameter_name: chosen}) if chosen else queryset


class AssetKindFilter(ChoiceFilter):
    title = _("asset kind")
    parameter_name = "asset_kind"

    def lookups(self, request: HttpRequest, model_admin: "ModelAdmin[Any]") -> list[tuple[str, str]]:
        return [(kind, kind) for kind in ("Instance", "Type", "Role", "NotApplicable")]


class WholeTextFilter(TextFilter):  # type: ignore[misc]
    """Rows with exactly this text."""

    def rows(self, queryset: QuerySet[Any], text: str) -> QuerySet[Any]:
        return equals(queryset, self.parameter_name, text)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        text = (self.value() or "").strip().replace("\0", "")
        return self.rows(queryset, text) if text else queryset


class AssetTypeFilter(WholeTextFilter):
    title = _("asset type")
    parameter_name = "asset_type"


class SemanticIdFilter(WholeTextFilter):
    """Of a submodel itself."""

    title = _("semantic id")
    parameter_name = "semantic_id"


class SubmodelSemanticIdFilter(SemanticIdFilter):
    """Of one of the submodels of a shell."""

    title = _("semantic id of a submodel")

    def rows(self, queryset: QuerySet[Any], text: str) -> QuerySet[Any]:
        return with_semantic_id(queryset, text)


class AuthorFilter(WholeTextFilter):
    title = _("author")
    parameter_name = "author"


class ActionFilter(ChoiceFilter):
    title = _("action")
    parameter_name = "action"

    def lookups(self, request: HttpRequest, model_admin: "ModelAdmin[Any]") -> Any:
        return Change.Action.choices


class CreatedFilter(RangeDateFilter):  # type: ignore[misc]
    """From the beginning of one day to the end of another; a list is then in the order of time."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        start = parse_date_str(self.used_parameters.get(f"{self.field_path}_from") or "")
        end = parse_date_str(self.used_parameters.get(f"{self.field_path}_to") or "")
        if start is not None:
            queryset = queryset.filter(**{f"{self.field_path}__gte": _midnight(start)})
        if end is not None and end < end.max:
            queryset = queryset.filter(**{f"{self.field_path}__lt": _midnight(end + timedelta(days=1))})
        return queryset


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
