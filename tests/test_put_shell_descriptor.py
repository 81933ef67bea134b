"""PUT /shell-descriptors/{aasIdentifier}: operation O4, checks 14 to 17."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from shells import services
from shells.collections import SHELLS
from shells.descriptors import check_shell
from shells.models import AssetId, Endpoint, Shell, Submodel
from tenants.models import Tenant
from tests.bodies import CONTRACT_EXAMPLE, EVERYTHING, submodel
from tests.conftest import Persona, shell_path, texts


@pytest.mark.spec("check", "14")
def test_a_new_id_is_registered(alice: Persona) -> None:
    response = alice.put(shell_path("urn:example:aas:1"), {"id": "urn:example:aas:1"})
    assert response.status_code == 201
    assert response["Location"] == (
        "http://testserver/aas-api/v3/tenant-a/shell-descriptors/dXJuOmV4YW1wbGU6YWFzOjE"
    )
    assert response.json() == {"id": "urn:example:aas:1"}
    assert alice.fetch("urn:example:aas:1").json() == {"id": "urn:example:aas:1"}


@pytest.mark.spec("check", "15")
def test_a_known_id_is_replaced(alice: Persona) -> None:
    alice.register({"id": "urn:1"})
    response = alice.put(shell_path("urn:1"), {"id": "urn:1", "idShort": "Motor"})
    assert response.status_code == 204
    assert response.content == b""
    assert alice.fetch("urn:1").json() == {"id": "urn:1", "idShort": "Motor"}


@pytest.mark.spec("check", "16")
def test_nothing_of_what_was_there_is_left(alice: Persona) -> None:
    alice.register(CONTRACT_EXAMPLE)
    assert alice.put(shell_path("1111-shell"), {"id": "1111-shell"}).status_code == 204
    assert alice.fetch("1111-shell").json() == {"id": "1111-shell"}
    shell = Shell.objects.get()
    assert (shell.id_short, shell.asset_kind, shell.global_asset_id) == (None, None, None)
    assert not any(model.objects.exists() for model in (Submodel, Endpoint, AssetId))


def test_everything_is_found_by_what_it_says_now(alice: Persona) -> None:
    alice.register({"id": "urn:1", "submodelDescriptors": [submodel(f"urn:{n}") for n in range(3)]})
    assert alice.put(shell_path("urn:1"), {**EVERYTHING, "id": "urn:1"}).status_code == 204
    assert list(Submodel.objects.values_list("position", "identifier")) == [(0, "urn:sm:1")]
    assert set(Endpoint.objects.values_list("submodel_position", "href")) == {
        (None, "https://example.org/aas"),
        (0, "opc.tcp://192.0.2.1:4840"),
    }
    assert list(AssetId.objects.values_list("name", "value")) == [("serialNumber", "4711")]
    assert Submodel.objects.get().semantic_reference == EVERYTHING["submodelDescriptors"][0]["semanticId"]


def test_it_is_idempotent(alice: Persona) -> None:
    statuses = [alice.put(shell_path("urn:1"), {"id": "urn:1"}).status_code for _ in range(3)]
    assert statuses == [201, 204, 204]
    assert Shell.objects.count() == 1


@pytest.mark.spec("check", "17")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            {"id": "urn:2"},
            "/id: differs from the id in the address; to change an id, delete and register",
        ),
        ({"idShort": "Motor"}, "/id: this member is required"),
        ({"id": "urn:1", "idShort": 5}, "/idShort: must be a string"),
        ([], "the body must be a JSON object, a shell descriptor"),
        (b"", "the request has no body; JSON is expected"),
    ],
)
def test_a_body_that_does_not_fit_changes_nothing(alice: Persona, body: object, text: str) -> None:
    alice.register({"id": "urn:1", "idShort": "First"})
    response = alice.put(shell_path("urn:1"), body)
    assert response.status_code == 400
    assert texts(response) == [text]
    assert alice.fetch("urn:1").json() == {"id": "urn:1", "idShort": "First"}
    assert Shell.objects.count() == 1


def test_strict_tenants_are_strict(strict_alice: Persona) -> None:
    response = strict_alice.put(shell_path("urn:1"), {"id": "urn:1", "foo": 1})
    assert response.status_code == 400
    assert texts(response) == ["/foo: there is no such member"]


def test_a_reader_may_not(bob: Persona) -> None:
    response = bob.put(shell_path("urn:1"), {"id": "urn:1"})
    assert response.status_code == 403
    assert texts(response) == ["this needs the role editor; the token has reader"]
    assert not Shell.objects.exists()


def test_created_stays_and_updated_moves(alice: Persona) -> None:
    alice.register({"id": "urn:1"})
    with connection.cursor() as cursor:  # the test is one transaction, and so one moment
        cursor.execute("UPDATE shells_shell SET created_at = '2020-01-01Z', updated_at = '2020-01-01Z'")
    alice.put(shell_path("urn:1"), {"id": "urn:1", "idShort": "Motor"})
    response = alice.fetch("urn:1")
    assert response["X-Created-At"] == "2020-01-01T00:00:00.000000Z"
    assert response["Last-Modified"].endswith(" GMT")
    assert " 2020 " not in response["Last-Modified"]


# --- If-Match and If-None-Match (RFC 9110 §13.1) ------------------------------------------------------


def test_if_match_with_the_present_tag(alice: Persona) -> None:
    tag = alice.register({"id": "urn:1"})["ETag"]
    response = alice.put(shell_path("urn:1"), {"id": "urn:1", "idShort": "Motor"}, If_Match=tag)
    assert response.status_code == 204
    assert response["ETag"] == alice.fetch("urn:1")["ETag"] != tag


@pytest.mark.parametrize("tag", ['"old"', 'W/"old"', '"a", "b"', "nonsense", ""])
def test_if_match_with_another_tag(alice: Persona, tag: str) -> None:
    alice.register({"id": "urn:1"})
    response = alice.put(shell_path("urn:1"), {"id": "urn:1", "idShort": "Motor"}, If_Match=tag)
    assert response.status_code == 412
    assert texts(response) == ["it is not in the state that the request expects: fetch it again"]
    assert alice.fetch("urn:1").json() == {"id": "urn:1"}


def test_if_match_is_strong(alice: Persona) -> None:
    tag = alice.register({"id": "urn:1"})["ETag"]
    assert alice.put(shell_path("urn:1"), {"id": "urn:1"}, If_Match=f"W/{tag}").status_code == 412


def test_if_match_of_what_is_not_there(alice: Persona) -> None:
    assert alice.put(shell_path("urn:1"), {"id": "urn:1"}, If_Match="*").status_code == 412
    assert not Shell.objects.exists()


def test_if_none_match_registers_only(alice: Persona) -> None:
    path = shell_path("urn:1")
    assert alice.put(path, {"id": "urn:1"}, If_None_Match="*").status_code == 201
    assert alice.put(path, {"id": "urn:1"}, If_None_Match="*").status_code == 412


@pytest.mark.django_db(transaction=True)
def test_of_many_with_one_tag_one_wins(alice: Persona) -> None:
    """No lost update: whoever comes second sees 412."""
    tag = alice.register({"id": "urn:1"})["ETag"]

    def attempt(number: int) -> int:
        try:
            body = {"id": "urn:1", "submodelDescriptors": [submodel(f"urn:{n}") for n in range(number)]}
            status: int = alice.put(shell_path("urn:1"), body, If_Match=tag).status_code
        finally:
            connection.close()
        return status

    with ThreadPoolExecutor(8) as executor:
        statuses = list(executor.map(attempt, range(1, 17)))
    assert sorted(statuses) == [204, *[412] * 15]
    assert Submodel.objects.count() == statuses.index(204) + 1


@pytest.mark.django_db(transaction=True)
def test_of_many_without_a_tag_the_last_wins_whole(tenant_a: Tenant) -> None:
    """Projections are those of the document, whoever was last; whether the shell was there or not."""

    def attempt(number: int) -> bool:
        listed = [submodel(f"urn:{n}") for n in range(number)]
        document = check_shell({"id": "urn:1", "submodelDescriptors": listed}, strict=False)
        try:
            return services.replace(SHELLS, tenant_a.pk, document)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as executor:
        new = list(executor.map(attempt, range(1, 33)))
    assert new.count(True) == 1
    shell = Shell.objects.get()
    assert Submodel.objects.count() == shell.document.count("urn:") - 1
    assert Endpoint.objects.count() == Submodel.objects.count()
