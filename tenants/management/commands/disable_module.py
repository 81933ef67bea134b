from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tenants import services


class Command(BaseCommand):
    help = "Disable a module: it gets no token any more, and the tokens it has are refused within seconds."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant", help="the tenant's id")
        parser.add_argument("name", help="what the module is called within its tenant")

    def handle(self, **options: Any) -> None:
        try:
            module = services.disable_module(options["tenant"], options["name"])
        except services.TenantError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(
            f"disabled module {module.name} of tenant {options['tenant']}; "
            f"its tokens are refused within {settings.TOKEN_CACHE_SECONDS} seconds"
        )
