"""Addresses: the registry, the identity service, health, documentation and the admin."""

from csp.decorators import csp_replace
from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView
from mozilla_django_oidc.views import OIDCLogoutView

from registry_project import health
from shells.api import urls as registry

#: Swagger UI with its settings in a script of their own: none is inline, and nothing is compiled from texts.
_swagger = csp_replace({"script-src": ["'self'"]})(SpectacularSwaggerSplitView.as_view(url_name="openapi"))

urlpatterns = [
    *registry.urlpatterns,
    path("iam/access-management/v1/tenants/<str:tenant_id>/openid-connect/", include("tenants.urls")),
    path("health/live", health.live),
    path("health/ready", health.ready),
    path("openapi.json", SpectacularJSONAPIView.as_view(), name="openapi"),
    path("docs", _swagger, name="docs"),
    path("admin/language/", include("django.conf.urls.i18n")),
    path("admin/oidc/", include("mozilla_django_oidc.urls")),
    path("admin/logout/", OIDCLogoutView.as_view()),  # of the admin, and of the provider
    path("admin/", admin.site.urls),
    path("", RedirectView.as_view(pattern_name="admin:index")),
]
handler400 = "shells.api.errors.bad_request"
handler404 = "shells.api.errors.not_found"
handler500 = "shells.api.errors.server_error"
