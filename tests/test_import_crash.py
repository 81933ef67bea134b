"""Imports in processes of their own, on a database of their own, that are killed, cut off, or not alone."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from registry_project.postgresql import embedded
from shells.generating import shell_body, shell_id
from tests.server import ROOT

pytestmark = pytest.mark.xdist_group("crash")

ITEMS = 8_000
BAD_LINES = (17, 3_001, 7_999)


HOLD = """
import sys
from pathlib import Path
from registry_project.postgresql import embedded
print(embedded.socket_directory(Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


class Registry:
    """A database with one tenant for each test, and `manage.py` on it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},
            "VAR_DIR": str(directory / "var"),
            "LOG_LEVEL": "ERROR",
        }
        # A process of its own holds the database up, and stops it: those of pytest-xdist end without a word.
        self.holder = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(directory / "var" / "postgresql")],
            cwd=ROOT, env=self.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self.holder.stdout is not None
        host = self.holder.stdout.readline().strip()
        self.manage("migrate", "--verbosity", "0")
        self.connection = psycopg.connect(
            host=host, user=embedded.USER, dbname=embedded.DATABASE, autocommit=True
        )

    def close(self) -> None:
        self.connection.close()
        self.holder.communicate()
        assert self.holder.returncode == 0

    def start(self, *arguments: object) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "manage.py", *map(str, arguments)],
            cwd=ROOT, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def manage(self, *arguments: object) -> str:
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        return output

    def query(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, parameters).fetchall()

    def wait_until_connected(self, process: "subprocess.Popen[str]") -> None:
        """Wait until another session than ours has begun; starting Django takes longer than an import."""
        deadline = time.monotonic() + 60
        others = (
            "SELECT FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid != pg_backend_pid()"
            " AND query LIKE '%%advisory%%'"
        )
        while process.poll() is None and not self.query(others) and time.monotonic() < deadline:
            time.sleep(0.01)

    def tenant(self, name: str) -> str:
        self.manage("create_tenant", name)
        return name

    def documents(self, tenant: str) -> Iterator[str]:
        sql = (
            "SELECT document FROM shells_shell AS shell JOIN tenants_tenant AS tenant ON tenant.id = tenant_id"
            " WHERE tenant.identifier = %s ORDER BY shell.id"
        )
        return (document for (document,) in self.query(sql, tenant))


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    registry = Registry(tmp_path_factory.mktemp("crash"))
    yield registry
    registry.close()


def small(number: int) -> bytes:
    return json.dumps(
        {
            "id": shell_id(number),
            "specificAssetIds": [{"name": "serialNumber", "value": str(number)}],
            "submodelDescriptors": [{"id": f"urn:{number}"}],
        },
        separators=(",", ":"),
    ).encode()


@pytest.fixture(scope="module")
def file(registry: Registry) -> Path:
    path = registry.directory / "shells.jsonl"
    with open(path, "wb") as output:
        for line in range(1, ITEMS + 1):
            output.write(b"bad\n" if line in BAD_LINES else small(line) + b"\n")
    return path


@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.soak)])
def test_killed_at_random_moments(registry: Registry, file: Path, kills: int) -> None:
    tenant = registry.tenant(f"killed-{kills}")
    report = registry.directory / "report.jsonl"
    command = ["import_shells", "--tenant", tenant, "--resume", "--report", report, file]
    seed = random.randrange(10**6)
    moments = random.Random(seed)
    progress = []
    for _ in range(kills):
        process = registry.start(*command)
        registry.wait_until_connected(process)
        time.sleep(moments.uniform(0, 0.5))
        children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.send_signal(signal.SIGKILL)
        process.communicate()
        alive = psutil.wait_procs(children, timeout=10)[1]
        assert not [child for child in alive if "postgres" not in child.name()], f"seed {seed}"
        progress.append(len(list(registry.documents(tenant))))
    process = registry.start(*command, "--json")
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 1, f"seed {seed}"
    assert errors.endswith(f"CommandError: {len(BAD_LINES)} of {ITEMS} were rejected\n"), errors
    assert json.loads(output)["created"] == ITEMS - len(BAD_LINES), f"seed {seed}, {progress}"
    expected = [small(line).decode() for line in range(1, ITEMS + 1) if line not in BAD_LINES]
    assert list(registry.documents(tenant)) == expected, f"seed {seed}, {progress}"
    assert [json.loads(line)["line"] for line in report.read_text().splitlines()] == list(BAD_LINES)
    registry.manage("rebuild_projections", "--check", "--tenant", tenant)


def test_the_database_ends_the_session(registry: Registry, file: Path) -> None:
    tenant = registry.tenant("cut-off")
    process = registry.start("import_shells", "--tenant", tenant, file)
    deadline = time.monotonic() + 60
    while not registry.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY shells\\_%%'"
    ):
        assert time.monotonic() < deadline
        assert process.poll() is None
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    last = errors.splitlines()[-1]
    assert last.startswith("CommandError: the database failed (")
    assert last.endswith("items; --resume goes on from there")
    assert "Traceback" not in errors
    process = registry.start("import_shells", "--tenant", tenant, file, "--resume", "--json")
    output, _ = process.communicate(timeout=120)
    assert json.loads(output)["created"] == ITEMS - len(BAD_LINES) == len(list(registry.documents(tenant)))


def test_two_imports_of_the_same_content_at_once(registry: Registry, file: Path) -> None:
    """Two names of one file: neither fails, and what one creates, the other meets."""
    tenant = registry.tenant("two")
    copy = registry.directory / "copy.jsonl"
    copy.write_bytes(file.read_bytes())
    processes = [
        registry.start("import_shells", "--tenant", tenant, path, "--on-conflict", "skip", "--json")
        for path in (file, copy)
    ]
    counts = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    assert sum(found["created"] for found in counts) == ITEMS - len(BAD_LINES)
    assert [found["created"] + found["skipped"] for found in counts] == [ITEMS - len(BAD_LINES)] * 2
    assert len(list(registry.documents(tenant))) == ITEMS - len(BAD_LINES)


def test_the_same_file_twice_at_once(registry: Registry, file: Path) -> None:
    tenant = registry.tenant("twice")
    processes = [registry.start("import_shells", "--tenant", tenant, file) for _ in range(2)]
    errors = [process.communicate(timeout=120)[1] for process in processes]
    assert len(list(registry.documents(tenant))) == ITEMS - len(BAD_LINES)
    # The second one waited, and met all as registered, or gave up waiting.
    said = [error.splitlines()[-1] for error in errors]
    first = f"CommandError: {len(BAD_LINES)} of {ITEMS} were rejected"
    assert first in said, errors
    said.remove(first)
    assert said[0] in (
        f"CommandError: {ITEMS} of {ITEMS} were rejected",
        "CommandError: another process is importing the same files into this tenant",
    ), errors


def test_a_pipe(registry: Registry) -> None:
    """What one command writes, another reads: generate | import, export, import: nothing is lost or changed."""
    generated = registry.manage("generate_shells", 1_200, "--seed", 7)
    assert generated.encode() == b"".join(shell_body(number, 7) + b"\n" for number in range(1_200))
    tenant = registry.tenant("pipe")
    process = registry.start("generate_shells", 1_200, "--seed", 7)
    imported = subprocess.run(
        [sys.executable, "manage.py", "import_shells", "--tenant", tenant, "-", "--json"],
        cwd=ROOT, env=registry.environment, stdin=process.stdout, capture_output=True, check=True,
    )  # fmt: skip
    process.communicate()
    assert json.loads(imported.stdout)["created"] == 1_200
    assert registry.manage("export_shells", "--tenant", tenant) == generated
