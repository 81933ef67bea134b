"""/health/live and /health/ready."""

from pathlib import Path

import pytest
from django.db import OperationalError
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from joserfc.jwk import RSAKey
from pytest_django import Settings

from registry_project import health
from tenants import keys


def test_live_needs_no_database(client: Client) -> None:
    response = client.get("/health/live")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_ready(client: Client) -> None:
    response = client.get("/health/ready")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert "no-store" in response["Cache-Control"]


def reasons(client: Client) -> list[str]:
    response = client.get("/health/ready")
    assert response.status_code == 503
    document = response.json()
    assert document["status"] == "unavailable"
    found: list[str] = document["reasons"]
    return found


@pytest.mark.django_db
def test_a_migration_that_is_not_applied(client: Client) -> None:
    last = MigrationRecorder.Migration.objects.filter(app="shells").latest("name")
    last.delete()
    assert reasons(client) == [f"migration shells.{last.name} is not applied"]


@pytest.mark.django_db
def test_no_signing_key(client: Client, settings: Settings, tmp_path: Path) -> None:
    settings.SIGNING_KEYS_DIR = tmp_path
    assert reasons(client) == [f"there is no *.pem file in SIGNING_KEYS_DIR {tmp_path}"]
    settings.SIGNING_KEYS_DIR = tmp_path / "missing"
    assert "cannot be read: No such file or directory" in reasons(client)[0]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "content", [b"", b"nonsense", b"-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----"]
)
def test_a_signing_key_that_is_none(
    client: Client, settings: Settings, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "1.pem").write_bytes(content)
    settings.SIGNING_KEYS_DIR = tmp_path
    assert reasons(client) == [f"{tmp_path}/1.pem is not a private RSA key in PEM form"]


@pytest.mark.django_db
def test_a_key_file_that_is_being_written_does_not_stop_the_service(
    client: Client,
    settings: Settings,
    tmp_path: Path,
    signing_keys: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keys, "RECHECK_SECONDS", 0)
    (tmp_path / "1.pem").write_bytes((signing_keys / "1.pem").read_bytes())
    settings.SIGNING_KEYS_DIR = tmp_path
    first = keys.signing_key().kid
    (tmp_path / "2.pem").touch()
    assert keys.signing_key().kid == first
    assert reasons(client) == [f"{tmp_path}/2.pem is not a private RSA key in PEM form"]
    (tmp_path / "2.pem").write_bytes(RSAKey.generate_key(2048).as_pem(private=True))
    assert keys.signing_key().kid != first
    assert client.get("/health/ready").status_code == 200


@pytest.mark.django_db
def test_a_public_key_cannot_sign(
    client: Client, settings: Settings, tmp_path: Path, signing_keys: Path
) -> None:
    private = RSAKey.import_key((signing_keys / "1.pem").read_bytes())
    (tmp_path / "1.pem").write_bytes(private.as_pem(private=False))
    settings.SIGNING_KEYS_DIR = tmp_path
    assert reasons(client) == [f"{tmp_path}/1.pem must hold a private RSA key of at least 2048 bits"]


def test_a_database_that_does_not_answer(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(connection: object) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(health, "MigrationExecutor", refuse)
    assert reasons(client) == ["the database does not answer"]
