"""Limits: requests a minute, attempts that fail, shells of a tenant (docs/identity.md, docs/configuration.md)."""

import contextlib
import json
import random
import re
import threading
import time
from base64 import b64encode
from collections import Counter as Counts
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings
from structlog.testing import capture_logs

from shells import bulk, importing
from shells import services as shell_services
from shells.collections import SHELLS
from shells.descriptors import parse_shell
from shells.identifiers import encode
from shells.models import AssetId, Change, Quota, Shell
from shells.services import quotas
from tenants import limits, services
from tenants.limits import Leases, RateLimit
from tenants.models import Counter, Module, Tenant
from tests.bodies import submodel
from tests.conftest import Persona, post_form, shell_path, texts, token_url
from tests.issuer import running_issuer
from tests.server import Server, running_server
from tests.test_server import client_of


def run(*arguments: str) -> str:
    output = StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


@pytest.fixture
def whole_window() -> None:
    """Windows begin with the minutes: wait for the next one, if this one ends soon."""
    left = limits.WINDOW_SECONDS - time.time() % limits.WINDOW_SECONDS
    if left < 5:
        time.sleep(left + 0.1)


def limited(someone: Persona, *, module: int | None = None, tenant: int | None = None) -> Persona:
    """Somebody whose next token says that there are limits."""
    if module is not None:
        services.limit_requests(someone.tenant.identifier, someone.module.name, module)
    if tenant is not None:
        services.limit_requests(someone.tenant.identifier, None, tenant)
    someone.token = someone.new_token()
    return someone


def statuses(someone: Persona, number: int) -> list[int]:
    return [someone.fetch("unknown").status_code for _ in range(number)]


def in_threads(number: int, work: Callable[[int], Any]) -> list[Any]:
    """What `work` returns in each of as many threads, which begin at the same moment, each with a connection."""
    together = threading.Barrier(number)

    def one(index: int) -> Any:
        together.wait()
        try:
            return work(index)
        finally:
            connection.close()

    with ThreadPoolExecutor(number) as executor:
        return list(executor.map(one, range(number)))


@pytest.mark.usefixtures("whole_window")
class TestRequestsAMinute:
    def test_by_default_there_is_no_limit_and_nothing_is_counted(self, alice: Persona) -> None:
        assert statuses(alice, 20) == [404] * 20
        assert not Counter.objects.exists()

    @pytest.mark.spec("RFC 6585", "4")
    def test_what_a_module_makes_too_much_is_answered_with_429(self, alice: Persona) -> None:
        limited(alice, module=3)
        assert statuses(alice, 3) == [404] * 3
        response = alice.fetch("unknown")
        assert response.status_code == 429
        assert 1 <= int(response["Retry-After"]) <= 60
        (text,) = texts(response)
        wait = response["Retry-After"]
        assert text.startswith("the module may make 3 requests a minute. Expected available in ")
        assert f" {wait} second" in text

    def test_nothing_is_written_then(self, alice: Persona) -> None:
        limited(alice, module=1)
        assert alice.register({"id": "urn:1"}).status_code == 201
        assert alice.register({"id": "urn:2"}).status_code == 429
        assert list(Shell.objects.values_list("identifier", flat=True)) == ["urn:1"]

    def test_each_module_has_its_own(self, alice: Persona, bob: Persona) -> None:
        limited(alice, module=2)
        assert statuses(alice, 3) == [404, 404, 429]
        assert statuses(bob, 10) == [404] * 10

    def test_that_of_a_tenant_is_for_all_its_modules(self, alice: Persona, bob: Persona) -> None:
        limited(alice, tenant=4)
        limited(bob)
        assert statuses(alice, 2) + statuses(bob, 2) == [404] * 4
        assert statuses(alice, 1) + statuses(bob, 1) == [429] * 2
        (text,) = texts(bob.fetch("unknown"))
        assert text.startswith("the tenant may make 4 requests a minute.")

    def test_tenants_do_not_share(self, alice: Persona, charlie: Persona) -> None:
        limited(alice, tenant=1)
        limited(charlie, tenant=1)
        assert statuses(alice, 2) == statuses(charlie, 2) == [404, 429]

    def test_what_the_module_s_limit_refuses_does_not_count_for_the_tenant(
        self, alice: Persona, bob: Persona
    ) -> None:
        limited(alice, module=1, tenant=3)
        limited(bob)
        assert statuses(alice, 20) == [404] + [429] * 19
        assert statuses(bob, 3) == [404, 404, 429]

    def test_clients_of_a_trusted_issuer_fall_under_the_tenant_s(
        self, alice: Persona, settings: Settings
    ) -> None:
        settings.DEBUG = True  # so that the issuer may speak plain HTTP
        settings.TOKEN_CACHE_SECONDS = 0
        with running_issuer() as issuer:
            services.trust_issuer("tenant-a", issuer.url, audiences=["registry"], jwks_uri=issuer.jwks_uri)
            limited(alice, tenant=2)
            alice.token = issuer.token()
            assert statuses(alice, 3) == [404, 404, 429]

    def test_what_is_refused_for_other_reasons_does_not_count(self, alice: Persona, bob: Persona) -> None:
        limited(bob, module=2)
        assert bob.register({"id": "urn:1"}).status_code == 403
        assert bob.client.get(f"{bob.base}/shell-descriptors").status_code == 401
        assert statuses(bob, 3) == [404, 404, 429]

    def test_every_address_counts(self, alice: Persona) -> None:
        limited(alice, module=1)
        assert alice.get("/no-such-route").status_code == 404
        assert alice.get("/description").status_code == 429

    def test_the_next_window_begins_anew(self, alice: Persona, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "WINDOW_SECONDS", 1)
        limited(alice, module=2)
        time.sleep(1 - time.time() % 1)
        assert statuses(alice, 3) == [404, 404, 429]
        response = alice.fetch("unknown")
        assert (response.status_code, response["Retry-After"]) == (429, "1")
        time.sleep(int(response["Retry-After"]))
        assert statuses(alice, 1) == [404]

    def test_a_limit_holds_and_ends_with_the_window_in_which_tokens_are_believed(
        self, alice: Persona, settings: Settings
    ) -> None:
        settings.TOKEN_CACHE_SECONDS = 0
        services.limit_requests("tenant-a", "alice", 1)
        assert statuses(alice, 2) == [404, 429]
        services.limit_requests("tenant-a", "alice", None)
        assert statuses(alice, 2) == [404, 404]

    def test_a_higher_limit_counts_what_was_used_of_the_lower(
        self, alice: Persona, settings: Settings
    ) -> None:
        settings.TOKEN_CACHE_SECONDS = 0
        services.limit_requests("tenant-a", "alice", 2)
        assert statuses(alice, 3) == [404, 404, 429]
        services.limit_requests("tenant-a", "alice", 3)
        assert statuses(alice, 2) == [404, 429]

    def test_the_log_says_which_limit(self, alice: Persona) -> None:
        limited(alice, tenant=1)
        with capture_logs() as events:
            statuses(alice, 2)
        assert [(event["status"], event.get("limit")) for event in events] == [(404, None), (429, "tenant")]

    @pytest.mark.parametrize("wrong", ["0", "-1", "2147483648"])
    def test_a_limit_that_makes_no_sense(self, alice: Persona, wrong: str) -> None:
        with pytest.raises(CommandError, match="requests_per_minute: Ensure this value"):
            call_command("add_module", "tenant-a", "other", f"--requests-per-minute={wrong}")
        with pytest.raises(CommandError, match="requests_per_minute: Ensure this value"):
            call_command("create_tenant", "other", f"--requests-per-minute={wrong}")

    def test_it_can_be_said_from_the_beginning(self, db: None) -> None:
        run("create_tenant", "acme", "--requests-per-minute", "600")
        run("add_module", "acme", "line-7", "--requests-per-minute", "60")
        assert Tenant.objects.get().requests_per_minute == 600
        assert Module.objects.get().requests_per_minute == 60


@pytest.mark.usefixtures("whole_window")
class TestLeases:
    """Processes stand for themselves as `Leases` of their own, with connections of their own."""

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("per_minute", [7, 150, 1000])
    def test_all_processes_together_are_granted_exactly_the_limit(self, per_minute: int) -> None:
        processes = [Leases() for _ in range(4)]
        limit = RateLimit("module", 1, per_minute)

        def ask(index: int) -> int:
            granted = 0
            while processes[index % 4].take(limit) is None:
                granted += 1
            return granted

        assert sum(in_threads(16, ask)) == per_minute
        assert all(process.take(limit) is not None for process in processes)

    def test_a_limit_takes_about_a_hundred_statements_whatever_it_is(self, db: None) -> None:
        leases, limit = Leases(), RateLimit("module", 1, 10_000)
        leases.take(limit)
        with CaptureQueriesContext(connection) as queries:
            for _ in range(20_000):
                leases.take(limit)
        assert len(queries) == 100  # 99 more that grant, one that does not; from then on it is known

    def test_what_a_process_does_not_use_of_its_lease_is_lost_until_the_window_ends(self, db: None) -> None:
        limit = RateLimit("module", 1, 1000)
        idle, busy = Leases(), Leases()
        assert idle.take(limit) is None
        granted = 1
        while busy.take(limit) is None:
            granted += 1
        assert granted == 991  # a hundredth for each process, less the one that was used

    def test_a_small_limit_is_exact(self, db: None) -> None:
        limit = RateLimit("module", 1, 199)
        idle, busy = Leases(), Leases()
        granted = sum(leases.take(limit) is None for leases in [idle, *[busy] * 300])
        assert granted == 199

    @pytest.mark.django_db(transaction=True)
    def test_no_counter_is_locked_while_a_request_runs(self, alice: Persona) -> None:
        alice.register({"id": "urn:1"})
        limited(alice, module=100)

        def put(_: int) -> int:
            status: int = alice.put(shell_path("urn:1"), {"id": "urn:1", "idShort": "New"}).status_code
            connection.close()
            return status

        def fetch(_: int) -> int:
            status: int = alice.fetch("unknown").status_code
            connection.close()
            return status

        with ThreadPoolExecutor(2) as executor:
            with transaction.atomic():
                Shell.objects.select_for_update().get()
                waiting = executor.submit(put, 0)
                _until_somebody_waits_for_a_lock()
                assert executor.submit(fetch, 0).result(timeout=5) == 404
                assert not waiting.done()
            assert waiting.result(timeout=5) == 204

    def test_windows_that_are_over_are_forgotten(self, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "FORGET_SECONDS", 0)
        for number in range(5):
            limits.take([limits.key("old", str(number))], 1, 10, 1)
        time.sleep(1.1)
        limits.take([limits.key("new")], 1, 10, 60)
        assert [counter.key for counter in Counter.objects.all()] == [limits.key("new")]

    def test_the_table_is_not_logged(self, db: None) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT relpersistence FROM pg_class WHERE relname = 'tenants_counter'")
            assert cursor.fetchone() == ("u",)

    def test_names_of_counters_are_kept_apart(self) -> None:
        assert limits.key("a", "bc") != limits.key("ab", "c") != limits.key("abc")
        assert limits.key("\ud800") != limits.key("?")


def _until_somebody_waits_for_a_lock() -> None:
    for _ in range(100):
        with connection.cursor() as cursor:
            cursor.execute("SELECT FROM pg_locks WHERE NOT granted")
            if cursor.fetchone() is not None:
                return
        time.sleep(0.05)
    raise AssertionError("nobody waits")


def ask(someone: Persona, address: str = "192.0.2.1", forwarded: str | None = None, **changes: str) -> Any:
    """Ask for a token from an address."""
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    return someone.client.post(
        someone.token_url,
        urlencode(someone.form(**changes)),
        "application/x-www-form-urlencoded",
        headers=headers,
        REMOTE_ADDR=address,
    )


@pytest.mark.usefixtures("whole_window")
class TestTokenEndpoint:
    """10 failures of a client and an address, 100 of an address in a minute."""

    @pytest.mark.spec("RFC 6749", "5.2")
    @pytest.mark.spec("RFC 6749", "2.3.1")
    @pytest.mark.spec("RFC 6585", "4")
    def test_guessing_at_the_secret_of_a_client_is_stopped(self, alice: Persona) -> None:
        guesses = [ask(alice, client_secret=f"guess-{number}") for number in range(12)]
        assert [guess.status_code for guess in guesses] == [401] * 10 + [429] * 2
        refused = guesses[-1]
        assert refused.json() == {
            "error": "temporarily_unavailable",
            "error_description": "too many attempts failed; try again later",
        }
        assert 1 <= int(refused["Retry-After"]) <= 60
        assert refused["Cache-Control"] == "no-store"
        assert refused["Content-Type"] == "application/json"

    def test_then_the_right_secret_is_not_looked_at_either(self, alice: Persona) -> None:
        for _ in range(10):
            ask(alice, client_secret="wrong")
        assert ask(alice).status_code == 429

    def test_a_module_cannot_be_locked_out_from_elsewhere(self, alice: Persona) -> None:
        for _ in range(11):
            ask(alice, "203.0.113.9", client_secret="wrong")
        assert ask(alice, "203.0.113.9").status_code == 429
        assert ask(alice, "192.0.2.1").status_code == 200

    def test_a_neighbour_behind_the_same_address_goes_on(self, alice: Persona, bob: Persona) -> None:
        """A module that is set up wrongly fails for itself: it counts ten times for its address, not more."""
        for _ in range(110):
            ask(alice, client_secret="wrong")
        assert ask(bob).status_code == 200

    def test_what_succeeds_counts_nothing(self, alice: Persona, settings: Settings) -> None:
        settings.TOKEN_FAILURES_PER_CLIENT = settings.TOKEN_FAILURES_PER_ADDRESS = 2
        assert {ask(alice).status_code for _ in range(20)} == {200}
        assert not Counter.objects.exists()

    def test_one_address_that_tries_many_clients_is_stopped(self, alice: Persona, settings: Settings) -> None:
        settings.TOKEN_FAILURES_PER_ADDRESS = 20
        for number in range(20):
            assert ask(alice, client_id=f"client-{number}").status_code == 401
        assert ask(alice, client_id="client-20").status_code == 429
        assert ask(alice).status_code == 429
        assert ask(alice, "192.0.2.2").status_code == 200

    def test_known_and_unknown_clients_are_stopped_alike(self, alice: Persona) -> None:
        known = [ask(alice, client_secret="wrong") for _ in range(11)]
        unknown = [ask(alice, client_id="unknown", client_secret="wrong") for _ in range(11)]
        assert [one.status_code for one in known] == [one.status_code for one in unknown]
        assert [one.content for one in known] == [one.content for one in unknown]

    def test_basic_authentication_counts_for_the_same_client(self, alice: Persona) -> None:
        basic = b64encode(f"{alice.module.client_id}:wrong".encode()).decode()
        form = alice.form(client_id=None, client_secret=None)
        for _ in range(10):
            refused = post_form(alice.client, alice.token_url, form, Authorization=f"Basic {basic}")
            assert refused.status_code == 401
        assert ask(alice, "127.0.0.1").status_code == 429

    def test_what_is_no_attempt_does_not_count(self, alice: Persona, settings: Settings) -> None:
        settings.TOKEN_FAILURES_PER_CLIENT = settings.TOKEN_FAILURES_PER_ADDRESS = 1
        assert ask(alice, grant_type="password").status_code == 400
        assert ask(alice, scope="nothing").status_code == 400
        assert (
            post_form(alice.client, alice.token_url, {"grant_type": "client_credentials"}).status_code == 401
        )
        assert ask(alice, "127.0.0.1").status_code == 200

    def test_it_can_be_switched_off(self, alice: Persona, settings: Settings) -> None:
        settings.TOKEN_FAILURES_PER_CLIENT = settings.TOKEN_FAILURES_PER_ADDRESS = 0
        assert {ask(alice, client_secret="wrong").status_code for _ in range(30)} == {401}

    def test_after_the_window_it_goes_on(self, alice: Persona) -> None:
        for _ in range(11):
            ask(alice, client_secret="wrong")
        Counter.objects.update(ends_at=timezone.now())
        assert ask(alice).status_code == 200

    @pytest.mark.django_db(transaction=True)
    def test_guesses_at_the_same_moment(self, alice: Persona) -> None:
        """Of 16 that pass at once each is counted: at most one guess a thread more than the limit."""

        def guess(index: int) -> list[int]:
            return [ask(alice, client_secret=f"{index}-{number}").status_code for number in range(10)]

        tried = sum(guesses.count(401) for guesses in in_threads(16, guess))
        assert 10 <= tried <= 10 + 15


class TestAddress:
    def tried_from(self, someone: Persona, *where: tuple[str, str | None]) -> int:
        """The answer to a guess from the last address, after a guess from each before; one may fail."""
        *before, (address, forwarded) = where
        for guess in before:
            ask(someone, *guess, client_secret="wrong")
        status: int = ask(someone, address, forwarded).status_code
        return status

    @pytest.fixture(autouse=True)
    def _one_failure(self, settings: Settings) -> None:
        settings.TOKEN_FAILURES_PER_CLIENT = 1

    def test_a_header_that_anybody_can_send_is_not_believed(self, alice: Persona) -> None:
        assert self.tried_from(alice, ("192.0.2.1", "203.0.113.1"), ("192.0.2.1", "203.0.113.2")) == 429

    def test_behind_a_proxy_it_is_what_the_proxy_saw(self, alice: Persona, settings: Settings) -> None:
        settings.TRUST_X_FORWARDED = True
        assert self.tried_from(alice, ("10.0.0.1", "203.0.113.1"), ("10.0.0.1", "203.0.113.2")) == 200
        assert self.tried_from(alice, ("10.0.0.1", "203.0.113.1")) == 429

    def test_what_stands_before_it_is_made_up(self, alice: Persona, settings: Settings) -> None:
        settings.TRUST_X_FORWARDED = True
        made_up = ("10.0.0.1", "198.51.100.7, 203.0.113.1"), ("10.0.0.1", "198.51.100.8,203.0.113.1")
        assert self.tried_from(alice, *made_up) == 429

    def test_without_the_header_it_is_the_peer(self, alice: Persona, settings: Settings) -> None:
        settings.TRUST_X_FORWARDED = True
        assert self.tried_from(alice, ("10.0.0.1", None), ("10.0.0.1", "")) == 429

    @pytest.mark.parametrize(
        ("first", "second", "is_one"),
        [
            ("2001:db8::1", "2001:db8::ffff:1", True),
            ("2001:db8::1", "2001:db8:0:1::1", False),
            ("192.0.2.1", "::ffff:192.0.2.1", True),
            ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
            ("", "", True),
            ("unix:", "unix:", True),
        ],
    )
    def test_of_ipv6_a_client_has_64_bits(
        self, alice: Persona, first: str, second: str, is_one: bool
    ) -> None:
        assert self.tried_from(alice, (first, None), (second, None)) == (429 if is_one else 200)


class TestSignIn:
    """10 failures of a person and an address, 50 of an address in a quarter of an hour."""

    TOO_MANY = "Too many attempts to sign in failed. Try again in "

    @pytest.fixture(autouse=True)
    def _user(self, db: None, settings: Settings) -> None:
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
        User.objects.create_superuser("ada", password="right")
        User.objects.create_superuser("bert", password="right")

    def sign_in(self, name: str, password: str, address: str = "192.0.2.1") -> Any:
        form = {"username": name, "password": password}
        return Client().post("/admin/login/", form, REMOTE_ADDR=address)

    def fail(self, name: str, times: int, address: str = "192.0.2.1") -> None:
        for _ in range(times):
            refused = self.sign_in(name, "wrong", address)
            assert self.TOO_MANY not in refused.content.decode()

    def test_it_works(self) -> None:
        self.fail("ada", 9)
        assert self.sign_in("ada", "right").status_code == 302

    def test_guessing_at_a_password_is_stopped(self) -> None:
        self.fail("ada", 10)
        for password in ("wrong", "right"):
            refused = self.sign_in("ada", password)
            assert refused.status_code == 200
            assert re.search(rf"{self.TOO_MANY}\d+ minutes?\.", refused.content.decode())
            assert "_auth_user_id" not in refused.client.session

    def test_nobody_else_is_locked_out(self) -> None:
        self.fail("ada", 10)
        assert self.sign_in("bert", "right").status_code == 302
        assert self.sign_in("ada", "right", "192.0.2.2").status_code == 302

    def test_an_unknown_name_is_stopped_alike(self) -> None:
        self.fail("nobody", 10)
        assert self.TOO_MANY in self.sign_in("nobody", "x").content.decode()

    def test_one_address_that_tries_many_names(self, settings: Settings) -> None:
        settings.SIGN_IN_FAILURES_PER_ADDRESS = 5
        for number in range(5):
            self.fail(f"name-{number}", 1)
        assert self.TOO_MANY in self.sign_in("ada", "right").content.decode()

    def test_it_is_apart_from_the_token_endpoint(self, alice: Persona) -> None:
        for _ in range(11):
            ask(alice, client_id="ada", client_secret="wrong")
        assert self.sign_in("ada", "right").status_code == 302

    def test_an_empty_form_does_not_count(self, settings: Settings) -> None:
        settings.SIGN_IN_FAILURES_PER_ADDRESS = 1
        self.sign_in("ada", "")
        self.sign_in("", "x")
        assert self.sign_in("ada", "right").status_code == 302


FULL = "the tenant may have no more shells: its quota is used up"


def parsed(number: int) -> Any:
    return parse_shell(json.dumps({"id": f"urn:{number}"}).encode(), strict=False)


def carried_out(someone: Persona, accepted: Any) -> Any:
    assert accepted.status_code == 202
    handle = accepted["Location"].rpartition("/")[2]
    while bulk.run_next():
        pass
    return someone.get(f"/bulk/result/{handle}")


class TestQuota:
    def used(self) -> tuple[int, int]:
        quota = Quota.objects.get()
        assert quota.shells == Shell.objects.filter(tenant=quota.tenant).count()
        return quota.shells, quota.max_shells

    def test_by_default_there_is_none(self, alice: Persona) -> None:
        alice.register({"id": "urn:1"})
        assert not Quota.objects.exists()

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.spec("IDTA-01002-3", "ClientForbidden")
    def test_one_shell_more_is_refused_and_nothing_is_changed(self, alice: Persona) -> None:
        shell_services.set_quota(alice.tenant.pk, 1)
        assert alice.register({"id": "urn:1"}).status_code == 201
        body = {
            "id": "urn:2",
            "specificAssetIds": [{"name": "n", "value": "v"}],
            "submodelDescriptors": [submodel()],
        }
        for response in (alice.register(body), alice.put(shell_path("urn:2"), body)):
            assert response.status_code == 403
            assert texts(response) == [FULL]
        assert self.used() == (1, 1)
        assert not AssetId.objects.exists()
        assert Change.objects.count() == 1

    def test_an_id_that_is_taken_is_still_a_conflict(self, alice: Persona) -> None:
        shell_services.set_quota(alice.tenant.pk, 1)
        alice.register({"id": "urn:1"})
        assert alice.register({"id": "urn:1"}).status_code == 409

    def test_what_is_there_can_be_replaced_and_removed(self, alice: Persona) -> None:
        shell_services.set_quota(alice.tenant.pk, 1)
        alice.register({"id": "urn:1"})
        assert alice.put(shell_path("urn:1"), {"id": "urn:1", "idShort": "New"}).status_code == 204
        path = f"{shell_path('urn:1')}/submodel-descriptors"
        assert alice.post(path, submodel()).status_code == 201
        assert alice.delete(shell_path("urn:1")).status_code == 204
        assert alice.delete(shell_path("urn:1")).status_code == 404
        assert self.used() == (0, 1)
        assert alice.put(shell_path("urn:2"), {"id": "urn:2"}).status_code == 201
        assert self.used() == (1, 1)

    def test_standalone_submodels_are_no_shells(self, alice: Persona) -> None:
        shell_services.set_quota(alice.tenant.pk, 0)
        assert alice.post("/submodel-descriptors", submodel("urn:1")).status_code == 201
        assert alice.delete(f"/submodel-descriptors/{encode('urn:1')}").status_code == 204
        assert self.used() == (0, 0)

    def test_other_tenants_are_not_counted(self, alice: Persona, charlie: Persona) -> None:
        shell_services.set_quota(alice.tenant.pk, 1)
        assert {charlie.register({"id": f"urn:{number}"}).status_code for number in range(3)} == {201}
        assert self.used() == (0, 1)

    @pytest.mark.parametrize("verb", ["post", "put"])
    def test_a_bulk_operation_is_all_or_none(self, alice: Persona, verb: str) -> None:
        shell_services.set_quota(alice.tenant.pk, 3)
        alice.register({"id": "urn:0"})
        accepted = getattr(alice, verb)("/bulk/shell-descriptors", [{"id": f"urn:{n}"} for n in range(1, 4)])
        result = carried_out(alice, accepted)
        assert result.status_code == 400
        assert texts(result) == [FULL]
        assert self.used() == (1, 3)
        accepted = getattr(alice, verb)("/bulk/shell-descriptors", [{"id": "urn:1"}, {"id": "urn:2"}])
        assert carried_out(alice, accepted).status_code == 204
        assert self.used() == (3, 3)
        assert (
            carried_out(alice, alice.delete("/bulk/shell-descriptors", ["urn:0", "urn:1"])).status_code == 204
        )
        assert self.used() == (1, 3)

    def test_a_bulk_put_that_only_replaces(self, alice: Persona) -> None:
        shell_services.set_quota(alice.tenant.pk, 1)
        alice.register({"id": "urn:1"})
        accepted = alice.put("/bulk/shell-descriptors", [{"id": "urn:1", "idShort": "New"}])
        assert carried_out(alice, accepted).status_code == 204
        assert self.used() == (1, 1)

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("how", [[], ["--atomic"]])
    def test_an_import_stops_at_the_batch_that_does_not_fit(
        self, tenant_a: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: list[str]
    ) -> None:
        monkeypatch.setattr(importing, "BATCH_ITEMS", 4)
        shell_services.set_quota(tenant_a.pk, 10)
        file = tmp_path / "shells.jsonl"
        file.write_text("".join(json.dumps({"id": f"urn:{number}"}) + "\n" for number in range(12)))
        arguments = ["import_shells", "--tenant", "tenant-a", "--processes", "1", *how, str(file)]
        with pytest.raises(CommandError, match=FULL.replace("(", ".")):
            run(*arguments)
        assert self.used() == ((0, 10) if how else (8, 10))
        shell_services.set_quota(tenant_a.pk, 12)
        run(*arguments, *([] if how else ["--resume"]))
        assert self.used() == (12, 12)

    def test_a_dry_run_foresees_it(self, tenant_a: Tenant, tmp_path: Path) -> None:
        shell_services.register(SHELLS, tenant_a.pk, parsed(0))
        shell_services.set_quota(tenant_a.pk, 3)
        file = tmp_path / "shells.jsonl"
        arguments = ["import_shells", "--tenant", "tenant-a", "--dry-run", "--on-conflict", "skip", str(file)]
        file.write_text("".join(json.dumps({"id": parsed(number).id}) + "\n" for number in range(3)))
        run(*arguments)
        file.write_text("".join(json.dumps({"id": parsed(number).id}) + "\n" for number in range(4)))
        with pytest.raises(CommandError, match=r"no more shells.*; nothing was changed"):
            run(*arguments)
        assert self.used() == (1, 3)

    def test_an_import_that_replaces_counts_nothing(self, tenant_a: Tenant, tmp_path: Path) -> None:
        shell_services.set_quota(tenant_a.pk, 1)
        file = tmp_path / "shells.jsonl"
        for id_short in ("One", "Two"):
            file.write_text(json.dumps({"id": "urn:1", "idShort": id_short}))
            run("import_shells", "--tenant", "tenant-a", "--on-conflict", "replace", str(file))
        assert self.used() == (1, 1)

    def test_the_database_keeps_it(self, tenant_a: Tenant) -> None:
        shell_services.set_quota(tenant_a.pk, 1)
        with pytest.raises(IntegrityError, match="quota_is_kept"):
            Quota.objects.update(shells=2)


@pytest.mark.django_db(transaction=True)
class TestQuotaUnderConcurrency:
    def test_16_threads_store_exactly_as_many_as_the_quota_says(self, tenant_a: Tenant) -> None:
        shell_services.set_quota(tenant_a.pk, 100)

        def register(index: int) -> int:
            stored = 0
            for number in range(20):
                with contextlib.suppress(shell_services.QuotaExceeded):
                    shell_services.register(SHELLS, tenant_a.pk, parsed(index * 1000 + number))
                    stored += 1
            return stored

        assert sum(in_threads(16, register)) == 100
        assert Shell.objects.count() == Quota.objects.get().shells == 100

    def test_16_threads_register_replace_and_remove_the_same_few(self, tenant_a: Tenant) -> None:
        shell_services.set_quota(tenant_a.pk, 5)

        def work(index: int) -> None:
            chance = random.Random(index)
            for _ in range(15):
                document = parsed(chance.randrange(12))
                refusals = (
                    shell_services.QuotaExceeded, shell_services.IdentifierTaken, shell_services.NotRegistered,
                )  # fmt: skip
                with contextlib.suppress(*refusals):
                    match chance.randrange(4):
                        case 0:
                            shell_services.register(SHELLS, tenant_a.pk, document)
                        case 1:
                            shell_services.replace(SHELLS, tenant_a.pk, document)
                        case 2:
                            shell_services.register_many(SHELLS, tenant_a.pk, [document])
                        case _:
                            shell_services.remove(SHELLS, tenant_a.pk, document.id)

        in_threads(16, work)
        assert Shell.objects.count() == Quota.objects.get().shells <= 5

    def test_it_is_switched_on_while_others_write(self, tenant_a: Tenant) -> None:
        """Nothing that is written at that moment is left out, and nothing is counted twice."""
        stop = threading.Event()

        def work(index: int) -> None:
            if index == 0:
                time.sleep(0.3)
                shell_services.set_quota(tenant_a.pk, 1_000_000)
                time.sleep(0.3)
                stop.set()
            number = 0
            while not stop.is_set():
                number += 1
                shell_services.register(SHELLS, tenant_a.pk, parsed(index * 100_000 + number))
                if number % 3 == 0:
                    shell_services.remove(SHELLS, tenant_a.pk, f"urn:{index * 100_000 + number}")

        in_threads(6, work)
        assert Quota.objects.get().shells == Shell.objects.count() > 0

    def test_it_is_not_switched_on_while_somebody_writes_for_long(
        self, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(quotas, "LOCK_MILLISECONDS", 200)

        def switch_on(_: int) -> None:
            with pytest.raises(CommandError, match="shells are being written; try again"):
                call_command("set_limits", "tenant-a", "--max-shells", "5")

        with transaction.atomic():
            shell_services.register(SHELLS, tenant_a.pk, parsed(1))
            in_threads(1, switch_on)
        assert not Quota.objects.exists()


class TestSetLimits:
    def test_it_sets_and_shows(self, alice: Persona) -> None:
        alice.register({"id": "urn:1"})
        assert run("set_limits", "tenant-a") == (
            "tenant-a  requests per minute  no limit\ntenant-a  shells  no limit\n"
        )
        assert run("set_limits", "tenant-a", "--requests-per-minute", "600", "--max-shells", "50") == (
            "tenant-a  requests per minute  600\ntenant-a  shells  1 of 50\n"
        )
        assert run("set_limits", "tenant-a", "--module", "alice", "--requests-per-minute", "60") == (
            "tenant-a  requests per minute  600\n"
            "tenant-a/alice  requests per minute  60\n"
            "tenant-a  shells  1 of 50\n"
        )
        run("set_limits", "tenant-a", "--module", "alice", "--requests-per-minute", "none")
        assert run("set_limits", "tenant-a", "--requests-per-minute", "none", "--max-shells", "none") == (
            "tenant-a  requests per minute  no limit\ntenant-a  shells  no limit\n"
        )

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["nobody"], "^there is no tenant 'nobody'$"),
            (["tenant-a", "--module", "nobody", "--requests-per-minute=1"], "has no module 'nobody'$"),
            (["tenant-a", "--module=alice", "--max-shells=1"], "^a module has no shells of its own"),
            (["tenant-a", "--max-shells=0"], "^the tenant has more than 0 shells$"),
            (["tenant-a", "--max-shells=-1"], "'-1' is no whole number, and not none"),
            (["tenant-a", "--max-shells=many"], "'many' is no whole number, and not none"),
            (["tenant-a", "--max-shells=9999999999999999999"], "is no whole number, and not none"),
            (["tenant-a", "--requests-per-minute=0"], "^requests_per_minute: Ensure this value"),
            (["tenant-a", "--requests-per-minute=2147483648"], "^requests_per_minute: Ensure this value"),
        ],
    )
    def test_what_cannot_be_set_changes_nothing(
        self, alice: Persona, arguments: list[str], said: str
    ) -> None:
        alice.register({"id": "urn:1"})
        with pytest.raises(CommandError, match=said):
            call_command("set_limits", *arguments)
        with pytest.raises(CommandError):
            call_command("set_limits", "tenant-a", "--requests-per-minute=7", "--max-shells=0")
        assert "no limit" in run("set_limits", "tenant-a").splitlines()[0]
        assert not Quota.objects.exists()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("limits")) as running:
        yield running


@pytest.mark.xdist_group("server")
class TestRealServer:
    """Two worker processes, two threads in each."""

    def test_all_workers_together_grant_no_more_than_the_limit(
        self, server: Server, whole_window: None
    ) -> None:
        server.manage("set_limits", "demo", "--requests-per-minute", "400")
        with client_of(server) as registry, ThreadPoolExecutor(8) as executor:
            got = list(executor.map(lambda _: registry.get("shell-descriptors/YQ"), range(600)))
        server.manage("set_limits", "demo", "--requests-per-minute", "none")
        answers = Counts(answer.status_code for answer in got)
        assert set(answers) == {404, 429}
        assert 400 - 4 * 3 <= answers[404] <= 400  # of each lease of 4 a thread may leave 3
        assert {answer.headers["Retry-After"] for answer in got if answer.status_code == 429} <= {
            str(seconds) for seconds in range(1, 61)
        }

    def test_the_address_of_a_client_is_that_of_its_connection(self, server: Server) -> None:
        form = {"grant_type": "client_credentials", "client_id": "x", "client_secret": "x", "scope": "openid"}
        answers = [
            httpx2.post(
                server.url + token_url("demo"), data=form, headers={"X-Forwarded-For": f"192.0.2.{n}"}
            )
            for n in range(11)
        ]
        assert [answer.status_code for answer in answers] == [401] * 10 + [429]
        with client_of(server) as registry:
            assert registry.get("shell-descriptors").status_code == 200
