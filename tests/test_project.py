"""Habits that are run, not remembered."""

import re
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import models

ROOT = Path(__file__).parent.parent
OURS = [ROOT / "registry_project", ROOT / "tenants", ROOT / "shells"]


def sources() -> list[Path]:
    return [path for directory in OURS for path in directory.rglob("*.py")]


@pytest.mark.django_db
def test_models_and_migrations_agree() -> None:
    call_command("makemigrations", check=True, dry_run=True, stdout=StringIO())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("app", ["shells", "tenants"])
def test_migrations_can_be_undone(app: str) -> None:
    call_command("migrate", app, "zero", verbosity=0)
    call_command("migrate", verbosity=0)


def test_only_services_write() -> None:
    pattern = re.compile(
        r"\.(save|create|bulk_create|update_or_create|delete)\(|\b(INSERT INTO|DO UPDATE|DELETE FROM) "
    )
    writers = {
        path.relative_to(ROOT).as_posix()
        for path in sources()
        if "migrations" not in path.parts and pattern.search(path.read_text())
    }
    assert writers == {
        "shells/services/changes.py",
        "shells/services/quotas.py",
        "shells/statements.py",  # the SQL of shells/services
        "shells/bulk.py",  # what it is asked for, and what came of it
        "shells/figures.py",  # the numbers of the dashboard
        "shells/uploads.py",  # files that people send, and what came of them
        "tenants/accounts.py",  # people from an identity provider, as the admin writes those it knows
        "tenants/services.py",
        "tenants/limits.py",  # counters, which nobody else knows
    }


def test_only_settings_read_the_environment() -> None:
    readers = {path.name for path in sources() if re.search(r"os\.(environ|getenv)\b", path.read_text())}
    assert readers <= {"settings.py", "server.py"}  # server.py names the settings module


def test_every_model_is_described_and_every_field_has_a_help_text() -> None:
    for model in [*apps.get_app_config("tenants").get_models(), *apps.get_app_config("shells").get_models()]:
        assert model.__doc__
        assert not model.__doc__.startswith(f"{model.__name__}(")
        for field in model._meta.get_fields():
            if isinstance(field, models.Field) and not field.primary_key:
                assert field.help_text, f"{model.__name__}.{field.name}"


def test_the_openapi_document_is_generated_without_a_warning(tmp_path: Path) -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "openapi.yaml"))


def test_every_requirement_has_a_pin_and_a_reason() -> None:
    for line in (ROOT / "requirements.txt").read_text().splitlines():
        if line and not line.startswith(("#", "-")):
            assert re.fullmatch(r"[\w.-]+(\[[\w,-]+\])?==[\d.]+ +# .+ · .+", line), line


def test_make_help_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z][a-z-]*):", makefile, flags=re.MULTILINE)
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert targets
    for target in targets:
        assert re.search(rf"^  {target} ", listed, flags=re.MULTILINE), target
