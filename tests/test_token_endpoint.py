"""POST …/openid-connect/token: contract §5.3 and §5.4, RFC 6749 §4.4, §5.1, §5.2."""

import base64
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from joserfc import jwt
from pytest_django import Settings

from tenants import keys, secrets, services
from tenants.audiences import TargetClient
from tenants.models import Module
from tests.conftest import (
    AUDIENCE,
    OTHER_V4_AUDIENCE,
    OWN_V4_AUDIENCE,
    Persona,
    post_form,
    token_url,
)


def request(someone: Persona, **changes: str | None) -> Any:
    return post_form(someone.client, someone.token_url, someone.form(**changes))


def assert_refused(response: Any, error: str, status: int = 400) -> None:
    """RFC 6749 §5.2."""
    assert response.status_code == status, response.content
    assert response.json()["error"] == error
    assert response["Cache-Control"] == "no-store"
    assert response["Content-Type"] == "application/json"


@pytest.mark.spec("RFC 6749", "4.4.3")
@pytest.mark.spec("contract", "5.3")
@pytest.mark.spec("RFC 6749", "5.1")
def test_it_works(alice: Persona) -> None:
    response = request(alice)
    assert response.status_code == 200
    assert response["Cache-Control"] == "no-store"
    body = response.json()
    assert body["token_type"] == "Bearer"
    assert body["expires_in"] == 300
    assert body["scope"] == f"aud:{AUDIENCE} openid"
    assert set(body) == {"access_token", "token_type", "expires_in", "scope"}


@pytest.mark.spec("RFC 9068", "2.2")
def test_the_token_is_an_rs256_jwt_with_the_claims_of_rfc_9068(alice: Persona) -> None:
    token = jwt.decode(alice.new_token(), keys.verification_keys(), algorithms=["RS256"])
    now = time.time()
    assert token.header == {"alg": "RS256", "typ": "at+jwt", "kid": keys.signing_key().kid}
    claims = token.claims
    assert claims.pop("jti")
    assert now - 5 <= claims.pop("iat") <= now
    assert now + 295 <= claims.pop("exp") <= now + 301  # whole seconds, and no shorter than expires_in
    assert claims == {
        "iss": "http://127.0.0.1:8000/iam/access-management/v1/tenants/tenant-a/openid-connect",
        "sub": alice.module.client_id,
        "client_id": alice.module.client_id,
        "aud": AUDIENCE,
        "tenant_id": "tenant-a",
        "roles": ["editor"],
        "scope": f"aud:{AUDIENCE} openid",
    }


@pytest.mark.spec("contract", "5.3")
def test_the_scope_may_be_encoded_with_percent_20(alice: Persona) -> None:
    form = f"grant_type=client_credentials&client_id={alice.module.client_id}&client_secret={alice.secret}"
    response = alice.client.post(
        alice.token_url,
        f"{form}&scope=aud%3A{AUDIENCE}%20openid",
        "application/x-www-form-urlencoded",
        headers={"cache-control": "no-cache"},
    )
    assert response.status_code == 200


@pytest.mark.spec("RFC 6749", "2.3.1")
def test_a_client_may_authenticate_with_http_basic(alice: Persona) -> None:
    credentials = base64.b64encode(f"{alice.module.client_id}:{alice.secret}".encode()).decode()
    form = alice.form(client_id=None, client_secret=None)
    response = post_form(alice.client, alice.token_url, form, Authorization=f"Basic {credentials}")
    assert response.status_code == 200


@pytest.mark.spec("contract", "5.4")
@pytest.mark.parametrize("audience", [AUDIENCE, OWN_V4_AUDIENCE, OTHER_V4_AUDIENCE])
def test_every_target_service_can_be_asked_for(alice: Persona, audience: str) -> None:
    assert request(alice, scope=f"openid aud:{audience}").status_code == 200


@pytest.mark.spec("RFC 6749", "3.3")
def test_a_token_may_be_for_several_services(alice: Persona) -> None:
    scope = f"aud:{OWN_V4_AUDIENCE} aud:{OTHER_V4_AUDIENCE} openid"
    token = request(alice, scope=scope).json()["access_token"]
    claims = jwt.decode(token, keys.verification_keys(), algorithms=["RS256"]).claims
    assert claims["aud"] == [OWN_V4_AUDIENCE, OTHER_V4_AUDIENCE]


@pytest.mark.spec("RFC 6749", "5.2")
class TestInvalidClient:
    """401, always the same answer: it reveals nothing."""

    def answer(self, response: Any) -> Any:
        assert_refused(response, "invalid_client", 401)
        assert response["WWW-Authenticate"].startswith("Basic ")
        return response.json()

    def test_wrong_secret(self, alice: Persona) -> None:
        self.answer(request(alice, client_secret="wrong"))

    def test_every_reason_gives_the_same_answer(self, alice: Persona, charlie: Persona) -> None:
        expected = self.answer(request(alice, client_secret="wrong"))
        unknown_tenant = post_form(alice.client, token_url("nobody"), alice.form())
        other_tenant = post_form(alice.client, alice.token_url, charlie.form())
        assert self.answer(request(alice, client_id="unknown")) == expected
        assert self.answer(request(alice, client_id="nul\0")) == expected
        assert self.answer(request(alice, client_id="é" * 3000)) == expected
        assert self.answer(unknown_tenant) == expected
        assert self.answer(post_form(alice.client, token_url("a%00"), alice.form())) == expected
        assert self.answer(other_tenant) == expected
        Module.objects.filter(pk=alice.module.pk).update(enabled=False)
        assert self.answer(request(alice)) == expected
        Module.objects.filter(pk=alice.module.pk).update(enabled=True, expires_at=timezone.now())
        assert self.answer(request(alice)) == expected

    def test_no_credentials_at_all(self, alice: Persona) -> None:
        self.answer(request(alice, client_id=None, client_secret=None))

    @pytest.mark.parametrize(
        "header",
        ["Basic", "Basic !!!", "Basic /////w==", "Basic YQ==", "Basic Og==", "Bearer x", "Basic OmE="],
    )
    def test_an_authorization_header_that_makes_no_sense(self, alice: Persona, header: str) -> None:
        form = alice.form(client_id=None, client_secret=None)
        self.answer(post_form(alice.client, alice.token_url, form, Authorization=header))

    def test_the_demo_secret_opens_nothing_outside_debug(self, alice: Persona, settings: Settings) -> None:
        module, _ = services.add_module("tenant-a", "demo", secret=secrets.DEMO_SECRET)
        changes = {"client_id": module.client_id, "client_secret": secrets.DEMO_SECRET}
        self.answer(request(alice, **changes))
        settings.DEBUG = True
        assert request(alice, **changes).status_code == 200


@pytest.mark.spec("RFC 6749", "5.2")
class TestInvalidRequest:
    @pytest.mark.parametrize("field", ["grant_type", "client_id", "client_secret"])
    def test_a_missing_parameter(self, alice: Persona, field: str) -> None:
        response = request(alice, **{field: None})
        assert_refused(response, "invalid_request")
        assert field in response.json()["error_description"]

    @pytest.mark.spec("RFC 6749", "3.2")
    def test_an_empty_parameter_counts_as_missing(self, alice: Persona) -> None:
        assert_refused(request(alice, grant_type=""), "invalid_request")

    @pytest.mark.spec("RFC 6749", "3.2")
    def test_a_repeated_parameter(self, alice: Persona) -> None:
        form = "grant_type=client_credentials&grant_type=client_credentials"
        response = alice.client.post(alice.token_url, form, "application/x-www-form-urlencoded")
        assert_refused(response, "invalid_request")

    @pytest.mark.spec("RFC 6749", "2.3")
    def test_two_ways_of_authentication_at_once(self, alice: Persona) -> None:
        credentials = base64.b64encode(f"{alice.module.client_id}:{alice.secret}".encode()).decode()
        response = post_form(
            alice.client, alice.token_url, alice.form(), Authorization=f"Basic {credentials}"
        )
        assert_refused(response, "invalid_request")

    def test_basic_credentials_of_one_client_and_the_id_of_another(self, alice: Persona) -> None:
        credentials = base64.b64encode(f"{alice.module.client_id}:{alice.secret}".encode()).decode()
        form = alice.form(client_id="other", client_secret=None)
        response = post_form(alice.client, alice.token_url, form, Authorization=f"Basic {credentials}")
        assert_refused(response, "invalid_request")

    def test_an_empty_authorization_header_is_none(self, alice: Persona) -> None:
        assert post_form(alice.client, alice.token_url, alice.form(), Authorization="").status_code == 200

    @pytest.mark.spec("RFC 6749", "2.3.1")
    def test_credentials_in_the_address_are_not_read(self, alice: Persona) -> None:
        query = f"?client_id={alice.module.client_id}&client_secret={alice.secret}"
        form = alice.form(client_id=None, client_secret=None)
        assert_refused(post_form(alice.client, alice.token_url + query, form), "invalid_client", 401)

    @pytest.mark.parametrize("content_type", ["application/json", "multipart/form-data; boundary=x", ""])
    def test_another_content_type(self, alice: Persona, content_type: str) -> None:
        response = alice.client.generic("POST", alice.token_url, b"{}", content_type=content_type)
        assert_refused(response, "invalid_request")

    def test_a_charset_other_than_utf_8(self, alice: Persona) -> None:
        content_type = "application/x-www-form-urlencoded; charset=utf-16"
        response = alice.client.generic("POST", alice.token_url, b"a=b", content_type=content_type)
        assert_refused(response, "invalid_request")

    def test_too_many_fields(self, alice: Persona) -> None:
        form = {f"f{number}": "x" for number in range(2000)}
        assert_refused(post_form(alice.client, alice.token_url, form), "invalid_request")

    def test_too_large_a_body(self, alice: Persona, settings: Settings) -> None:
        settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
        response = request(alice, scope="x" * 2000)
        assert_refused(response, "invalid_request", 413)


@pytest.mark.spec("RFC 6749", "5.2")
@pytest.mark.parametrize("grant_type", ["password", "authorization_code", 'é"\\'])
def test_unsupported_grant_type(alice: Persona, grant_type: str) -> None:
    assert_refused(request(alice, grant_type=grant_type), "unsupported_grant_type")


@pytest.mark.spec("RFC 6749", "5.2")
@pytest.mark.spec("contract", "5.4")
class TestInvalidScope:
    @pytest.mark.parametrize(
        "scope",
        [
            None,
            "openid",
            f"aud:{AUDIENCE}",
            f"{AUDIENCE} openid",
            "aud: openid",
            "aud:unknown openid",
            f"aud:{AUDIENCE} aud:unknown openid",
            f"aud:{AUDIENCE} openid email",
        ],
    )
    def test_the_scope_must_name_a_known_service_and_openid(self, alice: Persona, scope: str | None) -> None:
        assert_refused(request(alice, scope=scope), "invalid_scope")

    def test_a_service_whose_time_is_over(self, alice: Persona, settings: Settings) -> None:
        over = timezone.now() - timedelta(seconds=1)
        settings.TARGET_CLIENTS = [TargetClient(OWN_V4_AUDIENCE, is_this_registry=True, until=over)]
        assert_refused(request(alice, scope=f"aud:{OWN_V4_AUDIENCE} openid"), "invalid_scope")

    def test_a_service_whose_time_is_not_over_yet(self, alice: Persona, settings: Settings) -> None:
        until = datetime.now(UTC) + timedelta(hours=1)
        settings.TARGET_CLIENTS = [TargetClient(OWN_V4_AUDIENCE, is_this_registry=True, until=until)]
        assert request(alice, scope=f"aud:{OWN_V4_AUDIENCE} openid").status_code == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.spec("RFC 6749", "3.2")
def test_only_post(alice: Persona, method: str) -> None:
    response = alice.client.generic(method, alice.token_url)
    assert response.status_code == 405
    assert response["Allow"] == "POST"


@pytest.mark.spec("RFC 6749", "3.2")
def test_plain_http_is_refused_where_https_is_required(
    alice: Persona, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RFC 6749 §3.2: the token endpoint requires TLS."""
    monkeypatch.delenv("AUTHLIB_INSECURE_TRANSPORT")
    assert_refused(request(alice), "insecure_transport")
    secure = alice.client.post(
        alice.token_url,
        "grant_type=x",
        "application/x-www-form-urlencoded",
        secure=True,
    )
    assert_refused(secure, "unsupported_grant_type")


class TestMetadata:
    """OpenID Connect Discovery §3 and §4, RFC 7517 §5."""

    PREFIX = "/iam/access-management/v1/tenants/tenant-a/openid-connect"

    @pytest.mark.spec("OpenID Connect Discovery", "4.3")
    def test_the_discovery_document_names_the_issuer_and_its_addresses(self, client: Client) -> None:
        document = client.get(f"{self.PREFIX}/.well-known/openid-configuration").json()
        assert document["issuer"] == f"http://127.0.0.1:8000{self.PREFIX}"
        assert document["token_endpoint"] == f"{document['issuer']}/token"
        assert document["jwks_uri"] == f"{document['issuer']}/certs"
        assert document["grant_types_supported"] == ["client_credentials"]

    @pytest.mark.spec("RFC 7517", "5")
    def test_the_key_set_has_public_keys_only(self, client: Client) -> None:
        (key,) = client.get(f"{self.PREFIX}/certs").json()["keys"]
        assert set(key) == {"kty", "kid", "use", "alg", "n", "e"}
        assert key["kid"] == keys.signing_key().kid

    def test_the_newest_key_signs_and_all_verify(
        self, alice: Persona, settings: Settings, signing_keys: Path, tmp_path: Path, other_key: Any
    ) -> None:
        old_token = alice.token
        (tmp_path / "1.pem").write_bytes((signing_keys / "1.pem").read_bytes())
        (tmp_path / "2.pem").write_bytes(other_key.as_pem(private=True))
        settings.SIGNING_KEYS_DIR = tmp_path
        assert len(alice.client.get(f"{self.PREFIX}/certs").json()["keys"]) == 2
        new_token = alice.new_token()
        other_key.ensure_kid()
        assert jwt.decode(new_token, other_key, algorithms=["RS256"]).header["kid"] == other_key.kid
        for alice.token in (old_token, new_token):
            assert alice.get("/shell-descriptors/YQ").status_code == 404
