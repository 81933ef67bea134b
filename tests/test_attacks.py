"""Attacks that need no test file of another subject; docs/identity.md has the table of all of them."""

import base64
import json
import math
import re
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from shells.identifiers import encode
from shells.models import Shell, StandaloneSubmodel
from tenants import keys, services
from tests.bodies import submodel
from tests.conftest import Persona, post_form, shell_path, texts, token_url
from tests.issuer import running_issuer
from tests.server import Server, running_server
from tests.test_bearer_tokens import assert_invalid, claims_of, signed, status
from tests.test_openapi import OURS
from tests.test_server import client_of


def raw_token(header: str, payload: str, key: Any) -> str:
    """A token of exactly this text, signed by RS256."""
    parts = [base64.urlsafe_b64encode(part.encode()).rstrip(b"=") for part in (header, payload)]
    content = b".".join(parts)
    signature = key.private_key.sign(content, PKCS1v15(), SHA256())
    return (content + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


def header_of(**changes: Any) -> dict[str, Any]:
    return {"alg": "RS256", "typ": "at+jwt", "kid": keys.signing_key().kid, **changes}


@pytest.mark.spec("RFC 7519", "4")
@pytest.mark.spec("RFC 8725", "2.4")
class TestMembersThatOccurTwice:
    """What is looked at before a token is verified, what is verified, and what is used are the same."""

    def test_once_is_fine(self, alice: Persona) -> None:
        token = raw_token(json.dumps(header_of()), json.dumps(claims_of(alice.token)), keys.signing_key())
        assert status(alice, token).status_code == 404

    @pytest.mark.parametrize(
        "twice",
        [
            '"aud":"somebody-else"',
            '"tenant_id":"tenant-b"',
            '"iss":"https://elsewhere.example"',
            '"client_id":"x"',
            '"roles":["admin"]',
            '"exp":99999999999',
            '"more":{"a":1,"a":2}',
            r'"\u0061ud":"somebody-else"',
        ],
    )
    @pytest.mark.parametrize("comes_first", [True, False])
    def test_in_the_claims(self, alice: Persona, twice: str, comes_first: bool) -> None:
        claims = json.dumps(claims_of(alice.token))[1:-1]
        payload = f"{{{twice},{claims}}}" if comes_first else f"{{{claims},{twice}}}"
        json.loads(payload)
        assert_invalid(status(alice, raw_token(json.dumps(header_of()), payload, keys.signing_key())))

    @pytest.mark.spec("RFC 7515", "4")
    @pytest.mark.parametrize("twice", ['"alg":"none"', '"kid":"other"', '"typ":"JWT"', '"alg":"RS256"'])
    @pytest.mark.parametrize("comes_first", [True, False])
    def test_in_the_header(self, alice: Persona, twice: str, comes_first: bool) -> None:
        members = json.dumps(header_of())[1:-1]
        header = f"{{{twice},{members}}}" if comes_first else f"{{{members},{twice}}}"
        token = raw_token(header, json.dumps(claims_of(alice.token)), keys.signing_key())
        assert_invalid(status(alice, token))

    @pytest.mark.parametrize("member", ["iss", "aud", "roles"])
    def test_in_a_token_of_a_trusted_issuer(self, alice: Persona, settings: Settings, member: str) -> None:
        settings.DEBUG = True  # so that the issuer may speak plain HTTP
        with running_issuer() as issuer:
            services.trust_issuer("tenant-a", issuer.url, audiences=["registry"], jwks_uri=issuer.jwks_uri)
            key = issuer.first_key
            claims = claims_of(issuer.token())
            header = json.dumps(header_of(kid=key.thumbprint()))
            assert status(alice, raw_token(header, json.dumps(claims), key)).status_code == 404
            payload = json.dumps(claims)[:-1] + f", {json.dumps(member)}: {json.dumps(claims[member])}}}"
            assert_invalid(status(alice, raw_token(header, payload, key)), "malformed")

    @pytest.mark.parametrize("number", [math.nan, math.inf])
    def test_an_end_that_never_comes(self, alice: Persona, number: float) -> None:
        payload = json.dumps({**claims_of(alice.token), "exp": number})
        assert_invalid(status(alice, raw_token(json.dumps(header_of()), payload, keys.signing_key())))


@pytest.mark.spec("RFC 8725", "3.10")
@pytest.mark.parametrize(
    "kid",
    ["../../etc/passwd", "/dev/null", "' OR 1=1 --", "\0", "%00", "\ud800", "x" * 4000, ["a"], {}, 5, ""],
)
def test_a_kid_that_plays_tricks(alice: Persona, kid: Any) -> None:
    token = raw_token(json.dumps(header_of(kid=kid)), json.dumps(claims_of(alice.token)), keys.signing_key())
    assert_invalid(status(alice, token))


class TestClocks:
    """TOKEN_LEEWAY_SECONDS is for the beginning of our own tokens; their end is their end, by the same clock.

    Those of other issuers: `test_foreign_tokens.py`.
    """

    @pytest.mark.spec("RFC 7519", "4.1.5")
    @pytest.mark.spec("RFC 7519", "4.1.6")
    @pytest.mark.parametrize("claim", ["iat", "nbf"])
    def test_an_issuer_may_be_30_seconds_ahead(self, alice: Persona, claim: str) -> None:
        claims = claims_of(alice.token)
        assert status(alice, signed({**claims, claim: time.time() + 25})).status_code == 404
        assert_invalid(status(alice, signed({**claims, claim: time.time() + 35})))

    @pytest.mark.spec("RFC 7519", "4.1.4")
    def test_a_token_has_no_leeway_at_its_end(self, alice: Persona) -> None:
        claims = claims_of(alice.token)
        assert_invalid(status(alice, signed({**claims, "exp": time.time() - 0.5})), "expired")
        assert status(alice, signed({**claims, "exp": time.time() + 5})).status_code == 404


class TestEnumeration:
    """Whether there is a client with an id cannot be told from the answer, nor from the work that it takes."""

    def work(self, someone: Persona, **changes: str) -> tuple[int, Counter[str], int]:
        """Statements, calls of what compares secrets, and all calls, for one guess."""
        calls: Counter[str] = Counter()

        def count(frame: Any, event: str, argument: Any) -> None:
            if event in ("call", "c_call"):
                name = frame.f_code.co_name if event == "call" else getattr(argument, "__name__", "?")
                calls[name] += 1

        form = someone.form(**changes)
        with CaptureQueriesContext(connection) as queries:
            sys.setprofile(count)
            try:
                response = post_form(someone.client, someone.token_url, form)
            finally:
                sys.setprofile(None)
        assert response.status_code == 401
        compared = Counter({name: calls[name] for name in ("digest", "has_secret", "compare_digest")})
        return len(queries), compared, calls.total()

    def test_an_unknown_client_takes_as_much_work_as_a_wrong_secret(self, alice: Persona) -> None:
        self.work(alice, client_secret="warm-up")
        statements, compared, calls = self.work(alice, client_secret="wrong")
        assert compared["compare_digest"] == 2
        for unknown in ("unknown", "0" * 25):
            same_statements, same_compared, about_calls = self.work(alice, client_id=unknown)
            assert same_statements == statements
            assert same_compared == compared
            assert about_calls == pytest.approx(calls, rel=0.1)

    def test_no_secret_fits_an_unknown_client(self, alice: Persona) -> None:
        for secret in ("", "-" * 64, "0" * 64, alice.module.secret_digest):
            form = alice.form(client_id="unknown", client_secret=secret or None)
            assert post_form(alice.client, alice.token_url, form).status_code in (400, 401)


@pytest.mark.spec("check", "33")
def test_a_stolen_token_is_of_no_use_after_its_module_is_disabled(alice: Persona, settings: Settings) -> None:
    settings.TOKEN_CACHE_SECONDS = 0
    stolen = alice.new_token()
    assert status(alice, stolen).status_code == 404
    services.disable_module("tenant-a", "alice")
    for _ in range(3):
        assert_invalid(status(alice, stolen), "disabled")
    assert post_form(alice.client, alice.token_url, alice.form()).status_code == 401


# --- Hostile values everywhere ------------------------------------------------------------------------

HOSTILE = [
    "%", "_", "%%%", "'", "''; DROP TABLE shells_shell; --", "' OR '1'='1", '"', "\\", "\\'", "$$", "$1", "%s",
    "%(tenant)s", "{0}", "{{7*7}}", "\0", "\n", "../../etc/passwd", "*", ")",
    "1 UNION SELECT document FROM shells_shell", "é\u202e\U0001f600", "-1", "999999999999999999999", "null", "[]", "{}",
]  # fmt: skip
SECRET = "OnlyForTenantB"


@pytest.fixture
def of_others(charlie: Persona) -> None:
    """Something of another tenant under each hostile id that can be one."""
    for number, identifier in enumerate([*HOSTILE, "urn:1"]):
        asset_id = {"name": "n", "value": identifier}
        charlie.register({"id": identifier, "idShort": SECRET, "specificAssetIds": [asset_id]})
        charlie.post("/submodel-descriptors", {**submodel(identifier), "idShort": f"{SECRET}{number}"})


def hostile_requests(
    method: str, path: str, operation: dict[str, Any]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Address and headers: each parameter in turn with each value, plain and base64url-encoded, the others harmless."""
    parameters = [each for each in operation.get("parameters", []) if each["name"] != "tenantId"]
    for changed in [None, *parameters]:
        for value in HOSTILE if changed is not None else [""]:
            for text in {value, encode(value)} if value else {value}:
                address, query, headers = path, "", {}
                for parameter in parameters:
                    name, is_changed = parameter["name"], parameter is changed
                    if parameter["in"] == "path":
                        address = address.replace(
                            f"{{{name}}}", quote(text, safe="") if is_changed else encode("urn:1")
                        )
                    elif is_changed and parameter["in"] == "query":
                        query = f"?{name}={quote(text, safe='')}"
                    elif is_changed and text.isascii() and text.isprintable():
                        headers[name] = text
                yield address + query, headers


def hostile_bodies(path: str, method: str) -> Iterator[Any]:
    """Bodies that such an operation takes, each with a hostile text wherever there is one."""
    if method not in ("post", "put"):
        yield b""
        return
    for value in HOSTILE:
        links = [{"name": value, "value": value}]
        if path.startswith("/query/"):
            yield {"$condition": {"$contains": [{"$field": "$aasdesc#idShort"}, {"$strVal": value}]}}
            yield {"$condition": {"$regex": [{"$field": "$smdesc#id"}, {"$strVal": value}]}}
        elif path.startswith("/lookup/"):
            yield links
        else:
            one = {**submodel(value), "specificAssetIds": links, "idShort": value}
            yield [one] if path.startswith("/bulk/") else one


QUERIES = [operation for operation in OURS if operation[1].startswith("/query/")]
OTHERS = [operation for operation in OURS if operation not in QUERIES]


@pytest.mark.usefixtures("of_others")
@pytest.mark.parametrize(("method", "path"), OTHERS, ids=map(" ".join, OTHERS))
def test_hostile_values_in_every_parameter_of_every_operation(alice: Persona, method: str, path: str) -> None:
    """No failure, nothing of another tenant shown, nothing of another tenant changed."""
    assert_harmless(alice, method, path)


@pytest.mark.django_db(
    transaction=True
)  # a pattern that is none is found by PostgreSQL, and ends the transaction
@pytest.mark.usefixtures("of_others")
@pytest.mark.parametrize(("method", "path"), QUERIES, ids=map(" ".join, QUERIES))
def test_hostile_values_in_queries(alice: Persona, method: str, path: str) -> None:
    assert_harmless(alice, method, path)


def assert_harmless(alice: Persona, method: str, path: str) -> None:
    assert min(Shell.objects.count(), StandaloneSubmodel.objects.count()) > 20
    before = _of_tenant_b()
    bodies = list(hostile_bodies(path, method))
    for number, (address, headers) in enumerate(hostile_requests(method, path, OURS[method, path])):
        response = alice.call(method.upper(), address, bodies[number % len(bodies)], **headers)
        assert response.status_code < 500, (address, response.content)
        assert SECRET not in response.content.decode(), address
    for body in bodies:
        address = re.sub(r"\{\w+\}", encode("urn:1"), path)
        response = alice.call(method.upper(), address, body)
        assert response.status_code < 500, (body, response.content)
        assert SECRET not in response.content.decode(), body
    assert _of_tenant_b() == before


def _of_tenant_b() -> list[Any]:
    rows: list[Any] = []
    for model in (Shell, StandaloneSubmodel):
        found = model._default_manager.filter(tenant__identifier="tenant-b").order_by("pk")
        rows += found.values_list("identifier", "document", "updated_at")
    return rows


@pytest.mark.usefixtures("of_others")
@pytest.mark.parametrize("value", HOSTILE)
def test_wildcards_match_themselves_only(alice: Persona, value: str) -> None:
    """An id, an asset id or a type is compared, never matched as a pattern."""
    alice.register(
        {"id": "urn:1", "assetType": "plain", "specificAssetIds": [{"name": "n", "value": "plain"}]}
    )
    if value.isprintable():
        assert alice.fetch(value).status_code == 404
        links = alice.post("/lookup/shellsByAssetLink", [{"name": "n", "value": value}])
        assert links.json()["result"] == []
        of_type = alice.get(f"/shell-descriptors?assetType={encode(value)}")
        assert of_type.json()["result"] == []


# --- Host header --------------------------------------------------------------------------------------


class TestHost:
    """The name in a request decides neither where a client is sent nor who the issuer is."""

    def test_an_unknown_host_is_refused_before_anything_is_stored(self, alice: Persona) -> None:
        response = alice.post("/shell-descriptors", {"id": "urn:1"}, Host="evil.example")
        assert response.status_code == 400
        assert texts(response) == ["the request cannot be read"]
        assert not Shell.objects.exists()

    def test_a_forwarded_host_is_not_believed(self, alice: Persona) -> None:
        response = alice.post("/shell-descriptors", {"id": "urn:1"}, X_Forwarded_Host="evil.example")
        assert response["Location"].startswith("http://testserver/")

    def test_with_a_base_url_the_request_says_nothing(self, alice: Persona, settings: Settings) -> None:
        settings.BASE_URL, settings.ALLOWED_HOSTS = "https://registry.example", ["*"]
        response = alice.post("/shell-descriptors", {"id": "urn:1"}, Host="evil.example")
        assert response["Location"] == f"https://registry.example{alice.base}{shell_path('urn:1')}"

    def test_the_issuer_is_what_the_settings_say(
        self, alice: Persona, client: Client, settings: Settings
    ) -> None:
        settings.ALLOWED_HOSTS = ["*"]
        known = "http://127.0.0.1:8000/iam/access-management/v1/tenants/tenant-a/openid-connect"
        discovery = alice.token_url.replace("/token", "/.well-known/openid-configuration")
        for headers in ({"Host": "evil.example"}, {"X-Forwarded-Host": "evil.example"}):
            document = client.get(discovery, headers=headers)
            assert document.json()["issuer"] == known
            assert "evil" not in document.content.decode()
            response = post_form(alice.client, alice.token_url, alice.form(), **headers)
            assert claims_of(response.json()["access_token"])["iss"] == known


# --- Request smuggling --------------------------------------------------------------------------------

PATH = b"/aas-api/v3/demo/shell-descriptors"
BODY = b'{"id":"urn:smuggled"}'
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
#: A request that an attacker hides in another one's body, or behind it.
HIDDEN = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Request-ID: hidden\r\n\r\n"

#: Headers and body of a POST whose length two servers may read differently: refused, and the connection closed.
REFUSED = {
    "two lengths": b"Content-Length: 3\r\n" + LENGTH + b"\r\n" + BODY,
    "a list of lengths": b"Content-Length: %d, 3\r\n\r\n%s" % (len(BODY), BODY),
    "a length with a sign": LENGTH.replace(b": ", b": +") + b"\r\n" + BODY,
    "a length in hexadecimal": b"Content-Length: 0x15\r\n\r\n" + BODY,
    "a line that is folded": b"X-A: a\r\n b\r\n" + LENGTH + b"\r\n" + BODY,
    "a folded Transfer-Encoding": b"Transfer-Encoding:\r\n chunked\r\n\r\n" + CHUNKS,
    "a blank before the colon": b"Transfer-Encoding : chunked\r\n\r\n" + CHUNKS,
    "a coding that is nearly chunked": b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKS,
    "chunked, but not last": b"Transfer-Encoding: chunked, identity\r\n\r\n" + CHUNKS,
    "a bare CR in a header": b"X-A: a\rTransfer-Encoding: chunked\r\n" + LENGTH + b"\r\n" + BODY,
    "a NUL in a header": b"X-A: a\0\r\n" + LENGTH + b"\r\n" + BODY,
    "a chunk that ends with a bare LF": CHUNKED + b"\r\n" + CHUNKS.replace(b"\r\n", b"\n"),
    "a chunk of a negative size": CHUNKED + b"\r\n-1\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a chunk of a size too large": CHUNKED + b"\r\n" + b"f" * 17 + b"\r\n" + BODY + b"\r\n0\r\n\r\n",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("attacks")) as running:
        yield running


@pytest.fixture(scope="module")
def registry(server: Server) -> Iterator[httpx2.Client]:
    with client_of(server) as client:
        yield client


@pytest.mark.xdist_group("server")
@pytest.mark.spec("RFC 9112", "11.2")
class TestSmuggling:
    def answers(self, server: Server, sent: bytes) -> tuple[list[tuple[int, bytes]], bool]:
        """Status and correlation id of each answer on one connection; whether the server closed it."""
        received = b""
        closed = True
        with socket.create_connection(("127.0.0.1", server.port), timeout=2) as raw:
            try:
                raw.sendall(sent)
                while part := raw.recv(65536):
                    received += part
            except TimeoutError:
                closed = False
            except ConnectionError:  # it hung up before it had read everything
                pass
        heads = re.findall(rb"HTTP/1\.[01] (\d{3}) .*?\r\n\r\n", received, re.DOTALL)
        ids = [
            (re.search(rb"(?i)x-request-id: (\S+)", head) or [b"", b""])[1]
            for head in re.findall(rb"HTTP/1\.[01] \d{3} .*?\r\n\r\n", received, re.DOTALL)
        ]
        return list(zip(map(int, heads), ids, strict=True)), closed

    def post(self, registry: httpx2.Client, rest: bytes, host: bytes = b"Host: 127.0.0.1\r\n") -> bytes:
        authorization = registry.headers["Authorization"].encode()
        return (
            b"POST " + PATH + b" HTTP/1.1\r\n" + host + b"X-Request-ID: first\r\n"
            b"Authorization: " + authorization + b"\r\nContent-Type: application/json\r\n" + rest
        )  # fmt: skip

    @pytest.fixture(autouse=True)
    def _nothing_is_smuggled(self, registry: httpx2.Client) -> Iterator[None]:
        registry.delete(f"shell-descriptors/{encode('urn:smuggled')}")
        yield
        assert registry.get(f"shell-descriptors/{encode('urn:hidden')}").status_code == 404

    def test_two_requests_on_one_connection_are_answered_as_themselves(
        self, server: Server, registry: httpx2.Client
    ) -> None:
        for rest in (LENGTH + b"\r\n" + BODY, CHUNKED + b"\r\n" + CHUNKS):
            answers, _ = self.answers(server, self.post(registry, rest) + HIDDEN)
            assert answers in ([(201, b"first"), (200, b"hidden")], [(409, b"first"), (200, b"hidden")])

    @pytest.mark.parametrize("rest", REFUSED.values(), ids=REFUSED)
    def test_what_can_be_read_in_two_ways_is_refused_and_ends_the_connection(
        self, server: Server, registry: httpx2.Client, rest: bytes
    ) -> None:
        answers, closed = self.answers(server, self.post(registry, rest) + HIDDEN)
        assert closed
        assert [status for status, _ in answers] in ([400], [])
        assert registry.get(f"shell-descriptors/{encode('urn:smuggled')}").status_code == 404

    @pytest.mark.spec("RFC 9112", "6.1")
    @pytest.mark.parametrize("length", [LENGTH, b"Content-Length: 3\r\n", b"Content-Length: 300\r\n"])
    @pytest.mark.parametrize("comes_first", [True, False])
    def test_with_a_length_and_chunks_the_chunks_count_and_the_connection_ends(
        self, server: Server, registry: httpx2.Client, length: bytes, comes_first: bool
    ) -> None:
        headers = length + CHUNKED if comes_first else CHUNKED + length
        answers, closed = self.answers(server, self.post(registry, headers + b"\r\n" + CHUNKS) + HIDDEN)
        assert closed
        assert answers == [(201, b"first")]

    def test_the_same_length_twice_is_that_length(self, server: Server, registry: httpx2.Client) -> None:
        """RFC 9110 §8.6 lets a server take it; there is one way to read it."""
        answers, _ = self.answers(server, self.post(registry, LENGTH * 2 + b"\r\n" + BODY) + HIDDEN)
        assert answers == [(201, b"first"), (200, b"hidden")]

    def test_lines_that_end_with_a_bare_lf(self, server: Server, registry: httpx2.Client) -> None:
        """RFC 9112 §2.2 lets a server take them; what follows is a request of its own."""
        request = self.post(registry, LENGTH + b"\r\n").replace(b"\r\n", b"\n") + BODY
        answers, _ = self.answers(server, request + HIDDEN)
        assert answers == [(201, b"first"), (200, b"hidden")]

    def test_a_body_that_holds_a_request_is_a_body(self, server: Server, registry: httpx2.Client) -> None:
        inner = self.post(registry, b'Content-Length: 19\r\n\r\n{"id":"urn:hidden"}')
        sent = self.post(registry, b"Content-Length: %d\r\n\r\n%s" % (len(inner), inner))
        answers, _ = self.answers(server, sent + HIDDEN)
        assert answers == [(400, b"first"), (200, b"hidden")]

    def test_a_request_without_a_token_leaves_no_body_behind(self, server: Server) -> None:
        """It is answered before its body is read; the body is not taken for the next request."""
        inner = HIDDEN * 3
        head = b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % (PATH, len(inner))
        answers, _ = self.answers(server, head + inner)
        assert [status for status, _ in answers] == [401]

    @pytest.mark.parametrize("first", [b"127.0.0.1", b"evil.example"])
    def test_two_hosts(self, server: Server, registry: httpx2.Client, first: bytes) -> None:
        """RFC 9112 §3.2: 400."""
        second = b"evil.example" if first == b"127.0.0.1" else b"127.0.0.1"
        host = b"Host: %s\r\nHost: %s\r\n" % (first, second)
        answers, _ = self.answers(server, self.post(registry, LENGTH + b"\r\n" + BODY, host))
        assert [status for status, _ in answers] == [400]

    @pytest.mark.parametrize(("size", "expected"), [(65_536, [401]), (200_000, [431])])
    def test_a_token_that_is_huge(self, server: Server, size: int, expected: list[int]) -> None:
        head = b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " % PATH
        answers, _ = self.answers(server, head + b"a" * size + b"\r\n\r\n")
        assert [status for status, _ in answers] == expected

    def test_the_token_endpoint_is_no_way_in_either(self, server: Server) -> None:
        head = b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n" % token_url("demo").encode()
        form = b"Content-Type: application/x-www-form-urlencoded\r\n"
        answers, closed = self.answers(server, head + form + LENGTH + CHUNKED + b"\r\n" + CHUNKS + HIDDEN)
        assert [status for status, _ in answers] == [400]
        assert closed
