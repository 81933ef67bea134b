"""Three personas, each with a token from the real token endpoint.

alice is an editor of tenant A, bob a reader of tenant A, charlie an editor of tenant B.
"""

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest
from django.db import connection
from django.test import Client
from joserfc.jwk import RSAKey
from pytest_django import Settings

from shells.identifiers import encode
from tenants import services
from tenants.models import Module, Role, Tenant, Validation
from tests.spec import Collector


def pytest_configure(config: pytest.Config) -> None:
    """`pytest -m spec` runs the tests that enforce a paragraph, and says which."""
    if config.getoption("markexpr") == "spec":
        config.pluginmanager.register(Collector())


AUDIENCE = "i2zkcq1li0ps1pjh62gjj1892"
OWN_V4_AUDIENCE = "bqfin42m7vho1k7r2srjrge28"
OTHER_V4_AUDIENCE = "q8f6z22otkd7137qlsykwckuc"


@dataclass
class Persona:
    """Somebody with the credentials of one module, who calls the API below one tenant."""

    tenant: Tenant
    module: Module
    secret: str
    client: Client
    token: str = ""

    @property
    def base(self) -> str:
        return f"/aas-api/v3/{self.tenant.identifier}"

    @property
    def token_url(self) -> str:
        return token_url(self.tenant.identifier)

    def form(self, **changes: str | None) -> dict[str, str]:
        """The form of a token request (contract §5.3); None takes a field out."""
        form: dict[str, str | None] = {
            "grant_type": "client_credentials",
            "client_id": self.module.client_id,
            "client_secret": self.secret,
            "scope": f"aud:{AUDIENCE} openid",
            **changes,
        }
        return {name: value for name, value in form.items() if value is not None}

    def new_token(self, audience: str = AUDIENCE) -> str:
        response = post_form(self.client, self.token_url, self.form(scope=f"aud:{audience} openid"))
        assert response.status_code == 200, response.content
        return str(response.json()["access_token"])

    def get(self, path: str, **headers: str) -> Any:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any, content_type: str = "application/json", **headers: str) -> Any:
        return self.call("POST", path, body, content_type, **headers)

    def put(self, path: str, body: Any, **headers: str) -> Any:
        return self.call("PUT", path, body, **headers)

    def delete(self, path: str, body: Any = b"", **headers: str) -> Any:
        return self.call("DELETE", path, body, **headers)

    def call(
        self, method: str, path: str, body: Any = b"", content_type: str = "application/json", **headers: str
    ) -> Any:
        """Call the API below the tenant. Underscores in names of headers stand for hyphens."""
        data = body if isinstance(body, bytes | str) else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.generic(
            method,
            path if path.startswith("http") else self.base + path,
            data,
            content_type,
            headers={"Authorization": f"Bearer {self.token}", **named},
        )

    def register(self, body: Any) -> Any:
        return self.post("/shell-descriptors", body)

    def fetch(self, identifier: str) -> Any:
        return self.get(shell_path(identifier))


def shell_path(identifier: str) -> str:
    return f"/shell-descriptors/{encode(identifier)}"


def pages(someone: Persona, path: str, body: Any = None) -> Iterator[Any]:
    """Each page of a list, from its first to its last, after a look at the envelope (§4)."""
    cursor: str | None = None
    while True:
        query = {} if cursor is None else {"cursor": cursor}
        separator = "&" if "?" in path else "?"
        address = f"{path}{separator}{urlencode(query)}" if query else path
        response = someone.get(address) if body is None else someone.post(address, body)
        assert response.status_code == 200, response.content
        page = response.json()
        assert set(page) == {"paging_metadata", "result"}
        yield page["result"]
        cursor = page["paging_metadata"].get("cursor")
        if cursor is None:
            return
        assert cursor


def token_url(tenant_identifier: str) -> str:
    return f"/iam/access-management/v1/tenants/{tenant_identifier}/openid-connect/token"


def post_form(client: Client, url: str, form: dict[str, str], **headers: str) -> Any:
    return client.post(url, urlencode(form), "application/x-www-form-urlencoded", headers=headers)


def texts(response: Any) -> list[str]:
    """The texts of a `Result`, after a look at its form (aas-registry-api.md §3.1)."""
    assert response["Content-Type"] == "application/json"
    messages = json.loads(response.content)["messages"]
    assert messages
    for message in messages:
        assert message["messageType"] == ("Error" if response.status_code < 500 else "Exception")
        assert message["code"] == str(response.status_code)
        assert message["correlationId"] == response["X-Request-ID"]
        assert message["timestamp"].endswith("Z")
    return [message["text"] for message in messages]


def until_others_are_over() -> None:
    """Wait for the transactions that run at this moment, those of other processes of the tests among them.

    What is folded into figures is what is older than any that runs, in all databases of a server.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())")
        (last,) = cursor.fetchone()
        deadline = time.monotonic() + 60
        while True:
            cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot()) >= %s::xid8", [last])
            if cursor.fetchone()[0]:
                return
            assert time.monotonic() < deadline
            time.sleep(0.02)


@contextlib.contextmanager
def locked(table: str) -> Iterator[None]:
    """Another session holds a lock on a table: a statement that reads it waits."""
    parameters = connection.get_connection_params()
    for own in ("cursor_factory", "context"):
        del parameters[own]
    with psycopg.connect(**parameters) as other:
        other.execute(f"LOCK TABLE {table}")
        yield


@pytest.fixture(scope="session")
def signing_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("signing-keys")
    (directory / "1.pem").write_bytes(RSAKey.generate_key(2048).as_pem(private=True))
    return directory


@pytest.fixture(autouse=True)
def _own_signing_keys(settings: Settings, signing_keys: Path) -> None:
    settings.SIGNING_KEYS_DIR = signing_keys


@pytest.fixture(autouse=True)
def _quick_passwords(settings: Settings) -> None:
    """A hash of a password takes half a second, on purpose; the tests make many."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def tenant_a(db: None) -> Tenant:
    return services.create_tenant("tenant-a", name="Tenant A")


@pytest.fixture
def tenant_b(db: None) -> Tenant:
    return services.create_tenant("tenant-b", name="Tenant B")


@pytest.fixture
def strict_tenant(db: None) -> Tenant:
    return services.create_tenant("tenant-strict", validation=Validation.STRICT)


def persona(tenant: Tenant, name: str, role: Role) -> Persona:
    module, secret = services.add_module(tenant.identifier, name, role=role)
    someone = Persona(tenant, module, secret, Client())
    someone.token = someone.new_token()
    return someone


@pytest.fixture
def alice(tenant_a: Tenant) -> Persona:
    return persona(tenant_a, "alice", Role.EDITOR)


@pytest.fixture
def bob(tenant_a: Tenant) -> Persona:
    return persona(tenant_a, "bob", Role.READER)


@pytest.fixture
def charlie(tenant_b: Tenant) -> Persona:
    return persona(tenant_b, "charlie", Role.EDITOR)


@pytest.fixture
def strict_alice(strict_tenant: Tenant) -> Persona:
    return persona(strict_tenant, "alice", Role.EDITOR)


@pytest.fixture
def other_key() -> RSAKey:
    """A key that is not ours."""
    return RSAKey.generate_key(2048)
