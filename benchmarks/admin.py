"""`make bench-admin`: how long each page of the admin takes at a million shells, and how many statements.

The pages are asked of the application in this process, as a superuser and as a reader of one tenant; a page
counts from the request to the whole answer, the median of several.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.api import ENVIRONMENT

ROOT = Path(__file__).resolve().parent.parent
TENANT = "bench-admin"
GOAL_MS = 300

#: Name → address below /admin/. {tenant}, {module}, {shell} and {change} stand for keys of such rows.
PAGES = {
    "dashboard": "",
    "tenants": "tenants/tenant/",
    "tenant": "tenants/tenant/{tenant}/change/",
    "modules": "tenants/module/",
    "module": "tenants/module/{module}/change/",
    "issuers": "tenants/trustedissuer/",
    "people": "auth/user/",
    "imports": "shells/upload/",
    "sending of a file": "shells/upload/add/",
    "import runs": "shells/importrun/",
    "bulk operations": "shells/bulkoperation/",
    "try it": "try-it/",
    "shells": "shells/shell/",
    "shells of a tenant": "shells/shell/?tenant__id__exact={tenant}",
    "shells, far behind": "shells/shell/?p=>[{middle}]",
    "shells, page back": "shells/shell/?p=<[{middle}]",
    "shells of a kind": "shells/shell/?asset_kind=Instance",
    "shells of a kind without any": "shells/shell/?asset_kind=Role",
    "shells of a type": "shells/shell/?asset_type=https://plant.example.com/types/motor-7",
    "shells with a semantic id": "shells/shell/?semantic_id={semantic_id}",
    "shells with a semantic id of none": "shells/shell/?semantic_id=urn:none",
    "shells created before": "shells/shell/?created_at_to=2100-01-01",
    "shells created in no time": "shells/shell/?created_at_from=2100-01-01",
    "shells of a kind, created before": "shells/shell/?asset_kind=Role&created_at_to=2100-01-01",
    "shell by identifier": "shells/shell/?q=https://plant.example.com/shells/000000007",
    "shell by value of an asset id": "shells/shell/?q=SN-000000007",
    "shells by an asset id of many": "shells/shell/?q=customerPartId=C-7",
    "shells by idShort": "shells/shell/?q=Motor_0000*",
    "shells by nothing that is known": "shells/shell/?q=nothing",
    "shell": "shells/shell/{shell}/change/",
    "editor of a shell": "shells/shell/{shell}/change/?edit=1",
    "history of a shell": "shells/shell/{shell}/history/",
    "delete a shell": "shells/shell/{shell}/delete/",
    "submodels": "shells/submodel/",
    "submodels with a semantic id": "shells/submodel/?semantic_id={semantic_id}",
    "submodel by identifier": "shells/submodel/?q=https://plant.example.com/submodels/000000007/3",
    "endpoints": "shells/endpoint/",
    "endpoints at a host": "shells/endpoint/?q=edc.plant.example.com",
    "endpoints at a host of none": "shells/endpoint/?q=nowhere.example.com",
    "endpoints of a shell": "shells/endpoint/?q=https://plant.example.com/shells/000000007",
    "asset ids": "shells/assetid/",
    "asset ids by value": "shells/assetid/?q=SN-000000007",
    "asset ids by name and value": "shells/assetid/?q=customerPartId=C-7",
    "changes": "shells/change/",
    "changes of a tenant": "shells/change/?tenant__id__exact={tenant}",
    "changes by an author of none": "shells/change/?author=nobody",
    "changes by action": "shells/change/?action=removed",
    "change": "shells/change/{change}/change/",
    "standalone submodels": "shells/standalonesubmodel/",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000, help="shells stored (default 1,000,000)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tenant", default=TENANT, help=f"the tenant that has them (default {TENANT})")
    options = parser.parse_args()
    var = os.environ.get("VAR_DIR", str(ROOT / "var" / "bench-admin"))
    os.environ.update({**ENVIRONMENT, "VAR_DIR": var, "LOG_LEVEL": "ERROR"})
    os.environ["DJANGO_SETTINGS_MODULE"] = "registry_project.settings"
    import django
    from django.test.utils import setup_test_environment

    django.setup()
    setup_test_environment()  # answers say which rows they show
    fill(options.tenant, options.count)
    places = keys(options.tenant)
    slow = 0
    for who, client in people(options.tenant).items():
        print(f"\n{who}\n{'':40}{'ms':>8}{'in SQL':>8}{'statements':>12}{'rows':>6}")
        for name, address in PAGES.items():
            page = measure(client, "/admin/" + address.format(**places), options.rounds)
            if page is None:
                continue
            mark = "" if page.milliseconds <= GOAL_MS else f"  over {GOAL_MS} ms"
            slow += bool(mark)
            print(
                f"{name:40}{page.milliseconds:8.0f}{page.in_sql:8.0f}{page.statements:12}{page.rows:>6}{mark}",
                flush=True,
            )
    sys.exit(f"{slow} pages are slow" if slow else 0)


def fill(tenant: str, count: int) -> None:
    """Migrate, and import what is missing to `count` shells."""
    from django.core.management import call_command
    from django.db import connection

    from shells.models import Shell
    from tenants.models import Tenant
    from tenants.services import create_tenant

    call_command("migrate", verbosity=0)
    if not Tenant.objects.filter(identifier=tenant).exists():
        create_tenant(tenant)
    if Shell.objects.filter(tenant__identifier=tenant).count() < count:
        manage = f"{sys.executable} {ROOT / 'manage.py'}"
        command = f"{manage} generate_shells {count} | {manage} import_shells --tenant {tenant} -"
        subprocess.run(command, shell=True, check=True)
        connection.cursor().execute("VACUUM ANALYZE")
    call_command("refresh_figures")


def keys(tenant: str) -> dict[str, Any]:
    from shells.models import Change, Shell
    from tenants.models import Module
    from tenants.services import add_module

    module = Module.objects.of(tenant).first() or add_module(tenant, "bench")[0]
    of_tenant = Shell.objects.filter(tenant__identifier=tenant).order_by("pk")
    first, last = of_tenant.first(), of_tenant.last()
    assert first is not None
    assert last is not None
    return {
        "tenant": first.tenant_id,
        "module": module.pk,
        "shell": last.pk,
        "middle": (first.pk + last.pk) // 2,
        "change": Change.objects.order_by("pk").values_list("pk", flat=True)[0],
        "semantic_id": "https://admin-shell.io/zvei/nameplate/2/0/Submodel",
    }


def people(tenant: str) -> dict[str, Any]:
    """A signed-in superuser and a reader of the tenant."""
    from django.contrib.auth.models import User
    from django.test import Client

    from tenants.models import Membership, Role, Tenant

    clients = {}
    for name in ("superuser", "reader"):
        user, _ = User.objects.get_or_create(
            username=f"bench-{name}", defaults={"is_staff": True, "is_superuser": name == "superuser"}
        )
        if name == "reader":
            Membership.objects.get_or_create(
                person=user,
                tenant=Tenant.objects.get(identifier=tenant),
                defaults={"role": Role.READER},
            )
        clients[name] = Client()
        clients[name].force_login(user)
    return clients


class Measured(NamedTuple):
    milliseconds: float
    #: Milliseconds that the statements took.
    in_sql: float
    statements: int
    #: Rows listed, if it is a list.
    rows: int | str


def measure(client: Any, address: str, rounds: int) -> Measured | None:
    """A page, the median of several times; None if this person may not see it."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        response = client.get(address)
        times.append((time.perf_counter() - started) * 1000)
        if response.status_code == 403:
            return None
        assert response.status_code == 200, (address, response.status_code)
    with CaptureQueriesContext(connection) as queries:
        client.get(address)
    in_sql = sum(float(query["time"]) for query in queries.captured_queries) * 1000
    listed = response.context.get("cl")
    rows = "" if listed is None else len(listed.result_list)
    return Measured(statistics.median(times), in_sql, len(queries), rows)


if __name__ == "__main__":
    main()
