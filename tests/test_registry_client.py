"""Both ways to renew a token (contract §5.6), against the real server with tokens that live 2 s, by 8 threads."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from authlib.integrations.base_client.errors import OAuthError

from tenants.client import RegistryClient
from tenants.secrets import DEMO_CLIENT_ID, DEMO_SECRET
from tests.conftest import AUDIENCE, token_url
from tests.server import Server

THREADS = 8
SECONDS = 5.0

pytestmark = pytest.mark.xdist_group("short-tokens")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("short-tokens"))
    server.environment["TOKEN_LIFETIME_SECONDS"] = "2"
    try:
        yield server.start()
    finally:
        server.close()


def client(server: Server, **options: Any) -> RegistryClient:
    return RegistryClient(
        server.url + token_url("demo"),
        DEMO_CLIENT_ID,
        options.pop("secret", DEMO_SECRET),
        scope=f"aud:{AUDIENCE} openid",
        base_url=f"{server.url}/aas-api/v3/demo/",
        timeout=30,
        **options,
    )


def call_for_a_while(registry: RegistryClient) -> Counter[int]:
    """Read and write with many threads at once; return how often which status was answered."""
    statuses: Counter[int] = Counter()
    failures: list[BaseException] = []
    end = time.monotonic() + SECONDS

    def work() -> None:
        try:
            while time.monotonic() < end:
                statuses[registry.get("shell-descriptors?limit=1").status_code] += 1
                statuses[registry.post("lookup/shellsByAssetLink", json=[]).status_code] += 1
                time.sleep(0.01)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    return statuses


def requests_since(server: Server, position: int) -> Counter[tuple[str, int]]:
    """What the server says that it was asked, and what it answered, since its log had `position` characters."""
    time.sleep(0.2)
    events = [
        json.loads(line) for line in server.output()[position:].splitlines() if line.startswith('{"method"')
    ]
    return Counter((event["operation"], event["status"]) for event in events)


@pytest.mark.spec("contract", "5.6.3")
def test_renewal_before_a_token_expires(server: Server) -> None:
    """The server never answers 401, and is asked for few tokens: one thread renews for all."""
    position = len(server.output())
    with client(server) as registry:
        statuses = call_for_a_while(registry)
    assert set(statuses) == {200}
    asked = requests_since(server, position)
    assert sum(asked.values()) > 100
    assert [operation for operation, status in asked if status == 401] == []
    assert SECONDS / 2 <= asked["token", 200] <= SECONDS + 2


@pytest.mark.spec("contract", "5.6.2")
def test_renewal_after_a_401(server: Server) -> None:
    """The server answers 401 each time a token has expired; callers never see it."""
    position = len(server.output())
    with client(server, margin=None) as registry:
        statuses = call_for_a_while(registry)
    assert set(statuses) == {200}
    asked = requests_since(server, position)
    refused = sum(count for (_, status), count in asked.items() if status == 401)
    tokens = asked["token", 200]
    assert 2 <= tokens <= SECONDS / 2 + 2
    assert tokens - 1 <= refused <= (tokens - 1) * THREADS


@pytest.mark.spec("contract", "5.6.2")
def test_a_token_that_was_never_good_is_renewed_too(server: Server) -> None:
    with client(server, token={"access_token": "x", "token_type": "Bearer"}) as registry:
        assert registry.get("shell-descriptors").status_code == 200


def test_wrong_credentials_are_said_once(server: Server) -> None:
    position = len(server.output())
    with client(server, secret="wrong") as registry, pytest.raises(OAuthError, match="invalid_client"):
        registry.get("shell-descriptors")
    assert requests_since(server, position) == {("token", 401): 1}


class TestWithoutAServer:
    """Against a transport that answers as the test says."""

    def client(self, lifetime: int, *statuses: int, **options: Any) -> tuple[RegistryClient, list[str]]:
        seen: list[str] = []
        answers = iter(statuses)

        def answer(request: httpx2.Request) -> httpx2.Response:
            if request.url.path == "/token":
                seen.append("token")
                token = f"t{seen.count('token')}"
                body = {"access_token": token, "token_type": "Bearer", "expires_in": lifetime}
                return httpx2.Response(200, json=body)
            seen.append(f"{request.headers['Authorization']} {request.content.decode()}".strip())
            return httpx2.Response(next(answers))

        client = RegistryClient(
            "https://registry.example/token",
            "id",
            "secret",
            scope=f"aud:{AUDIENCE} openid",
            transport=httpx2.MockTransport(answer),
            **options,
        )
        return client, seen

    def test_it_is_tried_once_more_and_not_for_ever(self) -> None:
        client, seen = self.client(300, 401, 401)
        assert client.get("https://registry.example/x").status_code == 401
        assert seen == ["token", "Bearer t1", "token", "Bearer t2"]

    def test_a_body_is_sent_again(self) -> None:
        client, seen = self.client(300, 401, 201)
        assert client.post("https://registry.example/x", json={"a": 1}).status_code == 201
        assert seen == ["token", 'Bearer t1 {"a":1}', "token", 'Bearer t2 {"a":1}']

    @pytest.mark.parametrize("status", [400, 403, 404, 500, 503])
    def test_other_answers_are_the_callers(self, status: int) -> None:
        client, seen = self.client(300, status)
        assert client.get("https://registry.example/x").status_code == status
        assert seen == ["token", "Bearer t1"]

    @pytest.mark.parametrize(
        ("lifetime", "later", "renewed"),
        [
            (300, 235, False),
            (300, 241, True),
            (3600, 3535, False),
            (3600, 3541, True),
            (60, 43, False),
            (60, 46, True),
        ],
    )
    def test_the_margin(
        self, monkeypatch: pytest.MonkeyPatch, lifetime: int, later: int, renewed: bool
    ) -> None:
        """60 s before the end; in the last quarter of a token that lives less than four minutes."""
        client, seen = self.client(lifetime, 200, 200)
        client.get("https://registry.example/x")
        now = time.time()
        monkeypatch.setattr("tenants.client.time.time", lambda: now + later)
        client.get("https://registry.example/x")
        assert seen.count("token") == (2 if renewed else 1)

    def test_a_stream_has_a_good_token(self) -> None:
        client, seen = self.client(300, 200)
        with client.stream("GET", "https://registry.example/x") as response:
            assert response.status_code == 200
        assert seen == ["token", "Bearer t1"]

    def test_the_token_goes_to_nobody_else(self) -> None:
        """A redirect is an answer; its address is not asked."""
        client, seen = self.client(300, 307)
        assert client.get("https://registry.example/x").status_code == 307
        assert seen == ["token", "Bearer t1"]
