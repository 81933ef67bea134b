from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from shells import services
from shells.collections import COLLECTIONS
from tenants.services import TenantError, find_tenant

BATCH = 500
SHOWN = 10

Rebuild = Callable[..., tuple[int | None, int, list[str]]]
#: What is read out of documents, and what makes it anew.
PARTS: dict[str, Rebuild] = {
    **{
        f"{collection.noun}s": partial(services.rebuild_projections, collection)
        for collection in COLLECTIONS.values()
    },
    "sets of asset links": services.rebuild_asset_links,
}


class Command(BaseCommand):
    help = (
        "Make the rows that are read out of documents anew, wherever they are not what the documents say. "
        "With --check, only look; the exit status is 1 if any differ."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="write nothing")
        parser.add_argument("--tenant", help="only those of this tenant, by its id")

    def handle(self, **options: Any) -> None:
        tenant_pk: int | None = None
        if options["tenant"] is not None:
            try:
                tenant_pk = find_tenant(options["tenant"]).pk
            except TenantError as error:
                raise CommandError(str(error)) from None
        wrong = sum(
            self._rebuild(what, rebuild, tenant_pk, check=options["check"]) for what, rebuild in PARTS.items()
        )
        if wrong and options["check"]:
            raise CommandError(
                f"{wrong} documents say something else than what is searched: run it without --check"
            )

    def _rebuild(self, what: str, rebuild: Rebuild, tenant_pk: int | None, *, check: bool) -> int:
        looked_at = wrong = 0
        key: int | None = 0
        while key is not None:
            key, count, ids = rebuild(tenant_pk, key, BATCH, check=check)
            looked_at += count
            for identifier in ids[: max(SHOWN - wrong, 0)]:
                self.stderr.write(f"{what}: {identifier}")
            wrong += len(ids)
        done = "differ" if check else "were made anew"
        self.stdout.write(f"{looked_at} {what}, {wrong} {done}")
        return wrong
