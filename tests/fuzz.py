"""`make fuzz`: schemathesis makes up requests from OpenAPI documents and sends them to a real server.

First our own document, then the two official ones. The tenant is strict, because the documents are: a lenient
tenant takes more than they say. Exit status 0 only if no check failed; the seed is printed.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx2

from tests.server import ROOT, Server, running_server

TENANT = "fuzz"
TOKEN_PATH = f"/iam/access-management/v1/tenants/{TENANT}/openid-connect/token"
OFFICIAL = ROOT.parent / "shared" / "openapi"
#: What a document of IDTA does not say, or says otherwise, and the check that would complain of it.
EXCLUDED_FOR_OFFICIAL = {
    "status_code_conformance": "they list neither 401, 412, 413, 415, 503 nor, for most operations, 404",
    "negative_data_rejection": "unknown query parameters are ignored, bodies are checked by our own document",
    "positive_data_acceptance": "their patterns do not forbid what their text forbids (AASd-… constraints)",
}
EXCLUDED = {
    "positive_data_acceptance": "constraints such as AASd-122 cannot be said in a schema",
}
EXCLUDED_FOR_BULK = {
    "negative_data_rejection": "202 is no promise that the body is valid: the result tells its defects",
}
BULK = "/bulk/"


#: Document, address, seconds, checks that are left out with the reason, options that choose operations.
Run = tuple[str, str, int, dict[str, str], list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="make fuzz FUZZ=…", description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="for all documents together (default 600)")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        os.environ["TOKEN_LIFETIME_SECONDS"] = "86400"
        with running_server(Path(directory)) as server:
            token = _token(server)
            own = _own_document(server, Path(directory))
            api = f"{server.url}/aas-api/v3/{TENANT}"
            part = options.seconds // 6
            runs: list[Run] = [
                (own, server.url, 3 * part, EXCLUDED, ["--exclude-path-regex", BULK]),
                (own, server.url, part, EXCLUDED | EXCLUDED_FOR_BULK, ["--include-path-regex", BULK]),
                *(
                    (str(OFFICIAL / name), api, part, EXCLUDED | EXCLUDED_FOR_OFFICIAL, [])
                    for name in ("aas-registry-v3.1.openapi.yaml", "submodel-registry-v3.1.openapi.yaml")
                ),
            ]
            failed = [run[0] for run in runs if not _passes(run, token, options.seed)]
            failed += _unexpected(server)
    if failed:
        sys.exit(f"failed: {', '.join(failed)} (seed {options.seed})")


def _own_document(server: Server, directory: Path) -> str:
    """Our document, for the one tenant that the token is for."""
    document = httpx2.get(f"{server.url}/openapi.json").raise_for_status().json()
    document["paths"] = {
        path.replace("{tenantId}", TENANT): {
            method: {
                **operation,
                "parameters": [item for item in operation["parameters"] if item["name"] != "tenantId"],
            }
            for method, operation in operations.items()
        }
        for path, operations in document["paths"].items()
    }
    file = directory / "openapi.json"
    file.write_text(json.dumps(document))
    return str(file)


def _passes(run: Run, token: str, seed: int) -> bool:
    document, url, seconds, excluded, operations = run
    print(f"\n--- {document}, {seconds} s; not checked: {excluded}", flush=True)
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", document, "--url", url),
        *("--header", f"Authorization: Bearer {token}"),
        *("--seed", str(seed), "--max-time", str(seconds), "--continue-on-failure"),
        *("--checks", "all", "--exclude-checks", ",".join(excluded), *operations),
    ]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def _unexpected(server: Server) -> list[str]:
    """Failures of ours in the server's log."""
    return [line for line in server.output().splitlines() if '"status":500' in line or "Traceback" in line]


def _token(server: Server) -> str:
    def manage(*arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        environment = server.environment
        return subprocess.run(
            command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
        ).stdout

    manage("create_tenant", TENANT, "--validation", "strict")
    credentials = json.loads(manage("add_module", TENANT, "schemathesis", "--json"))
    form = {
        "grant_type": "client_credentials",
        "client_id": credentials["client_id"],
        "client_secret": credentials["client_secret"],
        "scope": "aud:i2zkcq1li0ps1pjh62gjj1892 openid",
    }
    response = httpx2.post(server.url + TOKEN_PATH, data=form).raise_for_status()
    return str(response.json()["access_token"])


if __name__ == "__main__":
    main()
