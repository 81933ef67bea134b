"""A real identity provider: oidc-provider, an OpenID-certified server from the npm registry, on loopback."""

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from joserfc.jwk import ECKey, Key, RSAKey

from tests.server import free_port

DIRECTORY = Path(__file__).parent
SECRET = "a-secret-of-at-least-thirty-two-characters"


def require_node() -> None:
    """Install the provider if it is not yet; without Node.js skip, or fail where CI is to prove everything."""
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    if missing:
        reason = f"{' and '.join(missing)} not found: the real identity provider cannot be started"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    installed = DIRECTORY / "node_modules" / ".package-lock.json"
    lock = DIRECTORY / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        installing = subprocess.run(command, cwd=DIRECTORY, capture_output=True, text=True, check=False)
        assert installing.returncode == 0, installing.stderr


class Provider:
    """The provider and its clients: `claims` says what the tokens of each client carry.

    `web` are the clients through which people sign in, as their metadata (OpenID Connect Registration §2).
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.port = free_port()
        self.url = f"http://{host}:{self.port}"
        self.web: list[dict[str, Any]] = []
        self.algorithm = "RS256"
        self.keys: list[Key] = [new_key("RS256")]
        self.claims: dict[str, dict[str, Any]] = {
            "editor": {"roles": ["twin-editors"], "organization": "ACME"},
            "reader": {"roles": ["twin-readers"], "organization": "ACME"},
            "nobody": {"organization": "ACME"},
            "stranger": {"roles": ["twin-editors"], "organization": "Umbrella"},
        }
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> "Provider":
        self.process = subprocess.Popen(
            ["node", "server.mjs"],
            cwd=DIRECTORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        clients = {name: {"secret": SECRET, "claims": claims} for name, claims in self.claims.items()}
        keys = [key.as_dict(private=True) for key in self.keys]
        options = {
            "url": self.url,
            "port": self.port,
            "keys": keys,
            "algorithm": self.algorithm,
            "clients": clients,
            "web": self.web,
        }
        self.process.stdin.write(json.dumps(options))
        self.process.stdin.close()
        said = []
        for line in self.process.stdout:
            if line == "listening\n":
                return self
            said.append(line)
        raise AssertionError("".join(said))

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None

    def restart(self, algorithm: str, *keys: Key) -> None:
        """Go on with other keys, the first of which for `algorithm` signs."""
        self.stop()
        self.algorithm, self.keys = algorithm, list(keys)
        self.start()

    def people(self, **claims: dict[str, Any]) -> None:
        """Who has an account from now on, and what ID tokens say of them."""
        httpx2.put(f"{self.url}/people", json=claims).raise_for_status()

    def token(self, client: str, resource: str = "urn:registry", **form: str) -> str:
        """An access token of `client` for `resource`, by client credentials (RFC 6749 §4.4, RFC 8707 §2)."""
        response = httpx2.post(
            f"{self.url}/token",
            data={"grant_type": "client_credentials", "resource": resource, **form},
            auth=(client, SECRET),
        )
        assert response.status_code == 200, response.text
        return str(response.json()["access_token"])


def new_key(algorithm: str) -> Key:
    parameters: Any = {"use": "sig", "alg": algorithm}
    if algorithm.startswith("ES"):
        return ECKey.generate_key("P-256", parameters, auto_kid=True)
    return RSAKey.generate_key(2048, parameters, auto_kid=True)


@contextlib.contextmanager
def running_provider() -> Iterator[Provider]:
    require_node()
    provider = Provider()
    try:
        yield provider.start()
    finally:
        provider.stop()
