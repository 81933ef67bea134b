"""manage.py import_shells: forms, modes, the report, and input that is bad."""

import contextlib
import gzip
import io
import json
import os
import re
import sys
import threading
import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from shells import importing, querysets, services
from shells.collections import SHELLS
from shells.copying import Prepared, prepare
from shells.descriptors import parse_shell
from shells.generating import shell_body, shell_id
from shells.identifiers import digest
from shells.importing import Options
from shells.models import AssetId, AssetLinks, Endpoint, ImportRun, Shell, Submodel
from shells.services import imports
from shells.sources import packing
from shells.sources.feeds import Files, Upload
from tenants.models import Tenant
from tests.bodies import CONTRACT_EXAMPLE, EVERYTHING

DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "aasx"
COMMON = ["--tenant", "tenant-a", "--json", "--processes", "1"]


def run(*arguments: object) -> dict[str, int]:
    """The counts of an import that took everything."""
    output = StringIO()
    call_command("import_shells", *COMMON, *map(str, arguments), stdout=output)
    counts: dict[str, int] = json.loads(output.getvalue())
    return {name: number for name, number in counts.items() if number}


def refused(*arguments: object) -> tuple[dict[str, int], str, str]:
    """Counts, what was shown, and the last line of an import that did not take everything."""
    output, errors = StringIO(), StringIO()
    with pytest.raises(CommandError) as refusal:
        call_command("import_shells", *COMMON, *map(str, arguments), stdout=output, stderr=errors)
    assert refusal.value.returncode == 1
    assert "\n" not in str(refusal.value)
    counts = json.loads(output.getvalue() or "{}")
    return (
        {name: number for name, number in counts.items() if number},
        errors.getvalue(),
        str(refusal.value),
    )


def lines(path: Path, *descriptors: dict[str, Any] | bytes) -> Path:
    bodies = [item if isinstance(item, bytes) else json.dumps(item).encode() for item in descriptors]
    path.write_bytes(b"".join(body + b"\n" for body in bodies))
    return path


def generated(path: Path, count: int, first: int = 0) -> Path:
    return lines(path, *(shell_body(number) for number in range(first, first + count)))


def rows() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Shell, Submodel, Endpoint, AssetId))


def stored(identifier: str, tenant: Tenant) -> dict[str, Any] | None:
    found = querysets.stored(SHELLS, tenant.pk, identifier)
    return None if found is None else json.loads(found.document)


@pytest.fixture(autouse=True)
def _tenant(tenant_a: Tenant) -> None: ...


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "BATCH_ITEMS", 2)


class TestImport:
    def test_it_works(self, tenant_a: Tenant, tmp_path: Path) -> None:
        assert run(lines(tmp_path / "a.jsonl", CONTRACT_EXAMPLE, EVERYTHING)) == {"created": 2}
        assert stored("1111-shell", tenant_a) == CONTRACT_EXAMPLE
        assert stored("urn:everything", tenant_a) == EVERYTHING

    def test_the_same_rows_as_by_registration(
        self, tenant_a: Tenant, tenant_b: Tenant, tmp_path: Path
    ) -> None:
        tricky = {
            "id": 'urn:\t\\N\n\\.\\t"é😀',
            "idShort": "\\N",
            "specificAssetIds": [{"name": "\\", "value": "a\tb\\nc"}],
            "submodelDescriptors": [{"id": "\\N", "semanticId": {"keys": [{"value": '"\\'}], "type": "x\\"}}],
        }
        bodies = [CONTRACT_EXAMPLE, EVERYTHING, tricky]
        tricky["submodelDescriptors"][0]["semanticId"]["type"] = "ExternalReference"  # type: ignore[index]
        tricky["submodelDescriptors"][0]["semanticId"]["keys"][0]["type"] = "File"  # type: ignore[index]
        assert run(lines(tmp_path / "a.jsonl", *bodies)) == {"created": 3}
        for body in bodies:
            services.register(SHELLS, tenant_b.pk, parse_shell(json.dumps(body).encode(), strict=False))
        for model in (Shell, Submodel, Endpoint, AssetId):
            names = [
                field.attname
                for field in model._meta.fields
                if field.name not in ("id", "tenant", "shell", "created_at", "updated_at", "pair")
            ]
            imported, registered = (
                list(model.objects.filter(tenant=tenant).order_by("id").values(*names))
                for tenant in (tenant_a, tenant_b)
            )
            assert imported == registered
        assert rows() == (6, 6, 8, 8)
        call_command("rebuild_projections", "--check", stdout=StringIO())

    def test_several_sources_and_a_directory(self, tmp_path: Path) -> None:
        directory = tmp_path / "directory"
        directory.mkdir()
        generated(directory / "a.jsonl", 2)
        generated(directory / "b.jsonl", 2, first=2)
        assert run(generated(tmp_path / "c.jsonl", 1, first=9), directory) == {"created": 5}
        order = Shell.objects.order_by("pk").values_list("identifier", flat=True)
        assert list(order) == [shell_id(number) for number in (9, 0, 1, 2, 3)]

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"id":"urn:1"}\n{"id":"urn:2"}')))
        assert run("-") == {"created": 2}

    def test_the_real_files(self, tenant_a: Tenant, tmp_path: Path) -> None:
        names = [
            "contact-information-v31",
            "handover-documentation-sample-v31",
            "reliability",
            "time-series-data",
        ]
        counts = run(*(DATA / f"{name}.aasx" for name in names), "--endpoint-base", "https://example.org/api")
        assert counts == {"created": 4}
        assert rows() == (4, 4, 8, 0)
        assert run(DATA / "reliability.json", "--on-conflict", "skip") == {"skipped": 1}

    def test_on_all_cores(self, tmp_path: Path, small_batches: None) -> None:
        path = lines(tmp_path / "a.jsonl", *(shell_body(number) for number in range(9)), b"{", shell_body(9))
        counts, shown, _ = refused(path, "--processes", 2)
        assert counts == {"created": 10, "rejected": 1}
        assert shown.startswith(f"{path}, line 10: no JSON: ")
        order = Shell.objects.order_by("pk").values_list("identifier", flat=True)
        assert list(order) == [shell_id(number) for number in range(10)]

    def test_for_people(self, tmp_path: Path) -> None:
        output = StringIO()
        path = generated(tmp_path / "a.jsonl", 1)
        call_command("import_shells", "--tenant", "tenant-a", str(path), stdout=output)
        assert output.getvalue() == "1 created, 0 replaced, 0 unchanged, 0 skipped, 0 rejected\n"

    def test_what_was_set_through_discovery_is_over(self, tenant_a: Tenant, tmp_path: Path) -> None:
        services.set_asset_links(tenant_a.pk, shell_id(0), [{"name": "a", "value": "b"}])
        run(generated(tmp_path / "a.jsonl", 1))
        assert not AssetLinks.objects.exists()

    def test_an_upload(self, tenant_a: Tenant, tmp_path: Path) -> None:
        """What the upload page of the admin calls."""
        (tmp_path / "x").write_bytes(b'[{"id":"urn:1"},{}]')
        rejections: list[importing.Rejection] = []
        report = importing.Report(show=rejections.append)
        feed = Upload("a.json", str(tmp_path / "x"), None)
        counts = importing.run(tenant_a.pk, feed, Options(strict=False), report)
        assert (counts.created, counts.rejected) == (1, 1)
        assert [str(rejection) for rejection in rejections] == [
            "a.json, line 1: /id: this member is required"
        ]


class TestModes:
    def test_fail(self, tenant_a: Tenant, tmp_path: Path) -> None:
        run(lines(tmp_path / "a.jsonl", {"id": "urn:1"}))
        path = lines(tmp_path / "b.jsonl", {"id": "urn:2"}, {"id": "urn:1", "idShort": "new"})
        counts, shown, last = refused(path)
        assert counts == {"created": 1, "rejected": 1}
        assert shown == f"{path}, line 2: /id: a shell with this id is registered already\n"
        assert last == "1 of 2 were rejected"
        assert stored("urn:1", tenant_a) == {"id": "urn:1"}

    def test_skip(self, tenant_a: Tenant, tmp_path: Path) -> None:
        run(lines(tmp_path / "a.jsonl", {"id": "urn:1"}))
        path = lines(tmp_path / "b.jsonl", {"id": "urn:2"}, {"id": "urn:1", "idShort": "new"})
        assert run(path, "--on-conflict", "skip") == {"created": 1, "skipped": 1}
        assert stored("urn:1", tenant_a) == {"id": "urn:1"}

    def test_replace(self, tenant_a: Tenant, tmp_path: Path) -> None:
        everything = {**EVERYTHING, "id": "urn:1"}
        run(lines(tmp_path / "a.jsonl", everything, {"id": "urn:2"}, {"id": "urn:3"}))
        before = dict(Shell.objects.values_list("identifier", "updated_at"))
        keys = dict(Shell.objects.values_list("identifier", "pk"))
        changed = {"id": "urn:2", **{name: EVERYTHING[name] for name in EVERYTHING if name != "id"}}
        path = lines(tmp_path / "b.jsonl", {"id": "urn:1"}, changed, {"id": "urn:3"}, {"id": "urn:4"})
        assert run(path, "--on-conflict", "replace") == {"created": 1, "replaced": 2, "unchanged": 1}
        assert stored("urn:1", tenant_a) == {"id": "urn:1"}
        assert stored("urn:2", tenant_a) == changed
        assert rows() == (4, 1, 2, 1)
        assert keys.items() <= dict(Shell.objects.values_list("identifier", "pk")).items()
        assert Shell.objects.get(identifier="urn:3").updated_at == before["urn:3"]
        call_command("rebuild_projections", "--check", stdout=StringIO())

    @pytest.mark.parametrize(
        ("mode", "counts", "short"),
        [
            ("skip", {"created": 1, "skipped": 2}, "a"),
            ("replace", {"created": 1, "replaced": 2}, "c"),
            ("fail", {"created": 1, "rejected": 2}, "a"),
        ],
    )
    @pytest.mark.parametrize("size", [1, 2, 100])
    def test_items_with_one_id_in_one_file(
        self, tenant_a: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str,
        counts: dict[str, int], short: str, size: int,
    ) -> None:  # fmt: skip
        """Each meets what became of the one before, wherever batches end; a dry run foresees the same."""
        monkeypatch.setattr(importing, "BATCH_ITEMS", size)
        path = lines(tmp_path / "a.jsonl", *({"id": "urn:1", "idShort": short} for short in "abc"))
        for options in (["--dry-run"], []):
            arguments = [path, "--on-conflict", mode, *options]
            found = refused(*arguments)[0] if mode == "fail" else run(*arguments)
            assert found == counts
        assert stored("urn:1", tenant_a) == {"id": "urn:1", "idShort": short}

    def test_a_dry_run_writes_nothing(self, tmp_path: Path) -> None:
        path = lines(tmp_path / "a.jsonl", {"id": "urn:1"}, {"id": 5}, {"id": "urn:2"})
        counts, shown, _ = refused(path, "--dry-run")
        assert counts == {"created": 2, "rejected": 1}
        assert shown == f"{path}, line 2: /id: must be a string\n"
        assert rows() == (0, 0, 0, 0)
        assert not ImportRun.objects.exists()

    def test_atomic(self, tmp_path: Path, small_batches: None) -> None:
        path = generated(tmp_path / "a.jsonl", 5)
        assert run(path, "--atomic") == {"created": 5}
        bad = lines(tmp_path / "b.jsonl", *(shell_body(number) for number in range(10, 16)), {})
        counts, _, last = refused(bad, "--atomic")
        assert counts == {"rejected": 1}
        assert last.endswith("nothing was changed")
        assert Shell.objects.count() == 5

    def test_validation(self, tenant_a: Tenant, strict_tenant: Tenant, tmp_path: Path) -> None:
        path = lines(tmp_path / "a.jsonl", {"id": "urn:1", "x": 1})
        assert refused(path, "--validation", "strict")[0] == {"rejected": 1}
        assert refused(path, "--tenant", "tenant-strict")[0] == {"rejected": 1}
        assert run(path, "--tenant", "tenant-strict", "--validation", "lenient") == {"created": 1}

    def test_an_unknown_tenant(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match=r"^there is no tenant 'nobody'$"):
            run("--tenant", "nobody", tmp_path)

    def test_no_source(self) -> None:
        with pytest.raises(CommandError, match="name either files or another registry"):
            run()


class TestReport:
    def test_it_names_line_id_pointer_and_reason(self, tmp_path: Path) -> None:
        bad = {"id": "urn:2", "assetKind": 7, "submodelDescriptors": [{}]}
        path = lines(tmp_path / "a.jsonl", {"id": "urn:1"}, bad, b"[1", {"id": "urn:1"})
        report = tmp_path / "report.jsonl"
        refused(path, "--report", report)
        first, second, third = map(json.loads, report.read_text().splitlines())
        assert first["source"] == str(path)
        assert (first["line"], first["id"], first["pointer"]) == (2, "urn:2", "/assetKind")
        assert [other["pointer"] for other in first["more"]] == ["/submodelDescriptors/0/id"]
        assert (second["line"], second["id"], second["pointer"]) == (3, None, "")
        assert second["reason"].startswith("no JSON: ")
        assert third == {
            "source": str(path), "line": 4, "id": "urn:1", "pointer": "/id",
            "reason": "a shell with this id is registered already",
        }  # fmt: skip

    def test_only_the_first_are_shown(self, tmp_path: Path) -> None:
        _, shown, _ = refused(lines(tmp_path / "a.jsonl", *([b"x"] * 12), {"id": "urn:1"}, *([b"x"] * 3)))
        assert len(shown.splitlines()) == 1
        _, shown, _ = refused(lines(tmp_path / "b.jsonl", {"id": "urn:2"}, *([b"x"] * 12)))
        assert len(shown.splitlines()) == 11
        assert shown.endswith("… and 2 more rejected\n")

    def test_a_report_that_cannot_be_written(self, tmp_path: Path) -> None:
        _, _, last = refused(generated(tmp_path / "a.jsonl", 1), "--report", tmp_path / "none" / "report")
        assert "No such file" in last


class TestResume:
    def failing_after(self, monkeypatch: pytest.MonkeyPatch, batches: int) -> None:
        """The database goes away with batch `batches`, after its rows were written."""
        note, calls = services.note_run, []

        def note_run(*arguments: Any, **options: Any) -> None:
            calls.append(1)
            if len(calls) == batches:
                raise DatabaseError("the connection is lost\nand more")
            note(*arguments, **options)

        monkeypatch.setattr(services, "note_run", note_run)

    @pytest.mark.parametrize("batches", [1, 2, 3, 4])
    def test_the_database_goes_away(
        self, tmp_path: Path, small_batches: None, monkeypatch: pytest.MonkeyPatch, batches: int
    ) -> None:
        path = lines(tmp_path / "a.jsonl", *(shell_body(number) for number in range(4)), b"x", shell_body(4))
        report = tmp_path / "report"
        with monkeypatch.context() as broken:
            self.failing_after(broken, batches)
            _, _, last = refused(path, "--report", report)
        taken = min(2 * (batches - 1), 5)
        done = min(2 * (batches - 1), 6)
        assert (
            last
            == f"the database failed (the connection is lost) after {done} items; --resume goes on from there"
        )
        assert Shell.objects.count() == taken
        counts, _, _ = refused(path, "--resume", "--report", report)
        assert counts == {"created": 5, "rejected": 1}
        assert Shell.objects.count() == 5
        (rejected,) = report.read_text().splitlines()
        assert json.loads(rejected)["line"] == 5

    def test_what_is_finished_is_not_done_again(self, tmp_path: Path) -> None:
        path = generated(tmp_path / "a.jsonl", 3)
        assert run(path, "--resume") == {"created": 3}
        assert run(path, "--resume") == {"created": 3}
        run_ = ImportRun.objects.get()
        assert run_.finished_at is not None
        assert str(run_) == str(path)

    def test_a_file_that_has_changed(self, tmp_path: Path) -> None:
        path = generated(tmp_path / "a.jsonl", 3)
        run(path)
        generated(path, 4)
        assert "the files have changed" in refused(path, "--resume")[2]

    def test_what_leaves_nothing_to_resume(self, tmp_path: Path) -> None:
        path = generated(tmp_path / "a.jsonl", 1)
        assert "leave nothing to resume" in refused(path, "--resume", "--atomic")[2]
        assert "leave nothing to resume" in refused(path, "--resume", "--dry-run")[2]
        assert "standard input cannot be read again" in refused("-", "--resume")[2]

    def test_ctrl_c(self, tmp_path: Path, small_batches: None, monkeypatch: pytest.MonkeyPatch) -> None:
        path = generated(tmp_path / "a.jsonl", 5)
        copy_many, calls = services.copy_many, []

        def interrupted(*arguments: Any, **options: Any) -> Any:
            calls.append(1)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return copy_many(*arguments, **options)

        with monkeypatch.context() as patched:
            patched.setattr(services, "copy_many", interrupted)
            with pytest.raises(CommandError, match=r"^stopped after 2 items; --resume") as refusal:
                run(path)
        assert refusal.value.returncode == 130
        assert Shell.objects.count() == 2
        assert run(path, "--resume") == {"created": 5}


class TestBadInput:
    """A message that names file and line, nothing half-written, the rest taken."""

    def test_mixed_good_and_bad_lines(self, tmp_path: Path) -> None:
        path = lines(tmp_path / "a.jsonl", {"id": "urn:1"}, b'{"id":', b"\xff", {"id": ""}, {"id": "urn:2"})
        counts, shown, _ = refused(path)
        assert counts == {"created": 2, "rejected": 3}
        assert [text.partition(": ")[0] for text in shown.splitlines()] == [
            f"{path}, line {number}" for number in (2, 3, 4)
        ]

    def test_a_file_that_was_cut_off(self, tmp_path: Path) -> None:
        """What came before the cut is taken, and so are the other files."""
        path = tmp_path / "a.json"
        path.write_bytes(b'[{"id":"urn:1"},\n{"id":"urn:2"},\n{"id":"ur')
        counts, shown, _ = refused(path, lines(tmp_path / "b.jsonl", {"id": "urn:3"}))
        assert counts == {"created": 3, "rejected": 1}
        assert shown.startswith(f"{path}, line 3: no JSON: ")

    def test_a_directory_of_everything(self, tmp_path: Path) -> None:
        outside = tmp_path / "outside.jsonl"
        lines(outside, {"id": "urn:outside"})
        directory = tmp_path / "directory"
        directory.mkdir()
        (directory / "a.jsonl").symlink_to(outside)
        (directory / "b.jsonl").write_text('{"id":"urn:1"}', encoding="utf-16")
        (directory / "c.aasx").write_bytes((DATA / "digital-nameplate-sample.aasx").read_bytes())
        lines(directory / "d.jsonl", {"id": "urn:2"})
        counts, shown, _ = refused(directory)
        assert counts == {"created": 1, "rejected": 3}
        first, second, third = shown.splitlines()
        assert first == f"{directory}/a.jsonl: is a symbolic link that leads out of the directory"
        assert second == f"{directory}/b.jsonl: is UTF-16, or no text: convert it to UTF-8"
        assert third.startswith(f"{directory}/c.aasx: ")
        assert "metamodel 2.0" in third

    def test_gzip_that_was_cut_off(self, tmp_path: Path) -> None:
        """What could be unpacked is taken; mended and given again, the rest is."""
        path = tmp_path / "a.jsonl.gz"
        whole = gzip.compress(b"".join(shell_body(number) + b"\n" for number in range(50)))
        path.write_bytes(whole[:-2000])
        counts, shown, _ = refused(path, lines(tmp_path / "b.jsonl", {"id": "urn:b"}))
        assert 0 < counts["created"] < 51
        assert counts["rejected"] == 1
        line = counts["created"]  # those of this file and one of the other
        assert line > 20
        assert shown == f"{path}, line {line}: the gzip data ends too early: the file was cut off\n"
        path.write_bytes(whole)
        run(path, "--on-conflict", "skip")
        assert Shell.objects.count() == 51

    def test_a_bomb(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(packing, "ALWAYS_ALLOWED_BYTES", 1024 * 1024)
        path = tmp_path / "a.jsonl.gz"
        path.write_bytes(gzip.compress(b'{"id":"urn:1"}\n' + b" " * 20_000_000))
        counts, shown, _ = refused(path)
        assert counts == {"created": 1, "rejected": 1}
        assert shown.startswith(f"{path}")
        assert "taken for a bomb" in shown

    def test_an_entity_bomb(self, tmp_path: Path) -> None:
        path = tmp_path / "a.xml"
        path.write_bytes(b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x>&b;</x>')
        counts, shown, _ = refused(path, lines(tmp_path / "b.jsonl", {"id": "urn:b"}))
        assert counts == {"created": 1, "rejected": 1}
        assert shown.startswith(f"{path}")
        assert "document type or entities" in shown

    def test_a_path_traversal(self, tmp_path: Path) -> None:
        path = tmp_path / "a.aasx"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("../evil.xml", b"<x/>")
        counts, shown, _ = refused(path)
        assert counts == {"rejected": 1}
        assert shown == f"{path}: has a part whose name leads out of the package: '../evil.xml'\n"

    def test_a_line_of_100_mib(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_bytes(b'{"id":"urn:1"}\n"' + b"x" * (100 * 1024 * 1024) + b'"\n{"id":"urn:3"}\n')
        counts, shown, _ = refused(path)
        assert counts == {"created": 2, "rejected": 1}
        assert shown == f"{path}, line 2: the line is longer than 8388608 bytes\n"

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        counts, shown, _ = refused(tmp_path / "none.jsonl")
        assert counts == {"rejected": 1}
        assert shown == f"{tmp_path}/none.jsonl: cannot be opened: No such file or directory\n"

    def test_texts_that_are_none(self, tmp_path: Path) -> None:
        path = lines(tmp_path / "a.jsonl", b'{"id":"\\ud800"}', b'{"id":1,"\\ud800":1}', {"id": "urn:1"})
        report = tmp_path / "report"
        assert refused(path, "--report", report)[0] == {"created": 1, "rejected": 2}
        assert len(report.read_text().splitlines()) == 2

    def test_a_name_that_is_no_text(self, tmp_path: Path) -> None:
        path = lines(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl")), {"id": "urn:1"}, b"x")
        report = tmp_path / "report"
        counts, shown, _ = refused(path, "--report", report)
        assert counts == {"created": 1, "rejected": 1}
        assert "\\udcff.jsonl, line 2: " in shown
        assert refused(path, "--resume", "--report", report)[0] == counts

    def test_an_identifier_that_is_too_long(self, tmp_path: Path) -> None:
        path = lines(tmp_path / "a.jsonl", {"id": "ä" * 2048}, {"id": "x" * 2049}, {"id": "a\0b"})
        assert refused(path)[0] == {"created": 1, "rejected": 2}


@pytest.mark.django_db(transaction=True)
class TestAtTheSameTime:
    def test_the_same_file_twice(
        self, tenant_a: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(importing, "OTHER_IMPORT_SECONDS", 0)
        path = generated(tmp_path / "a.jsonl", 1)
        key = importing._Checkpoint(tenant_a.pk, Files([str(path)], None), Options(strict=False)).key
        with connection.copy().cursor() as other:
            other.execute("SELECT pg_advisory_lock(%s)", [int(key[:16], 16) - 2**63])
            assert "another process is importing the same files" in refused(path)[2]
            other.connection.close()
        assert run(path) == {"created": 1}

    def test_somebody_registers_what_is_being_copied(
        self, tenant_a: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Between the look at what is there and the copy, somebody else is faster: that is met, not fatal."""
        path = generated(tmp_path / "a.jsonl", 3)
        present = imports._present
        calls: list[int] = []

        def then_registered(*arguments: Any) -> Any:
            found = present(*arguments)
            if not calls:
                calls.append(1)
                other = connection.copy()
                with other.cursor() as cursor:
                    sql = (
                        "INSERT INTO shells_shell (tenant_id, digest, identifier, document)"
                        " VALUES (%s, %s, %s, '{}')"
                    )
                    cursor.execute(sql, [tenant_a.pk, digest(shell_id(1)), shell_id(1)])
                other.close()
            return found

        monkeypatch.setattr(imports, "_present", then_registered)
        counts, shown, _ = refused(path)
        assert counts == {"created": 2, "rejected": 1}
        assert "line 2: /id: a shell with this id is registered already" in shown
        assert rows()[0] == 3

    def test_a_batch_that_fails_leaves_nothing(self, tenant_a: Tenant, tmp_path: Path) -> None:
        documents = [parse_shell(shell_body(number), strict=False) for number in range(2)]
        prepared = [prepare(SHELLS, tenant_a.pk, document) for document in documents]
        broken = Prepared(prepared[1].id, prepared[1].digest, "", prepared[1].row, [b"\0\tno number\n"] * 3)
        with pytest.raises(DatabaseError), transaction.atomic():
            services.copy_many(SHELLS, tenant_a.pk, [prepared[0], broken], services.OnConflict.FAIL)
        assert rows() == (0, 0, 0, 0)


def test_on_a_terminal_a_bar_shows_how_far_it_is(
    tenant_a: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is rejected stands above it; without a terminal these are lines (above)."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    file = lines(tmp_path / "shells.jsonl", *map(shell_body, range(20)), {"idShort": "Without"})
    ours, theirs = os.openpty()
    shown = b""

    def read() -> None:
        nonlocal shown
        with contextlib.suppress(OSError):  # nobody writes any more
            while block := os.read(ours, 4096):
                shown += block

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(theirs, "w") as terminal, pytest.raises(CommandError, match="1 of 21 were rejected"):
        call_command("import_shells", *COMMON, str(file), stdout=StringIO(), stderr=terminal)
    reader.join()
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert "100%" in text
    assert re.search(r"21 items, \d+/s, 1 rejected", text)
    assert re.search(r"shells\.jsonl.*21.*/id", text)
    assert "━" in text
