import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants import durations, services


class Command(BaseCommand):
    help = (
        "Give a module a new secret and print it. It cannot be shown again; the old one still works a while."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant", help="the tenant's id")
        parser.add_argument("name", help="what the module is called within its tenant")
        parser.add_argument(
            "--overlap",
            default="24h",
            help="how long the old secret still works, such as 30m, 24h or 7d; 0s: no longer (default: %(default)s)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        try:
            overlap = durations.parse(options["overlap"])
            module, secret = services.rotate_secret(options["tenant"], options["name"], overlap=overlap)
        except (ValueError, services.TenantError) as error:
            raise CommandError(str(error)) from None
        credentials = {"client_id": module.client_id, "client_secret": secret}
        until = module.previous_secret_expires_at
        ends = until.isoformat(timespec="seconds") if until else None
        if options["json"]:
            document = {"tenant_id": options["tenant"], **credentials, "previous_secret_expires_at": ends}
            self.stdout.write(json.dumps(document))
        else:
            for name, value in credentials.items():
                self.stdout.write(f"{name}: {value}")
            self.stdout.write(
                f"the old secret works until {ends}" if ends else "the old secret works no longer"
            )
