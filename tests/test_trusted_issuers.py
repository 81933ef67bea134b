"""manage.py trust_issuer and distrust_issuer, and what the database refuses."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from django.test import Client
from pytest_django import Settings

from tenants import issuing, services
from tenants.models import Role, Tenant, TrustedIssuer
from tests.issuer import running_issuer
from tests.query_counts import expected_query_count

ISSUER = "https://login.example/realms/factory"


def run(*arguments: str) -> str:
    output = StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


def trust(*options: str, tenant: str = "tenant-a", issuer: str = ISSUER) -> str:
    return run("trust_issuer", tenant, issuer, "--audience", "registry", *options)


def test_it_works(tenant_a: Tenant) -> None:
    assert trust() == f"tenant tenant-a trusts {ISSUER}\n"
    trusted = TrustedIssuer.objects.values().get()
    del trusted["id"], trusted["created_at"]
    assert trusted == {
        "tenant_id": tenant_a.pk,
        "issuer": ISSUER,
        "jwks_uri": "",
        "audiences": ["registry"],
        "audience_claim": "aud",
        "tenant_claim": "",
        "tenant_value": "",
        "roles_claim": "roles",
        "role_map": {"reader": "reader", "editor": "editor", "admin": "admin"},
        "subject_claim": "",
        "algorithms": ["RS256", "PS256", "ES256"],
        "enabled": True,
    }


def test_every_option(tenant_a: Tenant) -> None:
    trust(
        *("--audience", "https://registry.example"),
        *("--audience-claim", "client_id"),
        *("--jwks-uri", "https://keys.example/jwks"),
        *("--tenant-claim", "organization=ACME Inc"),
        *("--roles-claim", "realm_access.roles"),
        *("--role-map", "a=b=editor"),
        *("--role-map", "Twin viewers=reader"),
        *("--algorithm", "ES384"),
    )
    trusted = TrustedIssuer.objects.get()
    assert trusted.audiences == ["registry", "https://registry.example"]
    assert trusted.audience_claim == "client_id"
    assert trusted.jwks_uri == "https://keys.example/jwks"
    assert (trusted.tenant_claim, trusted.tenant_value) == ("organization", "ACME Inc")
    assert trusted.roles_claim == "realm_access.roles"
    assert trusted.role_map == {"a=b": "editor", "Twin viewers": "reader"}
    assert trusted.algorithms == ["ES384"]


def test_a_tenant_claim_without_a_value_must_name_the_tenant(tenant_a: Tenant) -> None:
    trust("--tenant-claim", "tenant")
    trusted = TrustedIssuer.objects.get()
    assert (trusted.tenant_claim, trusted.tenant_value) == ("tenant", "tenant-a")


def test_once_more_says_anew(tenant_a: Tenant) -> None:
    trust("--tenant-claim", "tenant", "--roles-claim", "groups")
    run("distrust_issuer", "tenant-a", ISSUER)
    trust()
    trusted = TrustedIssuer.objects.get()
    assert (trusted.tenant_claim, trusted.roles_claim, trusted.enabled) == ("", "roles", True)


def test_its_keys_can_be_fetched_first(tenant_a: Tenant, settings: Settings) -> None:
    settings.DEBUG = True
    with running_issuer() as issuer:
        trust("--check", issuer=issuer.url)
        assert issuer.requests == ["/.well-known/openid-configuration", "/keys"]
        issuer.down = True
        with pytest.raises(CommandError, match=r"openid-configuration answers 503$"):
            trust("--check", "--audience", "another", issuer=issuer.url)
    assert TrustedIssuer.objects.get().audiences == ["registry"]


def test_several_tenants_may_trust_one_issuer(tenant_a: Tenant, tenant_b: Tenant) -> None:
    trust()
    trust(tenant="tenant-b")
    assert TrustedIssuer.objects.count() == 2


def test_distrust(tenant_a: Tenant) -> None:
    trust()
    said = run("distrust_issuer", "tenant-a", ISSUER)
    assert said == (f"tenant tenant-a does not trust {ISSUER}; its tokens are refused within 10 seconds\n")
    assert not TrustedIssuer.objects.get().enabled


@pytest.mark.parametrize(
    ("tenant", "issuer", "message"),
    [
        ("nobody", ISSUER, "there is no tenant 'nobody'"),
        ("tenant-a", "https://x.example", "tenant 'tenant-a' has no issuer 'https://x.example'"),
        ("tenant-a", "n\udcff", r"tenant 'tenant-a' has no issuer 'n\udcff'"),
    ],
)
def test_distrust_what_is_unknown(tenant_a: Tenant, tenant: str, issuer: str, message: str) -> None:
    with pytest.raises(CommandError) as refusal:
        run("distrust_issuer", tenant, issuer)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--role-map", "x=owner"],
            "'x=owner' is not VALUE=ROLE with one of the roles reader, editor, admin",
        ),
        (["--role-map", "editor"], "'editor' is not VALUE=ROLE with one of the roles reader, editor, admin"),
        (["--algorithm", "HS256"], "algorithms: Item 1 in the array did not validate"),
        (["--algorithm", "none"], "algorithms: Item 1 in the array did not validate"),
        (["--jwks-uri", "http://keys.example"], "jwks_uri: 'http://keys.example' is no https address"),
        (["--roles-claim", ""], "roles_claim: This field cannot be blank."),
        (["--audience", ""], "audiences: Item 2 in the array did not validate"),
        (["--audience", "x" * 201], "audiences: Item 2 in the array did not validate"),
        (["--tenant-claim", "=x"], "issuer: issuer_tenant_claim_has_a_value"),
        (["--audience", "n\udcff"], "issuer: something of it is no text"),
        (["--role-map", "n\0=editor"], "issuer: something of it is no text"),
    ],
)
def test_what_is_malformed_is_said_in_one_line(tenant_a: Tenant, options: list[str], message: str) -> None:
    with pytest.raises(CommandError) as refusal:
        trust(*options)
    assert str(refusal.value).startswith(message)
    assert "\n" not in str(refusal.value)
    assert not TrustedIssuer.objects.exists()


@pytest.mark.parametrize(
    "issuer",
    [
        "http://login.example",
        "login.example",
        "https://",
        "https://user:secret@login.example",
        "https://login.example/#x",
        "https://login.example/\n",
        "file:///etc/passwd",
        "https://login.example/" + "x" * 500,
        "",
        "https://[",
    ],
)
def test_an_issuer_that_is_no_address(tenant_a: Tenant, issuer: str) -> None:
    with pytest.raises(CommandError, match=r"^issuer: "):
        trust(issuer=issuer)
    assert not TrustedIssuer.objects.exists()


def test_plain_http_is_for_development(tenant_a: Tenant, settings: Settings) -> None:
    settings.DEBUG = True
    trust(issuer="http://127.0.0.1:8080/realms/factory")


def test_our_own_tokens_need_no_trust(tenant_a: Tenant, settings: Settings) -> None:
    settings.DEBUG = True
    with pytest.raises(CommandError, match="own tokens"):
        trust(issuer=issuing.issuer("tenant-b"))


def test_an_unknown_tenant(db: None) -> None:
    with pytest.raises(CommandError, match=r"^there is no tenant 'nobody'$"):
        trust(tenant="nobody")


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ({"algorithms": ["HS256"]}, "issuer_algorithms_are_asymmetric"),
        ({"algorithms": ["RS256", "none"]}, "issuer_algorithms_are_asymmetric"),
        ({"algorithms": []}, "issuer_algorithms_are_asymmetric"),
        ({"audiences": []}, "issuer_has_an_audience"),
        ({"tenant_claim": "tenant"}, "issuer_tenant_claim_has_a_value"),
        ({"tenant_value": "x"}, "issuer_tenant_claim_has_a_value"),
    ],
)
def test_the_database_refuses_as_well(tenant_a: Tenant, change: dict[str, Any], constraint: str) -> None:
    trust()
    with pytest.raises(IntegrityError, match=constraint):
        TrustedIssuer.objects.update(**change)


def test_a_tenant_trusts_an_issuer_once(tenant_a: Tenant) -> None:
    trusted = services.trust_issuer("tenant-a", ISSUER, audiences=["registry"])
    trusted.pk = None
    with pytest.raises(IntegrityError, match="issuer_is_unique_in_tenant"):
        trusted.save(force_insert=True)


def test_the_admin_shows_what_is_trusted(admin_client: Client, tenant_a: Tenant, tenant_b: Tenant) -> None:
    for tenant in (tenant_a, tenant_b):
        trusted = services.trust_issuer(
            tenant.identifier, ISSUER, audiences=["registry"], role_map={"Twin viewers": Role.READER}
        )
    with expected_query_count("admin list of trustedissuer"):
        assert ISSUER in admin_client.get("/admin/tenants/trustedissuer/").content.decode()
    path = f"/admin/tenants/trustedissuer/{trusted.pk}/change/"
    page = admin_client.get(path).content.decode()
    assert "Twin viewers" in page
    assert "required" in admin_client.post(path, {}).content.decode()
    assert admin_client.post(f"/admin/tenants/trustedissuer/{trusted.pk}/delete/").status_code == 403
    trusted.refresh_from_db()
    assert json.loads(json.dumps(trusted.role_map)) == {"Twin viewers": "reader"}
