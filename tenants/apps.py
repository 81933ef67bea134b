from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TenantsConfig(AppConfig):
    """Who is asking, and for whom."""

    name = "tenants"
    verbose_name = _("Tenants and access")

    def ready(self) -> None:
        from tenants import checks  # noqa: F401  (registers the system checks)
