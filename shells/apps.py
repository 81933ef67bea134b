from django.apps import AppConfig


class ShellsConfig(AppConfig):
    """Shell descriptors: storing, validating, finding and serving them."""

    name = "shells"
    verbose_name = "Shells"
