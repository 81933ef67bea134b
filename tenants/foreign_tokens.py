"""Access tokens of foreign issuers: which of them open which tenant (RFC 9068 §4, RFC 8725 §3).

The rule: a token opens the tenant that the address names if, and only if, that tenant trusts the issuer, the
token is meant for one of the audiences that the tenant wrote down, its tenant claim (if the tenant wants one)
has the expected value, and its roles claim has a value that stands for one of our roles. What one tenant
trusts means nothing to another.
"""

import re
from functools import lru_cache
from typing import Any

from django.conf import settings
from joserfc import jwt
from joserfc.errors import ExpiredTokenError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry
from rest_framework.exceptions import PermissionDenied

from tenants import issuers
from tenants.callers import Caller, CannotVerify, InvalidToken, limits_of, seen_as
from tenants.claims import texts
from tenants.models import Role, TrustedIssuer, Validation

#: Header types of access tokens; most providers say JWT or nothing. `logout+jwt` and others are refused.
TYPES = {"", "jwt", "at+jwt", "application/at+jwt"}
#: Where providers say who asks, the most exact first: RFC 9068 §2.2, OpenID Connect, Entra ID, RFC 7519.
CLIENT_CLAIMS = ("client_id", "azp", "appid", "sub")

_tenant_identifier = re.compile(r"[A-Za-z0-9._~-]{1,64}")


@lru_cache(maxsize=10_000)
def verified(token: str, kid: str | None, issuer: str, tenant_identifier: str, window: object) -> Caller:
    """Verify a token whose payload claims to be from `issuer` and whose header names the key `kid`.

    Refusals are not cached, results are for one `window` of time. Raises InvalidToken (401), PermissionDenied
    (403: a good token that says nothing of this tenant or of a role) and CannotVerify (503).
    """
    trusted = _trusted(issuer, tenant_identifier)
    try:
        keys = issuers.key_set(issuers.Source(trusted.issuer, trusted.jwks_uri), kid)
    except issuers.KeysUnavailable:
        raise CannotVerify("the keys of the token's issuer cannot be fetched; try again") from None
    claims = _verified_claims(token, keys, trusted)
    if trusted.tenant_claim and trusted.tenant_value not in texts(claims, trusted.tenant_claim):
        raise PermissionDenied("the token is not for this tenant")
    role = _role(claims, trusted)
    subjects = texts(claims, trusted.subject_claim) if trusted.subject_claim else set()
    return Caller(
        tenant_pk=trusted.tenant.pk,
        tenant_identifier=trusted.tenant.identifier,
        validation=Validation(trusted.tenant.validation),
        module_name=_client(claims),
        role=role,
        expires_at=claims["exp"] + settings.TOKEN_LEEWAY_SECONDS,  # by the issuer's clock, not by ours
        issuer=trusted.issuer,
        subject=seen_as(trusted.tenant, role, subjects.pop() if len(subjects) == 1 else ""),
        limits=limits_of(trusted.tenant),
    )


def _trusted(issuer: str, tenant_identifier: str) -> TrustedIssuer:
    """What the tenant trusts. An unknown tenant and one that does not trust the issuer get the same answer."""
    trusted = None
    if _tenant_identifier.fullmatch(tenant_identifier) and issuer.isprintable():
        trusted = TrustedIssuer.objects.of(tenant_identifier).live().filter(issuer=issuer).first()
    if trusted is None:
        raise InvalidToken("the token has an issuer that is not trusted here")
    return trusted


def _verified_claims(token: str, keys: KeySet, trusted: TrustedIssuer) -> dict[str, Any]:
    # Unknown members of a header are to be ignored (RFC 7515 §4); those of `crit` are not.
    registry = JWSRegistry(algorithms=trusted.algorithms, strict_check_header=False)
    essential: jwt.ClaimsOption = {"essential": True}
    try:
        decoded = jwt.decode(token, keys, algorithms=trusted.algorithms, registry=registry)
        claims = decoded.claims
        leeway = settings.TOKEN_LEEWAY_SECONDS
        jwt.JWTClaimsRegistry(leeway=leeway, iss=essential, exp=essential).validate(claims)
    except ExpiredTokenError:
        raise InvalidToken("the token is expired") from None
    except (JoseError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise InvalidToken("the token is malformed, or not signed by its issuer") from None
    if claims["iss"] != trusted.issuer:
        raise InvalidToken("the token has another issuer")
    if not _is_access_token(decoded.header, claims):
        raise InvalidToken("the token is not an access token")
    if not texts(claims, trusted.audience_claim) & set(trusted.audiences):
        raise InvalidToken("the token is meant for another service")
    return claims


def _is_access_token(header: dict[str, Any], claims: dict[str, Any]) -> bool:
    """Not an ID token, a refresh token or a logout token, as far as providers tell them apart.

    By its type (RFC 9068 §2.1), by `at_hash` (OpenID Connect Core §3.1.3.6), by Keycloak's claim `typ` and by
    Cognito's `token_use`.
    """
    return (
        str(header.get("typ", "")).lower() in TYPES
        and "at_hash" not in claims
        and str(claims.get("typ", "Bearer")).lower() == "bearer"
        and claims.get("token_use", "access") == "access"
    )


def _client(claims: dict[str, Any]) -> str:
    for name in CLIENT_CLAIMS:
        client = claims.get(name)
        if isinstance(client, str) and client:
            return client
    raise InvalidToken("the token does not say who asks")


def _role(claims: dict[str, Any], trusted: TrustedIssuer) -> Role:
    """The highest of the roles that the values of the roles claim stand for."""
    roles = [
        Role(trusted.role_map[value])
        for value in texts(claims, trusted.roles_claim)
        if value in trusted.role_map
    ]
    if not roles:
        raise PermissionDenied(f"the token has no role of this registry in its claim {trusted.roles_claim}")
    return max(roles, key=list(Role).index)
