"""`make bench-import`: descriptors per second of `import_shells`, beside what PostgreSQL itself takes.

One run measures, on one machine and in turn: the import of a file of generated descriptors; the raw COPY of
exactly the rows that it wrote, into the same emptied tables with the same indexes; registration one by one
through the service. Only ratios within one run mean something.
"""

import argparse
import filecmp
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg

ROOT = Path(__file__).resolve().parent.parent
VAR = ROOT / "var" / "bench-import"
TENANT = "import"
#: The tables in the order in which rows refer to each other.
TABLES = ("shells_shell", "shells_submodel", "shells_endpoint", "shells_assetid")
ENVIRONMENT = {**os.environ, "VAR_DIR": str(VAR), "LOG_LEVEL": "ERROR"}
SLICE = 100_000
GOALS = {"raw": 0.35, "one by one": 20}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="descriptors (default 100,000)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one-by-one", type=int, default=2_000, help="registered one by one in each round")
    options = parser.parse_args()

    from registry_project.postgresql import embedded

    VAR.mkdir(parents=True, exist_ok=True)
    host = embedded.socket_directory(VAR / "postgresql")
    manage("migrate", "--verbosity", "0")
    with psycopg.connect(
        host=host, user=embedded.USER, dbname=embedded.DATABASE, autocommit=True
    ) as database:
        if not database.execute("SELECT 1 FROM tenants_tenant WHERE identifier = %s", [TENANT]).fetchone():
            manage("create_tenant", TENANT)
        file = VAR / f"{options.count}.jsonl"
        if not file.exists():
            with open(file, "wb") as output:
                command = [sys.executable, "manage.py", "generate_shells", str(options.count)]
                subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, stdout=output, check=True)
        rounds = [measure(database, file, options.count, options.one_by_one) for _ in range(options.rounds)]
        empty(database)
    report(rounds)


def measure(database: "psycopg.Connection[Any]", file: Path, count: int, one_by_one: int) -> dict[str, float]:
    empty(database)
    found = imported(database, file, count)
    found["export"] = count / exported(file)
    found["raw"] = count / raw_copy(database)
    empty(database)
    found["one by one"] = float(
        manage("shell", "-v0", "-c", _ONE_BY_ONE.format(count=one_by_one, tenant=TENANT))
    )
    shown = "  ".join(f"{name} {number:.0f}" for name, number in found.items())
    print(shown, flush=True)
    return found


def imported(database: "psycopg.Connection[Any]", file: Path, count: int) -> dict[str, float]:
    """Import the file. Returns rates for the whole, the first and the last slice, and the most memory."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "manage.py", "import_shells", "--tenant", TENANT, str(file)],
        cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    peak = Peak(process.pid)
    passed: list[tuple[float, int]] = [(time.perf_counter(), 0)]
    while process.poll() is None:
        row = database.execute("SELECT item FROM shells_importrun WHERE finished_at IS NULL").fetchone()
        if row is not None and row[0] != passed[-1][1]:
            passed.append((time.perf_counter(), row[0]))
        time.sleep(0.05)
    seconds = time.perf_counter() - started
    peak.stop()
    _, errors = process.communicate()
    if process.returncode:
        sys.exit(errors)
    passed.append((time.perf_counter(), count))
    size = min(SLICE, count // 4)
    return {
        "import": count / seconds,
        "first slice": rate(passed, passed[1][1], size),
        "last slice": rate(passed, count - size, count),
        "memory": peak.bytes / 1024 / 1024,
    }


def exported(file: Path) -> float:
    """Seconds of the export; what comes out must be the file that went in, byte for byte."""
    output = VAR / "export.jsonl"
    started = time.perf_counter()
    manage("export_shells", "--tenant", TENANT, "--output", str(output))
    seconds = time.perf_counter() - started
    if not filecmp.cmp(output, file, shallow=False):
        sys.exit(f"{output} differs from {file}")
    output.unlink()
    return seconds


def rate(passed: list[tuple[float, int]], first: int, last: int) -> float:
    """Items a second between two numbers of items, as near to these as was looked."""
    start = next(found for found in passed if found[1] >= first)
    end = next(found for found in passed if found[1] >= last)
    return (end[1] - start[1]) / max(end[0] - start[0], 0.001)


class Peak:
    """The most memory that a process and its children take together, looked at ten times a second.

    Pages that they share count once: PSS, not RSS.
    """

    def __init__(self, pid: int) -> None:
        self.bytes = 0
        self._process = psutil.Process(pid)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stopped.wait(0.1):
            self.bytes = max(self.bytes, sum(self._sizes()))

    def _sizes(self) -> Iterator[int]:
        try:
            for process in (self._process, *self._process.children(recursive=True)):
                if not process.name().startswith("postgres"):
                    yield process.memory_full_info().pss
        except psutil.Error:  # it has just ended
            return


def raw_copy(database: "psycopg.Connection[Any]") -> float:
    """Seconds of the COPY of the rows that are there, into the same tables after these were emptied."""
    files = {table: VAR / f"{table}.copy" for table in TABLES}
    for table, path in files.items():
        with open(path, "wb") as output, database.cursor().copy(f"COPY {table} TO STDOUT") as copy:
            for block in copy:
                output.write(block)
    empty(database)
    seconds = 0.0
    for table, path in files.items():
        started = time.perf_counter()
        with open(path, "rb") as stream, database.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            while block := stream.read(256 * 1024):
                copy.write(block)
        seconds += time.perf_counter() - started
        path.unlink()
    return seconds


def empty(database: "psycopg.Connection[Any]") -> None:
    database.execute(f"TRUNCATE {', '.join(TABLES)}, shells_importrun")
    database.execute("CHECKPOINT")


def report(rounds: list[dict[str, float]]) -> None:
    print()
    rates = {name: statistics.median(found[name] for found in rounds) for name in rounds[0]}
    print(f"import       {rates['import']:8.0f}/s")
    print(f"export       {rates['export']:8.0f}/s   the same as what was imported, byte for byte")
    for name, goal in GOALS.items():
        ratios = [found["import"] / found[name] for found in rounds]
        spread = f"(rounds {min(ratios):.2f} to {max(ratios):.2f})"
        ratio = statistics.median(ratios)
        print(f"{name:12} {rates[name]:8.0f}/s   import / {name} {ratio:.2f} {spread}  goal ≥ {goal}")
    ratios = [found["last slice"] / found["first slice"] for found in rounds]
    print(f"last slice / first slice {statistics.median(ratios):.2f}  goal 0.8 to 1.2")
    print(f"memory of all processes at most {max(found['memory'] for found in rounds):.0f} MiB  goal ≤ 400")


_ONE_BY_ONE = """
import time
from shells import services
from shells.collections import SHELLS
from shells.descriptors import parse_shell
from shells.generating import shell_body
from tenants.models import Tenant
tenant = Tenant.objects.get(identifier={tenant!r})
bodies = [shell_body(number) for number in range({count})]
started = time.perf_counter()
for body in bodies:
    services.register(SHELLS, tenant.pk, parse_shell(body, strict=False))
print({count} / (time.perf_counter() - started))
"""


def manage(*arguments: str) -> str:
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, env=ENVIRONMENT, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
