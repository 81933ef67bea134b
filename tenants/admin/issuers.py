"""Trusted issuers in the admin."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextareaWidget

from tenants import issuers, services
from tenants.admin.base import TenantFilter
from tenants.admin.writing import ServiceAdmin, ServiceForm
from tenants.models import Algorithm, Role, TrustedIssuer, default_algorithms


class LinesField(forms.CharField):
    """Texts, one a line."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}), **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]
        text = value if isinstance(value, str) else "\n".join(value or [])
        return [line.strip() for line in text.splitlines() if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return self.to_python(initial) != self.to_python(data)

    def run_validators(self, value: Any) -> None:
        for line in value:
            super().run_validators(line)


class RoleMapField(LinesField):
    """VALUE=ROLE, one a line."""

    def prepare_value(self, value: Any) -> Any:
        return super().prepare_value(_lines(value) if isinstance(value, dict) else value)

    def to_python(self, value: Any) -> dict[str, str]:  # type: ignore[override]
        mapped = {}
        for line in super().to_python(_lines(value) if isinstance(value, dict) else value):
            text, _equals, role = line.rpartition("=")
            if not text or role not in Role.values:
                raise forms.ValidationError(
                    gettext("“{}” is not VALUE=ROLE with one of the roles {}.").format(
                        line, ", ".join(Role.values)
                    )
                )
            mapped[text] = role
        return mapped


def _lines(role_map: dict[str, str]) -> list[str]:
    return [f"{value}={role}" for value, role in sorted(role_map.items())]


class IssuerForm(ServiceForm):
    audiences = LinesField(
        label=_("Audiences"), help_text=_("A token must be meant for one of them; one a line.")
    )
    role_map = RoleMapField(
        label=_("Role map"),
        required=False,
        help_text=_("VALUE=ROLE, one a line; empty: the names of our roles stand for themselves."),
    )
    algorithms = forms.MultipleChoiceField(
        label=_("Algorithms"),
        choices=[(name, name) for name in Algorithm.values],
        initial=default_algorithms,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_("How its tokens may be signed."),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if "_check" in self.data and not self.errors:
            issuer = cleaned.get("issuer") or self.instance.issuer
            try:
                self.instance.found_keys = len(
                    list(issuers.fetch(issuers.Source(issuer, cleaned["jwks_uri"])))
                )
            except issuers.KeysUnavailable as error:
                self.add_error(
                    "jwks_uri" if cleaned["jwks_uri"] or "issuer" not in self.fields else "issuer", str(error)
                )
        return cleaned


@admin.register(TrustedIssuer)
class TrustedIssuerAdmin(ServiceAdmin):
    form = IssuerForm
    list_display = ["issuer", "tenant", "audience_names", "tenant_claim", "roles_claim", "state_label"]
    list_filter = [("tenant", TenantFilter), "enabled"]
    search_fields = ["issuer"]

    def get_fieldsets(self, request: HttpRequest, obj: TrustedIssuer | None = None) -> list[Any]:
        who = ["tenant", "issuer", *(["state_name", "created_at"] if obj else []), "jwks_uri"]
        return [
            (None, {"fields": who}),
            (
                _("Which of its tokens"),
                {"fields": ["audiences", "audience_claim", "tenant_claim", "tenant_value"]},
            ),
            (_("What they may do"), {"fields": ["roles_claim", "role_map", "subject_claim", "algorithms"]}),
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: TrustedIssuer | None = None) -> list[str]:
        return ["tenant", "issuer", "state_name", "created_at"] if obj else []

    @display(description=_("audiences"))
    def audience_names(self, trusted: TrustedIssuer) -> str:
        return ", ".join(trusted.audiences)

    @display(description=_("state"), ordering="enabled", label={"trusted": "success", "disabled": "danger"})
    def state_label(self, trusted: TrustedIssuer) -> tuple[str, str]:
        return "trusted" if trusted.enabled else "disabled", self.state_name(trusted)

    @admin.display(description=_("state"))
    def state_name(self, trusted: TrustedIssuer) -> str:
        return gettext("trusted") if trusted.enabled else gettext("disabled")

    def write(self, form: Any, obj: TrustedIssuer, *, change: bool) -> TrustedIssuer:
        data, tenant = form.cleaned_data, obj.tenant.identifier
        if "_disable" in form.data:
            return services.distrust_issuer(tenant, obj.issuer)
        was_disabled = change and not TrustedIssuer.objects.filter(pk=obj.pk, enabled=True).exists()
        trusted = services.trust_issuer(
            tenant,
            obj.issuer,
            audiences=data["audiences"],
            jwks_uri=data["jwks_uri"],
            audience_claim=data["audience_claim"],
            tenant_claim=data["tenant_claim"],
            tenant_value=data["tenant_value"],
            roles_claim=data["roles_claim"],
            role_map=data["role_map"],
            subject_claim=data["subject_claim"],
            algorithms=data["algorithms"],
        )
        if was_disabled and "_enable" not in form.data:  # a change of what is said does not enable
            trusted = services.distrust_issuer(tenant, obj.issuer)
        return trusted

    def response_add(
        self, request: HttpRequest, obj: TrustedIssuer, post_url_continue: str | None = None
    ) -> HttpResponse:
        self._tell_of_keys(request, obj)
        return super().response_add(request, obj, post_url_continue)

    def response_change(self, request: HttpRequest, obj: TrustedIssuer) -> HttpResponse:
        self._tell_of_keys(request, obj)
        if {"_disable", "_enable", "_check"} & set(request.POST):
            return HttpResponseRedirect(request.path)
        return super().response_change(request, obj)

    @staticmethod
    def _tell_of_keys(request: HttpRequest, obj: TrustedIssuer) -> None:
        found = getattr(obj, "found_keys", None)
        if found is not None:
            messages.success(request, gettext("It publishes {} usable keys at the moment.").format(found))
