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
from shells.models import (
    AssetId,
    AssetLink,
    AssetLinks,
    Endpoint,
    Shell,
    StandaloneEndpoint,
    StandaloneSubmodel,
    Submodel,
)
from tenants.models import Tenant
from tests.bodies import EVERYTHING, reference, submodel

MODELS = (Shell, Submodel, Endpoint, AssetId, StandaloneSubmodel, StandaloneEndpoint, AssetLinks, AssetLink)
MADE = "were made anew\n"
LINKS: list[Any] = [
    {"name": "globalAssetId", "value": "urn:asset"},
    {"name": "serialNumber", "value": "4711", "externalSubjectId": reference("urn:partner")},
]


def run(*arguments: str) -> str:
    output = StringIO()
    call_command("rebuild_projections", *arguments, stdout=output, stderr=StringIO())
    return output.getvalue()


def contents(*, keys: bool = True) -> list[Any]:
    rows = [list(map(dict, model._default_manager.order_by("id").values())) for model in MODELS]
    if not keys:
        for table in (*rows[1:4], rows[-1]):
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
        services.set_asset_links(tenant.pk, "urn:not-registered", LINKS)


def test_it_changes_nothing() -> None:
    before = contents()
    assert run("--check") == "8 shells, 0 differ\n2 submodels, 0 differ\n2 sets of asset links, 0 differ\n"
    assert run() == f"8 shells, 0 {MADE}2 submodels, 0 {MADE}2 sets of asset links, 0 {MADE}"
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
    assert run() == f"8 shells, 1 {MADE}2 submodels, 0 {MADE}2 sets of asset links, 0 {MADE}"
    assert contents(keys=False) == before
    run("--check")


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE shells_assetlink SET pair = pair + 1 WHERE id = (SELECT min(id) FROM shells_assetlink)",
        "UPDATE shells_assetlink SET external_subject_id = NULL WHERE id = (SELECT max(id) FROM shells_assetlink)",
        "DELETE FROM shells_assetlink WHERE id = (SELECT min(id) FROM shells_assetlink)",
    ],
)
def test_of_asset_links_as_well(harm: str) -> None:
    before = contents(keys=False)
    with connection.cursor() as cursor:
        cursor.execute(harm)
    with pytest.raises(CommandError, match="1 documents say something else"):
        run("--check")
    assert run() == f"8 shells, 0 {MADE}2 submodels, 0 {MADE}2 sets of asset links, 1 {MADE}"
    assert contents(keys=False) == before


def test_of_one_tenant() -> None:
    Shell.objects.filter(identifier=shell_id(0)).update(id_short="x")
    assert (
        run("--tenant", "tenant-a")
        == f"4 shells, 1 {MADE}1 submodels, 0 {MADE}1 sets of asset links, 0 {MADE}"
    )
    with pytest.raises(CommandError, match=r"^there is no tenant 'nobody'$"):
        run("--tenant", "nobody")


def test_standalone_submodels() -> None:
    StandaloneEndpoint.objects.update(href="x")
    assert run() == f"8 shells, 0 {MADE}2 submodels, 2 {MADE}2 sets of asset links, 0 {MADE}"
    run("--check")
