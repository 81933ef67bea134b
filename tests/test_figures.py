"""The kept figures are what is there: whatever is written at the same time, in whatever order it commits."""

import contextlib
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from shells import figures, services
from shells.collections import SHELLS, SUBMODELS
from shells.copying import prepare
from shells.descriptors import Document, check_shell, check_submodel
from shells.models import (
    Change,
    DailyFigure,
    FigureState,
    RefusedRequests,
    SemanticIdFigure,
    Shell,
    SlowRequest,
    StandaloneSubmodel,
    Submodel,
    Total,
)
from shells.services import OnConflict
from tenants.models import Tenant
from tests.bodies import reference, submodel
from tests.conftest import Persona, until_others_are_over

#: Folding waits for transactions that are still running: these tests commit.
pytestmark = pytest.mark.django_db(transaction=True)


def shell(number: int, **members: object) -> Document:
    return check_shell({"id": f"urn:{number}", **members}, strict=False)


def totals(tenant: Tenant) -> dict[str, int]:
    kept = Total.objects.filter(tenant=tenant).values_list("collection", "descriptors")
    return {collection: number for collection, number in kept if number}


def real(tenant: Tenant) -> dict[str, int]:
    counts = {
        "shell-descriptors": Shell.objects.filter(tenant=tenant).count(),
        "submodel-descriptors": StandaloneSubmodel.objects.filter(tenant=tenant).count(),
        "submodels": Submodel.objects.filter(tenant=tenant).count(),
    }
    return {collection: number for collection, number in counts.items() if number}


def refresh() -> None:
    until_others_are_over()
    figures.refresh()


def work(tenant_pk: int, seed: int) -> None:
    """Random writes of all kinds, some of them rolled back."""
    chance = random.Random(seed)
    try:
        for _ in range(25):
            number = chance.randrange(40)
            documents = [
                shell(n, submodelDescriptors=[submodel(f"urn:sm:{n}")])
                for n in chance.sample(range(40), chance.randrange(1, 6))
            ]
            documents.sort(key=lambda document: document.id)
            choice = chance.randrange(7)
            if choice == 0:
                with transaction.atomic():
                    services.register_many(SHELLS, tenant_pk, documents)
                    transaction.set_rollback(True)
            elif choice == 1:
                services.remove_many(SHELLS, tenant_pk, [document.id for document in documents])
            elif choice == 2:
                services.replace_many(SHELLS, tenant_pk, documents[:1])
            elif choice == 3:
                items = [prepare(SHELLS, tenant_pk, document) for document in documents[:1]]
                services.copy_many(SHELLS, tenant_pk, items, chance.choice(list(OnConflict)))
            elif choice == 4:
                item = check_submodel(submodel(f"urn:{number}"), strict=False)
                services.replace_many(SUBMODELS, tenant_pk, [item])
            elif choice == 5:
                services.remove_many(SUBMODELS, tenant_pk, [f"urn:{number}"])
            else:
                with contextlib.suppress(services.IdentifierTaken):
                    services.register(SHELLS, tenant_pk, shell(number))
    finally:
        connection.close()


def fold_all_the_time(stop: threading.Event) -> None:
    try:
        while not stop.is_set():
            figures.refresh()
    finally:
        connection.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_after_random_concurrent_writes_totals_are_what_is_there(
    tenant_a: Tenant, tenant_b: Tenant, seed: int
) -> None:
    services.register(SHELLS, tenant_a.pk, shell(1000))  # from before the first count
    stop = threading.Event()
    with ThreadPoolExecutor(8) as threads:
        folding = [threads.submit(fold_all_the_time, stop) for _ in range(2)]
        writing = [
            threads.submit(work, tenant.pk, seed * 100 + number)
            for number in range(3)
            for tenant in (tenant_a, tenant_b)
        ]
        for future in writing:
            future.result()
        stop.set()
        for future in folding:
            future.result()
    until_others_are_over()
    call_command("refresh_figures")
    for tenant in (tenant_a, tenant_b):
        assert totals(tenant) == real(tenant)
        for collection in (SHELLS, SUBMODELS):
            mine = Change.objects.filter(tenant=tenant, collection=collection.name)
            kept = DailyFigure.objects.filter(tenant=tenant, collection=collection.name)
            for action in ("registered", "replaced", "removed"):
                assert sum(getattr(day, action) for day in kept) == mine.filter(action=action).count()


@contextlib.contextmanager
def being_registered(tenant: Tenant, document: Document) -> Iterator[None]:
    """While the block runs, another transaction has registered the shell; then it commits."""
    done, go_on = threading.Event(), threading.Event()

    def register() -> None:
        try:
            with transaction.atomic():
                services.register(SHELLS, tenant.pk, document)
                done.set()
                assert go_on.wait(30)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as thread:
        registering = thread.submit(register)
        assert done.wait(30)
        try:
            yield
        finally:
            go_on.set()
        registering.result()


def test_a_transaction_that_commits_late_is_not_missed(tenant_a: Tenant) -> None:
    refresh()
    with being_registered(tenant_a, shell(1)):
        services.register(SHELLS, tenant_a.pk, shell(2))
        figures.refresh()
        assert totals(tenant_a) == {}  # later transactions wait for the one that is running
    refresh()
    assert totals(tenant_a) == {"shell-descriptors": 2}
    refresh()
    assert totals(tenant_a) == {"shell-descriptors": 2}


def test_a_count_beside_a_running_transaction(tenant_a: Tenant) -> None:
    with being_registered(tenant_a, shell(1)):
        services.register(SHELLS, tenant_a.pk, shell(2))
        figures.refresh()  # the first time: all are counted
    refresh()
    assert totals(tenant_a) == {"shell-descriptors": 2}


def test_a_dump_that_was_restored_in_a_younger_database(tenant_a: Tenant) -> None:
    services.register(SHELLS, tenant_a.pk, shell(1))
    services.register(SHELLS, tenant_a.pk, shell(2))
    refresh()
    Change.objects.update(transaction=2**50)
    FigureState.objects.update(transaction=2**51)
    services.remove_many(SHELLS, tenant_a.pk, ["urn:1"])
    refresh()
    refresh()
    assert totals(tenant_a) == {"shell-descriptors": 1}
    assert [(day.registered, day.removed) for day in DailyFigure.objects.all()] == [(2, 0)]


def test_a_recount_mends(tenant_a: Tenant) -> None:
    services.register(SHELLS, tenant_a.pk, shell(1))
    refresh()
    Total.objects.update(descriptors=7)
    until_others_are_over()
    call_command("refresh_figures", "--recount")
    assert totals(tenant_a) == {"shell-descriptors": 1}


def test_notes_are_forgotten_once_they_are_counted(tenant_a: Tenant) -> None:
    services.register(SHELLS, tenant_a.pk, shell(1))
    assert services.forget_changes(timezone.now()) == 0
    until_others_are_over()
    call_command("forget_changes", "--older-than-days", "0")
    assert Change.objects.count() == 0
    assert totals(tenant_a) == {"shell-descriptors": 1}
    until_others_are_over()
    call_command("refresh_figures", "--recount")
    assert totals(tenant_a) == {"shell-descriptors": 1}
    assert [day.registered for day in DailyFigure.objects.all()] == [1]


def test_semantic_ids_are_counted_in_shells_and_on_their_own(tenant_a: Tenant) -> None:
    plate = submodel("urn:1", semanticId=reference("urn:plate"))
    services.register(SHELLS, tenant_a.pk, shell(1, submodelDescriptors=[plate, submodel("urn:2")]))
    services.register(SUBMODELS, tenant_a.pk, check_submodel(plate, strict=False))
    figures.keep()
    assert [(row.semantic_id, row.submodels) for row in SemanticIdFigure.objects.all()] == [("urn:plate", 2)]
    assert totals(tenant_a)["submodels"] == 2


def test_refused_requests_are_counted_by_tenant_and_status(alice: Persona) -> None:
    figures.observed.write()
    RefusedRequests.objects.all().delete()
    alice.fetch("urn:none")
    alice.fetch("urn:none")
    alice.client.get(f"{alice.base}/shell-descriptors")
    alice.client.get("/aas-api/v3/nobody\x00/shell-descriptors")
    alice.client.get("/aas-api/v3/stranger/shell-descriptors")
    figures.observed.write()
    kept = RefusedRequests.objects.values_list("tenant__identifier", "status", "requests", "day")
    today = datetime.now(UTC).date()
    assert set(kept) == {("tenant-a", 404, 2, today), ("tenant-a", 401, 1, today), (None, 401, 2, today)}
    alice.fetch("urn:none")
    figures.observed.write()
    assert RefusedRequests.objects.get(status=404).requests == 3
    RefusedRequests.objects.update(day=today - timedelta(days=figures.REFUSED_DAYS + 1))
    alice.fetch("urn:none")
    figures.observed.write()
    assert [row.day for row in RefusedRequests.objects.all()] == [today]


def test_the_slowest_requests_are_kept(tenant_a: Tenant) -> None:
    observed = figures.Observed()
    for number in range(figures.SLOW_KEPT + 5):
        observed.note("tenant-a", "GET shell-descriptors", 200, 1 + number, f"request-{number}")
    observed.note("tenant-a", "GET shell-descriptors", 200, figures.SLOW_SECONDS / 2, "fast")
    observed.write()
    slowest = SlowRequest.objects.order_by("-milliseconds")
    assert slowest.count() == figures.SLOW_KEPT
    assert slowest[0].correlation_id == f"request-{figures.SLOW_KEPT + 4}"
    SlowRequest.objects.update(at=timezone.now() - timedelta(days=figures.SLOW_DAYS + 1))
    observed.note("tenant-a", "GET shell-descriptors", 200, 1, "today")
    observed.write()
    assert [row.correlation_id for row in SlowRequest.objects.all()] == ["today"]
