"""An editor writes descriptors in the admin: checked as over the API, never over what somebody else wrote."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from shells.models import Change, Shell, StandaloneSubmodel
from tenants.models import Membership, Role, Tenant
from tests.admin.conftest import member
from tests.bodies import CONTRACT_EXAMPLE, submodel
from tests.conftest import Persona, shell_path

ADD = "/admin/shells/shell/add/"


def page_of(identifier: str) -> str:
    return f"/admin/shells/shell/{Shell.objects.get(identifier=identifier).pk}/change/"


def form_of(client: Client, address: str) -> dict[str, str]:
    """What the browser would send, as it stands in the editor."""
    response = client.get(f"{address}?edit=1")
    assert response.status_code == 200
    form = response.context["form"]
    return {name: str(form[name].value() or "") for name in ("tenant", "identifier", "version", "document")}


@pytest.fixture
def shell(alice: Persona) -> str:
    alice.register(CONTRACT_EXAMPLE)
    return page_of("1111-shell")


def edited(form: dict[str, str], **members: Any) -> dict[str, str]:
    return {**form, "document": json.dumps({**json.loads(form["document"]), **members}, indent=2)}


class TestEdit:
    def test_what_is_saved_is_what_the_api_returns(self, editor: Client, alice: Persona, shell: str) -> None:
        response = editor.post(shell, edited(form_of(editor, shell), idShort="Edited"))
        assert response.status_code == 302
        assert response["Location"] == shell
        assert alice.fetch("1111-shell").json() == {**CONTRACT_EXAMPLE, "idShort": "Edited"}

    def test_it_is_noted_who_did_it_in_which_request(self, editor: Client, shell: str) -> None:
        response = editor.post(shell, edited(form_of(editor, shell), idShort="Edited"))
        change = Change.objects.latest("pk")
        assert (change.action, change.author) == ("replaced", "editor-of-tenant-a")
        assert change.correlation_id == response["X-Request-ID"]
        assert json.loads(change.before or "") == CONTRACT_EXAMPLE

    def test_saving_without_a_change_writes_nothing(self, editor: Client, shell: str) -> None:
        assert editor.post(shell, form_of(editor, shell)).status_code == 302
        assert Change.objects.filter(action="replaced").count() == 0

    def test_each_defect_is_shown_with_its_line_and_nothing_typed_is_lost(
        self, editor: Client, shell: str
    ) -> None:
        form = form_of(editor, shell)
        form["document"] = form["document"].replace('"Instance"', '"Instanz"').replace('"en"', '"?"', 1)
        response = editor.post(shell, form)
        assert response.status_code == 200
        lines = form["document"].split("\n")
        shown = {defect.pointer: lines[line - 1] for line, defect in response.context["defects"]}
        assert shown["/assetKind"].strip() == '"assetKind": "Instanz",'
        assert response.context["form"]["document"].value() == form["document"]
        assert Shell.objects.get().asset_kind == "Instance"

    @pytest.mark.parametrize(
        ("document", "line"),
        [('{\n "id": "1111-shell",\n}', 3), ("", None), ("[]", 1), ("{}", 1), ("{\n\n1", 3)],
    )
    def test_what_is_no_descriptor(self, editor: Client, shell: str, document: str, line: int | None) -> None:
        response = editor.post(shell, {**form_of(editor, shell), "document": document})
        assert response.status_code == 200
        assert [line for line, _ in response.context["defects"]][:1] == ([] if line is None else [line])
        assert Change.objects.count() == 1

    def test_the_id_cannot_be_changed(self, editor: Client, shell: str) -> None:
        response = editor.post(shell, edited(form_of(editor, shell), id="other"))
        assert [defect.pointer for _, defect in response.context["defects"]] == ["/id"]
        assert [item.identifier for item in Shell.objects.all()] == ["1111-shell"]

    def test_a_strict_tenant_is_strict_here_too(self, strict_tenant: Tenant, strict_alice: Persona) -> None:
        strict_alice.register({"id": "urn:1"})
        client = member(strict_tenant, Role.EDITOR)
        response = client.post(page_of("urn:1"), edited(form_of(client, page_of("urn:1")), unknown=1))
        assert response.context["defects"][0][1].pointer == "/unknown"


class TestConflict:
    def test_a_write_over_the_api_in_between_is_shown_and_kept(
        self, editor: Client, alice: Persona, shell: str
    ) -> None:
        form = edited(form_of(editor, shell), idShort="Mine")
        alice.put(shell_path("1111-shell"), {**CONTRACT_EXAMPLE, "idShort": "Theirs"})
        response = editor.post(shell, form)
        assert response.status_code == 200
        signs = {line.sign + line.text.strip() for line in response.context["difference"]}
        assert {'-"idShort": "Theirs",', '+"idShort": "Mine",'} <= signs
        assert response.context["form"]["document"].value() == form["document"]
        assert Shell.objects.get().id_short == "Theirs"

    def test_it_is_overwritten_knowingly_but_not_what_came_after(
        self, editor: Client, alice: Persona, shell: str
    ) -> None:
        form = edited(form_of(editor, shell), idShort="Mine")
        alice.put(shell_path("1111-shell"), {**CONTRACT_EXAMPLE, "idShort": "Theirs"})
        form["version"] = str(editor.post(shell, form).context["form"]["version"].value())
        alice.put(shell_path("1111-shell"), {**CONTRACT_EXAMPLE, "idShort": "Later"})
        again = editor.post(shell, form)
        assert again.context["refusal"].is_conflict
        form["version"] = str(again.context["form"]["version"].value())
        assert editor.post(shell, form).status_code == 302
        assert Shell.objects.get().id_short == "Mine"

    def test_what_was_removed_in_between_can_be_registered_again(
        self, editor: Client, alice: Persona, shell: str
    ) -> None:
        form = edited(form_of(editor, shell), idShort="Mine")
        alice.delete(shell_path("1111-shell"))
        response = editor.post(shell, form)
        assert response.context["refusal"].is_conflict
        assert response.context["form"]["document"].value() == form["document"]
        assert Shell.objects.count() == 0
        form["version"] = str(response.context["form"]["version"].value() or "")
        assert editor.post(shell, form)["Location"] == page_of("1111-shell")


class TestRegister:
    def test_a_new_shell(self, editor: Client, tenant_a: Tenant, alice: Persona) -> None:
        form = {"tenant": tenant_a.pk, "document": json.dumps(CONTRACT_EXAMPLE)}
        assert editor.post(ADD, form)["Location"] == page_of("1111-shell")
        assert alice.fetch("1111-shell").json() == CONTRACT_EXAMPLE

    def test_an_id_that_is_taken(self, editor: Client, tenant_a: Tenant, shell: str) -> None:
        response = editor.post(ADD, {"tenant": tenant_a.pk, "document": '{"id": "1111-shell"}'})
        assert [defect.pointer for _, defect in response.context["defects"]] == ["/id"]
        assert Shell.objects.get().id_short == "1111-short"

    def test_in_tenants_of_which_one_is_an_editor_only(self, editor: Client, tenant_b: Tenant) -> None:
        assert [str(item) for item in editor.get(ADD).context["form"].fields["tenant"].queryset] == [
            "tenant-a"
        ]
        response = editor.post(ADD, {"tenant": tenant_b.pk, "document": '{"id": "urn:1"}'})
        assert response.status_code == 200
        assert response.context["form"].errors["tenant"]
        assert Shell.objects.count() == 0

    def test_a_standalone_submodel(self, editor: Client, tenant_a: Tenant) -> None:
        form = {"tenant": tenant_a.pk, "document": json.dumps(submodel("urn:sm"))}
        location = editor.post("/admin/shells/standalonesubmodel/add/", form)["Location"]
        assert StandaloneSubmodel.objects.get().identifier == "urn:sm"
        page = editor.get(location)
        assert page.status_code == 200
        changed = edited(form_of(editor, location), idShort="Nameplate")
        assert editor.post(location, changed).status_code == 302
        assert StandaloneSubmodel.objects.get().id_short == "Nameplate"


class TestDelete:
    def test_it_says_what_goes_with_it(self, editor: Client, shell: str) -> None:
        page = editor.get(shell.replace("change", "delete"))
        counts = dict(page.context["model_count"])
        assert counts == {"shells": 1, "submodels": 1, "endpoints": 2, "asset ids": 2}
        assert editor.post(shell.replace("change", "delete"), {"post": "yes"}).status_code == 302
        assert Shell.objects.count() == 0
        assert Change.objects.latest("pk").author == "editor-of-tenant-a"

    def test_many_at_once(self, editor: Client, alice: Persona, shell: str) -> None:
        alice.register({"id": "urn:2"})
        alice.register({"id": "urn:3"})
        keys = list(Shell.objects.exclude(identifier="urn:3").values_list("pk", flat=True))
        form: dict[str, Any] = {"action": "delete_selected", "_selected_action": keys}
        page = editor.post("/admin/shells/shell/", form)
        assert dict(page.context["model_count"])["shells"] == 2
        assert editor.post("/admin/shells/shell/", {**form, "post": "yes"}).status_code == 302
        assert [item.identifier for item in Shell.objects.all()] == ["urn:3"]

    def test_not_those_of_a_tenant_where_one_only_reads(
        self, tenant_a: Tenant, tenant_b: Tenant, alice: Persona, charlie: Persona
    ) -> None:
        client = member(tenant_a, Role.EDITOR, "both")
        person = User.objects.get(username="both")
        Membership.objects.create(person=person, tenant=tenant_b, role=Role.READER)
        alice.register({"id": "urn:a"})
        charlie.register({"id": "urn:b"})
        form: dict[str, Any] = {
            "action": "delete_selected",
            "_selected_action": list(Shell.objects.values_list("pk", flat=True)),
            "post": "yes",
        }
        assert client.post("/admin/shells/shell/", form).status_code == 403
        assert client.post(page_of("urn:b"), {}).status_code == 403
        assert Shell.objects.count() == 2


class TestReaders:
    def test_see_everything_and_change_nothing(self, reader: Client, editor: Client, shell: str) -> None:
        page = reader.get(shell).content.decode()
        assert "?edit=1" not in page
        assert "/delete/" not in page
        form = edited(form_of(editor, shell), idShort="Mine")
        assert reader.get(f"{shell}?edit=1").status_code == 403
        assert reader.post(shell, form).status_code == 403
        assert reader.get(ADD).status_code == 403
        assert reader.post(ADD, form).status_code == 403
        assert reader.post(shell.replace("change", "delete"), {"post": "yes"}).status_code == 403
        selected = {"action": "delete_selected", "_selected_action": Shell.objects.get().pk, "post": "yes"}
        reader.post("/admin/shells/shell/", selected)
        assert Shell.objects.get().id_short == "1111-short"

    def test_of_another_tenant_see_nothing(self, tenant_b: Tenant, editor: Client, shell: str) -> None:
        other = member(tenant_b, Role.ADMIN)
        form = edited(form_of(editor, shell), idShort="Mine")
        for address in (shell, shell.replace("change", "history"), shell.replace("change", "delete")):
            assert other.get(address).status_code in (302, 403)
        assert other.post(shell, form).status_code in (200, 403)
        assert Shell.objects.get().id_short == "1111-short"
