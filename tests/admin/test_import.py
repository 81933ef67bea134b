"""Import of a file in the admin: sent, checked, looked at, imported; by a process of its own."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django import Settings

from shells import importing, uploads
from shells.generating import shell_body
from shells.models import Change, Shell, Upload
from tenants.models import Role, Tenant
from tests.admin.conftest import member, screenshot, sign_in
from tests.server import Server, running_server

ADD = "/admin/shells/upload/add/"
GOOD = b"".join(shell_body(number) + b"\n" for number in range(3))
BAD = b'{"id":"urn:1"}\n{}\n{"id":"urn:2","assetKind":7}\n'
DATA = Path(__file__).parent.parent.parent.parent / "shared" / "data" / "aasx"

State = Upload.State


@pytest.fixture(autouse=True)
def _uploads_of_the_test(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Files go below the test's directory. Here the test itself is the process that carries out what waits."""
    settings.MEDIA_ROOT = tmp_path / "uploads"
    monkeypatch.setattr(uploads, "start", lambda: None)


def send(client: Client, tenant: Tenant, content: bytes, name: str = "twins.jsonl", **form: str) -> Any:
    file = SimpleUploadedFile(name, content)
    return client.post(ADD, {"tenant": tenant.pk, "on_conflict": "fail", "file": file, **form})


def sent(client: Client, tenant: Tenant, content: bytes, name: str = "twins.jsonl", **form: str) -> Upload:
    response = send(client, tenant, content, name, **form)
    assert response.status_code == 302, response.context["errors"]
    upload = Upload.objects.latest("pk")
    assert response["Location"] == page_of(upload)
    return upload


def page_of(upload: Upload, action: str = "change") -> str:
    return f"/admin/shells/upload/{upload.pk}/{action}/"


def carry_out(upload: Upload) -> Upload:
    call_command("import_uploads")
    upload.refresh_from_db()
    return upload


def counts(upload: Upload) -> dict[str, int]:
    return {name: number for name, number in upload.counts.items() if number}


# --- The way of a file --------------------------------------------------------------------------------


@pytest.fixture
def _committed(transactional_db: None) -> None:
    """How far an import is is written over another connection: what the test writes must be committed."""


@pytest.mark.usefixtures("_committed")
class TestTheWayOfAFile:
    def test_it_is_checked_and_nothing_is_written(self, editor: Client, tenant_a: Tenant) -> None:
        upload = carry_out(sent(editor, tenant_a, GOOD))
        assert (upload.state, counts(upload)) == (State.CHECKED, {"created": 3})
        assert not Shell.objects.exists()

    def test_then_it_is_imported(self, editor: Client, tenant_a: Tenant) -> None:
        upload = carry_out(sent(editor, tenant_a, GOOD))
        assert editor.post(page_of(upload, "import"))["Location"] == page_of(upload)
        upload = carry_out(upload)
        assert (upload.state, counts(upload)) == (State.IMPORTED, {"created": 3})
        assert Shell.objects.of(tenant_a.pk).count() == 3
        assert set(Change.objects.values_list("author", "correlation_id")) == {
            ("editor-of-tenant-a", f"upload {upload.pk}")
        }

    def test_not_twice(self, editor: Client, tenant_a: Tenant) -> None:
        upload = carry_out(sent(editor, tenant_a, GOOD))
        for _ in range(2):
            editor.post(page_of(upload, "import"))
        upload = carry_out(upload)
        page = editor.post(page_of(upload, "import"), follow=True).content.decode()
        assert "It is imported already" in page
        assert Change.objects.count() == 3

    def test_what_is_wrong_is_shown_and_can_be_downloaded(self, editor: Client, tenant_a: Tenant) -> None:
        upload = carry_out(sent(editor, tenant_a, BAD))
        assert counts(upload) == {"created": 1, "rejected": 2}
        page = editor.get(page_of(upload)).content.decode()
        assert "/assetKind" in page
        assert "this member is required" in page
        response: Any = editor.get(page_of(upload, "report"))
        assert 'filename="twins.jsonl.rejected.jsonl"' in response["Content-Disposition"]
        lines = [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]
        assert [(line["line"], line["pointer"]) for line in lines] == [(2, "/id"), (3, "/assetKind")]

    def test_all_or_nothing(self, editor: Client, tenant_a: Tenant) -> None:
        upload = carry_out(sent(editor, tenant_a, BAD, atomic="on"))
        editor.post(page_of(upload, "import"))
        upload = carry_out(upload)
        assert (upload.state, upload.problem) == (
            State.FAILED,
            "something was rejected: nothing was changed",
        )
        assert not Shell.objects.exists()

    @pytest.mark.parametrize(
        ("mode", "found"),
        [("fail", {"rejected": 3}), ("skip", {"skipped": 3}), ("replace", {"unchanged": 3})],
    )
    def test_what_is_registered_already(
        self, editor: Client, tenant_a: Tenant, mode: str, found: dict[str, int]
    ) -> None:
        upload = carry_out(sent(editor, tenant_a, GOOD))
        editor.post(page_of(upload, "import"))
        carry_out(upload)
        assert counts(carry_out(sent(editor, tenant_a, GOOD, on_conflict=mode))) == found

    def test_a_package(self, editor: Client, tenant_a: Tenant) -> None:
        path = DATA / "contact-information-v31.aasx"
        upload = sent(
            editor, tenant_a, path.read_bytes(), path.name, endpoint_base="https://twins.example/api/v3"
        )
        upload = carry_out(upload)
        assert upload.state == State.CHECKED
        assert counts(upload) == {"created": 1}

    def test_no_file_of_ours(self, editor: Client, tenant_a: Tenant) -> None:
        upload = carry_out(sent(editor, tenant_a, b"\x89PNG\r\n\x1a\n", "picture.png"))
        assert counts(upload) == {"rejected": 1}
        assert "is neither JSON nor" in editor.get(page_of(upload)).content.decode()

    def test_a_killed_process_goes_on_where_it_was(
        self, editor: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(importing, "BATCH_ITEMS", 1)
        upload = carry_out(sent(editor, tenant_a, GOOD))
        editor.post(page_of(upload, "import"))

        def killed(notes: Any, counts: importing.Counts) -> None:
            if counts.created == 2:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(uploads._Notes, "progress", killed)
            with pytest.raises(KeyboardInterrupt):
                call_command("import_uploads")
        assert Shell.objects.count() == 2
        upload = carry_out(upload)
        assert (upload.state, counts(upload)) == (State.IMPORTED, {"created": 3})
        assert Change.objects.count() == 3

    def test_what_kills_its_process_is_given_up(
        self, editor: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def killed(*arguments: Any) -> None:
            raise KeyboardInterrupt

        upload = sent(editor, tenant_a, GOOD)
        with monkeypatch.context() as patch:
            patch.setattr(importing, "run", killed)
            for _ in range(uploads.MAX_ATTEMPTS):
                with pytest.raises(KeyboardInterrupt):
                    call_command("import_uploads")
        upload = carry_out(upload)
        assert upload.state == State.FAILED
        assert "is there enough memory?" in upload.problem

    def test_it_can_be_stopped_and_gone_on_with(
        self, editor: Client, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(importing, "BATCH_ITEMS", 1)
        monkeypatch.setattr(uploads, "NOTE_SECONDS", 0.01)
        upload = carry_out(sent(editor, tenant_a, GOOD))
        editor.post(page_of(upload, "import"))
        editor.post(page_of(upload, "stop"))
        written = importing._written

        def slowly(*arguments: Any) -> Any:
            time.sleep(0.3)
            return written(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(importing, "_written", slowly)
            upload = carry_out(upload)
        assert (upload.state, Shell.objects.count()) == (State.STOPPED, 1)
        editor.post(page_of(upload, "import"))
        assert carry_out(upload).state == State.IMPORTED
        assert Shell.objects.count() == 3

    def test_two_files_at_once_are_each_carried_out_once(self, editor: Client, tenant_a: Tenant) -> None:
        first, second = sent(editor, tenant_a, GOOD), sent(editor, tenant_a, BAD)
        assert carry_out(first).state == State.CHECKED
        second.refresh_from_db()
        assert (second.state, second.attempts) == (State.CHECKED, 1)

    def test_deleting_it_deletes_the_file_and_the_report(
        self, editor: Client, tenant_a: Tenant, settings: Settings
    ) -> None:
        upload = carry_out(sent(editor, tenant_a, BAD))
        assert upload.report_path.exists()
        assert editor.post(page_of(upload, "delete"), {"post": "yes"}).status_code == 302
        assert [path for path in Path(settings.MEDIA_ROOT).rglob("*") if path.is_file()] == []

    def test_old_files_are_forgotten(self, editor: Client, tenant_a: Tenant, settings: Settings) -> None:
        upload = carry_out(sent(editor, tenant_a, GOOD))
        settings.UPLOAD_SECONDS = 0
        call_command("import_uploads")
        assert not Upload.objects.filter(pk=upload.pk).exists()


# --- Who may, and what is refused ---------------------------------------------------------------------


class TestWhoMay:
    def test_a_reader_looks_on(self, reader: Client, editor: Client, tenant_a: Tenant) -> None:
        upload = sent(editor, tenant_a, GOOD)
        assert reader.get(page_of(upload)).status_code == 200
        assert reader.get(ADD).status_code == 403
        assert send(reader, tenant_a, GOOD).status_code == 403
        assert reader.post(page_of(upload, "stop")).status_code == 404
        assert reader.post(page_of(upload, "import")).status_code == 404
        assert reader.post(page_of(upload, "delete"), {"post": "yes"}).status_code == 403

    def test_nobody_of_another_tenant(self, editor: Client, tenant_a: Tenant, tenant_b: Tenant) -> None:
        stranger = member(tenant_b, Role.EDITOR)
        upload = sent(editor, tenant_a, GOOD)
        for action in ("progress", "report"):
            assert stranger.get(page_of(upload, action)).status_code == 404
        for action in ("stop", "import"):
            assert stranger.post(page_of(upload, action)).status_code == 404

    def test_not_into_another_tenant(self, editor: Client, tenant_b: Tenant) -> None:
        response = send(editor, tenant_b, GOOD)
        assert response.status_code == 200
        assert "tenant" in response.context["adminform"].form.errors
        assert not Upload.objects.exists()

    def test_what_acts_is_a_post(self, editor: Client, tenant_a: Tenant) -> None:
        upload = sent(editor, tenant_a, GOOD)
        assert editor.get(page_of(upload, "import")).status_code == 405

    def test_while_it_is_worked_on_it_cannot_be_deleted(self, editor: Client, tenant_a: Tenant) -> None:
        upload = sent(editor, tenant_a, GOOD)
        assert editor.post(page_of(upload, "delete"), {"post": "yes"}).status_code == 403


def test_too_large(editor: Client, tenant_a: Tenant, settings: Settings) -> None:
    settings.MAX_UPLOAD_BYTES = 100
    response = send(editor, tenant_a, GOOD)
    assert response.status_code == 413
    assert response.content == b"the file is too large: at most 100 bytes are taken"
    assert not Upload.objects.exists()


def test_an_empty_file(editor: Client, tenant_a: Tenant) -> None:
    response = send(editor, tenant_a, b"")
    assert "The submitted file is empty." in response.content.decode()


# --- In the browser -----------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "plant-7.jsonl"
    path.write_bytes(b"".join(shell_body(number, 7) + b"\n" for number in range(2500)) + BAD)
    return path


def test_in_the_browser(page: Page, server: Server, file: Path) -> None:
    page.goto(ADD)
    screenshot(page, "import-add")
    page.get_by_label("Tenant").select_option(label="demo")
    page.set_input_files("#id_file", file)
    page.get_by_role("button", name="Send and check").click()
    expect(page.get_by_role("heading", name="Checked; nothing was written yet")).to_be_visible(timeout=60_000)
    expect(page.locator("[data-count=created]")).to_have_text("2,501")
    expect(page.locator("[data-count=rejected]")).to_have_text("2")
    expect(page.get_by_role("cell", name="/assetKind")).to_be_visible()
    screenshot(page, "import-checked")
    page.get_by_role("button", name="Import all but what is rejected").click()
    expect(page.get_by_role("heading", name="Imported", exact=True)).to_be_visible(timeout=60_000)
    screenshot(page, "import-imported")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the whole report").click()
    assert len(Path(download.value.path()).read_bytes().splitlines()) == 2
    page.goto("/admin/shells/upload/")
    expect(page.get_by_role("cell", name="2,501 created, 2 rejected")).to_be_visible()
    screenshot(page, "imports")


def test_a_killed_server_goes_on_when_it_starts_again(tmp_path: Path, browser: Browser) -> None:
    """Server, import and database end at once in the middle of an import."""
    file = tmp_path / "many.jsonl"
    file.write_bytes(b"".join(shell_body(number) + b"\n" for number in range(6000)))
    with running_server(tmp_path) as server:
        context = browser.new_context(base_url=server.url)
        page = context.new_page()
        sign_in(page)
        page.goto(ADD)
        page.set_input_files("#id_file", file)
        page.get_by_role("button", name="Send and check").click()
        page.get_by_role("button", name="Import", exact=True).click(timeout=60_000)
        created = page.locator("[data-count=created]")
        expect(created).not_to_have_text(re.compile("^(0|6,000)$"), timeout=60_000)
        server.kill()
        server.start()
        expect(page.get_by_role("heading", name="Imported", exact=True)).to_be_visible(timeout=60_000)
        expect(created).to_have_text("6,000")
        context.close()
        exported = server.manage("export_shells", "--tenant", "demo").splitlines()
        assert exported == file.read_text().splitlines()
