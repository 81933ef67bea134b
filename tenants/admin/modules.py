"""Modules in the admin: who is admin of a tenant adds them, rotates their secrets, disables them."""

from datetime import timedelta
from typing import Any

import structlog
from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminSelectWidget

from tenants import issuing, services
from tenants.admin.base import TenantFilter
from tenants.admin.writing import ServiceAdmin, ServiceForm
from tenants.models import Module, Role
from tenants.people import person_of

#: How long the old secret works on after a rotation, in hours.
OVERLAPS = {
    0: _("not at all: it may be in wrong hands"),
    1: _("an hour"),
    24: _("a day"),
    7 * 24: _("a week"),
    30 * 24: _("30 days"),
    90 * 24: _("90 days"),
}


class ModuleForm(ServiceForm):
    def clean_expires_at(self) -> Any:
        expires_at = self.cleaned_data["expires_at"]
        if "expires_at" in self.changed_data and expires_at is not None and expires_at <= timezone.now():
            raise forms.ValidationError(_("This is over already. To refuse the module now, disable it."))
        return expires_at


class RotationForm(forms.Form):
    overlap = forms.TypedChoiceField(
        label=_("The old secret still works for"),
        choices=list(OVERLAPS.items()),
        coerce=int,
        initial=24,
        widget=UnfoldAdminSelectWidget,
        help_text=_("Until then both secrets work. One from an earlier rotation ends now."),
    )
    seen = forms.CharField(widget=forms.HiddenInput)


@admin.register(Module)
class ModuleAdmin(ServiceAdmin):
    form = ModuleForm
    list_display = ["name", "tenant", "role_name", "state_label", "client_id", "expires_at", "last_used_at"]
    list_filter = [("tenant", TenantFilter), "role", "enabled"]
    search_fields = ["name", "client_id"]
    deferred = ["secret_digest", "previous_secret_digest"]
    actions = ["disable", "enable"]
    actions_detail = ["rotate"]
    radio_fields = {"role": admin.VERTICAL}
    fields_of_form = ["role", "expires_at", "subject", "requests_per_minute"]

    def get_fields(self, request: HttpRequest, obj: Module | None = None) -> list[str]:
        if obj is None:
            return ["tenant", "name", *self.fields_of_form]
        return ["tenant", "name", "state_name", "client_id", *self.fields_of_form, *self._dates(obj)]

    def get_readonly_fields(self, request: HttpRequest, obj: Module | None = None) -> list[str]:
        if obj is None:
            return []
        return ["tenant", "name", "state_name", "client_id", *self._dates(obj)]

    @staticmethod
    def _dates(obj: Module) -> list[str]:
        old_secret = ["previous_secret_expires_at"] if obj.previous_secret_expires_at else []
        return [*old_secret, "last_used_at", "created_at"]

    @display(description=_("role"), ordering="role")
    def role_name(self, module: Module) -> str:
        return module.role_label

    @display(
        description=_("state"),
        ordering="enabled",
        label={"live": "success", "expired": "warning", "disabled": "danger"},
    )
    def state_label(self, module: Module) -> tuple[str, str]:
        return module.state, self.state_name(module)

    @admin.display(description=_("state"))
    def state_name(self, module: Module) -> str:
        return str(module.state.label)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """With one button: the next page is that of the secret."""
        buttons = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, {**(extra_context or {}), **buttons})

    # --- Writing --------------------------------------------------------------------------------------

    def write(self, form: Any, obj: Module, *, change: bool) -> Module:
        data = form.cleaned_data
        role, expires_at, subject = Role(data["role"]), data["expires_at"], data["subject"]
        if not change:
            module, obj.shown_secret = services.add_module(  # type: ignore[attr-defined]
                obj.tenant.identifier,
                obj.name,
                role=role,
                expires_at=expires_at,
                subject=subject,
                requests_per_minute=data["requests_per_minute"],
            )
            obj.client_id = module.client_id
            return module
        tenant = obj.tenant.identifier
        module = services.change_module(tenant, obj.name, role=role, expires_at=expires_at, subject=subject)
        if "requests_per_minute" in form.changed_data:
            services.limit_requests(tenant, obj.name, data["requests_per_minute"])
        if "_disable" in form.data:
            module = services.disable_module(tenant, obj.name)
        if "_enable" in form.data:
            module = services.enable_module(tenant, obj.name)
        return module

    def response_add(
        self, request: HttpRequest, obj: Module, post_url_continue: str | None = None
    ) -> HttpResponse:
        return self._credentials(request, obj, obj.shown_secret)  # type: ignore[attr-defined]

    def response_change(self, request: HttpRequest, obj: Module) -> HttpResponse:
        for button, text in (
            ("_disable", _("“{}” is disabled: it gets no token, and those it has are refused within {} s.")),
            ("_enable", _("“{}” is enabled again.")),
        ):
            if button in request.POST:
                messages.success(request, str(text).format(obj.name, settings.TOKEN_CACHE_SECONDS))
                return HttpResponseRedirect(request.path)
        return super().response_change(request, obj)

    def _credentials(self, request: HttpRequest, module: Module, secret: str) -> HttpResponse:
        """The only page with the secret. It is the answer to the form itself, so nothing has to keep it in between."""
        tenant = module.tenant.identifier
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": gettext("Credentials of {}").format(module.name),
            "module": module,
            "secret": secret,
            "token_request": token_request(tenant, module.client_id, secret),
            "page": reverse("admin:tenants_module_change", args=[module.pk]),
        }
        return TemplateResponse(request, "admin/tenants/module/credentials.html", context)

    # --- Actions --------------------------------------------------------------------------------------

    def has_rotate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        module = None if object_id is None else self.get_object(request, object_id)
        return module is not None and self.has_change_permission(request, module)

    @action(description=_("Rotate the secret"), icon="key", url_path="rotate", permissions=["rotate"])
    def rotate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        module = self.get_object(request, object_id)
        if module is None:
            raise Http404
        if not self.has_change_permission(request, module):
            raise PermissionDenied
        form = RotationForm(request.POST or None, initial={"seen": module.secret_mark})
        if request.method == "POST" and form.is_valid():
            data = form.cleaned_data
            try:
                with structlog.contextvars.bound_contextvars(person=person_of(request).name):
                    module, secret = services.rotate_secret(
                        module.tenant.identifier,
                        module.name,
                        overlap=timedelta(hours=data["overlap"]),
                        seen=data["seen"],
                    )
            except services.TenantError as error:
                form.add_error(None, error.text)
            else:
                self.log_change(request, module, gettext("Rotated the secret."))
                return self._credentials(request, module, secret)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": gettext("Rotate the secret of {}").format(module.name),
            "original": module,
            "form": form,
            "page": reverse("admin:tenants_module_change", args=[module.pk]),
        }
        return TemplateResponse(request, "admin/tenants/module/rotate.html", context)

    def has_look_after_permission(self, request: HttpRequest) -> bool:
        """Whether there may be modules that the person can disable."""
        return person_of(request).may(Role.ADMIN)

    @admin.action(description=_("Disable the selected modules"), permissions=["look_after"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Module]) -> None:
        number = self._each(request, queryset, services.disable_module, gettext("Disabled."))
        text = ngettext("Disabled {} module.", "Disabled {} modules.", number)
        messages.success(request, text.format(number))

    @admin.action(description=_("Enable the selected modules"), permissions=["look_after"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Module]) -> None:
        number = self._each(request, queryset, services.enable_module, gettext("Enabled."))
        text = ngettext("Enabled {} module.", "Enabled {} modules.", number)
        messages.success(request, text.format(number))

    def _each(self, request: HttpRequest, queryset: QuerySet[Module], write: Any, done: str) -> int:
        """Of the selected modules only those of tenants where the person is admin: a reader sees more."""
        chosen = queryset.filter(person_of(request).rows(role=Role.ADMIN)).select_related("tenant")
        with structlog.contextvars.bound_contextvars(person=person_of(request).name):
            for module in chosen:
                write(module.tenant.identifier, module.name)
                self.log_change(request, module, done)
        return len(chosen)


def token_request(tenant: str, client_id: str, secret: str) -> str:
    """The request for a token, to be pasted into a shell; no part of it needs quotes but the scope."""
    return (
        f"curl {issuing.issuer(tenant)}/token \\\n  -d grant_type=client_credentials \\\n"
        f"  -d client_id={client_id} \\\n  -d client_secret={secret} \\\n"
        f"  -d scope='{issuing.AUDIENCE_PREFIX}{settings.TARGET_CLIENTS[0].client_id} openid'"
    )
