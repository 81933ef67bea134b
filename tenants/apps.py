from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """Who is asking, and for whom."""

    name = "tenants"
    verbose_name = "Tenants and access"

    def ready(self) -> None:
        from tenants import checks  # noqa: F401  (registers the system checks)
