"""manage.py import_shells --from-registry: another registry over HTTP."""

from io import StringIO
from typing import Any

import httpx2
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
from shells.sources.registries import Registry
from tenants.client import RegistryClient
from tests.conftest import Persona

URL = "http://testserver/aas-api/v3/tenant-a"


def this_registry_as(someone: Persona, secret: str | None = None) -> Registry:
    """The registry under test as the other one, asked with somebody's credentials."""
    client = RegistryClient(
        f"http://testserver{someone.token_url}",
        someone.module.client_id,
        secret or someone.secret,
        scope=settings.IMPORT_CREDENTIALS["scope"],
        transport=httpx2.MockTransport(this_registry),
    )
    return Registry(URL, client)


def this_registry(request: httpx2.Request) -> httpx2.Response:
    answer = Client().generic(
        request.method,
        request.url.raw_path.decode(),
        request.content,
        request.headers.get("content-type", ""),
        headers={name: request.headers[name] for name in ("authorization",) if name in request.headers},
    )
    return httpx2.Response(answer.status_code, content=answer.content)


class Other:
    """A registry of which answers are known; tokens are numbered."""

    def __init__(self, *answers: httpx2.Response | httpx2.TransportError) -> None:
        self.answers = list(answers)
        self.tokens = 0
        self.token: httpx2.Response | None = None
        self.calls: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/token":
            self.tokens += 1
            if self.token is not None:
                return self.token
            token = {"access_token": f"token-{self.tokens}", "token_type": "Bearer", "expires_in": 300}
            return httpx2.Response(200, json=token)
        self.calls.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, httpx2.TransportError):
            raise answer
        return answer

    def read(self, with_token: bool = True) -> list[bytes]:
        transport = httpx2.MockTransport(self)
        client = (
            RegistryClient("http://other/token", "client", "secret", scope="scope", transport=transport)
            if with_token
            else httpx2.Client(transport=transport)
        )
        ((_, items),) = Registry("http://other/api/", client).parts()
        return [item.content for item in items]

    @property
    def used(self) -> list[str]:
        return [call.headers["authorization"] for call in self.calls]


def page(*identifiers: str, cursor: str | None = None) -> httpx2.Response:
    metadata = {} if cursor is None else {"cursor": cursor}
    return httpx2.Response(
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
    counts = importing.run(charlie.tenant.pk, this_registry_as(alice), Options(strict=False))
    assert (counts.created, counts.rejected) == (5, 0)
    copies = Shell.objects.of(charlie.tenant.pk).order_by("pk").values_list("document", flat=True)
    assert [copy.encode() for copy in copies] == bodies


def test_wrong_credentials(alice: Persona, charlie: Persona) -> None:
    rejections: list[Any] = []
    feed = this_registry_as(alice, secret="wrong")
    counts = importing.run(
        charlie.tenant.pk, feed, Options(strict=False), importing.Report(show=rejections.append)
    )
    assert counts.rejected == 1
    assert "no token can be had: invalid_client" in str(rejections[0])


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
        other = Other(page("a", cursor="1"), httpx2.Response(401), page("b"))
        assert len(other.read()) == 2
        assert other.used == ["Bearer token-1", "Bearer token-1", "Bearer token-2"]

    def test_401_again(self) -> None:
        with pytest.raises(Unreadable, match="answers 401"):
            Other(httpx2.Response(401), httpx2.Response(401)).read()


class TestBadAnswers:
    def test_what_passes_is_waited_for(self) -> None:
        other = Other(httpx2.ConnectError("refused"), httpx2.Response(503), page("a"))
        assert len(other.read()) == 1

    def test_what_does_not_pass(self) -> None:
        with pytest.raises(Unreadable, match="cannot be reached: refused"):
            Other(*[httpx2.ConnectError("refused")] * registries.ATTEMPTS).read()

    @pytest.mark.parametrize(
        "answer",
        [httpx2.Response(200, text="<html>"), httpx2.Response(200, json=[]), httpx2.Response(404)],
    )
    def test_something_else(self, answer: httpx2.Response) -> None:
        with pytest.raises(Unreadable, match="answers"):
            Other(answer).read()

    def test_no_token(self) -> None:
        other = Other()
        other.token = httpx2.Response(404, text="<html>")
        with pytest.raises(Unreadable, match="no token can be had"):
            other.read()

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
