"""Which tokens of foreign issuers open which tenant: docs/identity.md, RFC 9068 §4, RFC 8725 §3."""

import base64
import hmac
import json
import time
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.hashes import SHA256
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from joserfc.jwk import ECKey, Key, OctKey, OKPKey, RSAKey
from pytest_django import Settings
from structlog.testing import capture_logs

from tenants import issuers, keys, services
from tenants.models import Role, Tenant
from tests.bodies import reference
from tests.conftest import AUDIENCE, Persona, persona, texts
from tests.issuer import Issuer, running_issuer
from tests.test_bearer_tokens import assert_invalid, claims_of

UNKNOWN = "/shell-descriptors/YQ"


@pytest.fixture(scope="module")
def running() -> Iterator[Issuer]:
    with running_issuer() as issuer:
        yield issuer


@pytest.fixture
def issuer(running: Issuer, settings: Settings) -> Issuer:
    """An issuer that nobody trusts yet; only DEBUG lets its keys be fetched over http."""
    settings.DEBUG = True
    issuers.forget()
    running.down = False
    running.requests.clear()
    running.keys = [running.first_key]
    return running


@pytest.fixture
def trusting(issuer: Issuer, tenant_a: Tenant) -> Tenant:
    """Tenant A, which trusts the issuer as `trust` says it by default."""
    trust(issuer)
    return tenant_a


def trust(issuer: Issuer, tenant: str = "tenant-a", **conditions: Any) -> None:
    services.trust_issuer(
        tenant, issuer.url, **{"audiences": ["registry"], "jwks_uri": issuer.jwks_uri, **conditions}
    )


def call(token: str, tenant: str = "tenant-a", method: str = "GET", path: str = UNKNOWN) -> Any:
    headers = {"Authorization": f"Bearer {token}"}
    body = {"id": "urn:1"} if method == "POST" else {}
    return Client().generic(
        method, f"/aas-api/v3/{tenant}{path}", json.dumps(body), "application/json", headers=headers
    )


def assert_forbidden(response: Any, text: str) -> None:
    assert response.status_code == 403
    assert texts(response) == [text]


@pytest.mark.usefixtures("trusting")
class TestItWorks:
    def test_read_and_write(self, issuer: Issuer) -> None:
        token = issuer.token()
        assert call(token, method="POST", path="/shell-descriptors").status_code == 201
        assert call(token, path="/shell-descriptors").json()["result"] == [{"id": "urn:1"}]

    def test_without_a_key_of_our_own(self, issuer: Issuer, settings: Settings, tmp_path: Any) -> None:
        """In DEBUG a first key would be made, so the issuer's are fetched before DEBUG is off."""
        assert call(issuer.token()).status_code == 404
        settings.DEBUG = False
        settings.SIGNING_KEYS_DIR = tmp_path
        assert call(issuer.token()).status_code == 404

    @pytest.mark.parametrize("curve", ["P-256", "Ed25519"])
    def test_other_signatures(self, issuer: Issuer, curve: Any) -> None:
        trust(issuer, algorithms=["ES256", "Ed25519"])
        issuer.keys = [OKPKey.generate_key("Ed25519") if curve == "Ed25519" else ECKey.generate_key("P-256")]
        assert call(issuer.token()).status_code == 404

    def test_pss(self, issuer: Issuer) -> None:
        assert call(issuer.token({"alg": "PS256"})).status_code == 404

    @pytest.mark.parametrize("typ", ["JWT", "at+jwt", "AT+JWT", "application/at+jwt", "jwt"])
    def test_types_of_access_tokens(self, issuer: Issuer, typ: str) -> None:
        assert call(issuer.token({"typ": typ})).status_code == 404

    def test_a_header_with_members_that_nobody_knows(self, issuer: Issuer) -> None:
        """RFC 7515 §4: they are ignored."""
        assert call(forged(issuer, {"x-vendor": 5})).status_code == 404

    def test_a_token_without_kid_when_there_is_one_key(self, issuer: Issuer) -> None:
        assert call(forged(issuer, {"kid": None})).status_code == 404

    def test_a_verified_token_is_believed_without_asking_the_database(
        self, issuer: Issuer, settings: Settings
    ) -> None:
        settings.TOKEN_CACHE_SECONDS = 1_000_000
        token = issuer.token()
        with CaptureQueriesContext(connection) as first:
            call(token)
        with CaptureQueriesContext(connection) as second:
            call(token)
        assert (len(first), len(second)) == (2, 1)

    def test_the_log_says_which_issuer_vouches_for_whom(self, issuer: Issuer) -> None:
        with capture_logs() as events:
            call(issuer.token(client_id="alice"))
        event = events[-1]
        assert (event["tenant"], event["module"], event["issuer"]) == ("tenant-a", "alice", issuer.url)


def forged(issuer: Issuer, header: dict[str, Any], key: Key | None = None, **claims: Any) -> str:
    """A token with any header at all, signed with RS256; None takes a member out."""
    key = key or issuer.keys[0]
    good = issuer.token(**claims)
    members = {"alg": "RS256", "typ": "at+jwt", "kid": issuer.keys[0].thumbprint(), **header}
    members = {name: value for name, value in members.items() if value is not None}
    signed = f"{encoded(json.dumps(members).encode())}.{good.split('.')[1]}"
    assert isinstance(key, RSAKey)
    signature = key.private_key.sign(signed.encode(), padding.PKCS1v15(), SHA256())  # type: ignore[union-attr]
    return f"{signed}.{encoded(signature)}"


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@pytest.mark.usefixtures("trusting")
class TestSignature:
    @pytest.mark.spec("RFC 8725", "3.2")
    def test_none(self, issuer: Issuer) -> None:
        header = encoded(json.dumps({"alg": "none", "typ": "at+jwt"}).encode())
        for signature in ("", issuer.token().split(".")[2]):
            assert_invalid(call(f"{header}.{issuer.token().split('.')[1]}.{signature}"))

    @pytest.mark.spec("RFC 8725", "3.1")
    def test_the_public_key_as_an_hmac_secret(self, issuer: Issuer) -> None:
        header = {"alg": "HS256", "typ": "at+jwt", "kid": issuer.keys[0].thumbprint()}
        content = f"{encoded(json.dumps(header).encode())}.{issuer.token().split('.')[1]}"
        for form in (
            issuer.first_key.as_pem(private=False),
            issuer.first_key.as_der(private=False),
            json.dumps(issuer.published(issuer.keys[0])).encode(),
        ):
            mac = hmac.digest(form, content.encode(), "sha256")
            assert_invalid(call(f"{content}.{encoded(mac)}"))

    @pytest.mark.spec("RFC 8725", "3.1")
    def test_a_shared_secret_that_the_issuer_publishes_by_mistake(self, issuer: Issuer) -> None:
        secret = OctKey.generate_key(256)
        issuer.keys.append(secret)
        assert_invalid(call(issuer.token({"alg": "HS256"}, secret)))

    def test_an_algorithm_that_was_not_allowed(self, issuer: Issuer) -> None:
        trust(issuer, algorithms=["ES256"])
        assert_invalid(call(issuer.token()))

    def test_another_key(self, issuer: Issuer, other_key: RSAKey) -> None:
        assert_invalid(call(forged(issuer, {}, other_key)))
        assert_invalid(call(issuer.token(key=other_key)))

    @pytest.mark.spec("RFC 8725", "3.8")
    def test_a_key_of_another_issuer_that_is_trusted_as_well(self, issuer: Issuer) -> None:
        with running_issuer() as second:
            trust(second)
            assert call(second.token()).status_code == 404
            assert_invalid(call(second.token(iss=issuer.url)))
            assert_invalid(call(issuer.token(iss=second.url)))

    def test_our_own_key(self, issuer: Issuer, alice: Persona) -> None:
        assert_invalid(call(issuer.token(key=keys.signing_key())))

    @pytest.mark.spec("RFC 8725", "3.10")
    @pytest.mark.parametrize("member", ["jku", "x5u"])
    @pytest.mark.spec("RFC 8725", "3.10")
    def test_an_address_of_keys_in_the_token_is_never_asked(
        self, issuer: Issuer, other_key: RSAKey, member: str
    ) -> None:
        with running_issuer() as attacker:
            attacker.keys = [other_key]
            token = forged(issuer, {member: attacker.jwks_uri, "kid": other_key.thumbprint()}, other_key)
            assert_invalid(call(token))
            assert attacker.requests == []

    @pytest.mark.spec("RFC 8725", "3.10")
    def test_a_key_in_the_token_is_never_taken(self, issuer: Issuer, other_key: RSAKey) -> None:
        small = {"jwk": {"kty": "oct", "k": "AAAA"}, "kid": None}
        assert_invalid(call(forged(issuer, small, other_key)))

    @pytest.mark.spec("RFC 7515", "4.1.11")
    def test_an_extension_that_must_be_understood(self, issuer: Issuer) -> None:
        assert_invalid(call(forged(issuer, {"crit": ["exp"], "exp": 5})))

    @pytest.mark.parametrize("kid", ["../../etc/passwd", "' OR 1=1 --", "x" * 300, "é", 5, ["a"], ""])
    def test_a_kid_that_plays_tricks(self, issuer: Issuer, kid: object) -> None:
        assert_invalid(call(forged(issuer, {"kid": kid})))


@pytest.mark.usefixtures("trusting")
class TestClaims:
    @pytest.mark.parametrize(
        ("change", "description"),
        [
            ({"aud": "somebody-else"}, "another service"),
            ({"aud": ["a", "b"]}, "another service"),
            ({"aud": []}, "another service"),
            ({"aud": None}, "another service"),
            ({"aud": {"registry": 1}}, "not signed"),
            ({"aud": 5}, "not signed"),
            ({"aud": "registry "}, "another service"),
            ({"aud": "regis"}, "another service"),
            ({"aud": AUDIENCE}, "another service"),
            ({"exp": None}, "not signed"),
            ({"exp": "tomorrow"}, "not signed"),
            ({"exp": int(time.time()) - 40}, "expired"),
            ({"exp": 1}, "expired"),
            ({"nbf": int(time.time()) + 3600}, "not signed"),
            ({"iat": int(time.time()) + 3600}, "not signed"),
            ({"client_id": None, "sub": None}, "who asks"),
            ({"client_id": 5, "azp": [], "sub": ""}, "who asks"),
        ],
    )
    def test_one_that_does_not_fit(self, issuer: Issuer, change: dict[str, Any], description: str) -> None:
        assert_invalid(call(issuer.token(**change)), description)

    @pytest.mark.parametrize("change", [{"aud": ["other", "registry"]}, {"iat": None}])
    def test_one_that_fits(self, issuer: Issuer, change: dict[str, Any]) -> None:
        assert call(issuer.token(**change)).status_code == 404

    @pytest.mark.spec("RFC 7519", "4.1.4")
    @pytest.mark.spec("RFC 7519", "4.1.5")
    @pytest.mark.spec("RFC 7519", "4.1.6")
    @pytest.mark.parametrize(("claim", "direction"), [("exp", -1), ("nbf", 1), ("iat", 1)])
    def test_the_clock_of_an_issuer_may_differ_by_30_seconds(
        self, issuer: Issuer, claim: str, direction: int
    ) -> None:
        near: Any = {claim: time.time() + 25 * direction}
        far: Any = {claim: time.time() + 35 * direction}
        assert call(issuer.token(**near)).status_code == 404
        assert_invalid(call(issuer.token(**far)))

    def test_the_claim_of_the_audience_can_be_another(self, issuer: Issuer) -> None:
        """Amazon Cognito: access tokens by client credentials have no aud."""
        trust(issuer, audience_claim="client_id", audiences=["app-1"])
        assert call(issuer.token(aud=None, client_id="app-1")).status_code == 404
        assert_invalid(call(issuer.token(aud="app-1", client_id="app-2")), "another service")

    @pytest.mark.spec("RFC 9068", "2.1")
    @pytest.mark.parametrize(
        ("header", "claims"),
        [
            ({"typ": "logout+jwt"}, {}),
            ({"typ": "dpop+jwt"}, {}),
            ({"typ": 5}, {}),
            ({}, {"at_hash": "x"}),
            ({}, {"typ": "ID"}),
            ({}, {"typ": "Refresh"}),
            ({}, {"token_use": "id"}),
        ],
    )
    @pytest.mark.spec("RFC 8725", "3.12")
    def test_other_tokens_of_the_same_issuer(
        self, issuer: Issuer, header: dict[str, Any], claims: dict[str, Any]
    ) -> None:
        assert call(forged(issuer, header, **claims)).status_code == 401

    def test_a_token_that_expires_while_it_is_believed(self, issuer: Issuer) -> None:
        token = issuer.token(exp=time.time() - 29)  # the clock of the issuer may be 30 s behind
        assert call(token).status_code == 404
        time.sleep(1.1)
        assert_invalid(call(token), "expired")


class TestIssuer:
    def test_one_that_nobody_trusts(self, issuer: Issuer, tenant_a: Tenant) -> None:
        assert_invalid(call(issuer.token()), "not trusted")
        assert issuer.requests == []

    @pytest.mark.parametrize("iss", ["/", "?x", "#", " "])
    def test_one_that_is_nearly_trusted(self, issuer: Issuer, trusting: Tenant, iss: str) -> None:
        assert_invalid(call(issuer.token(iss=issuer.url + iss)), "not trusted")

    @pytest.mark.parametrize("iss", [5, [], {}, "", "n\0", "\ud800", "x" * 5000, "%", "' OR 1=1 --"])
    def test_one_that_makes_no_sense(self, issuer: Issuer, trusting: Tenant, iss: Any) -> None:
        header, _, signature = issuer.token().split(".")
        payload = encoded(json.dumps({"iss": iss}).encode())
        assert_invalid(call(f"{header}.{payload}.{signature}"))

    def test_a_payload_that_is_nested_deeply(self, issuer: Issuer, trusting: Tenant) -> None:
        header, _, signature = issuer.token().split(".")
        assert_invalid(call(f"{header}.{encoded(b'[' * 5000)}.{signature}"))

    def test_disabled(self, issuer: Issuer, trusting: Tenant, settings: Settings) -> None:
        """As with a module: refused when its window ends."""
        settings.TOKEN_CACHE_SECONDS = 1
        token = issuer.token()
        assert call(token).status_code == 404
        services.distrust_issuer("tenant-a", issuer.url)
        assert_invalid(call(issuer.token()), "not trusted")
        deadline = time.monotonic() + settings.TOKEN_CACHE_SECONDS
        while (response := call(token)).status_code == 404:
            assert time.monotonic() < deadline + 0.5
            time.sleep(0.05)
        assert_invalid(response, "not trusted")

    def test_it_cannot_speak_for_us(self, issuer: Issuer, trusting: Tenant, alice: Persona) -> None:
        """Its keys are asked for its own tokens only, whatever they claim."""
        assert_invalid(call(issuer.token(**claims_of(alice.token))))


class TestTenant:
    @pytest.mark.parametrize("tenant", ["tenant-b", "unknown", "a%00", "%20", "ä"])
    def test_one_that_does_not_trust_known_or_not(
        self, issuer: Issuer, trusting: Tenant, tenant_b: Tenant, tenant: str
    ) -> None:
        token = issuer.token()
        assert call(token).status_code == 404
        assert_invalid(call(token, tenant), "not trusted here")

    def test_an_address_without_a_tenant(self, issuer: Issuer, trusting: Tenant) -> None:
        response = Client().get("/aas-api/x", headers={"Authorization": f"Bearer {issuer.token()}"})
        assert_invalid(response, "not trusted here")

    def test_trust_without_a_tenant_claim_is_trust_in_every_token(
        self, issuer: Issuer, trusting: Tenant, tenant_b: Tenant
    ) -> None:
        trust(issuer, "tenant-b")
        token = issuer.token()
        assert [call(token, tenant).status_code for tenant in ("tenant-a", "tenant-b")] == [404, 404]

    def test_the_tenant_claim_decides(self, issuer: Issuer, trusting: Tenant, tenant_b: Tenant) -> None:
        trust(issuer, tenant_claim="organization", tenant_value="ACME")
        trust(issuer, "tenant-b", tenant_claim="organization")
        token = issuer.token(organization="ACME")
        assert call(token).status_code == 404
        assert_forbidden(call(token, "tenant-b"), "the token is not for this tenant")
        token = issuer.token(organization="tenant-b")
        assert_forbidden(call(token), "the token is not for this tenant")
        assert call(token, "tenant-b").status_code == 404

    @pytest.mark.parametrize(
        ("organization", "expected"),
        [
            ("ACME", 404),
            (["x", "ACME"], 404),
            ({"ACME": {}}, 403),
            (None, 403),
            ("acme", 403),
            ("ACME ", 403),
            ("ACME Two", 403),
            ([["ACME"]], 403),
            (5, 403),
        ],
    )
    def test_values_of_the_tenant_claim(
        self, issuer: Issuer, trusting: Tenant, organization: Any, expected: int
    ) -> None:
        trust(issuer, tenant_claim="organization", tenant_value="ACME")
        assert call(issuer.token(organization=organization)).status_code == expected

    def test_a_token_that_is_believed_for_one_tenant_is_not_for_another(
        self, issuer: Issuer, trusting: Tenant, tenant_b: Tenant, settings: Settings
    ) -> None:
        settings.TOKEN_CACHE_SECONDS = 1_000_000
        trust(issuer, "tenant-b", roles_claim="groups")
        token = issuer.token(groups=["reader"])
        assert call(token, method="POST", path="/shell-descriptors").status_code == 201
        assert call(token, "tenant-b", "POST", "/shell-descriptors").status_code == 403


@pytest.mark.usefixtures("trusting")
class TestRoles:
    @pytest.mark.parametrize(
        ("roles", "get", "post"),
        [
            (["reader"], 404, 403),
            (["editor"], 404, 201),
            (["admin"], 404, 201),
            (["x", "reader", "editor"], 404, 201),
            ("reader", 404, 403),
            (["owner"], 403, 403),
            ([], 403, 403),
            (None, 403, 403),
            ("reader editor", 403, 403),
            ({"editor": True}, 403, 403),
            ([["editor"], 5], 403, 403),
            (["Editor"], 403, 403),
        ],
    )
    def test_our_names(self, issuer: Issuer, roles: Any, get: int, post: int) -> None:
        token = issuer.token(roles=roles)
        assert call(token).status_code == get
        assert call(token, method="POST", path="/shell-descriptors").status_code == post

    def test_what_is_missing_is_named(self, issuer: Issuer) -> None:
        response = call(issuer.token(roles=["owner"]))
        assert_forbidden(response, "the token has no role of this registry in its claim roles")
        response = call(issuer.token(roles="reader"), method="POST", path="/shell-descriptors")
        assert_forbidden(response, "this needs the role editor; the token has reader")

    @pytest.mark.parametrize(
        ("roles_claim", "claims"),
        [
            ("groups", {"groups": ["Twin Editors"]}),
            ("realm_access.roles", {"realm_access": {"roles": ["Twin Editors"]}}),
            (
                "resource_access.registry.roles",
                {"resource_access": {"registry": {"roles": ["Twin Editors"]}}},
            ),
            ("https://example.com/roles", {"https://example.com/roles": ["Twin Editors"]}),
            ("cognito:groups", {"cognito:groups": ["Twin Editors"]}),
        ],
    )
    def test_their_names(self, issuer: Issuer, roles_claim: str, claims: dict[str, Any]) -> None:
        trust(issuer, roles_claim=roles_claim, role_map={"Twin Editors": Role.EDITOR})
        token = issuer.token(roles=["reader"], **claims)
        assert call(token, method="POST", path="/shell-descriptors").status_code == 201
        assert call(issuer.token()).status_code == 403

    @pytest.mark.parametrize("claim", ["scope", "scp"])
    def test_scopes_are_separated_by_blanks(self, issuer: Issuer, claim: str) -> None:
        trust(issuer, roles_claim=claim, role_map={"registry/write": Role.EDITOR})
        good: dict[str, Any] = {claim: "registry/read registry/write"}
        bad: dict[str, Any] = {claim: "registry/read registry/write2"}
        assert call(issuer.token(**good)).status_code == 404
        assert call(issuer.token(**bad)).status_code == 403

    @pytest.mark.parametrize("claims", [{}, {"a": 5}, {"a": {"b": None}}, {"a": []}])
    def test_a_way_that_leads_nowhere(self, issuer: Issuer, claims: dict[str, Any]) -> None:
        trust(issuer, roles_claim="a.b.c")
        assert call(issuer.token(**claims)).status_code == 403


@pytest.mark.usefixtures("trusting")
class TestKeys:
    def test_rotation(self, issuer: Issuer, settings: Settings) -> None:
        settings.JWKS_INTERVAL_SECONDS = 0
        before = issuer.token()
        assert call(before).status_code == 404
        issuer.keys.append(RSAKey.generate_key(2048))
        assert call(issuer.token()).status_code == 404
        assert call(issuer.token(key=issuer.keys[0])).status_code == 404
        assert issuer.requests == ["/keys"] * 2

    def test_outage(self, issuer: Issuer, settings: Settings) -> None:
        """Known keys serve on; of an unknown one nobody can say whether it is good."""
        settings.JWKS_INTERVAL_SECONDS = settings.JWKS_MAX_AGE_SECONDS = 0
        assert call(issuer.token()).status_code == 404
        issuer.down = True
        assert call(issuer.token()).status_code == 404
        issuer.keys.append(RSAKey.generate_key(2048))
        response = call(issuer.token())
        assert response.status_code == 503
        assert texts(response) == ["the keys of the token's issuer cannot be fetched; try again"]
        assert response["Retry-After"] == "5"
        issuer.down = False
        assert call(issuer.token()).status_code == 404

    def test_outage_before_any_key_was_fetched(self, issuer: Issuer, alice: Persona) -> None:
        issuer.down = True
        assert call(issuer.token()).status_code == 503
        assert alice.get(UNKNOWN).status_code == 404

    def test_outside_debug_keys_are_not_fetched_over_http(self, issuer: Issuer, settings: Settings) -> None:
        settings.DEBUG = False
        assert call(issuer.token()).status_code == 503
        assert issuer.requests == []


class TestRecipes:
    """The commands of docs/identity.md with tokens as the providers make them."""

    def trust(self, issuer: Issuer, *options: str) -> None:
        call_command("trust_issuer", "tenant-a", issuer.url, *options, stdout=StringIO())

    def post(self, token: str) -> int:
        return int(call(token, method="POST", path="/shell-descriptors").status_code)

    def test_keycloak(self, issuer: Issuer, tenant_a: Tenant) -> None:
        self.trust(
            issuer,
            *("--audience", "aas-registry", "--roles-claim", "realm_access.roles"),
            *("--role-map", "twin-editors=editor", "--role-map", "twin-readers=reader"),
        )
        claims: dict[str, Any] = {
            "aud": ["aas-registry", "account"],
            "typ": "Bearer",
            "azp": "line-7",
            "client_id": None,
            "roles": None,
            "scope": "email profile",
            "realm_access": {"roles": ["offline_access", "twin-editors"]},
        }
        assert self.post(issuer.token({"typ": "JWT"}, **claims)) == 201
        assert self.post(issuer.token({"typ": "JWT"}, **{**claims, "aud": "account"})) == 401
        assert self.post(issuer.token({"typ": "JWT"}, **{**claims, "realm_access": {"roles": []}})) == 403

    def test_entra_id(self, issuer: Issuer, tenant_a: Tenant) -> None:
        directory, application = (
            "8e3b5a3c-0000-4000-8000-000000000001",
            "8e3b5a3c-0000-4000-8000-000000000002",
        )
        self.trust(issuer, "--audience", application, "--tenant-claim", f"tid={directory}")
        claims: dict[str, Any] = {
            "aud": application,
            "azp": "8e3b5a3c-0000-4000-8000-000000000003",
            "client_id": None,
            "idtyp": "app",
            "roles": ["editor"],
            "tid": directory,
            "ver": "2.0",
        }
        assert self.post(issuer.token({"typ": "JWT"}, **claims)) == 201
        assert self.post(issuer.token({"typ": "JWT"}, **{**claims, "roles": None})) == 403
        assert self.post(issuer.token({"typ": "JWT"}, **{**claims, "tid": application})) == 403

    def test_cognito(self, issuer: Issuer, tenant_a: Tenant) -> None:
        self.trust(
            issuer,
            *("--audience-claim", "scope"),
            *("--audience", "aas-registry/reader", "--audience", "aas-registry/editor"),
            *("--roles-claim", "scope"),
            *("--role-map", "aas-registry/reader=reader", "--role-map", "aas-registry/editor=editor"),
        )
        claims: dict[str, Any] = {
            "aud": None,
            "token_use": "access",
            "client_id": "1example23456789",
            "sub": "1example23456789",
            "roles": None,
            "scope": "aas-registry/editor",
            "version": 2,
        }
        assert self.post(forged(issuer, {"typ": None}, **claims)) == 201
        assert self.post(forged(issuer, {"typ": None}, **{**claims, "scope": "aas-registry/reader"})) == 403
        assert self.post(forged(issuer, {"typ": None}, **{**claims, "scope": "other/editor"})) == 401
        assert self.post(forged(issuer, {"typ": None}, **{**claims, "token_use": "id"})) == 401


@pytest.mark.usefixtures("issuer", "db")
class TestSubject:
    @pytest.mark.parametrize(
        ("claim", "visible"),
        [("BPNL1", True), ("BPNL2", False), (None, False), (["BPNL1", "BPNL2"], False), (7, False)],
    )
    def test_the_subject_claim_says_for_whom_it_reads(
        self, issuer: Issuer, claim: Any, visible: bool
    ) -> None:
        """docs/identity.md: asset ids that are for somebody."""
        tenant = services.create_tenant("plant", asset_ids_by_subject=True)
        owner = persona(tenant, "owner", Role.EDITOR)
        asset_id = {"name": "n", "value": "v", "externalSubjectId": reference("BPNL1")}
        owner.register({"id": "a", "specificAssetIds": [asset_id]})
        trust(issuer, "plant", subject_claim="bpn")
        response = call(issuer.token(roles=["reader"], bpn=claim), "plant")
        assert response.status_code == 200
        assert ("specificAssetIds" in response.json()) is visible
        assert "specificAssetIds" in call(issuer.token(roles=["editor"]), "plant").json()
