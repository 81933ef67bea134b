"""Modules in operation: disabled, expired, last used, listed."""

import json
import time
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django import Settings

from tenants import services
from tenants.models import Module, Role
from tests.conftest import Persona, persona, post_form, texts


def run(*arguments: str) -> str:
    output = StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


def listed(*arguments: str) -> list[dict[str, Any]]:
    modules: list[dict[str, Any]] = json.loads(run("list_modules", "--json", *arguments))
    return modules


def last_used(someone: Persona) -> datetime | None:
    return Module.objects.get(pk=someone.module.pk).last_used_at


def note(someone: Persona, ago: timedelta | None) -> None:
    moment = None if ago is None else timezone.now() - ago
    Module.objects.filter(pk=someone.module.pk).update(last_used_at=moment)


class TestDisable:
    def test_it_gets_no_token_any_more(self, alice: Persona, bob: Persona) -> None:
        said = run("disable_module", "tenant-a", "alice")
        assert said == "disabled module alice of tenant tenant-a; its tokens are refused within 10 seconds\n"
        assert post_form(alice.client, alice.token_url, alice.form()).status_code == 401
        assert post_form(bob.client, bob.token_url, bob.form()).status_code == 200

    def test_a_token_that_is_believed_is_refused_when_its_window_ends(
        self, alice: Persona, settings: Settings
    ) -> None:
        """As long as TOKEN_CACHE_SECONDS at most, which a system check keeps at 30 or less (tenants.W004)."""
        settings.TOKEN_CACHE_SECONDS = 1
        assert alice.fetch("urn:1").status_code == 404
        run("disable_module", "tenant-a", "alice")
        deadline = time.monotonic() + settings.TOKEN_CACHE_SECONDS
        while (response := alice.fetch("urn:1")).status_code == 404:
            assert time.monotonic() < deadline + 0.5
            time.sleep(0.05)
        assert response.status_code == 401
        assert texts(response) == ["the module of the token is disabled, expired or removed"]

    def test_the_default_window_is_within_the_promise(self, settings: Settings) -> None:
        assert settings.TOKEN_CACHE_SECONDS <= 30

    def test_twice_is_as_once(self, alice: Persona) -> None:
        assert run("disable_module", "tenant-a", "alice") == run("disable_module", "tenant-a", "alice")

    def test_unknown(self, alice: Persona) -> None:
        with pytest.raises(CommandError, match=r"^there is no tenant 'nobody'$"):
            run("disable_module", "nobody", "alice")
        with pytest.raises(CommandError, match=r"^tenant 'tenant-a' has no module 'nobody'$"):
            run("disable_module", "tenant-a", "nobody")


class TestExpiry:
    def test_a_module_may_be_added_for_a_time(self, alice: Persona) -> None:
        run("add_module", "tenant-a", "visitor", "--expires-in", "1h")
        expires_at = Module.objects.get(name="visitor").expires_at
        assert expires_at is not None
        assert timedelta(minutes=59) < expires_at - timezone.now() <= timedelta(hours=1)

    def test_a_bad_time(self, alice: Persona) -> None:
        with pytest.raises(CommandError, match=r"^'soon' is no length of time"):
            run("add_module", "tenant-a", "visitor", "--expires-in", "soon")

    def test_an_expired_module_is_refused(self, alice: Persona, settings: Settings) -> None:
        settings.TOKEN_CACHE_SECONDS = 0
        Module.objects.filter(pk=alice.module.pk).update(expires_at=timezone.now())
        assert alice.fetch("urn:1").status_code == 401
        assert post_form(alice.client, alice.token_url, alice.form()).status_code == 401


class TestLastUse:
    def test_a_module_that_was_never_used(self, alice: Persona) -> None:
        module, _ = services.add_module("tenant-a", "idle")
        assert module.last_used_at is None

    def test_a_token_request_is_a_use(self, alice: Persona) -> None:
        note(alice, None)
        alice.new_token()
        assert last_used(alice) is not None

    def test_a_refused_token_request_is_none(self, alice: Persona) -> None:
        note(alice, None)
        post_form(alice.client, alice.token_url, alice.form(client_secret="wrong"))
        post_form(alice.client, alice.token_url, alice.form(scope="openid"))
        assert last_used(alice) is None

    def test_a_token_that_is_verified_is_a_use(self, alice: Persona) -> None:
        note(alice, None)
        alice.fetch("urn:1")
        assert last_used(alice) is not None

    def test_a_token_that_is_believed_is_none(self, alice: Persona, settings: Settings) -> None:
        settings.TOKEN_CACHE_SECONDS = 1_000_000
        alice.fetch("urn:1")
        note(alice, None)
        alice.fetch("urn:1")
        assert last_used(alice) is None

    def test_within_a_minute_it_is_not_written_again(self, alice: Persona, settings: Settings) -> None:
        settings.TOKEN_CACHE_SECONDS = 0
        note(alice, timedelta(seconds=55))
        before = last_used(alice)
        alice.fetch("urn:1")
        alice.new_token()
        assert last_used(alice) == before
        note(alice, timedelta(seconds=61))
        alice.fetch("urn:1")
        now = last_used(alice)
        assert now is not None
        assert timezone.now() - now < timedelta(seconds=5)

    def test_of_two_at_once_one_writes(self, alice: Persona) -> None:
        """Both read before either wrote; the second finds the condition no longer true."""
        note(alice, timedelta(minutes=5))
        first, second = Module.objects.get(name="alice"), Module.objects.get(name="alice")
        services.note_use(first)
        written = last_used(alice)
        services.note_use(second)
        assert last_used(alice) == written


class TestList:
    def test_for_programs(self, alice: Persona, bob: Persona, charlie: Persona) -> None:
        run("disable_module", "tenant-a", "bob")
        Module.objects.filter(name="charlie").update(expires_at=timezone.now())
        modules = listed()
        assert [
            (module["tenant_id"], module["name"], module["role"], module["state"]) for module in modules
        ] == [
            ("tenant-a", "alice", "editor", "live"),
            ("tenant-a", "bob", "reader", "disabled"),
            ("tenant-b", "charlie", "editor", "expired"),
        ]
        assert modules[0]["client_id"] == alice.module.client_id
        used = datetime.fromisoformat(modules[0]["last_used_at"])
        assert datetime.now(UTC) - used < timedelta(minutes=1)
        assert modules[0]["expires_at"] is None
        assert modules[0]["previous_secret_expires_at"] is None

    def test_of_one_tenant(self, alice: Persona, charlie: Persona) -> None:
        assert [module["name"] for module in listed("tenant-b")] == ["charlie"]

    def test_for_people(self, alice: Persona) -> None:
        (line,) = run("list_modules").splitlines()
        assert line.startswith(f"tenant-a/alice  {alice.module.client_id}  editor  live  created_at ")

    def test_no_digest_is_listed(self, alice: Persona) -> None:
        run("rotate_secret", "tenant-a", "alice")
        alice.module.refresh_from_db()
        said = run("list_modules", "--json")
        assert alice.module.secret_digest not in said
        assert str(alice.module.previous_secret_digest) not in said

    def test_nothing(self, db: None) -> None:
        assert (run("list_modules"), listed()) == ("", [])

    def test_an_unknown_tenant(self, alice: Persona) -> None:
        with pytest.raises(CommandError, match=r"^there is no tenant 'nobody'$"):
            run("list_modules", "nobody")


class TestRoles:
    """Each role may what the ones before it may."""

    @pytest.mark.parametrize(
        ("role", "included"),
        [
            (Role.READER, [Role.READER]),
            (Role.EDITOR, [Role.READER, Role.EDITOR]),
            (Role.ADMIN, [Role.READER, Role.EDITOR, Role.ADMIN]),
        ],
    )
    def test_includes(self, role: Role, included: list[Role]) -> None:
        assert [other for other in Role if role.includes(other)] == included

    def test_an_admin_may_fetch_and_register(self, alice: Persona) -> None:
        dora = persona(alice.tenant, "dora", Role.ADMIN)
        assert dora.register({"id": "urn:1"}).status_code == 201
        assert dora.fetch("urn:1").status_code == 200
