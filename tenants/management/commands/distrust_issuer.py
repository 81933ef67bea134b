from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tenants import services


class Command(BaseCommand):
    help = "Refuse the tokens of a foreign identity provider that a tenant trusted."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant", help="the tenant's id")
        parser.add_argument("issuer", help="the iss of its tokens, to the letter")

    def handle(self, **options: Any) -> None:
        try:
            trusted = services.distrust_issuer(options["tenant"], options["issuer"])
        except services.TenantError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(
            f"tenant {options['tenant']} does not trust {trusted.issuer}; "
            f"its tokens are refused within {settings.TOKEN_CACHE_SECONDS} seconds"
        )
