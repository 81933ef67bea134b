"""Which tokens open the registry: contract §5.5 and §5.6, RFC 6750 §3, RFC 9068 §4."""

import base64
import hmac
import json
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from joserfc import jwt
from joserfc.jwk import RSAKey
from pytest_django import Settings

from tenants import keys
from tenants.audiences import TargetClient
from tenants.models import Module, Role
from tests.conftest import OTHER_V4_AUDIENCE, OWN_V4_AUDIENCE, Persona, texts

UNKNOWN = "/shell-descriptors/YQ"


def status(someone: Persona, token: str | None = None) -> Any:
    if token is not None:
        someone.token = token
    return someone.get(UNKNOWN)


def assert_invalid(response: Any, description: str = "") -> None:
    """Check 33: 401 with a challenge that says invalid_token, so that the client's renewal works."""
    assert response.status_code == 401
    challenge = response["WWW-Authenticate"]
    assert challenge.startswith("Bearer ")
    assert 'error="invalid_token"' in challenge
    assert f'error_description="{texts(response)[0]}"' in challenge
    assert description in texts(response)[0]


def signed(claims: dict[str, Any], key: Any = None, **header: Any) -> str:
    """A token with `claims`, signed by us unless another key is given."""
    key = key or keys.signing_key()
    return jwt.encode({"alg": "RS256", "typ": "at+jwt", **header}, claims, key, algorithms=["RS256", "HS256"])


def claims_of(token: str) -> dict[str, Any]:
    payload = token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return claims


@pytest.mark.spec("RFC 6750", "2.1")
@pytest.mark.spec("contract", "5.5")
def test_it_works(alice: Persona) -> None:
    assert status(alice).status_code == 404
    assert status(alice, signed(claims_of(alice.token))).status_code == 404


@pytest.mark.spec("check", "33")
@pytest.mark.spec("RFC 6750", "3")
@pytest.mark.parametrize("header", [None, "", "Basic YTpi", "Token x"])
def test_without_a_bearer_token_the_challenge_names_no_error(alice: Persona, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    response = alice.client.get(alice.base + UNKNOWN, headers=headers)
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == 'Bearer realm="aas-registry"'
    assert texts(response) == ["a bearer token is required"]


@pytest.mark.spec("RFC 6750", "3.1")
@pytest.mark.spec("RFC 7519", "4.1.4")
@pytest.mark.spec("check", "33")
@pytest.mark.spec("contract", "5.6")
def test_an_expired_token(alice: Persona) -> None:
    claims = claims_of(alice.token)
    assert_invalid(status(alice, signed({**claims, "exp": int(time.time())})), "expired")


def test_a_token_that_expires_while_it_is_believed(alice: Persona) -> None:
    token = signed({**claims_of(alice.token), "exp": time.time() + 1})
    assert status(alice, token).status_code == 404
    time.sleep(1.1)
    assert_invalid(status(alice, token), "expired")


@pytest.mark.spec("RFC 7519", "4.1.3")
@pytest.mark.spec("RFC 8725", "3.9")
@pytest.mark.spec("RFC 9068", "4")
@pytest.mark.spec("check", "33")
@pytest.mark.spec("contract", "5.4")
def test_a_token_for_the_other_service(alice: Persona) -> None:
    assert status(alice, alice.new_token(OWN_V4_AUDIENCE)).status_code == 404
    assert_invalid(status(alice, alice.new_token(OTHER_V4_AUDIENCE)))


def test_a_token_for_a_service_whose_time_is_over(alice: Persona, settings: Settings) -> None:
    token = alice.new_token(OWN_V4_AUDIENCE)
    over = timezone.now() - timedelta(seconds=1)
    settings.TARGET_CLIENTS = [TargetClient(OWN_V4_AUDIENCE, is_this_registry=True, until=over)]
    assert_invalid(status(alice, token))


@pytest.mark.parametrize(
    "change",
    [
        {"iss": "http://127.0.0.1:8000/iam/access-management/v1/tenants/tenant-b/openid-connect"},
        {"iss": "https://elsewhere.example"},
        {"iss": 5},
        {"aud": "somebody-else"},
        {"aud": ["somebody-else"]},
        {"aud": []},
        {"aud": {"i2zkcq1li0ps1pjh62gjj1892": 1}},
        {"exp": "tomorrow"},
        {"exp": None},
        {"exp": True},
        {"nbf": time.time() + 3600},
        {"iat": time.time() + 3600},
        {"tenant_id": 5},
        {"tenant_id": ["tenant-a"]},
        {"client_id": "unknown"},
        {"client_id": {"a": 1}},
        {"roles": []},
        {"roles": ["admin"]},
    ],
)
@pytest.mark.spec("RFC 9068", "4")
@pytest.mark.spec("RFC 8725", "3.8")
@pytest.mark.spec("RFC 7519", "4.1.1")
def test_a_claim_that_does_not_fit(alice: Persona, change: dict[str, Any]) -> None:
    assert_invalid(status(alice, signed({**claims_of(alice.token), **change})))


@pytest.mark.parametrize("claim", ["iss", "sub", "aud", "exp", "iat", "client_id", "tenant_id", "roles"])
@pytest.mark.spec("RFC 9068", "2.2")
def test_a_missing_claim(alice: Persona, claim: str) -> None:
    claims = claims_of(alice.token)
    del claims[claim]
    assert_invalid(status(alice, signed(claims)))


@pytest.mark.spec("RFC 8725", "3.11")
@pytest.mark.spec("RFC 8725", "3.12")
@pytest.mark.spec("RFC 9068", "2.1")
def test_a_jwt_that_is_no_access_token(alice: Persona) -> None:
    assert_invalid(status(alice, signed(claims_of(alice.token), typ="JWT")))


class TestSignature:
    """RFC 8725 §3.1 and §3.2."""

    @pytest.mark.spec("RFC 8725", "3.2")
    def test_none(self, alice: Persona) -> None:
        header = base64.urlsafe_b64encode(b'{"alg":"none","typ":"at+jwt"}').rstrip(b"=").decode()
        assert_invalid(status(alice, f"{header}.{alice.token.split('.')[1]}."))

    @pytest.mark.spec("RFC 8725", "3.1")
    def test_the_public_key_as_an_hmac_secret(self, alice: Persona) -> None:
        header = {"alg": "HS256", "typ": "at+jwt", "kid": keys.signing_key().kid}
        parts = [json.dumps(header).encode(), json.dumps(claims_of(alice.token)).encode()]
        content = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
        mac = hmac.digest(keys.signing_key().as_pem(private=False), content, "sha256")
        signature = base64.urlsafe_b64encode(mac).rstrip(b"=")
        assert_invalid(status(alice, (content + b"." + signature).decode()))

    @pytest.mark.spec("RFC 8725", "3.3")
    def test_another_key(self, alice: Persona, other_key: RSAKey) -> None:
        assert_invalid(status(alice, signed(claims_of(alice.token), other_key)))

    def test_another_key_under_our_kid(self, alice: Persona, other_key: RSAKey) -> None:
        token = signed(claims_of(alice.token), other_key, kid=keys.signing_key().kid)
        assert_invalid(status(alice, token))

    @pytest.mark.spec("RFC 7519", "7.2")
    def test_changed_claims(self, alice: Persona) -> None:
        header, _, signature = alice.token.split(".")
        payload = json.dumps({**claims_of(alice.token), "roles": ["admin"]}).encode()
        forged = base64.urlsafe_b64encode(payload).rstrip(b"=").decode()
        assert_invalid(status(alice, f"{header}.{forged}.{signature}"))

    @pytest.mark.parametrize(
        "token",
        ["x", "a.b", "a.b.c", "a.b.c.d.e", "....", "é.é.é", "x" * 65536, "{}.{}.{}", "null.null.null"],
    )
    @pytest.mark.spec("RFC 7519", "7.2")
    def test_what_is_no_token_at_all(self, alice: Persona, token: str) -> None:
        assert_invalid(status(alice, token))

    @pytest.mark.spec("RFC 6750", "2.1")
    def test_a_header_with_blanks(self, alice: Persona) -> None:
        assert_invalid(status(alice, f"{alice.token} {alice.token}"))


def test_a_disabled_module_is_refused_when_its_token_is_checked_again(
    alice: Persona, settings: Settings
) -> None:
    assert status(alice).status_code == 404
    Module.objects.filter(pk=alice.module.pk).update(enabled=False)
    settings.TOKEN_CACHE_SECONDS = 0
    assert_invalid(status(alice), "disabled")


def test_a_changed_role_asks_for_a_new_token(alice: Persona, settings: Settings) -> None:
    settings.TOKEN_CACHE_SECONDS = 0
    Module.objects.filter(pk=alice.module.pk).update(role=Role.READER)
    assert_invalid(status(alice), "role")
    assert status(alice, alice.new_token()).status_code == 404


def test_a_verified_token_is_believed_without_asking_the_database(alice: Persona, settings: Settings) -> None:
    settings.TOKEN_CACHE_SECONDS = 1_000_000
    status(alice)
    with CaptureQueriesContext(connection) as queries:
        status(alice)
    assert len(queries) == 1


def test_without_any_key_no_token_can_be_verified(alice: Persona, settings: Settings, tmp_path: Path) -> None:
    settings.SIGNING_KEYS_DIR = tmp_path
    response = status(alice)
    assert response.status_code == 503
    assert texts(response) == ["the signing keys cannot be read; try again"]


class TestForbidden:
    """403: the token is fine, the tenant or the role is not (aas-registry-api.md §8)."""

    @pytest.mark.spec("check", "34")
    @pytest.mark.parametrize("tenant", ["tenant-a", "unknown", "tenant-B", "%20"])
    def test_another_tenant_known_or_not(self, alice: Persona, charlie: Persona, tenant: str) -> None:
        path = f"/aas-api/v3/{tenant}{UNKNOWN}"
        response = charlie.client.get(path, headers={"Authorization": f"Bearer {charlie.token}"})
        assert response.status_code == 403
        assert texts(response) == ["the token is not for this tenant"]

    @pytest.mark.spec("RFC 6750", "3.1")
    def test_a_reader_may_not_register(self, bob: Persona) -> None:
        response = bob.register({"id": "urn:1"})
        assert response.status_code == 403
        assert texts(response) == ["this needs the role editor; the token has reader"]

    def test_a_reader_may_fetch(self, alice: Persona, bob: Persona) -> None:
        alice.register({"id": "urn:1"})
        assert bob.fetch("urn:1").status_code == 200
