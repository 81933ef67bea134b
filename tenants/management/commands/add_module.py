import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from tenants import durations, services
from tenants.models import Role


class Command(BaseCommand):
    help = "Add a module to a tenant and print its credentials. The secret cannot be shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant", help="the tenant's id")
        parser.add_argument("name", help="what the module is called within its tenant")
        parser.add_argument(
            "--role",
            choices=Role.values,
            default=Role.EDITOR,
            help="what its tokens allow it to do (default: %(default)s)",
        )
        parser.add_argument(
            "--subject", default="", help="for whom it reads, such as a business partner number"
        )
        parser.add_argument(
            "--expires-in", metavar="TIME", help="after which it is refused, such as 90d (default: never)"
        )
        parser.add_argument(
            "--requests-per-minute", metavar="N", type=int, help="that it may make (default: any number)"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        try:
            lifetime = options["expires_in"] and durations.parse(options["expires_in"])
            module, secret = services.add_module(
                options["tenant"],
                options["name"],
                role=Role(options["role"]),
                subject=options["subject"],
                requests_per_minute=options["requests_per_minute"],
                expires_at=timezone.now() + lifetime if lifetime else None,
            )
        except (ValueError, services.TenantError) as error:
            raise CommandError(str(error)) from None
        credentials = {"client_id": module.client_id, "client_secret": secret}
        if options["json"]:
            self.stdout.write(json.dumps({"tenant_id": options["tenant"], **credentials}))
        else:
            for name, value in credentials.items():
                self.stdout.write(f"{name}: {value}")
