"""Sign-in of people through an identity provider: what docs/identity.md promises, answer by answer.

The provider is a server on loopback that answers whatever a test wants; tests/admin/test_sign_in_in_browser.py has a
real one.
"""

import hmac
import json
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client
from django.utils import timezone
from joserfc import jwt
from joserfc.jwk import RSAKey
from pytest_django import Settings

from tenants import accounts, issuers
from tenants import sign_in as sign_in_of_people
from tenants.models import Membership, ProviderAccount, Role, Tenant
from tests.issuer import Issuer, reply, running_issuer
from tests.test_foreign_tokens import encoded

CLIENT_ID = "registry-admin"
BEGIN, CALLBACK = "/admin/oidc/authenticate/", "/admin/oidc/callback/"
EDITOR: dict[str, Any] = {"sub": "0001", "preferred_username": "dora", "roles": ["tenant-a:editor"]}


class SigningIn(Issuer):
    """A provider with an authorization and a token endpoint; `forms` are the token requests."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[dict[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.tokens: dict[str, Any] = {}
        self.answers["/token"] = self.exchange
        self.document: dict[str, Any] = {
            "issuer": self.url,
            "jwks_uri": self.jwks_uri,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "end_session_endpoint": f"{self.url}/end",
        }
        self.answers["/.well-known/openid-configuration"] = lambda handler: reply(
            handler, json.dumps(self.document).encode()
        )

    def exchange(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        self.forms.append(dict(parse_qsl(body.decode())))
        self.headers.append(dict(handler.headers))
        reply(handler, json.dumps(self.tokens).encode(), 200 if "id_token" in self.tokens else 400)

    def id_token(self, header: dict[str, Any] | None = None, key: Any = None, **claims: Any) -> str:
        """As `token`, but for us and nobody else, and without the claims of an access token."""
        base = {"aud": CLIENT_ID, "client_id": None, "jti": None, "roles": None}
        return self.token({"typ": "JWT", **(header or {})}, key, **{**base, **claims})


@pytest.fixture(scope="module")
def running() -> Iterator[SigningIn]:
    with running_issuer(SigningIn) as issuer:
        assert isinstance(issuer, SigningIn)
        yield issuer


@pytest.fixture
def provider(running: SigningIn, settings: Settings, db: None) -> Iterator[SigningIn]:
    settings.DEBUG = True  # only then a provider is asked over http
    settings.ADMIN_OIDC_ISSUER = running.url
    settings.ADMIN_OIDC_SUPERUSER_VALUES = ["registry-superuser"]
    settings.OIDC_RP_CLIENT_ID = CLIENT_ID
    issuers.forget()
    before = dict(running.document)
    yield running
    running.document, running.keys, running.down = before, [running.first_key], False
    running.forms.clear()
    running.headers.clear()
    issuers.forget()


@pytest.fixture
def other_client() -> Client:
    return Client()


def begin(client: Client, **query: str) -> dict[str, str]:
    """What the provider is asked, on behalf of somebody who follows the button."""
    response = client.get(BEGIN, query)
    assert response.status_code == 302, response.content
    return dict(parse_qsl(urlsplit(response["Location"]).query))


def sign_in(client: Client, provider: SigningIn, wanted: str = "", **claims: Any) -> Any:
    """The whole way, with an ID token that says `claims`."""
    asked = begin(client, **({"next": wanted} if wanted else {}))
    provider.tokens = {"id_token": provider.id_token(nonce=asked["nonce"], **claims)}
    return client.get(CALLBACK, {"code": "a-code", "state": asked["state"]})


def come_back(client: Client, provider: SigningIn, id_token: Any) -> Any:
    asked = begin(client)
    provider.tokens = {"id_token": id_token(asked["nonce"])}
    return client.get(CALLBACK, {"code": "a-code", "state": asked["state"]})


def is_signed_in(client: Client) -> bool:
    return client.get("/admin/password_change/").status_code == 200


def assert_refused(response: Any, client: Client, reason: str, status: int = 403) -> None:
    assert response.status_code == status, response.content
    assert reason in response.content.decode()
    assert not is_signed_in(client)


class TestTheWayThere:
    @pytest.mark.spec("RFC 7636", "4.3")
    @pytest.mark.spec("OpenID Connect Core", "3.1.2.1")
    def test_what_the_provider_is_asked(self, client: Client, provider: SigningIn) -> None:
        response = client.get(BEGIN)
        address = urlsplit(response["Location"])
        assert f"{address.scheme}://{address.netloc}{address.path}" == f"{provider.url}/authorize"
        asked = begin(client)
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENT_ID
        assert asked["scope"] == "openid profile email"
        assert asked["redirect_uri"] == f"http://testserver{CALLBACK}"
        assert asked["code_challenge_method"] == "S256"
        assert len(asked["state"]) >= 32
        assert len(asked["nonce"]) >= 32
        assert "prompt" not in asked

    def test_each_time_anew(self, client: Client, provider: SigningIn) -> None:
        first, second = begin(client), begin(client)
        assert all(first[name] != second[name] for name in ("state", "nonce", "code_challenge"))

    @pytest.mark.spec("RFC 7636", "4.5")
    def test_the_verifier_goes_to_the_token_endpoint(
        self, client: Client, provider: SigningIn, tenant_a: Tenant
    ) -> None:
        asked = begin(client)
        provider.tokens = {"id_token": provider.id_token(nonce=asked["nonce"], **EDITOR)}
        client.get(CALLBACK, {"code": "a-code", "state": asked["state"]})
        (form,) = provider.forms
        challenge = encoded(sha256(form["code_verifier"].encode()).digest())
        assert challenge == asked["code_challenge"]
        assert (form["grant_type"], form["code"]) == ("authorization_code", "a-code")
        assert form["redirect_uri"] == asked["redirect_uri"]

    @pytest.mark.parametrize(
        ("secret", "methods", "in_form", "in_header"),
        [
            ("", None, False, False),
            ("a secret", None, False, True),
            ("a secret", ["client_secret_post", "client_secret_basic"], False, True),
            ("a secret", ["client_secret_post", "private_key_jwt"], True, False),
        ],
    )
    def test_how_the_client_proves_who_it_is(
        self, client: Client, provider: SigningIn, settings: Settings, tenant_a: Tenant,
        secret: str, methods: Any, in_form: bool, in_header: bool,
    ) -> None:  # fmt: skip
        settings.OIDC_RP_CLIENT_SECRET = secret
        provider.document["token_endpoint_auth_methods_supported"] = methods
        assert sign_in(client, provider, **EDITOR).status_code == 302
        assert ("client_secret" in provider.forms[0]) == in_form
        assert ("Authorization" in provider.headers[0]) == in_header
        assert provider.forms[0]["client_id"] == CLIENT_ID

    @pytest.mark.parametrize("failing", ["down", "no_endpoint", "plain_http"])
    def test_a_provider_that_cannot_be_asked(
        self, client: Client, provider: SigningIn, settings: Settings, failing: str
    ) -> None:
        if failing == "down":
            provider.down = True
        elif failing == "no_endpoint":
            provider.document["authorization_endpoint"] = None
        else:
            settings.DEBUG = False
        assert_refused(client.get(BEGIN), client, "cannot be asked at the moment", 503)

    def test_off_by_default(self, client: Client, db: None) -> None:
        assert "Sign in with" not in client.get("/admin/login/").content.decode()
        for path in (BEGIN, CALLBACK):
            assert client.get(path).status_code == 404


class TestIdToken:
    @pytest.mark.spec("OpenID Connect Core", "3.1.3.7")
    @pytest.mark.parametrize(
        "wrong",
        [
            {"iss": "https://another.example"},
            {"iss": None},
            {"aud": "another-client"},
            {"aud": None},
            {"aud": []},
            {"aud": [CLIENT_ID, "another-client"]},
            {"aud": [CLIENT_ID, "another-client"], "azp": "another-client"},
            {"azp": "another-client"},
            {"nonce": "another"},
            {"nonce": None},
            {"nonce": ""},
            {"exp": 1_600_000_000},
            {"exp": None},
            {"iat": None},
            {"nbf": 4_000_000_000},
            {"sub": None},
            {"sub": ""},
            {"sub": 17},
            {"sub": ["0001"]},
            {"sub": "x" * 256},
            {"sub": "a\x00b"},
        ],
        ids=str,
    )
    def test_what_is_not_as_it_must_be(
        self, client: Client, provider: SigningIn, tenant_a: Tenant, wrong: dict[str, Any]
    ) -> None:
        def id_token(nonce: str) -> str:
            return provider.id_token(**{"nonce": nonce, **EDITOR, **wrong})

        response = come_back(client, provider, id_token)
        assert_refused(response, client, "could not be verified")
        assert not User.objects.exists()

    @pytest.mark.spec("RFC 8725", "3.1")
    @pytest.mark.parametrize(
        "how", ["none", "hmac", "another key", "another kid", "an access token", "cut off"]
    )
    def test_a_signature_that_is_not_the_providers(
        self, client: Client, provider: SigningIn, tenant_a: Tenant, how: str
    ) -> None:
        another = RSAKey.generate_key(2048)

        def id_token(nonce: str) -> Any:
            good = provider.id_token(nonce=nonce, **EDITOR)
            if how == "none":
                header = encoded(b'{"alg":"none"}')
                return f"{header}.{good.split('.')[1]}."
            if how == "hmac":
                hs256 = json.dumps({"alg": "HS256", "kid": provider.first_key.thumbprint()}).encode()
                signed = f"{encoded(hs256)}.{good.split('.')[1]}"
                public = provider.first_key.as_pem(private=False)
                return f"{signed}.{encoded(hmac.digest(public, signed.encode(), 'sha256'))}"
            if how == "another key":
                kid = {"kid": provider.first_key.thumbprint()}
                return provider.id_token(kid, another, nonce=nonce, **EDITOR)
            if how == "another kid":
                return provider.id_token(key=another, nonce=nonce, **EDITOR)
            return good[:-8] if how == "cut off" else provider.token(sub="0001")

        assert_refused(come_back(client, provider, id_token), client, "could not be verified")
        assert not User.objects.exists()

    @pytest.mark.parametrize("answer", [{}, {"id_token": None}, {"id_token": 7}, {"error": "invalid_grant"}])
    def test_a_token_endpoint_that_has_none(
        self, client: Client, provider: SigningIn, answer: dict[str, Any]
    ) -> None:
        asked = begin(client)
        provider.tokens = answer
        response = client.get(CALLBACK, {"code": "a-code", "state": asked["state"]})
        assert_refused(response, client, "could not be verified")

    def test_a_good_one_of_several_audiences(
        self, client: Client, provider: SigningIn, tenant_a: Tenant
    ) -> None:
        both: dict[str, Any] = {"aud": [CLIENT_ID, "another-client"], "azp": CLIENT_ID}
        assert sign_in(client, provider, **EDITOR, **both).status_code == 302
        assert is_signed_in(client)


class TestTheWayBack:
    @pytest.mark.spec("RFC 6749", "10.12")
    @pytest.mark.parametrize("state", ["", "made-up", None])
    def test_a_state_that_was_not_begun_here(self, client: Client, provider: SigningIn, state: Any) -> None:
        begin(client)
        query = {"code": "a-code", **({} if state is None else {"state": state})}
        assert_refused(client.get(CALLBACK, query), client, "was not begun in this browser", 400)
        assert provider.forms == []

    def test_a_state_of_another_browser(
        self, client: Client, other_client: Client, provider: SigningIn
    ) -> None:
        asked = begin(other_client)
        response = client.get(CALLBACK, {"code": "a-code", "state": asked["state"]})
        assert_refused(response, client, "was not begun in this browser", 400)

    def test_once_only(self, client: Client, provider: SigningIn, tenant_a: Tenant) -> None:
        asked = begin(client)
        provider.tokens = {"id_token": provider.id_token(nonce=asked["nonce"], **EDITOR)}
        query = {"code": "a-code", "state": asked["state"]}
        assert client.get(CALLBACK, query).status_code == 302
        assert client.get(CALLBACK, query).status_code == 400
        assert len(provider.forms) == 1
        assert is_signed_in(client)  # who is signed in stays so, whatever a link to the callback says

    @pytest.mark.spec("RFC 9207", "2.4")
    def test_another_issuer_answers(self, client: Client, provider: SigningIn) -> None:
        asked = begin(client)
        query = {"code": "a-code", "state": asked["state"], "iss": "https://another.example"}
        assert_refused(client.get(CALLBACK, query), client, "Another provider answered")
        assert provider.forms == []

    def test_an_error_is_not_repeated(self, client: Client, provider: SigningIn) -> None:
        asked = begin(client)
        query = {"error": "call", "error_description": "Call +49 30 1234", "state": asked["state"]}
        response = client.get(CALLBACK, query)
        assert_refused(response, client, "The provider did not sign you in")
        assert "1234" not in response.content.decode()

    @pytest.mark.parametrize(
        "wanted",
        [
            "//evil.example",
            "https://evil.example/admin/",
            "javascript:alert(1)",
            "/\\evil.example",
            "http:evil",
        ],
    )
    def test_no_open_redirect(
        self, client: Client, provider: SigningIn, tenant_a: Tenant, wanted: str
    ) -> None:
        response = sign_in(client, provider, wanted, **EDITOR)
        assert response["Location"] == "/admin/"
        page = client.get("/admin/login/", {"next": wanted})
        assert page.status_code == 302  # signed in already
        assert page["Location"] == "/admin/"

    def test_back_to_where_the_person_was_going(
        self, client: Client, provider: SigningIn, tenant_a: Tenant
    ) -> None:
        page = client.get("/admin/login/", {"next": "/admin/shells/shell/?q=a&o=1"}).content.decode()
        assert f'href="{BEGIN}?next=/admin/shells/shell/%3Fq%3Da%26o%3D1"' in page
        response = sign_in(client, provider, "/admin/shells/shell/?q=a&o=1", **EDITOR)
        assert response["Location"] == "/admin/shells/shell/?q=a&o=1"

    def test_the_session_is_a_new_one(self, client: Client, provider: SigningIn, tenant_a: Tenant) -> None:
        asked = begin(client)
        before = client.session.session_key
        provider.tokens = {"id_token": provider.id_token(nonce=asked["nonce"], **EDITOR)}
        client.get(CALLBACK, {"code": "a-code", "state": asked["state"]})
        assert client.session.session_key != before

    def test_code_and_state_mean_nothing_to_the_form_of_passwords(
        self, client: Client, provider: SigningIn, tenant_a: Tenant
    ) -> None:
        """Else a code that was begun elsewhere would sign somebody in as its owner."""
        provider.tokens = {"id_token": provider.id_token(**EDITOR)}
        address = "/admin/login/?code=a-code&state=made-up"
        assert client.post(address, {"username": "dora", "password": "x"}).status_code == 200
        assert provider.forms == []


class TestRights:
    @pytest.mark.parametrize(
        ("claims", "is_superuser", "roles"),
        [
            ({}, False, {}),
            ({"roles": "acme:reader"}, False, {"acme": "reader"}),
            ({"roles": ["acme:reader", "acme:admin", "acme:editor"]}, False, {"acme": "admin"}),
            ({"roles": ["acme:editor", "umbrella:reader"]}, False, {"acme": "editor", "umbrella": "reader"}),
            (
                {"roles": {"acme": "editor", "umbrella": ["reader"]}},
                False,
                {"acme": "editor", "umbrella": "reader"},
            ),
            ({"roles": ["acme:owner", "acme:", "acme", ":reader:", "offline_access", 7, None]}, False, {}),
            ({"roles": ["a:reader:editor", "ACME:Editor"]}, False, {}),
            ({"roles": {"acme": {"role": "admin"}, "b": 1}}, False, {}),
            ({"roles": ["registry-superuser"]}, True, {}),
            ({"roles": ["Registry-Superuser", "registry-superuser "]}, False, {}),
            ({"roles": ["a\x00b:reader", "\ud800:reader"]}, False, {}),
            ({"is_superuser": True, "roles": [True]}, False, {}),
        ],
        ids=str,
    )
    def test_what_claims_give(
        self, settings: Settings, claims: dict[str, Any], is_superuser: bool, roles: Any
    ) -> None:
        settings.ADMIN_OIDC_SUPERUSER_VALUES = ["registry-superuser"]
        assert accounts.rights(claims) == accounts.Rights(is_superuser, roles)

    def test_claims_of_other_names(self, settings: Settings) -> None:
        settings.ADMIN_OIDC_ROLES_CLAIM, settings.ADMIN_OIDC_SUPERUSER_VALUES = "realm_access.roles", ["root"]
        settings.ADMIN_OIDC_TENANTS_CLAIM = "https://example.com/tenants"
        claims = {"realm_access": {"roles": ["root"]}, "https://example.com/tenants": {"acme": "editor"}}
        assert accounts.rights(claims) == accounts.Rights(True, {"acme": Role.EDITOR})

    def test_who_may_enter_at_all(self, settings: Settings) -> None:
        settings.ADMIN_OIDC_STAFF_VALUES = ["staff"]
        assert not accounts.rights({"roles": ["acme:editor"]})
        assert accounts.rights({"roles": ["acme:editor", "staff"]})

    def test_no_superuser_unless_it_is_said_who(self, settings: Settings) -> None:
        settings.ADMIN_OIDC_SUPERUSER_VALUES = []
        assert not accounts.rights({"roles": ["", "superuser", "admin"]})


class TestAccount:
    def test_it_is_made_at_the_first_sign_in(
        self, client: Client, provider: SigningIn, tenant_a: Tenant
    ) -> None:
        names = {"given_name": "Dora", "family_name": "Marsh", "email": "dora@example.com"}
        assert sign_in(client, provider, **EDITOR, **names)["Location"] == "/admin/"
        person = User.objects.get()
        assert (person.username, person.first_name, person.last_name) == ("dora", "Dora", "Marsh")
        assert (person.is_staff, person.is_superuser, person.email) == (True, False, "dora@example.com")
        assert [str(one) for one in person.memberships.all()] == ["dora is editor of tenant-a"]
        account = person.provider_account
        assert (account.issuer, account.subject) == (provider.url, "0001")

    def test_an_address_of_somebody_else_opens_nothing(
        self, client: Client, provider: SigningIn, tenant_a: Tenant, admin_user: User
    ) -> None:
        """Whoever can set an e-mail address or a name at the provider would take the account over."""
        claims = {**EDITOR, "preferred_username": admin_user.username, "email": admin_user.email}
        sign_in(client, provider, **claims, email_verified=True)
        person = User.objects.get(provider_account__subject="0001")
        assert person != admin_user
        assert person.username.startswith("admin-")
        assert not person.is_superuser
        assert client.get("/admin/auth/user/").status_code == 403

    def test_the_same_subject_is_the_same_person(
        self, client: Client, other_client: Client, provider: SigningIn, tenant_a: Tenant
    ) -> None:
        sign_in(client, provider, **EDITOR)
        sign_in(
            other_client, provider, **{**EDITOR, "preferred_username": "dora.marsh", "email": "d@example.com"}
        )
        person = User.objects.get()
        assert (person.username, person.email) == ("dora", "d@example.com")

    def test_the_same_subject_of_another_issuer_is_another_person(
        self, provider: SigningIn, tenant_a: Tenant
    ) -> None:
        first = accounts.admit("https://one.example", EDITOR)
        second = accounts.admit("https://two.example", EDITOR)
        assert first.pk != second.pk
        assert first.username != second.username

    def test_claims_replace_what_was_before(
        self, client: Client, provider: SigningIn, tenant_a: Tenant, tenant_b: Tenant
    ) -> None:
        sign_in(client, provider, **{**EDITOR, "roles": ["tenant-a:editor", "registry-superuser"]})
        assert User.objects.get().is_superuser
        sign_in(client, provider, **{**EDITOR, "roles": ["tenant-a:reader", "tenant-b:admin"]})
        person = User.objects.get()
        assert not person.is_superuser
        assert dict(person.memberships.values_list("tenant__identifier", "role")) == {
            "tenant-a": "reader",
            "tenant-b": "admin",
        }
        sign_in(client, provider, **{**EDITOR, "roles": ["tenant-b:admin"]})
        assert [one.tenant for one in person.memberships.all()] == [tenant_b]

    def test_a_tenant_that_does_not_exist_is_not_made(
        self, client: Client, provider: SigningIn, tenant_a: Tenant
    ) -> None:
        sign_in(client, provider, **{**EDITOR, "roles": ["tenant-a:reader", "nowhere:admin"]})
        assert Tenant.objects.count() == 1
        assert Membership.objects.get().tenant == tenant_a

    @pytest.mark.parametrize("roles", [[], ["nowhere:admin"], ["offline_access"]], ids=str)
    def test_without_a_right(
        self, client: Client, provider: SigningIn, tenant_a: Tenant, roles: list[str]
    ) -> None:
        response = sign_in(client, provider, **{**EDITOR, "roles": roles})
        assert_refused(response, client, "you have no right in this registry")
        assert not User.objects.exists()

    def test_rights_that_were_taken_away_end_the_session(
        self, client: Client, provider: SigningIn, tenant_a: Tenant
    ) -> None:
        sign_in(client, provider, **EDITOR)
        response = sign_in(client, provider, **{**EDITOR, "roles": []})
        assert_refused(response, client, "you have no right in this registry")
        person = User.objects.get()
        assert not person.is_staff
        assert not person.memberships.exists()

    def test_one_that_is_disabled_here(self, client: Client, provider: SigningIn, tenant_a: Tenant) -> None:
        sign_in(client, provider, **EDITOR)
        User.objects.update(is_active=False)
        assert not is_signed_in(client)
        assert_refused(sign_in(client, provider, **EDITOR), client, "is disabled")

    @pytest.mark.parametrize("name", [None, "", "a b", "x\x00", "<b>", 7, "y" * 200])
    def test_names_that_are_none(self, provider: SigningIn, tenant_a: Tenant, name: Any) -> None:
        person = accounts.admit(provider.url, {**EDITOR, "preferred_username": name, "given_name": name})
        assert person.username
        person.full_clean(exclude=["password"])

    @pytest.mark.django_db(transaction=True)
    def test_many_first_sign_ins_at_once_make_one_person(self, tenant_a: Tenant) -> None:
        people: list[User] = []

        def admit() -> None:
            try:
                people.append(accounts.admit("https://login.example", EDITOR))
            finally:
                connections.close_all()

        threads = [threading.Thread(target=admit) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(people) == 4
        assert len({person.pk for person in people}) == 1
        assert ProviderAccount.objects.count() == User.objects.count() == Membership.objects.count() == 1


class TestPasswords:
    def test_a_person_of_the_provider_has_none(
        self, client: Client, other_client: Client, provider: SigningIn, tenant_a: Tenant
    ) -> None:
        sign_in(client, provider, **EDITOR)
        person = User.objects.get()
        assert not person.has_usable_password()
        person.set_password("set by a superuser")
        person.save()
        form = {"username": "dora", "password": "set by a superuser"}
        assert other_client.post("/admin/login/", form).status_code == 200
        assert not is_signed_in(other_client)

    def test_a_superuser_of_the_registry_signs_in_beside_the_provider(
        self, client: Client, provider: SigningIn, admin_user: User
    ) -> None:
        provider.down = True
        client.post("/admin/login/", {"username": "admin", "password": "password"})
        assert is_signed_in(client)

    def test_off(self, client: Client, provider: SigningIn, settings: Settings, admin_user: User) -> None:
        form = {"username": "admin", "password": "password"}
        client.post("/admin/login/", form)
        settings.ADMIN_PASSWORD_SIGN_IN = False
        assert not is_signed_in(client)
        assert "password" not in client.get("/admin/login/").content.decode().lower()
        client.post("/admin/login/", form)
        assert not is_signed_in(client)


class TestSession:
    @pytest.fixture
    def dora(self, client: Client, provider: SigningIn, tenant_a: Tenant) -> Client:
        sign_in(client, provider, **EDITOR)
        return client

    @staticmethod
    def age(client: Client) -> None:
        """As if the time had come to renew it."""
        session = client.session
        session["oidc_id_token_expiration"] = time.time() - 1
        session.save()

    def test_it_ends_if_it_is_not_renewed(self, dora: Client, settings: Settings) -> None:
        renewal = timedelta(seconds=settings.OIDC_RENEW_ID_TOKEN_EXPIRY_SECONDS)
        bound = timezone.now() + renewal + sign_in_of_people.GRACE
        assert abs(dora.session.get_expiry_date() - bound) < timedelta(seconds=30)
        dora.get("/admin/")
        assert dora.session.get_expiry_date() <= bound  # use does not prolong it

    def test_the_provider_is_asked_without_a_word_to_the_person(
        self, dora: Client, provider: SigningIn
    ) -> None:
        assert dora.get("/admin/shells/shell/?q=a").status_code == 200
        self.age(dora)
        response = dora.get("/admin/shells/shell/?q=a")
        address = urlsplit(response["Location"])
        asked = parse_qs(address.query)
        assert response["Location"].startswith(f"{provider.url}/authorize?")
        assert asked["prompt"] == ["none"]
        assert asked["code_challenge_method"] == ["S256"]
        provider.tokens = {"id_token": provider.id_token(nonce=asked["nonce"][0], **EDITOR)}
        response = dora.get(CALLBACK, {"code": "a-code", "state": asked["state"][0]})
        assert response["Location"] == "/admin/shells/shell/?q=a"
        assert dora.get("/admin/shells/shell/?q=a").status_code == 200

    @pytest.mark.spec("OpenID Connect Core", "3.1.2.6")
    def test_somebody_who_was_removed_there(self, dora: Client) -> None:
        self.age(dora)
        asked = parse_qs(urlsplit(dora.get("/admin/")["Location"]).query)
        response = dora.get(CALLBACK, {"error": "login_required", "state": asked["state"][0]})
        assert_refused(response, dora, "your session there has ended")

    def test_what_a_script_or_a_form_sends_is_not_redirected(self, dora: Client) -> None:
        self.age(dora)
        assert dora.get("/admin/", headers={"Sec-Fetch-Mode": "cors"}).status_code == 200
        assert dora.post("/admin/password_change/", {}).status_code == 200
        assert dora.get("/docs").status_code == 200

    def test_a_provider_that_cannot_be_asked(self, dora: Client, provider: SigningIn) -> None:
        self.age(dora)
        provider.down = True
        issuers.forget()
        assert dora.get("/admin/").status_code == 503

    def test_a_provider_that_is_no_longer_in_use(self, dora: Client, settings: Settings) -> None:
        settings.ADMIN_OIDC_ISSUER = ""
        assert not is_signed_in(dora)

    def test_a_session_by_password_is_left_alone(self, provider: SigningIn, admin_client: Client) -> None:
        assert admin_client.get("/admin/").status_code == 200

    @pytest.mark.spec("RP-Initiated Logout", "2")
    def test_signing_out_here_and_there(self, dora: Client, provider: SigningIn) -> None:
        response = dora.post("/admin/logout/")
        address = urlsplit(response["Location"])
        asked = dict(parse_qsl(address.query))
        assert response["Location"].startswith(f"{provider.url}/end?")
        assert asked["post_logout_redirect_uri"] == "http://testserver/admin/login/"
        assert asked["client_id"] == CLIENT_ID
        claims = jwt.decode(asked["id_token_hint"], provider.first_key, algorithms=["RS256"]).claims
        assert claims["sub"] == "0001"
        assert not is_signed_in(dora)

    @pytest.mark.parametrize("failing", ["down", "no_endpoint"])
    def test_signing_out_here_only(self, dora: Client, provider: SigningIn, failing: str) -> None:
        provider.down = failing == "down"
        provider.document["end_session_endpoint"] = None
        issuers.forget()
        assert dora.post("/admin/logout/")["Location"] == "/admin/login/"
        assert not is_signed_in(dora)

    def test_signing_out_of_a_session_by_password(self, provider: SigningIn, admin_client: Client) -> None:
        assert admin_client.post("/admin/logout/")["Location"] == "/admin/login/"
        assert not is_signed_in(admin_client)

    def test_a_link_signs_nobody_out(self, dora: Client) -> None:
        assert dora.get("/admin/logout/").status_code == 405
        dora.get(CALLBACK, {"error": "login_required", "state": "made-up"})
        assert is_signed_in(dora)
