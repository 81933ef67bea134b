"""What a list of shells can be narrowed down to (aas-registry-api.md §1.4), with django-filter."""

from datetime import UTC, datetime
from typing import Any, get_args

import django_filters
from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from pydantic_core import from_json
from rest_framework.request import Request

from shells import identifiers
from shells.api.errors import BadRequest
from shells.api.pagination import PAGING_PARAMETERS, single
from shells.api.requests import caller
from shells.defects import InvalidDescriptor
from shells.descriptors import AssetKind, check_lookup
from shells.models import Shell, StandaloneSubmodel
from shells.querysets import AssetLinkPairs, ShellQuerySet

#: Those of the metamodel, and one of 3.2.
ASSET_KINDS = (*get_args(AssetKind), "Batch")


class EncodedField(forms.CharField):
    """A text in base64url."""

    def clean(self, value: Any) -> str | None:
        if value in self.empty_values:
            return None
        try:
            return identifiers.decode(value)
        except identifiers.InvalidIdentifier as error:
            raise ValidationError(str(error)) from None


class EncodedFilter(django_filters.Filter):  # type: ignore[misc]
    field_class = EncodedField


class MomentField(django_filters.fields.IsoDateTimeField):  # type: ignore[misc]
    """A moment, in UTC: ISO 8601 allows zones that PostgreSQL does not."""

    def clean(self, value: Any) -> datetime | None:
        moment = super().clean(value)
        try:
            return None if moment is None else moment.astimezone(UTC)
        except OverflowError:
            raise ValidationError(self.error_messages["invalid"]) from None


class MomentFilter(django_filters.IsoDateTimeFilter):  # type: ignore[misc]
    field_class = MomentField

    def __init__(self) -> None:
        message = "must be a date and time with its zone, such as 2026-01-31T12:00:00Z"
        super().__init__(method="no_rows_yet", error_messages={"invalid": message})


class ChangeFilters(django_filters.FilterSet):  # type: ignore[misc]
    """`createdFrom` and `updatedFrom` (3.2), of both collections."""

    createdFrom = MomentFilter()
    updatedFrom = MomentFilter()

    def no_rows_yet(self, queryset: QuerySet[Any], name: str, value: Any) -> QuerySet[Any]:
        """The rows are found by `changed`: see TenantQuerySet.page_of_changed."""
        return queryset

    @property
    def changed(self) -> Q | None:
        """The condition on the time, if there is one."""
        given = self.form.cleaned_data
        conditions = {
            "created_at__gte": given["createdFrom"],
            "updated_at__gte": given["updatedFrom"],
        }
        conditions = {lookup: moment for lookup, moment in conditions.items() if moment is not None}
        return Q(**conditions) if conditions else None


class SubmodelFilters(ChangeFilters):
    class Meta:
        model = StandaloneSubmodel
        fields: list[str] = []


class ShellFilters(ChangeFilters):
    assetKind = django_filters.ChoiceFilter(
        field_name="asset_kind",
        choices=[(kind, kind) for kind in ASSET_KINDS],
        error_messages={"invalid_choice": f"must be one of {', '.join(ASSET_KINDS)}"},
    )
    assetType = EncodedFilter(method="with_asset_type")

    class Meta:
        model = Shell
        fields: list[str] = []

    def with_asset_type(self, queryset: ShellQuerySet, name: str, value: str) -> ShellQuerySet:
        return queryset.with_asset_type(value)


def filtered(request: Request, filters: type[ChangeFilters], queryset: Any) -> tuple[Any, Q | None]:
    """The rows of `queryset` that the query string asks for, and its condition on the time.

    Raises BadRequest with one text for each parameter that is wrong.
    """
    given = set(request.query_params) - set(PAGING_PARAMETERS)
    if not given:
        return queryset, None
    names = filters.base_filters.keys()
    values = single(request, names)
    filterset = filters(values, queryset=queryset)
    errors = [f"{name}: must not be empty" for name, value in values.items() if not value]
    errors += [f"{name}: {texts[0]}" for name, texts in filterset.form.errors.items()]
    if errors:
        raise BadRequest(*errors)
    rows = filterset.qs
    if filters is ShellFilters and "assetIds" in given:
        rows = rows.with_asset_ids(caller(request).tenant_pk, asset_ids(request), caller(request).subject)
    return rows, filterset.changed


def asset_ids(request: Request) -> AssetLinkPairs:
    """Name and value of each asset id in the parameters `assetIds`.

    Each occurrence may be several, separated by commas; each of them is the base64url of a JSON object, or of
    an array of these: the specification has it in three ways. Raises BadRequest.
    """
    links = []
    for encoded in ",".join(request.query_params.getlist("assetIds")).split(","):
        try:
            value = from_json(identifiers.decode_text(encoded), allow_inf_nan=False)
            links += value if isinstance(value, list) else [value]
        except ValueError:
            raise BadRequest(
                "assetIds: must be the base64url of a JSON object with name and value, or of an array of these"
            ) from None
    try:
        return check_lookup(links)
    except InvalidDescriptor as error:
        raise BadRequest(*(f"assetIds: {defect}" for defect in error.defects)) from None
