"""The identity service: tokens by client credentials (contract §5.3, RFC 6749 §4.4), with Authlib.

Authlib does the protocol. Here is what is this registry's: clients are the modules of the tenant in the
address, scopes name target services, tokens are RFC 9068 JWTs, and a refusal never says more than that
the client could not be authenticated.
"""

import math
import re
import time
from typing import Any

from authlib.integrations.django_oauth2 import AuthorizationServer
from authlib.integrations.django_oauth2.requests import DjangoOAuth2Payload, DjangoOAuth2Request
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import (
    ClientAuthentication,
    ClientMixin,
    InvalidClientError,
    InvalidRequestError,
    InvalidScopeError,
    UnsupportedGrantTypeError,
)
from authlib.oauth2.rfc6749.grants import ClientCredentialsGrant
from authlib.oauth2.rfc6749.util import extract_basic_authorization
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from joserfc.jwk import KeySet

from tenants import attempts, audiences, issuers, keys, secrets, services
from tenants.models import Module

AUTH_METHODS = ["client_secret_basic", "client_secret_post"]
AUDIENCE_PREFIX = "aud:"
_public_id = re.compile(r"[A-Za-z0-9._~-]{1,64}")


def issuer(tenant_identifier: str) -> str:
    """The `iss` of the tokens of a tenant; its discovery document lies below (OpenID Discovery §4)."""
    return f"{issuers.own_prefix()}{tenant_identifier}/openid-connect"


#: No secret has this digest, which is that of nothing.
_NOBODY = Module(secret_digest="-" * 64)


class TooManyFailuresError(OAuth2Error):  # type: ignore[misc]
    """The secret was not looked at: RFC 6585 §4, in the form of RFC 6749 §5.2.

    None of the codes of §5.2 fits: the request is not malformed, and whether the client could be authenticated is
    not known; a client that reads `invalid_client` may give up its secret for good. §4.1.2.1 has the one that
    means "try again later".
    """

    error = "temporarily_unavailable"
    description = "too many attempts failed; try again later"
    status_code = 429

    def __init__(self, wait: int) -> None:
        super().__init__()
        self.wait = wait

    def get_headers(self) -> list[tuple[str, str]]:
        return [*super().get_headers(), ("Retry-After", str(self.wait))]


class Client(ClientMixin):  # type: ignore[misc]
    """What Authlib asks of a client, answered from a module; without one, a client no secret fits."""

    def __init__(self, module: Module | None) -> None:
        self.module = module

    def get_client_id(self) -> str:
        assert self.module is not None
        return self.module.client_id

    def check_client_secret(self, client_secret: str) -> bool:
        # As much work for an unknown client as for a known one, so that time tells nothing either.
        is_right = (self.module or _NOBODY).has_secret(client_secret)
        if client_secret == secrets.DEMO_SECRET and not settings.DEBUG:
            return False
        return is_right and self.module is not None

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method in AUTH_METHODS

    def check_grant_type(self, grant_type: str) -> bool:
        return bool(grant_type == ClientCredentialsGrant.GRANT_TYPE)

    def get_allowed_scope(self, scope: str) -> str:
        return scope


class FormPayload(DjangoOAuth2Payload):  # type: ignore[misc]
    """Parameters from the form alone: credentials in an address end up in logs (RFC 6749 §2.3.1)."""

    @property
    def data(self) -> dict[str, str]:
        return self._request.POST.dict()  # type: ignore[no-any-return]


class TokenRequest(DjangoOAuth2Request):  # type: ignore[misc]
    """A token request to the tenant that the address names."""

    def __init__(self, request: HttpRequest, tenant_identifier: str) -> None:
        super().__init__(request)
        self.payload = FormPayload(request)
        self.tenant_identifier = tenant_identifier


class Grant(ClientCredentialsGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = AUTH_METHODS

    def validate_requested_scope(self) -> None:
        """`openid` and at least one known target service (contract §5.4)."""
        scopes = (self.request.payload.scope or "").split()
        targets = _targets(scopes)
        if not targets:
            raise InvalidScopeError("scope must name a target service: aud:<target_client_id>")
        if not set(targets) <= audiences.issuable(settings.TARGET_CLIENTS, timezone.now()):
            raise InvalidScopeError("scope names a target service that is unknown or no longer valid")
        if "openid" not in scopes:
            raise InvalidScopeError("scope must contain openid")
        if len(scopes) != len(targets) + 1:
            raise InvalidScopeError("scope may contain openid and target services only")


class TokenGenerator(JWTBearerTokenGenerator):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(issuer=None, alg=keys.ALGORITHM, expires_generator=self._lifetime)

    def _lifetime(self, client: Client, grant_type: str) -> int:
        return int(settings.TOKEN_LIFETIME_SECONDS)

    def get_jwks(self) -> KeySet:
        return KeySet([keys.signing_key()])  # a set, so that the header names the key (`kid`)

    def get_audiences(self, client: Client, user: None, scope: str) -> str | list[str]:
        targets = _targets(scope.split())
        return targets[0] if len(targets) == 1 else targets

    def get_extra_claims(self, client: Client, grant_type: str, user: None, scope: str) -> dict[str, Any]:
        assert client.module is not None
        tenant_identifier = client.module.tenant.identifier
        return {
            "iss": issuer(tenant_identifier),
            # Rounded up: a token lives no shorter than `expires_in` says, by which clients renew it.
            "exp": math.ceil(time.time()) + self._lifetime(client, grant_type),
            "tenant_id": tenant_identifier,
            "roles": [client.module.role],
        }


class IdentityService(AuthorizationServer):  # type: ignore[misc]
    """Authlib's authorization server on our modules and keys."""

    def __init__(self) -> None:
        super().__init__(client_model=Module, token_model=None)
        self.register_grant(Grant)
        self.register_token_generator("default", TokenGenerator())

    def token_response(self, request: HttpRequest, tenant_identifier: str) -> HttpResponse:
        """Answer a POST to the token endpoint: RFC 6749 §5.1, or an error of §5.2."""
        try:
            _check_form(request)
            token_request = TokenRequest(request, tenant_identifier)
            return self.create_token_response(token_request)  # type: ignore[no-any-return]
        except OAuth2Error as error:
            return self.handle_error_response(request, error)
        except ValueError:  # Authlib on an Authorization header that is not base64 of UTF-8
            return self.handle_error_response(request, InvalidClientError())

    def create_oauth2_request(self, request: TokenRequest) -> TokenRequest:
        return request

    def authenticate_client(
        self, request: TokenRequest, methods: list[str], endpoint: str = "token"
    ) -> Client:
        attempt: attempts.Attempt | None = None

        def find(client_id: str) -> Client:
            nonlocal attempt
            attempt = attempts.of_client(request._request, client_id)
            wait = attempt.wait()
            if wait is not None:
                raise TooManyFailuresError(wait)
            if not (_public_id.fullmatch(client_id) and _public_id.fullmatch(request.tenant_identifier)):
                return Client(None)
            modules = Module.objects.of(request.tenant_identifier).live().select_related("tenant")
            return Client(modules.filter(client_id=client_id).first())

        try:
            return ClientAuthentication(find)(request, methods, endpoint)  # type: ignore[no-any-return]
        except InvalidClientError:
            if attempt is not None:
                attempt.failed()
            raise

    def save_token(self, token: dict[str, Any], request: TokenRequest) -> None:
        """Tokens are not stored: they are verified by their signature. Only their module is noted."""
        assert request.client.module is not None
        services.note_use(request.client.module)

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Nobody listens."""

    def handle_error_response(self, request: Any, error: OAuth2Error) -> HttpResponse:
        if isinstance(error, InvalidClientError):  # one answer for every reason
            error = InvalidClientError("client authentication failed", status_code=401)
        if isinstance(error, UnsupportedGrantTypeError):  # its own text repeats what the client sent
            error = OAuth2Error("grant_type must be client_credentials", error=error.error)
        response: HttpResponse = super().handle_error_response(request, error)
        response["Cache-Control"] = "no-store"
        return response


def _targets(scopes: list[str]) -> list[str]:
    return [scope.removeprefix(AUDIENCE_PREFIX) for scope in scopes if scope.startswith(AUDIENCE_PREFIX)]


def _check_form(request: HttpRequest) -> None:
    """What RFC 6749 §3.2 and §5.2 call an invalid request, before anybody is authenticated."""
    if request.content_type != "application/x-www-form-urlencoded":
        raise InvalidRequestError("Content-Type must be application/x-www-form-urlencoded")
    form: QueryDict = request.POST
    if any(len(form.getlist(name)) > 1 for name in form):
        raise InvalidRequestError("a parameter is given more than once")
    if not form.get("grant_type"):
        raise InvalidRequestError("grant_type is missing")
    has_id, has_secret = bool(form.get("client_id")), bool(form.get("client_secret"))
    if request.headers.get("Authorization", "").strip():
        if has_secret:
            raise InvalidRequestError("use one way of client authentication, not two")
        if has_id and extract_basic_authorization(request.headers)[0] != form["client_id"]:
            raise InvalidRequestError("client_id is not that of the Authorization header")
    elif has_id != has_secret:
        raise InvalidRequestError("client_id is missing" if has_secret else "client_secret is missing")
