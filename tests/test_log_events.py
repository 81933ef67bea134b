"""One structured event a request, which says who did what.

That no token, secret or body is logged is seen in test_server.py, on what the real server prints.
"""

import pytest
from structlog.testing import capture_logs

from tests.conftest import Persona


def test_it_works(alice: Persona) -> None:
    with capture_logs() as events:
        response = alice.register({"id": "urn:1"})
    (request,) = events
    assert request.pop("duration_ms") > 0
    assert request == {
        "event": "request",
        "log_level": "info",
        "method": "POST",
        "operation": "shell-descriptors",
        "status": 201,
        "tenant": "tenant-a",
        "module": "alice",
        "shell": "urn:1",
    }
    assert response["X-Request-ID"]


@pytest.mark.parametrize("path", ["/nonsense", "/shell-descriptors/+"])
def test_a_refused_request_has_its_event_too(alice: Persona, path: str) -> None:
    with capture_logs() as events:
        response = alice.get(path)
    (event,) = events
    assert event["status"] == response.status_code >= 400
