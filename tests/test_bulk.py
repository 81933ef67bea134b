"""/bulk/…: operations O12 to O16 and O28 to O30, checks 38 and 39."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from shells import bulk
from shells.identifiers import encode
from shells.models import BulkOperation, Shell
from tests.bodies import submodel
from tests.conftest import Persona, texts

SHELLS = "/bulk/shell-descriptors"
SUBMODELS = "/bulk/submodel-descriptors"

pytestmark = pytest.mark.django_db


def carried_out(someone: Persona, method: str, path: str, body: Any) -> Any:
    """The result of a bulk operation: what its client sees, step by step."""
    accepted = someone.call(method, path, body)
    assert accepted.status_code == 202, accepted.content
    assert accepted.content == b""
    location = accepted["Location"]
    assert location.startswith(f"http://testserver{someone.base}/bulk/status/")
    waiting = someone.get(location)
    assert waiting.status_code == 200
    assert waiting.json() == {"executionState": "Initiated"}
    assert waiting["Retry-After"] == "1"
    result = location.replace("/status/", "/result/")
    assert someone.get(result).status_code == 404
    assert bulk.run_next()
    finished = someone.get(location)
    assert (finished.status_code, finished["Location"], finished.content) == (302, result, b"")
    return someone.get(finished["Location"])


@pytest.fixture(autouse=True)
def _no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread would not see what the test has not committed; tests/test_server.py has the real one."""
    monkeypatch.setattr(bulk.runner, "wake", lambda: None)


@pytest.mark.spec("check", "38")
def test_post(alice: Persona) -> None:
    response = carried_out(alice, "POST", SHELLS, [{"id": "urn:1"}, {"id": "urn:2", "idShort": "Motor"}])
    assert (response.status_code, response.content) == (204, b"")
    assert alice.fetch("urn:1").json() == {"id": "urn:1"}
    assert alice.fetch("urn:2").json() == {"id": "urn:2", "idShort": "Motor"}


@pytest.mark.spec("check", "38")
def test_post_of_a_known_id_changes_nothing(alice: Persona) -> None:
    alice.register({"id": "urn:1", "idShort": "First"})
    response = carried_out(alice, "POST", SHELLS, [{"id": "urn:new"}, {"id": "urn:1"}])
    assert response.status_code == 400
    assert texts(response) == ["/1/id: a shell with this id is registered already"]
    assert alice.fetch("urn:new").status_code == 404
    assert alice.fetch("urn:1").json()["idShort"] == "First"


def test_put(alice: Persona) -> None:
    alice.register({"id": "urn:1", "idShort": "First", "submodelDescriptors": [submodel()]})
    response = carried_out(alice, "PUT", SHELLS, [{"id": "urn:1"}, {"id": "urn:2"}])
    assert response.status_code == 204
    assert [shell["id"] for shell in alice.get("/shell-descriptors").json()["result"]] == ["urn:1", "urn:2"]
    assert alice.fetch("urn:1").json() == {"id": "urn:1"}


def test_delete(alice: Persona) -> None:
    for name in ("urn:1", "urn:2", "urn:3"):
        alice.register({"id": name})
    assert carried_out(alice, "DELETE", SHELLS, ["urn:1", "urn:3"]).status_code == 204
    assert list(Shell.objects.values_list("identifier", flat=True)) == ["urn:2"]


@pytest.mark.spec("check", "39")
def test_delete_of_an_unknown_id_changes_nothing(alice: Persona) -> None:
    alice.register({"id": "urn:1"})
    response = carried_out(alice, "DELETE", SHELLS, ["urn:1", "urn:unknown"])
    assert response.status_code == 400
    assert texts(response) == ["/1: no shell with this id is registered"]
    assert alice.fetch("urn:1").status_code == 200


def test_submodel_descriptors(alice: Persona) -> None:
    bodies = [submodel("urn:1"), submodel("urn:2")]
    assert carried_out(alice, "POST", SUBMODELS, bodies).status_code == 204
    assert alice.get("/submodel-descriptors").json()["result"] == bodies
    assert carried_out(alice, "PUT", SUBMODELS, [{"id": "urn:2"}]).status_code == 204
    assert alice.get("/submodel-descriptors").json()["result"] == [bodies[0], {"id": "urn:2"}]
    assert carried_out(alice, "DELETE", SUBMODELS, ["urn:1", "urn:2"]).status_code == 204
    assert alice.get("/submodel-descriptors").json()["result"] == []
    response = carried_out(alice, "DELETE", SUBMODELS, ["urn:1"])
    assert texts(response) == ["/0: no submodel with this id is registered"]


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_every_defect_of_every_item_is_named(alice: Persona, method: str) -> None:
    body = [{"id": "urn:1"}, {"id": "urn:2", "idShort": 5, "assetKind": "x"}, {"id": "urn:3", "endpoints": 1}]
    response = carried_out(alice, method, SHELLS, body)
    assert response.status_code == 400
    assert [text.split(":")[0] for text in texts(response)] == ["/1/idShort", "/1/assetKind", "/2/endpoints"]
    assert not Shell.objects.exists()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_an_id_twice_in_the_array(alice: Persona, method: str) -> None:
    alice.register({"id": "urn:1"})
    names = ["urn:2", "urn:1", "urn:2"]
    body = names if method == "DELETE" else [{"id": name} for name in names]
    response = carried_out(alice, method, SHELLS, body)
    assert response.status_code == 400
    pointer = "/2" if method == "DELETE" else "/2/id"
    assert texts(response) == [f"{pointer}: occurs before in the array"]
    assert Shell.objects.count() == 1


def test_strict_tenants_are_strict(strict_alice: Persona) -> None:
    response = carried_out(strict_alice, "POST", SHELLS, [{"id": "urn:1", "foo": 1}])
    assert texts(response) == ["/0/foo: there is no such member"]


@pytest.mark.spec("check", "38")
@pytest.mark.parametrize("path", [SHELLS, SUBMODELS])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "the request has no body; JSON is expected"),
        (b"[", "the body is not JSON"),
        (b"{}", "the body must be a JSON array with at least one item"),
        (b"[]", "the body must be a JSON array with at least one item"),
        (b"[1]", "/0: must be"),
        (b"[null]", "/0"),
    ],
)
def test_what_is_refused_at_once(alice: Persona, path: str, method: str, body: bytes, text: str) -> None:
    response = alice.call(method, path, body)
    assert response.status_code == 400
    assert texts(response)[0].startswith(text)
    assert not BulkOperation.objects.exists()


def test_items_without_an_id_are_refused_at_once(alice: Persona) -> None:
    response = alice.post(SHELLS, [{"id": "urn:1"}, {}, {"id": None}])
    assert response.status_code == 400
    assert texts(response) == ["/1/id: this member is required", "/2/id: this member is required"]


def test_100_000_items_that_are_nothing(alice: Persona) -> None:
    response = alice.post(SHELLS, [0] * 100_000)
    assert response.status_code == 400
    assert len(texts(response)) == 101
    assert texts(response)[-1] == "and 99900 more"


@pytest.mark.spec("check", "38")
@pytest.mark.parametrize("handle", ["x", "A", encode("nonsense"), encode("0" * 32), "$", encode("x" * 9)])
@pytest.mark.parametrize("what", ["status", "result"])
def test_an_unknown_handle(alice: Persona, what: str, handle: str) -> None:
    response = alice.get(f"/bulk/{what}/{handle}")
    assert response.status_code == 404
    assert texts(response) == ["there is no bulk operation with this handle, or its time is over"]


def test_a_handle_of_another_tenant(alice: Persona, charlie: Persona) -> None:
    location = alice.post(SHELLS, [{"id": "urn:1"}])["Location"]
    bulk.run_next()
    for what in ("status", "result"):
        path = location.replace("tenant-a", "tenant-b").replace("/status/", f"/{what}/")
        assert charlie.get(path).status_code == 404


def test_the_outcome_can_be_read_again_until_its_time_is_over(alice: Persona, settings: Settings) -> None:
    location = alice.post(SHELLS, [{"id": "urn:1"}])["Location"]
    bulk.run_next()
    for _ in range(3):
        assert alice.get(location.replace("status", "result")).status_code == 204
    assert settings.BULK_RESULT_SECONDS >= 3600
    BulkOperation.objects.update(finished_at=timezone.now() - timedelta(seconds=3590))
    bulk.forget_old()
    assert alice.get(location.replace("status", "result")).status_code == 204
    BulkOperation.objects.update(finished_at=timezone.now() - timedelta(days=2))
    bulk.forget_old()
    assert alice.get(location.replace("status", "result")).status_code == 404


def test_the_body_is_not_kept(alice: Persona) -> None:
    alice.post(SHELLS, [{"id": "urn:1"}])
    bulk.run_next()
    assert bytes(BulkOperation.objects.get().body) == b""


def test_oldest_first(alice: Persona) -> None:
    alice.post(SHELLS, [{"id": "urn:1"}])
    alice.call("DELETE", SHELLS, ["urn:1"])
    assert [bulk.run_next() for _ in range(3)] == [True, True, False]
    assert set(BulkOperation.objects.values_list("state", flat=True)) == {"Completed"}
    assert not Shell.objects.exists()


def test_a_failure_of_ours_is_told(alice: Persona, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise ZeroDivisionError

    location = alice.post(SHELLS, [{"id": "urn:1"}])["Location"]
    monkeypatch.setattr("shells.services.register_many", fail)
    assert bulk.run_next()
    response = alice.get(location.replace("status", "result"))
    assert texts(response) == ["the server failed (ZeroDivisionError); nothing was changed"]


def test_accepting_wakes_the_runner(
    alice: Persona,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    woken = []
    monkeypatch.setattr(bulk.runner, "wake", lambda: woken.append(True))
    with django_capture_on_commit_callbacks(execute=True):
        alice.post(SHELLS, [{"id": "urn:1"}])
    assert woken == [True]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_reader_may_not(bob: Persona, method: str) -> None:
    assert bob.call(method, SHELLS, [{"id": "urn:1"}]).status_code == 403
    assert not BulkOperation.objects.exists()


def test_statements_do_not_depend_on_the_number_of_items(alice: Persona) -> None:
    counts = {}
    for method in ("POST", "PUT", "DELETE"):
        for number in (1, 100):
            names = [f"urn:{number}:{n}" for n in range(number)]
            listed = [submodel(f"{n}") for n in range(3)]
            bodies = [{"id": name, "submodelDescriptors": listed} for name in names]
            alice.call(method, SHELLS, names if method == "DELETE" else bodies)
            with CaptureQueriesContext(connection) as queries:
                assert bulk.run_next()
            counts[method, number] = len(queries)
    assert BulkOperation.objects.filter(state="Completed").count() == 6
    for method in ("POST", "PUT", "DELETE"):
        assert counts[method, 1] == counts[method, 100]
