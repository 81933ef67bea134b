"""Submodels, endpoints and asset ids: who points where, who has which id; each leads to its shell."""

import pytest
from django.test import Client

from shells.models import Shell
from tests.bodies import endpoint, reference, submodel
from tests.conftest import Persona


def found(client: Client, model: str, **query: str) -> list[str]:
    response = client.get(f"/admin/shells/{model}/", query)
    assert response.status_code == 200
    return [str(row) for row in response.context["cl"].result_list]


@pytest.fixture(autouse=True)
def _registered(alice: Persona, charlie: Persona) -> None:
    alice.register(
        {
            "id": "urn:1",
            "endpoints": [
                endpoint("https://user@EDC.example.com:8443/a?b#c"),
                endpoint("opc.tcp://192.0.2.1:4840"),
            ],
            "specificAssetIds": [
                {"name": "serialNumber", "value": "4711"},
                {"name": "batch", "value": "4711"},
            ],
            "submodelDescriptors": [
                submodel(
                    "urn:sm",
                    semanticId=reference("urn:semantic"),
                    endpoints=[endpoint("http://[2001:db8::1]/")],
                )
            ],
        }
    )
    charlie.register({"id": "urn:2", "specificAssetIds": [{"name": "serialNumber", "value": "4711"}]})


@pytest.mark.parametrize(
    ("host", "number"),
    [
        ("edc.example.com", 1),
        ("EDC.EXAMPLE.COM", 1),
        ("https://edc.example.com/other", 1),
        ("edc.example.com:8443", 1),
        ("192.0.2.1", 1),
        ("[2001:db8::1]", 1),
        ("http://[2001:db8::1]:80/", 1),
        ("example.com", 0),
        ("edc.example", 0),
        ("urn:1", 3),
        ("https://[", 0),
        ("://", 0),
    ],
)
def test_endpoints_at_a_host(reader: Client, host: str, number: int) -> None:
    assert len(found(reader, "endpoint", q=host)) == number


@pytest.mark.parametrize(
    ("term", "names"),
    [
        ("serialNumber=4711", ["serialNumber=4711"]),
        ("4711", ["batch=4711", "serialNumber=4711"]),
        ("471", []),
        ("urn:1", ["batch=4711", "serialNumber=4711"]),
        ("urn:2", []),
    ],
)
def test_who_has_this_asset_id(reader: Client, term: str, names: list[str]) -> None:
    assert sorted(found(reader, "assetid", q=term)) == names


def test_submodels_by_identifier_and_by_semantic_id(reader: Client) -> None:
    assert found(reader, "submodel", q="urn:sm") == ["urn:sm"]
    assert found(reader, "submodel", q="urn:1") == ["urn:sm"]
    assert found(reader, "submodel", semantic_id="urn:semantic") == ["urn:sm"]
    assert found(reader, "submodel", semantic_id="urn:other") == []


@pytest.mark.parametrize("model", ["submodel", "endpoint", "assetid"])
def test_a_row_leads_to_its_shell(reader: Client, model: str) -> None:
    page = reader.get(f"/admin/shells/{model}/").content.decode()
    assert f'href="/admin/shells/shell/{Shell.objects.get(identifier="urn:1").pk}/change/"' in page
    assert "urn:2" not in page


@pytest.mark.parametrize("model", ["submodel", "endpoint", "assetid"])
def test_the_history_is_that_of_the_shell(admin_client: Client, reader: Client, model: str) -> None:
    """Within the own tenants."""
    for row in admin_client.get(f"/admin/shells/{model}/").context["cl"].result_list:
        address, shell = f"/admin/shells/{model}/{row.pk}/history/", row.shell
        history = f"/admin/shells/shell/{shell.pk}/history/"
        assert admin_client.get(address).headers["Location"] == history
        theirs = reader.get(address).headers["Location"]
        assert theirs == (history if shell.tenant.identifier == "tenant-a" else "/admin/")
