from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ShellsConfig(AppConfig):
    """Shell descriptors: storing, validating, finding and serving them."""

    name = "shells"
    verbose_name = _("Shells")
