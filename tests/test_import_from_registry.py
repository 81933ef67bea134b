"""manage.py import_shells --from-registry: another registry over HTTP."""

from io import StringIO
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client

from shells import importing, services
from shells.collections import SHELLS
from shells.descriptors import parse_shell
from shells.generating import shell_body
from shells.importing import Options
from shells.models import Shell
from shells.sources import registries
from shells.sources.items import Unreadable
from shells.sources.registries import Credentials, Registry
from tests.conftest import Persona

URL = "http://testserver/aas-api/v3/tenant-a"


def credentials(someone: Persona) -> Credentials:
    return Credentials(
        token_url=f"http://testserver{someone.token_url}",
        client_id=someone.module.client_id,
        client_secret=someone.secret,
        scope=settings.IMPORT_CREDENTIALS["scope"],
    )


def this_registry(request: httpx.Request) -> httpx.Response:
    """The registry under test, as the other one."""
    answer = Client().generic(
        request.method,
        request.url.raw_path.decode(),
        request.content,
        request.headers.get("content-type", ""),
        headers={name: request.headers[name] for name in ("authorization",) if name in request.headers},
    )
    return httpx.Response(answer.status_code, content=answer.content)


class Other:
    """A registry of which answers are known; tokens are numbered."""

    def __init__(self, *answers: httpx.Response | httpx.TransportError, lifetime: int = 300) -> None:
        self.answers = list(answers)
        self.lifetime = lifetime
        self.tokens = 0
        self.calls: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/token":
            self.tokens += 1
            token = {"access_token": f"token-{self.tokens}", "expires_in": self.lifetime}
            return httpx.Response(200, json=token)
        self.calls.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, httpx.TransportError):
            raise answer
        return answer

    def read(self, with_token: bool = True) -> list[bytes]:
        found = (
            Credentials("http://other/token", "client", "secret", "scope") if with_token else Credentials()
        )
        registry = Registry("http://other/api/", found, httpx.MockTransport(self))
        ((_, items),) = registry.parts()
        return [item.content for item in items]

    @property
    def used(self) -> list[str]:
        return [call.headers["authorization"] for call in self.calls]


def page(*identifiers: str, cursor: str | None = None) -> httpx.Response:
    metadata = {} if cursor is None else {"cursor": cursor}
    return httpx.Response(
        200, json={"paging_metadata": metadata, "result": [{"id": name} for name in identifiers]}
    )


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registries, "FIRST_WAIT_SECONDS", 0)


def test_it_works(alice: Persona, charlie: Persona, monkeypatch: pytest.MonkeyPatch) -> None:
    """Page by page, with a token of the token endpoint."""
    monkeypatch.setattr(registries, "PAGE_ITEMS", 2)
    bodies = [shell_body(number) for number in range(5)]
    services.register_many(SHELLS, alice.tenant.pk, [parse_shell(body, strict=False) for body in bodies])
    feed = Registry(URL, credentials(alice), httpx.MockTransport(this_registry))
    counts = importing.run(charlie.tenant.pk, feed, Options(strict=False))
    assert (counts.created, counts.rejected) == (5, 0)
    copies = Shell.objects.of(charlie.tenant.pk).order_by("pk").values_list("document", flat=True)
    assert [copy.encode() for copy in copies] == bodies


def test_wrong_credentials(alice: Persona, charlie: Persona) -> None:
    wrong = Credentials(**{**vars(credentials(alice)), "client_secret": "wrong"})
    rejections: list[Any] = []
    feed = Registry(URL, wrong, httpx.MockTransport(this_registry))
    counts = importing.run(
        charlie.tenant.pk, feed, Options(strict=False), importing.Report(show=rejections.append)
    )
    assert counts.rejected == 1
    assert str(rejections[0]).endswith("gives no token: it answers 401")


def test_the_cursor_is_passed_on() -> None:
    other = Other(page("a", cursor="x/y="), page("b"))
    assert other.read() == [b'{"id":"a"}', b'{"id":"b"}']
    assert [call.url.params.get("cursor") for call in other.calls] == [None, "x/y="]
    assert str(other.calls[0].url).startswith("http://other/api/shell-descriptors?")


def test_without_credentials() -> None:
    other = Other(page("a"))
    assert other.read(with_token=False) == [b'{"id":"a"}']
    assert "authorization" not in other.calls[0].headers


@pytest.mark.spec("contract", "5.6")
class TestTokenRenewal:
    def test_a_token_is_used_while_it_lives(self) -> None:
        other = Other(page("a", cursor="1"), page("b"))
        other.read()
        assert other.used == ["Bearer token-1"] * 2

    def test_after_401(self) -> None:
        other = Other(page("a", cursor="1"), httpx.Response(401), page("b"))
        assert len(other.read()) == 2
        assert other.used == ["Bearer token-1", "Bearer token-1", "Bearer token-2"]

    def test_401_again(self) -> None:
        with pytest.raises(Unreadable, match="answers 401"):
            Other(httpx.Response(401), httpx.Response(401)).read()

    def test_before_it_expires(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = [1000.0]
        monkeypatch.setattr("shells.sources.registries.time.monotonic", lambda: now[0])
        other = Other(page("a", cursor="1"), page("b", cursor="2"), page("c"))
        call = other.__call__

        def later(request: httpx.Request) -> httpx.Response:
            now[0] += 130
            return call(request)

        registry = Registry(
            "http://other", Credentials("http://other/token", "c", "s", "x"), httpx.MockTransport(later)
        )
        ((_, items),) = registry.parts()
        assert len(list(items)) == 3
        # A token is had at 1130 and lives until 1430: at 1260 it is good, at 1390 it has less than a minute.
        assert other.used == ["Bearer token-1", "Bearer token-1", "Bearer token-2"]


class TestBadAnswers:
    def test_what_passes_is_waited_for(self) -> None:
        other = Other(httpx.ConnectError("refused"), httpx.Response(503), page("a"))
        assert len(other.read()) == 1

    def test_what_does_not_pass(self) -> None:
        with pytest.raises(Unreadable, match="cannot be reached: refused"):
            Other(*[httpx.ConnectError("refused")] * registries.ATTEMPTS).read()

    @pytest.mark.parametrize(
        "answer",
        [httpx.Response(200, text="<html>"), httpx.Response(200, json=[]), httpx.Response(404)],
    )
    def test_something_else(self, answer: httpx.Response) -> None:
        with pytest.raises(Unreadable, match="answers"):
            Other(answer).read()

    def test_pages_without_end(self) -> None:
        with pytest.raises(Unreadable, match="the same cursor came twice"):
            Other(page("a", cursor="1"), page("a", cursor="1"), page("a", cursor="1")).read()


def test_the_command(alice: Persona) -> None:
    command = ["import_shells", "--tenant", "tenant-a", "--from-registry", "http://127.0.0.1:1/api"]
    with pytest.raises(CommandError, match="cannot be resumed"):
        call_command(*command, "--resume")
    with pytest.raises(CommandError, match="name either files or another registry"):
        call_command(*command, "file.json")
    errors = StringIO()
    with pytest.raises(CommandError, match="1 of 1 were rejected"):
        call_command(*command, stdout=StringIO(), stderr=errors)
    assert "cannot be reached" in errors.getvalue()
