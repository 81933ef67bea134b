"""How the keys of trusted issuers are fetched and kept: addresses, limits, rotation, outage."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest
from joserfc.jwk import ECKey, Key, OctKey, OKPKey, RSAKey
from pytest_django import Settings

from tenants import issuers
from tenants.issuers import KeysUnavailable, Source
from tests.issuer import Issuer, reply, running_issuer


@pytest.fixture(scope="module")
def running() -> Iterator[Issuer]:
    with running_issuer() as issuer:
        yield issuer


@pytest.fixture
def issuer(running: Issuer, settings: Settings) -> Issuer:
    """An issuer that nobody has asked yet; only DEBUG lets keys be fetched over http."""
    settings.DEBUG = True
    issuers.forget()
    running.down = False
    running.answers.clear()
    running.requests.clear()
    running.keys = [running.first_key]
    return running


@pytest.fixture
def source(issuer: Issuer) -> Source:
    return Source(issuer.url, issuer.jwks_uri)


def kids(source: Source, kid: str | None = None) -> set[str | None]:
    return {key.kid for key in issuers.key_set(source, kid)}


class TestFetch:
    def test_from_the_address_of_the_operator(self, issuer: Issuer, source: Source) -> None:
        assert kids(source) == {issuer.keys[0].thumbprint()}
        assert issuer.requests == ["/keys"]

    @pytest.mark.spec("OpenID Connect Discovery", "4")
    def test_from_the_address_of_the_discovery_document(self, issuer: Issuer) -> None:
        assert kids(Source(issuer.url)) == {issuer.keys[0].thumbprint()}
        assert issuer.requests == ["/.well-known/openid-configuration", "/keys"]

    @pytest.mark.spec("OpenID Connect Discovery", "4.3")
    def test_a_discovery_document_of_another_issuer(self, issuer: Issuer) -> None:
        with pytest.raises(KeysUnavailable, match="names another issuer"):
            issuers.fetch(Source(f"{issuer.url}/"))

    @pytest.mark.parametrize("jwks_uri", ["file:///etc/passwd", "ftp://127.0.0.1/keys", None, 5, "", "//x/y"])
    def test_a_discovery_document_with_an_address_that_is_not_asked(
        self, issuer: Issuer, jwks_uri: object
    ) -> None:
        document = json.dumps({"issuer": issuer.url, "jwks_uri": jwks_uri}).encode()
        issuer.answers["/.well-known/openid-configuration"] = lambda handler: reply(handler, document)
        with pytest.raises(KeysUnavailable):
            issuers.fetch(Source(issuer.url))
        assert issuer.requests == ["/.well-known/openid-configuration"]

    def test_outside_debug_only_https_is_asked(
        self, issuer: Issuer, source: Source, settings: Settings
    ) -> None:
        settings.DEBUG = False
        for asked in (source, Source(issuer.url)):
            with pytest.raises(KeysUnavailable):
                issuers.fetch(asked)
        assert issuer.requests == []

    def test_a_redirect_is_not_followed(self, issuer: Issuer, source: Source) -> None:
        issuer.answers["/keys"] = lambda handler: reply(handler, b"", 302, Location=f"{issuer.url}/elsewhere")
        with pytest.raises(KeysUnavailable, match="answers 302"):
            issuers.fetch(source)
        assert issuer.requests == ["/keys"]

    def test_an_answer_that_is_too_large(self, issuer: Issuer, source: Source) -> None:
        issuer.answers["/keys"] = lambda handler: reply(handler, b" " * (issuers.MAX_BYTES + 1))
        with pytest.raises(KeysUnavailable, match="more than 262144 bytes"):
            issuers.fetch(source)

    def test_an_answer_that_drips(
        self, issuer: Issuer, source: Source, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each byte comes in time, all of them do not."""

        def drip(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.end_headers()
            for _ in range(40):
                handler.wfile.write(b" ")
                handler.wfile.flush()
                time.sleep(0.05)

        issuer.answers["/keys"] = drip
        monkeypatch.setattr(issuers, "FETCH_SECONDS", 0.3)
        started = time.monotonic()
        with pytest.raises(KeysUnavailable, match="takes longer"):
            issuers.fetch(source)
        assert time.monotonic() - started < 1

    def test_an_answer_that_does_not_come(
        self, issuer: Issuer, source: Source, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        issuer.answers["/keys"] = lambda _: time.sleep(0.5)
        monkeypatch.setattr(issuers, "STEP_SECONDS", 0.1)
        with pytest.raises(KeysUnavailable, match="ReadTimeout"):
            issuers.fetch(source)

    def test_nobody_there(self, issuer: Issuer) -> None:
        with pytest.raises(KeysUnavailable, match="ConnectError"):
            issuers.fetch(Source("http://127.0.0.1:1", "http://127.0.0.1:1/keys"))

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[]",
            b"null",
            b"{}",
            b'{"keys": 5}',
            b'{"keys": {}}',
            b'{"keys": []}',
            b'{"keys": [5, null, {}, {"kty": "RSA"}, {"kty": "RSA", "n": 5, "e": []}]}',
            b"\xff",
            b"[" * 100_000,
            b'{"keys": [{"kty": "ML-DSA"}]}',
        ],
    )
    def test_an_answer_without_a_usable_key(self, issuer: Issuer, source: Source, body: bytes) -> None:
        issuer.answers["/keys"] = lambda handler: reply(handler, body)
        with pytest.raises(KeysUnavailable):
            issuers.fetch(source)

    @pytest.mark.spec("RFC 7517", "5")
    @pytest.mark.filterwarnings("ignore:Key size:joserfc.errors.SecurityWarning")
    def test_keys_that_do_not_serve_are_passed_over(self, issuer: Issuer, source: Source) -> None:
        good: list[Key] = [ECKey.generate_key("P-256"), OKPKey.generate_key("Ed25519")]
        passed_over = [
            {"kty": "ML-DSA", "kid": "new"},
            OctKey.generate_key(256).as_dict(private=True),
            RSAKey.generate_key(1024, auto_kid=True).as_dict(private=False),
            {**RSAKey.generate_key(2048).as_dict(private=False), "use": "enc"},
            {**RSAKey.generate_key(2048).as_dict(private=False), "kid": 5},
        ]
        document = {"keys": [*passed_over, *(issuer.published(key) for key in good)]}
        issuer.answers["/keys"] = lambda handler: reply(handler, json.dumps(document).encode())
        assert kids(source) == {key.thumbprint() for key in good}


class TestCache:
    def test_keys_are_fetched_once(self, issuer: Issuer, source: Source) -> None:
        for _ in range(3):
            kids(source, issuer.keys[0].thumbprint())
        assert issuer.requests == ["/keys"]

    def test_an_unknown_key_is_asked_for_once_in_an_interval(
        self, issuer: Issuer, source: Source, settings: Settings
    ) -> None:
        settings.JWKS_INTERVAL_SECONDS = 0.2
        kids(source)
        time.sleep(0.2)
        for number in range(20):
            kids(source, f"made-up-{number}")
        assert issuer.requests == ["/keys"] * 2

    def test_a_new_key_is_found(self, issuer: Issuer, source: Source, settings: Settings) -> None:
        settings.JWKS_INTERVAL_SECONDS = 0
        kids(source)
        issuer.keys.append(RSAKey.generate_key(2048))
        new = issuer.keys[-1].thumbprint()
        assert new in kids(source, new)

    def test_a_key_that_is_gone_is_forgotten_when_it_is_old(
        self, issuer: Issuer, source: Source, settings: Settings
    ) -> None:
        settings.JWKS_INTERVAL_SECONDS = settings.JWKS_MAX_AGE_SECONDS = 0.1
        old = issuer.keys[0].thumbprint()
        kids(source)
        issuer.keys = [ECKey.generate_key("P-256")]
        time.sleep(0.1)
        assert old not in kids(source, old)

    def test_old_keys_serve_while_the_issuer_is_down(
        self, issuer: Issuer, source: Source, settings: Settings
    ) -> None:
        settings.JWKS_INTERVAL_SECONDS = settings.JWKS_MAX_AGE_SECONDS = 0
        known = issuer.keys[0].thumbprint()
        kids(source, known)
        issuer.down = True
        assert kids(source, known) == {known}
        with pytest.raises(KeysUnavailable, match="answers 503"):
            issuers.key_set(source, "unknown")
        issuer.down = False
        assert kids(source, "unknown") == {known}

    def test_they_do_not_serve_for_ever(self, issuer: Issuer, source: Source, settings: Settings) -> None:
        settings.JWKS_INTERVAL_SECONDS = settings.JWKS_MAX_AGE_SECONDS = 0
        kids(source)
        issuer.down = True
        settings.JWKS_STALE_SECONDS = 0
        with pytest.raises(KeysUnavailable, match="answers 503"):
            issuers.key_set(source, issuer.keys[0].thumbprint())

    def test_an_issuer_that_is_down_is_asked_once_in_an_interval(
        self, issuer: Issuer, source: Source
    ) -> None:
        issuer.down = True
        for _ in range(3):
            with pytest.raises(KeysUnavailable, match="answers 503"):
                issuers.key_set(source, None)
        assert issuer.requests == ["/keys"]

    def test_of_many_threads_one_fetches(self, issuer: Issuer, source: Source) -> None:
        found: list[set[str | None]] = []
        threads = [threading.Thread(target=lambda: found.append(kids(source))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [{issuer.keys[0].thumbprint()}] * 8
        assert issuer.requests == ["/keys"]

    def test_who_has_old_keys_does_not_wait_for_new_ones(
        self, issuer: Issuer, source: Source, settings: Settings
    ) -> None:
        settings.JWKS_INTERVAL_SECONDS = settings.JWKS_MAX_AGE_SECONDS = 0
        kids(source)
        answered = threading.Event()

        def answer_late(handler: BaseHTTPRequestHandler) -> None:
            answered.wait(5)
            reply(handler, b"", 503)

        issuer.answers["/keys"] = answer_late
        fetching = threading.Thread(target=kids, args=(source,))
        fetching.start()
        while len(issuer.requests) < 2:
            time.sleep(0.01)
        started = time.monotonic()
        kids(source)
        assert time.monotonic() - started < 0.5
        answered.set()
        fetching.join()
