from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants import services
from tenants.models import Validation


class Command(BaseCommand):
    help = "Create a tenant."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", help="the {tenantId} of the API's addresses")
        parser.add_argument("--name", default="", help="what people call the tenant")
        parser.add_argument(
            "--validation",
            choices=Validation.values,
            default=Validation.LENIENT,
            help="how strictly its descriptors are checked (default: %(default)s)",
        )

        parser.add_argument(
            "--asset-ids-by-subject",
            action="store_true",
            help="readers see an asset id with an external subject only if it is theirs, or for everybody",
        )
        parser.add_argument(
            "--requests-per-minute", metavar="N", type=int, help="of all its clients together (default: any)"
        )

    def handle(self, **options: Any) -> None:
        try:
            tenant = services.create_tenant(
                options["id"],
                name=options["name"],
                validation=Validation(options["validation"]),
                asset_ids_by_subject=options["asset_ids_by_subject"],
                requests_per_minute=options["requests_per_minute"],
            )
        except services.TenantError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"created tenant {tenant.identifier} ({tenant.validation})")
