"""Every unsuccessful answer below /aas-api/ is a `Result` (aas-registry-api.md §3)."""

import uuid
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError
from django.test import Client
from django.utils.datastructures import MultiValueDictKeyError
from pytest_django import Settings
from rest_framework.exceptions import APIException, Throttled

from shells import querysets
from tests.conftest import Persona, texts


@pytest.mark.parametrize("path", ["", "/", "/nonsense", "/shell-descriptors/", "/shell-descriptors/YQ/x"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_unknown_routes_of_a_tenant(alice: Persona, path: str, method: str) -> None:
    response = alice.call(method, path or "/")
    assert response.status_code == 404
    assert "no such resource" in texts(response)[0]


@pytest.mark.parametrize("path", ["/aas-api/", "/aas-api/v3", "/aas-api/v3/", "/aas-api/v4/tenant-a/x"])
def test_unknown_routes_without_a_tenant(alice: Persona, path: str) -> None:
    assert alice.client.get(path).status_code == 401
    response = alice.client.get(path, headers={"Authorization": f"Bearer {alice.token}"})
    assert response.status_code == 404
    assert texts(response)


def test_pages_keep_djangos_own_answers(client: Client, db: None) -> None:
    response = client.get("/nonsense")
    assert response.status_code == 404
    assert response["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("offered", ["abc-123", "a" * 128, "00-4bf92f3577b34da6a3ce929d0e0e4736-01"])
def test_the_correlation_id_of_the_caller_is_taken_over(alice: Persona, offered: str) -> None:
    response = alice.get("/nonsense", **{"X-Request-ID": offered})
    assert response["X-Request-ID"] == offered
    texts(response)


@pytest.mark.parametrize("offered", ["", "a" * 129, "a b", "<script>", "é", 'a"b'])
def test_a_correlation_id_that_is_long_or_odd_is_replaced(alice: Persona, offered: str) -> None:
    response = alice.get("/nonsense", **{"X-Request-ID": offered})
    assert uuid.UUID(response["X-Request-ID"])
    texts(response)


def test_each_request_has_its_own_correlation_id(alice: Persona) -> None:
    assert alice.get("/x")["X-Request-ID"] != alice.get("/x")["X-Request-ID"]


def fail_with(exception: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the read of a document fail: what the database does cannot be had at will."""

    def failing(*args: Any) -> bytes:
        raise exception

    monkeypatch.setattr(querysets, "stored", failing)


@pytest.mark.parametrize("exception", [RuntimeError("secret detail"), MultiValueDictKeyError("x")])
def test_an_unexpected_failure(
    alice: Persona,
    exception: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The client learns nothing of it; the log has the traceback, under the correlation id."""
    fail_with(exception, monkeypatch)
    alice.client.raise_request_exception = False
    response = alice.fetch("urn:1")
    (record,) = (record for record in caplog.records if record.name == "django.request")
    assert record.exc_info is not None
    assert record.exc_info[1] is exception
    assert response.status_code == 500
    assert texts(response) == ["the server failed; its operator finds the reason by the correlationId"]
    assert "secret" not in response.content.decode()


@pytest.mark.parametrize("exception", [OperationalError("gone"), InterfaceError("closed")])
def test_a_database_that_does_not_answer(
    alice: Persona, exception: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_with(exception, monkeypatch)
    response = alice.fetch("urn:1")
    assert response.status_code == 503
    assert response["Retry-After"] == "2"
    assert texts(response) == ["the database does not answer; try again"]


def test_too_many_requests(alice: Persona, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(Throttled(wait=3.2), monkeypatch)
    response = alice.fetch("urn:1")
    assert response.status_code == 429
    assert response["Retry-After"] == "4"


def test_any_other_refusal_of_the_framework(alice: Persona, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(APIException("try later"), monkeypatch)
    response = alice.fetch("urn:1")
    assert response.status_code == 500
    assert texts(response) == ["try later"]


def test_a_bad_host_header(alice: Persona, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["registry.example"]
    response = alice.register({"id": "a"})
    assert response.status_code == 400
    assert texts(response) == ["the request cannot be read"]


def test_a_conflict_leaves_the_connection_usable(alice: Persona) -> None:
    for expected in (201, 409, 409):
        assert alice.register({"id": "a"}).status_code == expected
    assert alice.register({"id": "b"}).status_code == 201
