"""What all lists and pages of the admin have in common: whose rows a person sees, and who may change them."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Field, Model, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import RelatedDropdownFilter

from tenants.models import Role, Tenant
from tenants.people import person_of

#: The parameter of `TenantFilter`.
TENANT = "tenant__id__exact"


class TenantFilter(RelatedDropdownFilter):  # type: ignore[misc]
    """Rows of one tenant, of those that the person sees."""

    def field_choices(
        self, field: "Field[Any, Any]", request: HttpRequest, model_admin: "admin.ModelAdmin[Any]"
    ) -> list[Any]:
        return [(tenant.pk, str(tenant)) for tenant in person_of(request).seen]


class TenantRowsAdmin(ModelAdmin):  # type: ignore[misc]
    """Rows that each belong to a tenant: a person sees those of the own tenants, the newest first.

    They are to look at, unless `add_role`, `change_role` or `delete_role` names the role that may do more.
    """

    #: The field that says to which tenant a row belongs; pk for tenants themselves.
    tenant_field = "tenant"
    add_role: Role | None = None
    change_role: Role | None = None
    delete_role: Role | None = None
    #: What is large and not shown in a list.
    deferred: Sequence[str] = ()

    list_filter: Sequence[Any] = [("tenant", TenantFilter)]
    list_select_related: Sequence[str] = ["tenant"]
    ordering: Sequence[str] = ["-id"]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        queryset: QuerySet[Any] = super().get_queryset(request)
        return queryset.filter(person_of(request).rows(self.tenant_field)).defer(*self.deferred)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return person_of(request).sees_something

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._may(request, Role.READER, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._may(request, self.add_role)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._may(request, self.change_role, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._may(request, self.delete_role, obj)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Of tenants, those in which the person may add such rows."""
        if db_field.name == "tenant" and self.add_role is not None:
            tenants = Tenant.objects.filter(person_of(request).rows("pk", self.add_role))
            kwargs["queryset"] = tenants
            possible = tenants.values_list("pk", flat=True)[:2]
            if len(possible) == 1:
                kwargs["initial"] = possible[0]
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Without the links that would lead from a tenant to its own page and back to a form half filled."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        widget = getattr(field, "widget", None)
        for link in ("can_add_related", "can_change_related", "can_delete_related", "can_view_related"):
            if hasattr(widget, link):
                setattr(widget, link, False)
        return field

    def _may(self, request: HttpRequest, role: Role | None, obj: Model | None = None) -> bool:
        if role is None:
            return False
        tenant = None if obj is None else self._tenant_of(obj)
        return person_of(request).may(role, tenant)

    def _tenant_of(self, obj: Model) -> int:
        tenant: int = obj.pk if self.tenant_field == "pk" else getattr(obj, f"{self.tenant_field}_id")
        return tenant
