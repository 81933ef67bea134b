"""The page of a shell says what its descriptor says, to people who have never seen one; and what became of it."""

import html
import re

import pytest
from django.test import Client
from pytest_django import Settings

from shells.identifiers import encode
from shells.models import Change, Shell
from tests.bodies import CONTRACT_EXAMPLE, EVERYTHING, endpoint, reference, submodel
from tests.conftest import Persona, shell_path


def page(client: Client, address: str = "") -> str:
    response = client.get(address or f"/admin/shells/shell/{Shell.objects.get().pk}/change/")
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def links(text: str) -> list[str]:
    return re.findall(r'<a href="([^"]*)" target="_blank" rel="noopener noreferrer">', text)


class TestReading:
    def test_what_the_descriptor_says(self, reader: Client, alice: Persona) -> None:
        alice.register(CONTRACT_EXAMPLE)
        text = page(reader)
        for said in (
            "the display name",
            "the description",
            "1111-global-asset",
            "1111-asset-type",
            "Instance",
        ):
            assert said in text
        for said in ("serialNumber", "p-1111", "urn:partner:1", "everybody"):
            assert f"<bdi>{said}</bdi>" in text

    def test_every_member_of_the_data_model_can_be_shown(
        self, strict_alice: Persona, admin_client: Client
    ) -> None:
        strict_alice.register(EVERYTHING)
        text = page(admin_client)
        for said in ("urn:creator", "urn:template", "Everything"):
            assert said in text

    def test_hardly_any_member(self, reader: Client, alice: Persona) -> None:
        alice.register({"id": "urn:1", "submodelDescriptors": [{"id": "urn:sm"}]})
        assert "urn:sm" in page(reader)

    @pytest.mark.parametrize(
        ("language", "name"), [("de", "Antrieb"), ("de-AT", "Antrieb"), ("en", "Drive"), ("fr", "Drive")]
    )
    def test_in_the_language_of_the_reader(
        self, reader: Client, alice: Persona, settings: Settings, language: str, name: str
    ) -> None:
        settings.LANGUAGE_CODE = language
        names = [{"language": "de-DE", "text": "Antrieb"}, {"language": "en", "text": "Drive"}]
        alice.register({"id": "urn:1", "displayName": names})
        text = page(reader)
        assert f"<h2><bdi>{name}</bdi></h2>" in text
        assert "Antrieb" in text
        assert "Drive" in text

    def test_links_lead_to_the_web_only(self, reader: Client, alice: Persona) -> None:
        good = ["https://example.org/a?b=1&c=2", "HTTP://192.0.2.1:80/"]
        bad = [
            "javascript:alert(1)",
            "data:text/html,x",
            "opc.tcp://192.0.2.1:4840",
            " https://a.example",
            "https:",
            "//a.example",
        ]
        alice.register({"id": "urn:1", "endpoints": [endpoint(href) for href in good + bad]})
        text = page(reader)
        assert links(text) == good
        for href in bad:
            assert f"<bdi>{href}</bdi>" in text

    @pytest.mark.parametrize("base", ["", "https://registry.example.com"])
    def test_its_address_in_the_api(
        self, reader: Client, alice: Persona, settings: Settings, base: str
    ) -> None:
        settings.BASE_URL = base
        alice.register({"id": "urn:a/b?c"})
        url = f"{base or 'http://testserver'}/aas-api/v3/tenant-a/shell-descriptors/{encode('urn:a/b?c')}"
        text = page(reader)
        assert f'<bdi id="api-url">{url}</bdi>' in text
        assert f"curl -H \"Authorization: Bearer $TOKEN\" '{url}'" in text
        assert alice.get(url[url.index("/aas-api") :].removeprefix(alice.base)).json()["id"] == "urn:a/b?c"

    def test_asset_links_that_were_set_through_discovery(self, reader: Client, alice: Persona) -> None:
        alice.register(CONTRACT_EXAMPLE)
        alice.post(f"/lookup/shells/{encode('1111-shell')}", [{"name": "rfid", "value": "77-88"}])
        assert "77-88" in page(reader)

    def test_a_document_too_long_for_a_tree_is_text(self, reader: Client, alice: Persona) -> None:
        ids = [{"name": "n", "value": str(number)} for number in range(12_000)]
        alice.register({"id": "urn:1", "specificAssetIds": ids})
        text = page(reader)
        assert "json-node" not in text
        assert '"value": "11999"' in text


class TestHistory:
    @pytest.fixture(autouse=True)
    def _life(self, alice: Persona) -> None:
        alice.register({"id": "urn:1", "idShort": "Ab"})
        alice.put(shell_path("urn:1"), {"id": "urn:1", "idShort": "Bc"})
        alice.put(shell_path("urn:1"), {"id": "urn:1", "idShort": "Cd"})

    def differences(self, client: Client, address: str) -> list[list[str]]:
        shown = client.get(address).context["shown"]
        return [
            [line.sign + line.text.strip() for line in difference if line.sign in "+-"]
            for _, difference in shown
        ]

    def test_each_change_with_its_difference(self, reader: Client) -> None:
        assert self.differences(reader, f"/admin/shells/shell/{Shell.objects.get().pk}/history/") == [
            ['-"idShort": "Bc"', '+"idShort": "Cd"'],
            ['-"idShort": "Ab"', '+"idShort": "Bc"'],
            ["+{", '+"id": "urn:1",', '+"idShort": "Ab"', "+}"],
        ]

    def test_a_change_has_a_page_that_leads_to_the_shell(self, reader: Client, alice: Persona) -> None:
        key = Shell.objects.get().pk
        change = Change.objects.order_by("pk")[1]
        text = page(reader, f"/admin/shells/change/{change.pk}/change/")
        assert f'href="/admin/shells/shell/{key}/change/"' in text
        assert '"idShort": "Bc"' in text
        alice.delete(shell_path("urn:1"))
        removed = Change.objects.latest("pk")
        response = reader.get(f"/admin/shells/change/{removed.pk}/change/")
        assert response.context["url"] is None
        assert {line.sign for line in response.context["difference"]} == {"-"}

    def test_a_shell_that_was_removed_and_registered_again(self, reader: Client, alice: Persona) -> None:
        alice.delete(shell_path("urn:1"))
        alice.register({"id": "urn:1"})
        found = self.differences(reader, f"/admin/shells/shell/{Shell.objects.get().pk}/history/")
        assert found[0] == ["+{", '+"id": "urn:1"', "+}"]
        assert found[1] == ["-{", '-"id": "urn:1",', '-"idShort": "Cd"', "-}"]

    def test_a_long_history_has_pages(self, reader: Client, alice: Persona) -> None:
        for number in range(12):
            alice.put(shell_path("urn:1"), {"id": "urn:1", "idShort": f"S{number}"})
        address = f"/admin/shells/shell/{Shell.objects.get().pk}/history/"
        first = reader.get(address)
        last = first.context["shown"][-1].change.pk
        second = reader.get(address, {"before": last})
        keys = [item.change.pk for item in [*first.context["shown"], *second.context["shown"]]]
        assert keys == sorted(Change.objects.values_list("pk", flat=True), reverse=True)
        for nonsense in ("x", "9" * 40, "-1"):
            assert reader.get(address, {"before": nonsense}).status_code == 200

    def test_the_list_by_action_and_author(self, reader: Client, editor: Client) -> None:
        def found(**query: str) -> list[str]:
            rows = reader.get("/admin/shells/change/", query).context["cl"].result_list
            return [row.action for row in rows]

        assert found() == ["replaced", "replaced", "registered"]
        assert found(action="registered") == ["registered"]
        assert found(author="alice") == found()
        assert found(author="alic") == []
        assert found(q="urn:1") == found()


def test_standalone_submodels_have_the_same_page(reader: Client, alice: Persona) -> None:
    alice.post("/submodel-descriptors", submodel("urn:sm", semanticId=reference("urn:semantic")))
    row = reader.get("/admin/shells/standalonesubmodel/").context["cl"].result_list[0]
    text = page(reader, f"/admin/shells/standalonesubmodel/{row.pk}/change/")
    assert "urn:semantic" in text
    assert links(text) == ["https://example.org/submodel"]


@pytest.mark.parametrize("key", ["0", "x", "9" * 40, "_5F"])
@pytest.mark.parametrize("model", ["shell", "change", "standalonesubmodel"])
def test_a_page_that_is_not_there(reader: Client, alice: Persona, model: str, key: str) -> None:
    assert reader.get(f"/admin/shells/{model}/{key}/change/").status_code == 302
