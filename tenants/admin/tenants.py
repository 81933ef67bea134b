"""Tenants in the admin: superusers create and change them, who works for one sees how it is reached."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from tenants import issuing, services
from tenants.admin.modules import token_request
from tenants.admin.writing import ServiceAdmin
from tenants.models import Module, Role, Tenant, TrustedIssuer, Validation
from tenants.people import person_of


@admin.register(Tenant)
class TenantAdmin(ServiceAdmin):
    tenant_field = "pk"
    list_display = ["identifier", "name", "validation_name", "asset_ids_by_subject", "created_at"]
    list_filter = ["validation"]
    list_select_related = []
    ordering = ["identifier"]
    search_fields = ["identifier", "name"]
    fields = ["identifier", "name", "validation", "asset_ids_by_subject", "requests_per_minute"]
    radio_fields = {"validation": admin.VERTICAL}
    change_form_outer_after_template = "admin/tenants/tenant/panels.html"
    #: What other apps have to say of a tenant: functions that return the name of a template and its context.
    panels: list[Callable[[HttpRequest, Tenant], tuple[str, dict[str, Any]]]] = []

    def has_add_permission(self, request: HttpRequest) -> bool:
        return person_of(request).is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return person_of(request).is_superuser

    def get_readonly_fields(self, request: HttpRequest, obj: Tenant | None = None) -> list[str]:
        return ["identifier", "created_at"] if obj else []

    @display(description=_("validation"), ordering="validation")
    def validation_name(self, tenant: Tenant) -> str:
        return Validation(tenant.validation).short_label

    def write(self, form: Any, obj: Tenant, *, change: bool) -> Tenant:
        what = {
            "name": obj.name,
            "validation": Validation(obj.validation),
            "asset_ids_by_subject": obj.asset_ids_by_subject,
        }
        service = services.change_tenant if change else services.create_tenant
        tenant = service(obj.identifier, **what)  # type: ignore[arg-type]
        if "requests_per_minute" in form.changed_data:
            services.limit_requests(tenant.identifier, None, form.cleaned_data["requests_per_minute"])
        return tenant

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        tenant = self.get_object(request, object_id)
        context = {} if tenant is None else self._facts(request, tenant)
        response: HttpResponse = super().change_view(
            request, object_id, form_url, {**(extra_context or {}), **context}
        )
        return response

    def _facts(self, request: HttpRequest, tenant: Tenant) -> dict[str, Any]:
        base_url = settings.BASE_URL or request.build_absolute_uri("/").rstrip("/")
        issuer = issuing.issuer(tenant.identifier)
        return {
            "addresses": [
                (_("Registry"), f"{base_url}/aas-api/v3/{tenant.identifier}"),
                (_("Token endpoint"), f"{issuer}/token"),
                (_("Issuer of its tokens"), issuer),
                (_("Target client id (audience)"), settings.TARGET_CLIENTS[0].client_id),
            ],
            "token_request": token_request(tenant.identifier, "CLIENT_ID", "CLIENT_SECRET"),
            "modules": Module.objects.filter(tenant=tenant).defer("secret_digest", "previous_secret_digest"),
            "issuers": TrustedIssuer.objects.filter(tenant=tenant),
            "may_add": person_of(request).may(Role.ADMIN, tenant.pk),
            "panels": [panel(request, tenant) for panel in self.panels],
        }
