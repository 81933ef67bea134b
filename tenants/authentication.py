"""Bearer tokens: from the `Authorization` header to the caller (RFC 6750, RFC 9068 §4).

mozilla-django-oidc supplies the DRF authentication class and the backend it asks. As shipped, that
backend asks a userinfo endpoint on every request and checks neither audience nor tenant; here a token is
verified on the spot, against our own keys or those of an issuer that the tenant of the address trusts, and the
result is believed for `TOKEN_CACHE_SECONDS`.
"""

import json
import time
from functools import lru_cache
from typing import Any, NoReturn

from django.conf import settings
from django.utils import timezone
from joserfc import jws, jwt
from joserfc.errors import ExpiredTokenError, JoseError
from joserfc.util import urlsafe_b64decode
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.contrib.drf import OIDCAuthentication
from rest_framework.request import Request

from tenants import audiences, foreign_tokens, issuers, issuing, keys, services
from tenants.callers import Caller, CannotVerify, InvalidToken, limits_of, seen_as
from tenants.models import Module, Role, Validation

#: Our tokens have under 1 KiB, those of others up to 4; a request head of granian may have 128 KiB.
MAX_TOKEN_CHARACTERS = 8192


class ForeignIssuer(Exception):
    """A token claims to be from somebody else; nothing of it is verified yet."""

    def __init__(self, issuer: str, kid: str | None) -> None:
        self.issuer = issuer
        self.kid = kid


class BearerTokenBackend(OIDCAuthenticationBackend):  # type: ignore[misc]
    """Verifies access tokens of the identity service in `issuing.py`, and those of trusted issuers."""

    def __init__(self) -> None:
        """Nothing of the parent's: its settings are those of a browser login."""

    def get_or_create_user(self, access_token: str, id_token: None, payload: dict[str, str]) -> Caller:
        """The caller whose token this is; `payload` is what the address says, the tenant among it.

        Raises InvalidToken, and what `foreign_tokens.verified` raises.
        """
        window = (
            int(time.monotonic() / settings.TOKEN_CACHE_SECONDS) if settings.TOKEN_CACHE_SECONDS else object()
        )
        try:
            caller = _verified(access_token, window)
        except ForeignIssuer as foreign:
            tenant_identifier = payload.get("tenantId", "")
            caller = foreign_tokens.verified(
                access_token, foreign.kid, foreign.issuer, tenant_identifier, window
            )
        if caller.expires_at <= time.time():
            raise InvalidToken("the token is expired")
        return caller


class BearerAuthentication(OIDCAuthentication):  # type: ignore[misc]
    """DRF authentication by `Authorization: Bearer <token>`."""

    www_authenticate_realm = "aas-registry"
    _backend = BearerTokenBackend()

    def __init__(self) -> None:
        super().__init__(backend=self._backend)

    def authenticate(self, request: Request) -> tuple[Caller, str] | None:
        """The caller and the token; None without one. The parent's, with the tenant of the address at hand."""
        token = self.get_access_token(request)
        if token is None:
            return None
        caller = self._backend.get_or_create_user(token, None, request.parser_context["kwargs"])
        facts = request._request.log_facts  # type: ignore[attr-defined]
        facts.update(tenant=caller.tenant_identifier, module=caller.module_name)
        if caller.issuer:
            facts["issuer"] = caller.issuer
        return caller, token

    def get_access_token(self, request: Request) -> str | None:
        """The token of the header; None for another scheme. As the parent, in a tenth of its time."""
        scheme, _, token = request._request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        if not token or " " in token:
            raise InvalidToken("the Authorization header must be: Bearer <token>")
        return str(token)


@lru_cache(maxsize=10_000)
def _verified(token: str, window: object) -> Caller:
    """Verify `token`: signature, type, lifetime, audience, issuer, and that its module is still live.

    Refusals are not cached, results are for one `window` of time. Raises InvalidToken, and ForeignIssuer for a
    token that does not even claim to be ours.
    """
    if len(token) > MAX_TOKEN_CHARACTERS:
        raise InvalidToken("the token is too long")
    _refer_to_its_issuer(token)
    try:
        decoded = jwt.decode(token, keys.verification_keys(), algorithms=[keys.ALGORITHM])
        claims = decoded.claims
        _claims_registry().validate(claims)
    except keys.NoSigningKey:
        raise CannotVerify from None
    except ExpiredTokenError:
        raise InvalidToken("the token is expired") from None
    except (JoseError, ValueError, TypeError, AttributeError, KeyError):
        raise InvalidToken("the token is malformed, not ours, or meant for another service") from None
    if decoded.header.get("typ") != "at+jwt":
        raise InvalidToken("the token is not an access token")
    tenant_identifier = claims["tenant_id"]
    if not isinstance(tenant_identifier, str) or claims["iss"] != issuing.issuer(tenant_identifier):
        raise InvalidToken("the token has another issuer")
    return _caller(claims)


def _refer_to_its_issuer(token: str) -> None:
    """Look at `iss` and `kid`, which prove nothing, to know whose keys to ask. Raises as `_verified`.

    Header and claims are what they will be once they are verified: no member occurs twice (RFC 7515 §4, RFC 7519
    §4), so that no two readers can take different ones.
    """
    try:
        unverified = jws.extract_compact(token.encode())
        issuer = _json(unverified.payload)["iss"]
        kid = _json(urlsafe_b64decode(unverified.segments["header"])).get("kid")
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InvalidToken("the token is malformed, not ours, or meant for another service") from None
    if not isinstance(issuer, str) or not isinstance(kid, str | None):
        raise InvalidToken("the token is malformed, not ours, or meant for another service")
    if not issuer.startswith(issuers.own_prefix()):
        raise ForeignIssuer(issuer, kid)


def _json(text: bytes) -> Any:
    """Raises ValueError for what is no JSON, a member that occurs twice, NaN and infinity."""
    return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member occurs twice")
    return members


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _claims_registry() -> jwt.JWTClaimsRegistry:
    essential: jwt.ClaimsOption = {"essential": True}
    accepted = sorted(audiences.accepted(settings.TARGET_CLIENTS, timezone.now()))
    if not accepted:  # to joserfc an empty list would mean that any audience will do
        raise InvalidToken("this registry accepts no audience at the moment")
    return jwt.JWTClaimsRegistry(
        leeway=settings.TOKEN_LEEWAY_SECONDS,
        iss=essential,
        exp=essential,
        iat=essential,
        sub=essential,
        client_id=essential,
        tenant_id=essential,
        roles=essential,
        aud={"essential": True, "values": accepted},
    )


def _caller(claims: dict[str, Any]) -> Caller:
    module = (
        Module.objects.of(claims["tenant_id"])
        .live()
        .filter(client_id=claims["client_id"])
        .select_related("tenant")
        .first()
    )
    if module is None:
        raise InvalidToken("the module of the token is disabled, expired or removed")
    if module.role not in claims["roles"]:
        raise InvalidToken("the role of the module has changed since; get a new token")
    services.note_use(module)
    return Caller(
        tenant_pk=module.tenant.pk,
        tenant_identifier=module.tenant.identifier,
        validation=Validation(module.tenant.validation),
        module_name=module.name,
        role=Role(module.role),
        expires_at=claims["exp"],
        subject=seen_as(module.tenant, Role(module.role), module.subject),
        limits=limits_of(module.tenant, module),
    )
