"""The registry with a real identity provider as the foreign issuer: what docs/identity.md promises."""

import base64
import hmac
import json
from collections.abc import Iterator
from typing import Any

import pytest
from joserfc.jwk import Key
from pytest_django import Settings

from tenants import issuers, services
from tenants.models import Role, Tenant
from tests import oidc_provider
from tests.conftest import texts
from tests.oidc_provider import Provider, new_key, running_provider
from tests.test_bearer_tokens import assert_invalid
from tests.test_foreign_tokens import assert_forbidden, call, encoded

pytestmark = pytest.mark.xdist_group("oidc-provider")


@pytest.fixture(scope="module")
def running() -> Iterator[Provider]:
    with running_provider() as provider:
        yield provider


@pytest.fixture
def provider(running: Provider, settings: Settings) -> Provider:
    """The provider, whose keys nobody has fetched yet; only DEBUG lets them be fetched over http."""
    settings.DEBUG = True
    settings.JWKS_INTERVAL_SECONDS = 0
    issuers.forget()
    if running.process is None:
        running.start()
    return running


@pytest.fixture
def trusting(provider: Provider, tenant_a: Tenant) -> Tenant:
    trust(provider)
    return tenant_a


def trust(provider: Provider, tenant: str = "tenant-a", **conditions: Any) -> None:
    """As the recipes of docs/identity.md: only the issuer's address, its discovery document says the rest."""
    services.trust_issuer(
        tenant,
        provider.url,
        **{
            "audiences": ["urn:registry"],
            "role_map": {"twin-editors": Role.EDITOR, "twin-readers": Role.READER},
            **conditions,
        },
    )


@pytest.mark.spec("RFC 6749", "4.4")
@pytest.mark.spec("RFC 9068", "4")
def test_client_credentials_open_the_registry(provider: Provider, trusting: Tenant) -> None:
    token = provider.token("editor")
    assert call(token, method="POST", path="/shell-descriptors").status_code == 201
    assert call(token, path="/shell-descriptors").json()["result"] == [{"id": "urn:1"}]


def test_roles(provider: Provider, trusting: Tenant) -> None:
    reader = provider.token("reader")
    assert call(reader).status_code == 404
    response = call(reader, method="POST", path="/shell-descriptors")
    assert_forbidden(response, "this needs the role editor; the token has reader")
    response = call(provider.token("nobody"))
    assert_forbidden(response, "the token has no role of this registry in its claim roles")


def test_scopes_as_roles(provider: Provider, trusting: Tenant) -> None:
    role_map = {"registry:read": Role.READER, "registry:write": Role.EDITOR}
    trust(provider, roles_claim="scope", role_map=role_map)
    writer = provider.token("nobody", scope="registry:read registry:write")
    assert call(writer, method="POST", path="/shell-descriptors").status_code == 201
    reader = provider.token("editor", scope="registry:read")
    assert call(reader).status_code == 404
    assert call(reader, method="POST", path="/shell-descriptors").status_code == 403


def test_the_tenant_claim(provider: Provider, tenant_a: Tenant, tenant_b: Tenant) -> None:
    trust(provider, "tenant-a", tenant_claim="organization", tenant_value="ACME")
    trust(provider, "tenant-b", tenant_claim="organization", tenant_value="Umbrella")
    acme, umbrella = provider.token("editor"), provider.token("stranger")
    assert [call(acme, tenant).status_code for tenant in ("tenant-a", "tenant-b")] == [404, 403]
    assert [call(umbrella, tenant).status_code for tenant in ("tenant-a", "tenant-b")] == [403, 404]


@pytest.mark.spec("RFC 7519", "4.1.3")
def test_a_token_for_another_service(provider: Provider, trusting: Tenant) -> None:
    assert_invalid(call(provider.token("editor", "urn:another-service")), "another service")


def test_an_issuer_that_the_tenant_does_not_trust(
    provider: Provider, trusting: Tenant, tenant_b: Tenant
) -> None:
    assert_invalid(call(provider.token("editor"), "tenant-b"), "not trusted")


def test_a_provider_that_says_it_is_another(provider: Provider, tenant_a: Tenant) -> None:
    """OpenID Connect Discovery §4.3: the document must name the very issuer that was asked for."""
    localhost = provider.url.replace("127.0.0.1", "localhost")
    services.trust_issuer("tenant-a", localhost, audiences=["urn:registry"])
    assert_invalid(call(provider.token("editor")), "not trusted")
    with pytest.raises(issuers.KeysUnavailable, match="names another issuer"):
        issuers.fetch(issuers.Source(localhost))


def test_a_disabled_issuer(provider: Provider, trusting: Tenant, settings: Settings) -> None:
    settings.TOKEN_CACHE_SECONDS = 0
    token = provider.token("editor")
    assert call(token).status_code == 404
    services.distrust_issuer("tenant-a", provider.url)
    assert_invalid(call(token), "not trusted")


def test_rotation_of_keys(provider: Provider, trusting: Tenant, settings: Settings) -> None:
    """A new key is found when a token names it; an old one goes when the provider takes it away."""
    settings.TOKEN_CACHE_SECONDS = 0
    old_key: Key = provider.keys[0]
    before = provider.token("editor")
    assert call(before).status_code == 404
    provider.restart("ES256", new_key("ES256"), old_key)
    after = provider.token("editor")
    assert header(after)["alg"] == "ES256"
    assert [call(token).status_code for token in (before, after)] == [404, 404]
    provider.restart("ES256", provider.keys[0])
    settings.JWKS_MAX_AGE_SECONDS = 0
    assert call(after).status_code == 404
    assert_invalid(call(before), "not signed by its issuer")
    provider.restart("RS256", old_key)


def test_outage(provider: Provider, trusting: Tenant, settings: Settings) -> None:
    """Keys that were fetched serve on; a token with another key is answered 503 until the provider is back."""
    settings.TOKEN_CACHE_SECONDS = settings.JWKS_MAX_AGE_SECONDS = 0
    old_key: Key = provider.keys[0]
    provider.restart("RS256", new_key("RS256"))
    unseen = provider.token("editor")
    provider.restart("RS256", old_key)
    seen = provider.token("editor")
    assert call(seen).status_code == 404
    provider.stop()
    assert call(seen).status_code == 404
    response = call(unseen)
    assert response.status_code == 503
    assert texts(response) == ["the keys of the token's issuer cannot be fetched; try again"]
    provider.start()
    assert_invalid(call(unseen), "not signed by its issuer")


@pytest.mark.spec("RFC 8725", "3.1")
def test_its_token_signed_otherwise(provider: Provider, trusting: Tenant) -> None:
    kid = header(provider.token("editor"))["kid"]
    payload = provider.token("editor").split(".")[1]
    none = encoded(json.dumps({"alg": "none", "typ": "at+jwt"}).encode())
    assert_invalid(call(f"{none}.{payload}."))
    hs256 = encoded(json.dumps({"alg": "HS256", "typ": "at+jwt", "kid": kid}).encode())
    (key,) = issuers.fetch(issuers.Source(provider.url))
    for public in (key.as_pem(private=False), json.dumps(key.as_dict(private=False)).encode()):  # type: ignore[union-attr]
        mac = hmac.digest(public, f"{hs256}.{payload}".encode(), "sha256")
        assert_invalid(call(f"{hs256}.{payload}.{encoded(mac)}"))


class TestWithoutNode:
    @pytest.fixture(autouse=True)
    def _no_node(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shutil.which", lambda _: None)

    def test_elsewhere_the_tests_say_why_they_do_not_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CI", raising=False)
        with pytest.raises(pytest.skip.Exception, match="node and npm not found"):
            oidc_provider.require_node()

    def test_in_ci_they_fail(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CI", "true")
        with pytest.raises(pytest.fail.Exception, match="node and npm not found"):
            oidc_provider.require_node()


def header(token: str) -> dict[str, Any]:
    members: dict[str, Any] = json.loads(base64.urlsafe_b64decode(token.split(".")[0] + "=="))
    return members
