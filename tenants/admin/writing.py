"""Pages that write: what `tenants/services.py` refuses is an error of the form, at its field."""

from typing import Any

import structlog
from django import forms
from django.db.models import Model
from django.http import HttpRequest, HttpResponse

from tenants.admin.base import TenantRowsAdmin
from tenants.models import Role
from tenants.people import person_of
from tenants.services import TenantError


class ServiceForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form whose row a service writes."""

    #: What the service said when the form was sent, if it refused.
    refused: TenantError | None = None

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if self.refused is not None:
            field = self.refused.field if self.refused.field in self.fields else None
            self.add_error(field, self.refused.text)
        return cleaned


class ServiceAdmin(TenantRowsAdmin):
    """Rows of a tenant that its admins look after, through the services."""

    form = ServiceForm
    add_role = Role.ADMIN
    change_role = Role.ADMIN

    def write(self, form: Any, obj: Any, *, change: bool) -> Model:
        """Write what the form says; return the row as it is then. Raises TenantError."""
        raise NotImplementedError

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        view = super().changeform_view
        with structlog.contextvars.bound_contextvars(person=person_of(request).name):
            try:
                response: HttpResponse = view(request, object_id, form_url, extra_context)
            except TenantError as error:  # the transaction of the page is rolled back: show the form again
                request._refused = error  # type: ignore[attr-defined]
                response = view(request, object_id, form_url, extra_context)
        return response

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> type[ServiceForm]:
        form: type[ServiceForm] = super().get_form(request, obj, change=change, **kwargs)
        form.refused = getattr(request, "_refused", None)
        return form

    def save_model(self, request: HttpRequest, obj: Model, form: Any, change: bool) -> None:
        obj.pk = self.write(form, obj, change=change).pk

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Nothing but the row itself is in the form."""
