from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from shells import services as shells
from shells.models import Quota
from tenants import services as tenants
from tenants.models import Module


def number(text: str) -> int | None:
    """How many; `none` is no limit."""
    if text == "none":
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise ArgumentTypeError(f"{text!r} is no whole number, and not none")
    return int(text)


class Command(BaseCommand):
    help = "Set how many requests a tenant or one of its modules may make, and how many shells it may have; show it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant", help="the tenant's id")
        parser.add_argument("--module", metavar="NAME", help="the requests of this module, not of the tenant")
        parser.add_argument(
            "--requests-per-minute", metavar="N", type=number, default=..., help="a number, or none for any"
        )
        parser.add_argument(
            "--max-shells", metavar="N", type=number, default=..., help="a number, or none for any"
        )

    def handle(self, **options: Any) -> None:
        identifier, module = options["tenant"], options["module"]
        if module is not None and options["max_shells"] is not ...:
            raise CommandError("a module has no shells of its own: --max-shells is for a tenant")
        try:
            with transaction.atomic():
                tenant = tenants.find_tenant(identifier)
                if options["requests_per_minute"] is not ...:
                    tenants.limit_requests(identifier, module, options["requests_per_minute"])
                if options["max_shells"] is not ...:
                    shells.set_quota(tenant.pk, options["max_shells"])
        except (tenants.TenantError, shells.CannotSetQuota) as error:
            raise CommandError(str(error)) from None
        tenant.refresh_from_db()
        quota = Quota.objects.filter(tenant=tenant).first()
        self._say(identifier, "requests per minute", tenant.requests_per_minute)
        for limited in Module.objects.of(identifier).exclude(requests_per_minute=None):
            self._say(f"{identifier}/{limited.name}", "requests per minute", limited.requests_per_minute)
        self._say(identifier, "shells", quota)

    def _say(self, whose: str, what: str, limit: object) -> None:
        self.stdout.write(f"{whose}  {what}  {'no limit' if limit is None else limit}")
