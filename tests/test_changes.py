"""Every write is noted: who did what, in answer to which request, and what was there before."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from shells import bulk
from shells.identifiers import encode
from shells.models import Change
from tests.bodies import submodel
from tests.conftest import Persona, shell_path, until_others_are_over


def changes(identifier: str) -> list[tuple[Any, ...]]:
    rows = Change.objects.filter(identifier=identifier).order_by("pk")
    return list(rows.values_list("collection", "action", "before"))


def test_the_life_of_a_shell(alice: Persona) -> None:
    alice.register({"id": "urn:1"})
    alice.put(shell_path("urn:1"), {"id": "urn:1", "idShort": "Motor"})
    alice.delete(shell_path("urn:1"))
    alice.put(shell_path("urn:1"), {"id": "urn:1"})
    assert changes("urn:1") == [
        ("shell-descriptors", "registered", None),
        ("shell-descriptors", "replaced", '{"id":"urn:1"}'),
        ("shell-descriptors", "removed", '{"id":"urn:1","idShort":"Motor"}'),
        ("shell-descriptors", "registered", None),
    ]


def test_the_life_of_a_standalone_submodel(alice: Persona) -> None:
    path = f"/submodel-descriptors/{encode('urn:1')}"
    alice.post("/submodel-descriptors", {"id": "urn:1"})
    alice.put(path, {"id": "urn:1", "idShort": "Nameplate"})
    alice.delete(path)
    assert [(collection, action) for collection, action, _ in changes("urn:1")] == [
        ("submodel-descriptors", action) for action in ("registered", "replaced", "removed")
    ]


def test_a_submodel_of_a_shell_is_a_change_of_the_shell(alice: Persona) -> None:
    alice.register({"id": "urn:1"})
    path = shell_path("urn:1") + "/submodel-descriptors"
    alice.post(path, submodel("urn:sm"))
    alice.put(f"{path}/{encode('urn:sm')}", submodel("urn:sm", idShort="Nameplate"))
    alice.delete(f"{path}/{encode('urn:sm')}")
    assert [action for _, action, _ in changes("urn:1")] == ["registered", *["replaced"] * 3]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_bulk_operations(alice: Persona, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk.runner, "wake", lambda: None)
    names = ["urn:1", "urn:2"]
    if method != "POST":
        for name in names:
            alice.register({"id": name})
    Change.objects.all().delete()
    body = names if method == "DELETE" else [{"id": name} for name in names]
    alice.call(method, "/bulk/shell-descriptors", body, X_Request_ID="bulk-1")
    assert bulk.run_next()
    expected = {"POST": "registered", "PUT": "replaced", "DELETE": "removed"}[method]
    for name in names:
        assert changes(name) == [
            ("shell-descriptors", expected, None if method == "POST" else f'{{"id":"{name}"}}')
        ]
    assert set(Change.objects.values_list("author", "correlation_id")) == {("alice", "bulk-1")}


def test_who_and_in_answer_to_what(alice: Persona) -> None:
    alice.post("/shell-descriptors", {"id": "urn:1"}, X_Request_ID="order-7")
    alice.put(shell_path("urn:1"), {"id": "urn:1"}, X_Request_ID="order-8")
    response = alice.delete(shell_path("urn:1"))
    assert list(Change.objects.order_by("pk").values_list("tenant", "author", "correlation_id")) == [
        (alice.tenant.pk, "alice", "order-7"),
        (alice.tenant.pk, "alice", "order-8"),
        (alice.tenant.pk, "alice", response["X-Request-ID"]),
    ]


def test_what_is_refused_is_no_change(alice: Persona, bob: Persona) -> None:
    alice.register({"id": "urn:1"})
    refused = [
        alice.register({"id": "urn:1"}),
        alice.put(shell_path("urn:1"), {"id": "urn:2"}),
        alice.put(shell_path("urn:1"), {"id": "urn:1"}, If_Match='"other"'),
        alice.delete(shell_path("urn:2")),
        bob.delete(shell_path("urn:1")),
    ]
    assert [response.status_code for response in refused] == [409, 400, 412, 404, 403]
    assert Change.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_forget_changes(alice: Persona, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        alice.register({"id": f"urn:{number}"})
    Change.objects.filter(identifier="urn:0").update(at=timezone.now() - timedelta(days=91))
    until_others_are_over()
    call_command("forget_changes", "--older-than-days", "90")
    assert capsys.readouterr().out == "deleted 1 notes of changes\n"
    call_command("forget_changes", "--older-than-days", "99999999")
    assert Change.objects.count() == 2


@pytest.mark.parametrize("days", ["x", "-1", "1e3", "9" * 20])
def test_forget_changes_of_no_number(days: str, db: None) -> None:
    with pytest.raises(CommandError, match="older-than-days"):
        call_command("forget_changes", "--older-than-days", days)
