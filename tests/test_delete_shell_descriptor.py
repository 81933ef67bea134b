"""DELETE /shell-descriptors/{aasIdentifier}: operation O5, check 18."""

import pytest

from shells.models import AssetId, Endpoint, Shell, Submodel
from tests.bodies import EVERYTHING
from tests.conftest import Persona, shell_path, texts


@pytest.mark.spec("check", "18")
def test_it_works_once(alice: Persona) -> None:
    alice.register({"id": "urn:1"})
    response = alice.delete(shell_path("urn:1"))
    assert (response.status_code, response.content) == (204, b"")
    assert "Content-Type" not in response
    again = alice.delete(shell_path("urn:1"))
    assert again.status_code == 404
    assert texts(again) == ["no shell with this id is registered"]
    assert alice.fetch("urn:1").status_code == 404


def test_everything_below_it_goes_with_it(alice: Persona) -> None:
    alice.register(EVERYTHING)
    alice.register({**EVERYTHING, "id": "urn:other"})
    alice.delete(shell_path("urn:everything"))
    assert [model.objects.count() for model in (Shell, Submodel, Endpoint, AssetId)] == [1, 1, 2, 1]


def test_it_can_be_registered_again(alice: Persona) -> None:
    alice.register({"id": "urn:1", "idShort": "First"})
    alice.delete(shell_path("urn:1"))
    assert alice.register({"id": "urn:1"}).status_code == 201
    assert alice.fetch("urn:1").json() == {"id": "urn:1"}


def test_a_raw_identifier(alice: Persona) -> None:
    response = alice.delete("/shell-descriptors/urn:1")
    assert response.status_code == 400
    assert "is not base64url" in texts(response)[0]


def test_a_reader_may_not(alice: Persona, bob: Persona) -> None:
    alice.register({"id": "urn:1"})
    assert bob.delete(shell_path("urn:1")).status_code == 403
    assert Shell.objects.exists()


def test_if_match(alice: Persona) -> None:
    tag = alice.register({"id": "urn:1"})["ETag"]
    alice.put(shell_path("urn:1"), {"id": "urn:1", "idShort": "Motor"})
    assert alice.delete(shell_path("urn:1"), If_Match=tag).status_code == 412
    assert alice.delete(shell_path("urn:1"), If_Match=alice.fetch("urn:1")["ETag"]).status_code == 204


def test_if_match_of_what_is_not_there(alice: Persona) -> None:
    assert alice.delete(shell_path("urn:1"), If_Match="*").status_code == 404
