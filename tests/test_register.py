"""services.register: one statement, one transaction, whatever comes at once (design §4)."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction
from django.db.utils import IntegrityError

from shells import querysets, services
from shells.collections import SHELLS
from shells.descriptors import Document, parse_shell
from shells.models import AssetId, Endpoint, Shell, Submodel
from tenants.models import Tenant


def descriptor(identifier: str = "urn:1", submodels: int = 3) -> Document:
    listed = ",".join(
        f'{{"id":"urn:sm:{number}","endpoints":[{{"interface":"SUBMODEL-3.1"}}]}}'
        for number in range(submodels)
    )
    body = f'{{"id":"{identifier}","specificAssetIds":[{{"name":"n","value":"v"}}],"submodelDescriptors":[{listed}]}}'
    return parse_shell(body.encode(), strict=False)


def rows() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Shell, Submodel, Endpoint, AssetId))


def test_it_works(tenant_a: Tenant) -> None:
    services.register(SHELLS, tenant_a.pk, descriptor())
    assert rows() == (1, 3, 3, 1)
    stored = querysets.stored(SHELLS, tenant_a.pk, "urn:1")
    assert stored is not None
    assert stored.document == descriptor().text.encode()


def test_a_conflict_changes_nothing(tenant_a: Tenant) -> None:
    services.register(SHELLS, tenant_a.pk, descriptor())
    with pytest.raises(services.IdentifierTaken):
        services.register(SHELLS, tenant_a.pk, descriptor(submodels=7))
    assert rows() == (1, 3, 3, 1)


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_wins(tenant_a: Tenant) -> None:
    def attempt(submodels: int) -> str:
        try:
            services.register(SHELLS, tenant_a.pk, descriptor(submodels=submodels))
        except services.IdentifierTaken:
            return "taken"
        finally:
            connection.close()
        return "registered"

    with ThreadPoolExecutor(8) as executor:
        outcomes = list(executor.map(attempt, range(1, 25)))
    assert outcomes.count("registered") == 1
    winner = outcomes.index("registered") + 1
    assert rows() == (1, winner, winner, 1)


def test_a_transaction_that_is_rolled_back_leaves_nothing(tenant_a: Tenant) -> None:
    with transaction.atomic():
        services.register(SHELLS, tenant_a.pk, descriptor())
        transaction.set_rollback(True)
    assert rows() == (0, 0, 0, 0)


def test_projections_go_with_their_shell(tenant_a: Tenant) -> None:
    services.register(SHELLS, tenant_a.pk, descriptor("urn:1"))
    services.register(SHELLS, tenant_a.pk, descriptor("urn:2"))
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM shells_shell WHERE identifier = 'urn:1'")
    assert rows() == (1, 3, 3, 1)


def test_the_database_refuses_a_projection_of_another_tenants_shell(
    tenant_a: Tenant, tenant_b: Tenant
) -> None:
    services.register(SHELLS, tenant_a.pk, descriptor())
    with pytest.raises(IntegrityError, match="submodel_belongs_to_shell"), transaction.atomic():
        Submodel.objects.update(tenant=tenant_b)


def test_two_identifiers_with_one_digest_are_told_apart(tenant_a: Tenant) -> None:
    services.register(SHELLS, tenant_a.pk, descriptor())
    with connection.cursor() as cursor:
        cursor.execute("UPDATE shells_shell SET identifier = 'urn:somebody else'")
    assert querysets.stored(SHELLS, tenant_a.pk, "urn:1") is None
