"""manage.py export_shells: what comes out is what went in."""

import gzip
import io
import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from shells import exporting, services
from shells.collections import SHELLS
from shells.descriptors import parse_shell
from shells.exporting import Filters, Format, export
from shells.generating import shell_body
from shells.models import Shell
from tenants.models import Tenant
from tests.bodies import CONTRACT_EXAMPLE, EVERYTHING

DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "aasx"

pytestmark = pytest.mark.django_db(transaction=True)


def register(tenant: Tenant, *bodies: bytes) -> None:
    documents = [parse_shell(body, strict=False) for body in bodies]
    services.register_many(SHELLS, tenant.pk, documents)


def exported(tenant: Tenant, format_: Format = Format.JSON_LINES, **filters: Any) -> bytes:
    stream = io.BytesIO()
    export(tenant.pk, stream, format_, Filters(**filters))
    return stream.getvalue()


def ids(content: bytes) -> list[str]:
    return [json.loads(line)["id"] for line in content.splitlines()]


def test_it_works(tenant_a: Tenant, tmp_path: Path) -> None:
    register(tenant_a, shell_body(1), shell_body(0))
    output, errors = tmp_path / "a.jsonl", StringIO()
    call_command("export_shells", "--tenant", "tenant-a", "--output", str(output), stderr=errors)
    assert output.read_bytes() == shell_body(1) + b"\n" + shell_body(0) + b"\n"
    assert errors.getvalue() == "exported 2 shells\n"
    assert list(tmp_path.iterdir()) == [output]


def test_formats(tenant_a: Tenant) -> None:
    assert exported(tenant_a) == b""
    assert exported(tenant_a, Format.JSON) == b"[]\n"
    register(tenant_a, *map(shell_body, range(3)))
    lines = exported(tenant_a)
    assert json.loads(exported(tenant_a, Format.JSON)) == [json.loads(line) for line in lines.splitlines()]
    assert gzip.decompress(exported(tenant_a, Format.GZIP)) == lines
    assert zstandard.ZstdDecompressor().stream_reader(exported(tenant_a, Format.ZSTD)).read() == lines


def test_filters(tenant_a: Tenant) -> None:
    register(tenant_a, json.dumps(CONTRACT_EXAMPLE).encode(), json.dumps(EVERYTHING).encode())
    assert ids(exported(tenant_a, asset_kind="Type")) == []
    assert ids(exported(tenant_a, asset_type="urn:type")) == ["urn:everything"]
    assert ids(exported(tenant_a, asset_ids=[("serialNumber", "1111")])) == ["1111-shell"]
    assert ids(exported(tenant_a, asset_ids=[("globalAssetId", "urn:asset")])) == ["urn:everything"]
    hour = timedelta(hours=1)
    assert len(ids(exported(tenant_a, created_from=timezone.now() - hour))) == 2
    assert ids(exported(tenant_a, updated_from=timezone.now() + hour)) == []


def test_options(tenant_a: Tenant, tmp_path: Path) -> None:
    register(tenant_a, json.dumps(CONTRACT_EXAMPLE).encode(), json.dumps(EVERYTHING).encode())
    output = tmp_path / "a.jsonl"
    options = ["--asset-kind", "Instance", "--asset-id", "serialNumber=4711", "--created-from", "2020-01-01"]
    call_command(
        "export_shells", "--tenant", "tenant-a", "--output", str(output), *options, stderr=StringIO()
    )
    assert ids(output.read_bytes()) == ["urn:everything"]
    for wrong in (["--asset-id", "4711"], ["--created-from", "yesterday"], ["--format", "xml"]):
        with pytest.raises(CommandError):
            call_command("export_shells", "--tenant", "tenant-a", *wrong)


@pytest.mark.parametrize("format_", Format)
def test_an_import_of_an_export_is_the_same_byte_for_byte(
    tenant_a: Tenant, tenant_b: Tenant, tmp_path: Path, format_: Format
) -> None:
    odd = [b'{"id":"urn:1","x":1.50,"y":1e30,"z":[12345678901234567890123]}', b'{"id":"\\u00e4\\"\\\\\\n"}']
    register(tenant_a, *odd, json.dumps(EVERYTHING).encode(), *map(shell_body, range(1200)))
    files = [str(path) for path in sorted(DATA.iterdir()) if not path.name.startswith("digital")]
    options = ["--on-conflict", "skip", "--endpoint-base", "https://example.org"]
    call_command("import_shells", "--tenant", "tenant-a", *files, *options, stdout=StringIO())
    path = tmp_path / "export"
    path.write_bytes(exported(tenant_a, format_))
    call_command("import_shells", "--tenant", "tenant-b", str(path), stdout=StringIO())
    assert exported(tenant_b) == exported(tenant_a)
    assert Shell.objects.of(tenant_b.pk).count() == 1207


def test_one_moment(tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """What others write while an export runs is not in it."""
    monkeypatch.setattr(exporting, "CHUNK_ROWS", 10)
    register(tenant_a, *map(shell_body, range(30)))
    other = connection.copy()

    def change(written: int) -> None:
        with other.cursor() as cursor:
            cursor.execute("DELETE FROM shells_shell WHERE identifier LIKE '%%9'")

    stream = io.BytesIO()
    try:
        assert export(tenant_a.pk, stream, progress=change) == 30
    finally:
        other.close()
    assert stream.getvalue() == b"".join(shell_body(number) + b"\n" for number in range(30))
    assert len(ids(exported(tenant_a))) == 27


def test_an_unknown_tenant() -> None:
    with pytest.raises(CommandError, match=r"^there is no tenant 'nobody'$"):
        call_command("export_shells", "--tenant", "nobody")


def test_a_directory_that_is_not_there(tenant_a: Tenant, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"^cannot be written: No such file"):
        call_command("export_shells", "--tenant", "tenant-a", "--output", str(tmp_path / "none" / "a"))
