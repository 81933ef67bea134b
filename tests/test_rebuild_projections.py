"""manage.py rebuild_projections: what is searched is what the documents say."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from shells import services
from shells.collections import SHELLS, SUBMODELS
from shells.descriptors import check_submodel, parse_shell
from shells.generating import shell_body, shell_id
from shells.models import AssetId, Endpoint, Shell, StandaloneEndpoint, StandaloneSubmodel, Submodel
from tenants.models import Tenant
from tests.bodies import EVERYTHING, submodel

MODELS = (Shell, Submodel, Endpoint, AssetId, StandaloneSubmodel, StandaloneEndpoint)


def run(*arguments: str) -> str:
    output = StringIO()
    call_command("rebuild_projections", *arguments, stdout=output, stderr=StringIO())
    return output.getvalue()


def contents(*, keys: bool = True) -> list[Any]:
    rows = [list(map(dict, model._default_manager.order_by("id").values())) for model in MODELS]
    if not keys:
        for table in rows[1:4]:
            for row in table:
                del row["id"]
            table.sort(key=str)
    return rows


@pytest.fixture(autouse=True)
def _registered(tenant_a: Tenant, tenant_b: Tenant) -> None:
    for tenant in (tenant_a, tenant_b):
        bodies = [json.dumps(EVERYTHING).encode(), *map(shell_body, range(3))]
        services.register_many(SHELLS, tenant.pk, [parse_shell(body, strict=False) for body in bodies])
        services.register(SUBMODELS, tenant.pk, check_submodel(submodel("urn:sm:1"), strict=False))


def test_it_changes_nothing() -> None:
    before = contents()
    assert run("--check") == "8 shells, 0 differ\n2 submodels, 0 differ\n"
    assert run() == "8 shells, 0 were made anew\n2 submodels, 0 were made anew\n"
    assert contents() == before


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE shells_shell SET id_short = 'x' WHERE id = (SELECT min(id) FROM shells_shell)",
        "UPDATE shells_assetid SET pair = pair + 1 WHERE id = (SELECT min(id) FROM shells_assetid)",
        "UPDATE shells_submodel SET semantic_reference = NULL"
        " WHERE id = (SELECT min(id) FROM shells_submodel WHERE semantic_reference IS NOT NULL)",
        "DELETE FROM shells_endpoint WHERE shell_id = (SELECT min(id) FROM shells_shell)",
        "INSERT INTO shells_endpoint (tenant_id, shell_id, position, href)"
        " SELECT tenant_id, id, 77, 'x' FROM shells_shell ORDER BY id LIMIT 1",
    ],
)
def test_what_differs_is_found_and_mended(harm: str) -> None:
    before = contents(keys=False)
    with connection.cursor() as cursor:
        cursor.execute(harm)
    harmed = contents()
    with pytest.raises(CommandError, match="1 documents say something else"):
        run("--check")
    assert contents() == harmed
    assert run() == "8 shells, 1 were made anew\n2 submodels, 0 were made anew\n"
    assert contents(keys=False) == before
    run("--check")


def test_of_one_tenant() -> None:
    Shell.objects.filter(identifier=shell_id(0)).update(id_short="x")
    assert run("--tenant", "tenant-a") == "4 shells, 1 were made anew\n1 submodels, 0 were made anew\n"
    with pytest.raises(CommandError, match=r"^there is no tenant 'nobody'$"):
        run("--tenant", "nobody")


def test_standalone_submodels() -> None:
    StandaloneEndpoint.objects.update(href="x")
    assert run() == "8 shells, 0 were made anew\n2 submodels, 2 were made anew\n"
    run("--check")
