"""`make bench`: requests per second of GET by id and POST, beside a Django view that does nothing.

Everything runs at once on this machine: PostgreSQL, two servers with two workers each, and wrk. Only
ratios within one run mean something; rounds are interleaved and the median counts.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import httpx2

from shells.generating import shell_body, shell_id

ROOT = Path(__file__).resolve().parent.parent
VAR = ROOT / "var" / "bench"
PORT, NOOP_PORT = 8701, 8702
TENANT = "bench"
BATCH = 500
ENVIRONMENT = {
    **os.environ,
    "DEBUG": "False",
    "VAR_DIR": str(VAR),
    "SECRET_KEY": "bench" * 20,
    "SECRET_DIGEST_KEY": "bench",
    "ALLOWED_HOSTS": "127.0.0.1",
    "AUTH_URL": f"http://127.0.0.1:{PORT}",
    "SIGNING_KEYS_DIR": str(VAR / "signing-keys"),
    "REQUIRE_HTTPS": "False",
    "WORKERS": "2",
    "TOKEN_LIFETIME_SECONDS": "86400",
}
GOALS = {"GET by id": 0.28, "POST create": 0.11}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stored", type=int, default=100_000, help="shells stored before (default 100,000)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=8, help="per measurement")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing: it comes from Debian's package of that name (apt-get install wrk)")

    with held_database():
        token_request = prepare(options.stored)
        with server("registry_project.settings", PORT), server("benchmarks.noop", NOOP_PORT):
            os.environ["TOKEN"] = token(token_request)
            report(measure(options.stored, options.rounds, options.seconds))


def prepare(stored: int) -> dict[str, str]:
    """Migrate, make a tenant and a module, store shells up to `stored`; return the module's credentials."""
    (VAR / "signing-keys").mkdir(parents=True, exist_ok=True)
    key = VAR / "signing-keys" / "bench.pem"
    if not key.exists():
        from joserfc.jwk import RSAKey

        key.write_bytes(RSAKey.generate_key(2048).as_pem(private=True))
    manage("migrate", "--verbosity", "0")
    manage("shell", "-v0", "-c", _TENANT)
    credentials: dict[str, str] = json.loads(manage("add_module", TENANT, f"wrk-{time.time_ns()}", "--json"))
    present = int(manage("shell", "-v0", "-c", _COUNT).strip())
    if present < stored:
        print(f"storing {stored - present} shells …", flush=True)
        half = (stored - present) // 2
        started = time.perf_counter()
        with ProcessPoolExecutor(2) as executor:
            list(executor.map(fill, [present, present + half], [present + half, stored]))
        print(f"  {(stored - present) / (time.perf_counter() - started):.0f} shells/s")
        manage(
            "shell",
            "-v0",
            "-c",
            "from django.db import connection; connection.cursor().execute('VACUUM ANALYZE')",
        )
    return credentials


_TENANT = f"""
from tenants.models import Tenant
from tenants.services import create_tenant
Tenant.objects.filter(identifier={TENANT!r}).exists() or create_tenant({TENANT!r})
"""
_COUNT = f"""
from shells.models import Shell
print(Shell.objects.filter(tenant__identifier={TENANT!r}, identifier__lt={shell_id(100_000_000)!r}).count())
"""


def fill(first: int, end: int) -> None:
    """Store shells `first` to `end`, through the writer of the product."""
    os.environ.update(ENVIRONMENT)
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "registry_project.settings"
    os.environ["LOG_LEVEL"] = "ERROR"
    django.setup()
    from shells import services
    from shells.collections import SHELLS
    from shells.descriptors import parse_shell
    from tenants.models import Tenant

    tenant = Tenant.objects.get(identifier=TENANT)
    for start in range(first, end, BATCH):
        numbers = range(start, min(start + BATCH, end))
        documents = [parse_shell(shell_body(number), strict=False) for number in numbers]
        services.register_many(SHELLS, tenant.pk, documents)


def measure(stored: int, rounds: int, seconds: int) -> dict[str, list[float]]:
    from shells.identifiers import encode

    collection = f"/aas-api/v3/{TENANT}/shell-descriptors"
    paths = VAR / "paths"
    numbers = random.Random(1).sample(range(stored), min(stored, 50_000))
    paths.write_text("\n".join(f"{collection}/{encode(shell_id(number))}" for number in numbers))
    body = VAR / "body"
    body.write_bytes(shell_body(999_999_999).replace(b"999999999", b"@@@@@@@@@"))
    (VAR / "noop-path").write_text("/noop")

    api, noop = f"http://127.0.0.1:{PORT}", f"http://127.0.0.1:{NOOP_PORT}"
    results: dict[str, list[float]] = {"no-op view": [], "GET by id": [], "POST create": []}
    for round_ in range(rounds):
        base = int(time.time()) % 1_000_000 * 1_000_000
        results["no-op view"].append(wrk(seconds, noop, "get", VAR / "noop-path"))
        results["GET by id"].append(wrk(seconds, api, "get", paths))
        results["POST create"].append(wrk(seconds, api + collection, "post", body, str(base)))
        print(
            f"round {round_ + 1}:",
            *(f"{name} {rates[-1]:.0f}/s " for name, rates in results.items()),
            flush=True,
        )
    return results


def wrk(seconds: int, url: str, *arguments: object) -> float:
    """Requests per second, from 16 connections; any refused request ends the benchmark."""
    command = ["wrk", "-t2", "-c16", f"-d{seconds}s", "-s", str(ROOT / "benchmarks" / "wrk.lua"), url, "--"]
    output = subprocess.run(
        [*command, *map(str, arguments)], check=True, capture_output=True, text=True
    ).stdout
    _, rate, _, errors = next(line for line in output.splitlines() if line.startswith("RESULT")).split()
    if errors != "0":
        sys.exit(f"{errors} requests failed:\n{output}")
    return float(rate)


def report(results: dict[str, list[float]]) -> None:
    yardstick = statistics.median(results["no-op view"])
    for name, rates in results.items():
        median = statistics.median(rates)
        ratios = [rate / noop for rate, noop in zip(rates, results["no-op view"], strict=True)]
        goal = f"  goal ≥ {GOALS[name]}" if name in GOALS else ""
        spread = f"(rounds {min(ratios):.3f} to {max(ratios):.3f})"
        print(f"{name:12} {median:7.0f}/s   ratio {median / yardstick:.3f} {spread}{goal}")


def manage(*arguments: str) -> str:
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, env=ENVIRONMENT, check=True, stdout=subprocess.PIPE, text=True).stdout


@contextlib.contextmanager
def held_database() -> Iterator[None]:
    """Keep the embedded PostgreSQL up between the steps."""
    from registry_project.postgresql import embedded

    embedded.socket_directory(VAR / "postgresql")
    yield


@contextlib.contextmanager
def server(settings: str, port: int) -> Iterator[None]:
    environment = {**ENVIRONMENT, "PORT": str(port), "DJANGO_SETTINGS_MODULE": settings}
    with open(VAR / f"server-{port}.log", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "registry_project.server"],
            env=environment,
            cwd=ROOT,
            stdout=log,
            stderr=log,
        )
    try:
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(httpx2.TransportError):
                httpx2.get(f"http://127.0.0.1:{port}/health/live")
                break
            if time.monotonic() > deadline or process.poll() is not None:
                sys.exit(f"the server on port {port} does not start: see {log.name}")
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(20)


def token(credentials: dict[str, str]) -> str:
    response = httpx2.post(
        f"http://127.0.0.1:{PORT}/iam/access-management/v1/tenants/{TENANT}/openid-connect/token",
        data={
            "grant_type": "client_credentials",
            "client_id": credentials["client_id"],
            "client_secret": credentials["client_secret"],
            "scope": "aud:i2zkcq1li0ps1pjh62gjj1892 openid",
        },
    )
    return str(response.raise_for_status().json()["access_token"])


if __name__ == "__main__":
    main()
