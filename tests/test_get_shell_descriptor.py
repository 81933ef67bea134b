"""GET /shell-descriptors/{aasIdentifier}: contract §4.2, operation O3, checks 2, 3, 9 to 12."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest

from shells.identifiers import encode
from tests.conftest import Persona, shell_path, texts


def get(someone: Persona, segment: str) -> object:
    return someone.get(f"/shell-descriptors/{segment}")


@pytest.mark.spec("check", "2")
@pytest.mark.spec("contract", "4.2")
def test_it_works_with_the_padded_form_of_the_contract(alice: Persona) -> None:
    alice.register({"id": "urn:example:aas:1"})
    response = alice.get("/shell-descriptors/dXJuOmV4YW1wbGU6YWFzOjE=")
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.content == b'{"id":"urn:example:aas:1"}'


@pytest.mark.spec("check", "3")
@pytest.mark.parametrize(
    "segment", ["dXJuOmV4YW1wbGU6YWFzOjE", "dXJuOmV4YW1wbGU6YWFzOjE%3D", "dXJuOmV4YW1wbGU6YWFzOjF"]
)
def test_other_forms_of_the_same_identifier(alice: Persona, segment: str) -> None:
    """Without padding, with percent-encoded padding, and with non-zero trailing bits."""
    alice.register({"id": "urn:example:aas:1"})
    response = alice.get(f"/shell-descriptors/{segment}")
    assert response.status_code == 200
    assert response.json() == {"id": "urn:example:aas:1"}


def test_head(alice: Persona) -> None:
    alice.register({"id": "urn:1"})
    response = alice.call("HEAD", f"/shell-descriptors/{encode('urn:1')}")
    assert (response.status_code, response.content) == (200, b"")


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html", "application/xml", "nonsense"])
def test_the_answer_is_json_whatever_is_asked_for(alice: Persona, accept: str) -> None:
    alice.register({"id": "urn:1"})
    response = alice.get(f"/shell-descriptors/{encode('urn:1')}", Accept=accept)
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"


@pytest.mark.spec("check", "9")
@pytest.mark.parametrize("identifier", ["urn:unknown", "4711", "x" * 2048, "'%_"])
def test_an_unknown_shell(alice: Persona, identifier: str) -> None:
    response = alice.fetch(identifier)
    assert response.status_code == 404
    assert texts(response) == ["no shell with this id is registered"]


@pytest.mark.spec("check", "10")
@pytest.mark.spec("contract", "4.2")
@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ("urn:example:aas:1", "is not base64url: use the encoded form of the id, not the id itself"),
        ("abc+", "is not base64url: use the encoded form of the id, not the id itself"),
        ("YQ===", "is not base64url: use the encoded form of the id, not the id itself"),
        ("$recent-changes", "is not base64url: use the encoded form of the id, not the id itself"),
        ("=", "is not base64url: use the encoded form of the id, not the id itself"),
        ("%00", "is not base64url: use the encoded form of the id, not the id itself"),
        ("A", "is not base64url: its length is impossible"),
        ("__4", "is base64url, but not of an identifier in UTF-8"),
        ("AAA", "encodes a character that no identifier may contain"),
        (encode("x" * 2049), "encodes more than 2048 characters"),
        (encode("\U0001f600" * 2049), "encodes more than 2048 characters"),
    ],
)
def test_what_is_no_encoded_identifier(alice: Persona, segment: str, text: str) -> None:
    alice.register({"id": "urn:example:aas:1"})
    response = alice.get(f"/shell-descriptors/{segment}")
    assert response.status_code == 400
    assert texts(response) == [f"aasIdentifier: {text}"]


@pytest.mark.spec("check", "11")
def test_an_identifier_that_needs_the_url_safe_alphabet(alice: Persona) -> None:
    assert alice.register({"id": "urn:example:aas:??>"}).status_code == 201
    assert alice.get("/shell-descriptors/dXJuOmV4YW1wbGU6YWFzOj8_Pg==").status_code == 200


@pytest.mark.spec("check", "12")
def test_an_identifier_with_non_ascii_and_an_emoji(alice: Persona) -> None:
    identifier = "urn:müller:größe:\U0001f600:日本"
    location = alice.register({"id": identifier})["Location"]
    response = alice.client.get(location, headers={"Authorization": f"Bearer {alice.token}"})
    assert response.status_code == 200
    assert response.json()["id"] == identifier


def test_a_raw_identifier_with_slashes_gets_a_hint(alice: Persona) -> None:
    response = alice.get("/shell-descriptors/https://example.org/aas/1")
    assert response.status_code == 404
    assert "base64url" in texts(response)[0]


def test_a_trailing_slash_is_not_redirected(alice: Persona) -> None:
    """aas-registry-api.md §0.3."""
    response = alice.get("/shell-descriptors/YQ/")
    assert response.status_code == 404
    assert texts(response)


@pytest.mark.parametrize("method", ["POST", "PATCH", "OPTIONS"])
def test_another_method(alice: Persona, method: str) -> None:
    response = alice.call(method, "/shell-descriptors/YQ")
    assert response.status_code == 405
    assert {"GET", "HEAD"} <= set(response["Allow"].split(", "))
    assert texts(response)


# --- Conditional requests and headers (RFC 9110 §13, §8.8.3) ------------------------------------------


def test_the_entity_tag_is_strong_and_follows_the_document(alice: Persona) -> None:
    registered = alice.register({"id": "urn:1"})["ETag"]
    fetched = alice.fetch("urn:1")
    assert fetched["ETag"] == registered
    assert registered.startswith('"')
    replaced = alice.put(shell_path("urn:1"), {"id": "urn:1", "idShort": "Motor"})["ETag"]
    assert alice.fetch("urn:1")["ETag"] == replaced != registered


@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', "*"])
def test_if_none_match_with_the_present_tag(alice: Persona, form: str) -> None:
    tag = alice.register({"id": "urn:1"})["ETag"]
    response = alice.get(shell_path("urn:1"), If_None_Match=form.format(tag))
    assert (response.status_code, response.content) == (304, b"")
    assert response["ETag"] == tag


def test_if_none_match_with_another_tag(alice: Persona) -> None:
    alice.register({"id": "urn:1"})
    response = alice.get(shell_path("urn:1"), If_None_Match='"other"')
    assert response.status_code == 200
    assert response.json() == {"id": "urn:1"}


def test_if_match_with_another_tag(alice: Persona) -> None:
    alice.register({"id": "urn:1"})
    response = alice.get(shell_path("urn:1"), If_Match='"other"')
    assert response.status_code == 412
    assert texts(response) == ["it is not in the state that the request expects: fetch it again"]


def test_when_it_was_registered_and_changed(alice: Persona) -> None:
    alice.register({"id": "urn:1"})
    response = alice.fetch("urn:1")
    changed = parsedate_to_datetime(response["Last-Modified"])
    created = datetime.fromisoformat(response["X-Created-At"])
    assert abs((datetime.now(UTC) - created).total_seconds()) < 60
    assert changed == created.replace(microsecond=0)
    assert "created" not in response.content.decode()
