"""Settings fail loudly, and each dangerous combination has a system check with a stable id."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage
from django.core.checks.registry import registry
from pytest_django import Settings

from tenants import checks, secrets, services
from tenants.models import Tenant

ROOT = Path(__file__).parent.parent

PRODUCTION = {
    "DEBUG": "False",
    "SECRET_KEY": "s3cr3t-" * 10 + "abcdefghij",
    "SECRET_DIGEST_KEY": "another secret",
    "ALLOWED_HOSTS": "registry.example",
    "AUTH_URL": "https://identity.example",
    "DATABASE_URL": "postgres://registry@database.example/registry",
}


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    command = [sys.executable, "-W", "error", "manage.py", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={**inherited, **environment}, capture_output=True, text=True, check=False
    )


def test_production_passes_the_deployment_check_without_a_warning(signing_keys: Path) -> None:
    checked = manage(
        "check", "--deploy", "--fail-level", "WARNING", **PRODUCTION, SIGNING_KEYS_DIR=str(signing_keys)
    )
    assert checked.returncode == 0, checked.stderr
    assert "no issues (0 silenced)" in checked.stdout


@pytest.mark.parametrize(
    "name", ["SECRET_KEY", "SECRET_DIGEST_KEY", "ALLOWED_HOSTS", "AUTH_URL", "SIGNING_KEYS_DIR"]
)
def test_outside_debug_nothing_secret_has_a_default(name: str, signing_keys: Path) -> None:
    environment = {**PRODUCTION, "SIGNING_KEYS_DIR": str(signing_keys)}
    del environment[name]
    checked = manage("check", **environment)
    assert checked.returncode != 0
    assert f"Set the {name} environment variable" in checked.stderr


@pytest.mark.parametrize(
    ("name", "value"), [("PORT", "http"), ("V4_END_OF_LIFE", "soon"), ("TOKEN_LIFETIME_SECONDS", "5m")]
)
def test_a_malformed_variable_stops_the_start(name: str, value: str) -> None:
    checked = manage("check", **{name: value})
    assert checked.returncode != 0
    assert value in checked.stderr


PROVIDER = {"ADMIN_OIDC_ISSUER": "https://login.example", "ADMIN_OIDC_CLIENT_ID": "registry-admin"}


def test_a_provider_of_people_in_production(signing_keys: Path) -> None:
    """It needs a client id, and nothing of it is asked for when the project starts: there is no such host."""
    environment = {**PRODUCTION, **PROVIDER, "SIGNING_KEYS_DIR": str(signing_keys)}
    checked = manage("check", "--deploy", "--fail-level", "WARNING", **environment)
    assert checked.returncode == 0, checked.stderr
    del environment["ADMIN_OIDC_CLIENT_ID"]
    assert "Set the ADMIN_OIDC_CLIENT_ID environment variable" in manage("check", **environment).stderr


def found(*tags: str, deploy: bool = False) -> list[str]:
    messages: list[CheckMessage] = registry.run_checks(
        tags=tags, include_deployment_checks=deploy, databases=["default"]
    )
    return sorted(str(message.id) for message in messages if str(message.id).startswith("tenants."))


def test_e001_no_signing_key(settings: Settings, tmp_path: Path) -> None:
    assert found("security") == []
    settings.SIGNING_KEYS_DIR = tmp_path
    assert found("security") == ["tenants.E001"]


def test_e002_a_module_with_the_demo_secret(tenant_a: Tenant) -> None:
    assert found("database") == []
    services.add_module("tenant-a", "demo", secret=secrets.DEMO_SECRET)
    assert found("database") == ["tenants.E002"]
    services.rotate_secret("tenant-a", "demo", overlap=timedelta(hours=1))
    assert found("database") == ["tenants.E002"]
    services.rotate_secret("tenant-a", "demo", overlap=timedelta(hours=1))
    assert found("database") == []


def test_e003_an_admin_with_the_demo_password(django_user_model: Any, db: None) -> None:
    admin = django_user_model.objects.create_superuser(secrets.DEMO_ADMIN, password="something else")
    assert found("database") == []
    admin.set_password(secrets.DEMO_ADMIN_PASSWORD)
    admin.save()
    assert found("database") == ["tenants.E003"]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_debug_on_this_machine_is_fine(settings: Settings, host: str) -> None:
    settings.DEBUG, settings.HOST = True, host
    assert checks.check_debug_is_local(None) == []


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "registry.example"])
def test_w001_debug_for_everybody(settings: Settings, host: str) -> None:
    settings.DEBUG, settings.HOST = True, host
    assert [message.id for message in checks.check_debug_is_local(None)] == ["tenants.W001"]


def test_w002_and_w003_are_for_deployment() -> None:
    assert found("security", deploy=True) == ["tenants.W002", "tenants.W003"]


def test_w004_tokens_that_are_believed_too_long(settings: Settings) -> None:
    settings.TOKEN_CACHE_SECONDS = 30
    assert found("security") == []
    settings.TOKEN_CACHE_SECONDS = 31
    assert found("security") == ["tenants.W004"]


def test_e010_nobody_can_sign_in(settings: Settings) -> None:
    settings.ADMIN_PASSWORD_SIGN_IN = False
    assert found("security") == ["tenants.E010"]
    settings.ADMIN_OIDC_ISSUER = "https://login.example"
    assert found("security") == []


@pytest.mark.parametrize("issuer", ["http://login.example", "login.example", "https://me@login.example"])
def test_e011_a_provider_of_people_that_cannot_be_believed(settings: Settings, issuer: str) -> None:
    settings.ADMIN_OIDC_ISSUER = issuer
    assert found("security") == ["tenants.E011"]
