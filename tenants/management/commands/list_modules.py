import json
from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tenants import services
from tenants.models import Module


class Command(BaseCommand):
    help = (
        "List the modules of a tenant, or of all: who they are, what they may do, when they were last used."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("tenant", nargs="?", help="the tenant's id (default: all tenants)")
        parser.add_argument("--json", action="store_true", help="print one JSON array")

    def handle(self, **options: Any) -> None:
        modules = Module.objects.select_related("tenant").order_by("tenant__identifier", "name")
        if options["tenant"] is not None:
            try:
                tenant = services.find_tenant(options["tenant"])
            except services.TenantError as error:
                raise CommandError(str(error)) from None
            modules = modules.of(tenant.identifier)
        facts = [_facts(module) for module in modules]
        if options["json"]:
            self.stdout.write(json.dumps(facts))
            return
        for module in facts:
            said = [f"{name} {value}" for name, value in module.items() if name.endswith("_at") and value]
            self.stdout.write(
                "  ".join(
                    [
                        f"{module['tenant_id']}/{module['name']}",
                        module["client_id"],
                        module["role"],
                        module["state"],
                        *said,
                    ]
                )
            )


def _facts(module: Module) -> dict[str, Any]:
    return {
        "tenant_id": module.tenant.identifier,
        "name": module.name,
        "client_id": module.client_id,
        "role": module.role,
        "state": module.state,
        "created_at": _text(module.created_at),
        "expires_at": _text(module.expires_at),
        "previous_secret_expires_at": _text(module.previous_secret_expires_at),
        "last_used_at": _text(module.last_used_at),
    }


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None
