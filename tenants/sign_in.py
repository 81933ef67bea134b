"""Sign-in of people to the admin: by a password, or through an identity provider (OpenID Connect Core §3.1).

mozilla-django-oidc walks the way to the provider and back: state, nonce and PKCE (RFC 7636). As shipped it wants its
endpoints at the start, follows whatever issuer and audience an ID token names, and finds people by their e-mail
address. Here endpoints come from the discovery document when they are needed, an ID token is verified in full, and
people are found by issuer and subject (tenants/accounts.py).
"""

from datetime import timedelta
from typing import Any
from urllib.parse import quote_plus, urlencode

import structlog
from django.conf import settings
from django.contrib import admin, auth
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.translation import gettext as _
from joserfc import jws, jwt
from joserfc.errors import JoseError
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.middleware import SessionRefresh
from mozilla_django_oidc.utils import import_from_settings
from mozilla_django_oidc.views import OIDCAuthenticationCallbackView, OIDCAuthenticationRequestView

from tenants import accounts, issuers
from tenants.models import ProviderAccount, default_algorithms
from tenants.passwords import PasswordForm

logger = structlog.get_logger(__name__)

#: What the library calls the addresses that a discovery document has.
ENDPOINTS = {
    "OIDC_OP_AUTHORIZATION_ENDPOINT": "authorization_endpoint",
    "OIDC_OP_TOKEN_ENDPOINT": "token_endpoint",
    "OIDC_OP_USER_ENDPOINT": "userinfo_endpoint",
}
#: A session that should have been renewed takes the form that somebody is filling in for so long.
GRACE = timedelta(minutes=15)
#: OpenID Connect Core §2: no longer than that.
LONGEST_SUBJECT = 255


class SignInRefused(Exception):
    """The provider's answer proves nothing; the message is for the log."""


class FromDiscovery:
    """The library's settings, with endpoints that are looked up when they are used, not when a process starts."""

    @staticmethod
    def get_settings(name: str, *default: Any) -> Any:
        if name in ENDPOINTS:
            return lazy(_endpoint, str)(ENDPOINTS[name])
        return import_from_settings(name, *default)


def _endpoint(name: str) -> str:
    return issuers.endpoint(settings.ADMIN_OIDC_ISSUER, name)


# --- Who it is ----------------------------------------------------------------------------------------


class ByMembership:
    """What a person may do is said by memberships (`people.py`); Django's permissions are not looked at."""

    def get_all_permissions(self, user: Any, obj: Any = None) -> set[str]:
        return set()


class PasswordBackend(ByMembership, ModelBackend):
    """Passwords, unless they are off; never for somebody who comes from a provider."""

    def authenticate(self, request: HttpRequest | None, *names: Any, **credentials: Any) -> User | None:
        if not settings.ADMIN_PASSWORD_SIGN_IN:
            return None
        person = super().authenticate(request, *names, **credentials)
        if person is None or ProviderAccount.objects.filter(person_id=person.pk).exists():
            return None
        return person

    def get_user(self, user_id: int) -> User | None:
        return super().get_user(user_id) if settings.ADMIN_PASSWORD_SIGN_IN else None


class ProviderBackend(ByMembership, FromDiscovery, OIDCAuthenticationBackend):  # type: ignore[misc]
    """People by the code that their provider sent them back with."""

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> User | None:
        """Nobody without a nonce and a verifier: then it is not the callback that asks.

        Raises SignInRefused, NotAdmitted and KeysUnavailable.
        """
        if not (settings.ADMIN_OIDC_ISSUER and credentials.get("nonce") and credentials.get("code_verifier")):
            return None
        person: User | None = super().authenticate(request, **credentials)
        return person

    def get_token(self, payload: dict[str, str]) -> dict[str, Any]:
        """What the token endpoint gives for the code; with a secret, the client proves who it is.

        Raises SignInRefused and KeysUnavailable.
        """
        issuer, secret = settings.ADMIN_OIDC_ISSUER, payload.pop("client_secret")
        credentials = None
        if secret and "client_secret_basic" in issuers.authentication_methods(issuer):  # RFC 6749 §2.3.1
            credentials = quote_plus(payload["client_id"]), quote_plus(secret)
        elif secret:
            payload["client_secret"] = secret
        answer = issuers.exchange(issuers.endpoint(issuer, "token_endpoint"), payload, credentials)
        if "id_token" not in answer:
            raise SignInRefused(f"token endpoint: {answer.get('error')!r:.100}")
        return answer

    def verify_token(self, token: Any, **expected: Any) -> dict[str, Any]:
        """The claims of an ID token that is for us, from this sign-in (OpenID Connect Core §3.1.3.7).

        Raises SignInRefused and KeysUnavailable.
        """
        issuer, client_id = settings.ADMIN_OIDC_ISSUER, settings.OIDC_RP_CLIENT_ID
        checks = jwt.JWTClaimsRegistry(
            leeway=settings.TOKEN_LEEWAY_SECONDS,
            iss={"essential": True, "value": issuer},
            aud={"essential": True, "values": [client_id]},
            nonce={"essential": True, "value": expected["nonce"]},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
        )
        algorithms = default_algorithms()
        try:
            kid = jws.extract_compact(token.encode()).headers().get("kid")
            keys = issuers.key_set(issuers.Source(issuer), kid)
            registry = jws.JWSRegistry(algorithms=algorithms, strict_check_header=False)
            claims = jwt.decode(token, keys, algorithms=algorithms, registry=registry).claims
            checks.validate(claims)
        except (JoseError, ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
            raise SignInRefused(f"ID token: {error!r:.200}") from None
        # Of several audiences one asked for the token.
        if claims.get("azp", client_id) != client_id or (
            claims["aud"] not in (client_id, [client_id]) and "azp" not in claims
        ):
            raise SignInRefused("ID token: it was issued to another client")
        subject = claims["sub"]
        if not (isinstance(subject, str) and 0 < len(subject) <= LONGEST_SUBJECT and subject.isprintable()):
            raise SignInRefused("ID token: its subject is none")
        return claims

    def get_or_create_user(self, access_token: Any, id_token: Any, payload: dict[str, Any]) -> User:
        return accounts.admit(settings.ADMIN_OIDC_ISSUER, payload)

    def get_user(self, user_id: int) -> User | None:
        """Somebody who is signed in, as long as the account is enabled and the provider is in use."""
        return ModelBackend.get_user(self, user_id) if settings.ADMIN_OIDC_ISSUER else None


# --- The way to the provider and back -----------------------------------------------------------------


class RequestView(FromDiscovery, OIDCAuthenticationRequestView):  # type: ignore[misc]
    """Sends a person to the provider; with `?again`, to sign in anew, perhaps as somebody else."""

    def get(self, request: HttpRequest) -> HttpResponse:
        if not settings.ADMIN_OIDC_ISSUER:
            raise Http404
        try:
            response: HttpResponse = super().get(request)
        except issuers.KeysUnavailable as error:
            return _unavailable(request, error)
        return response

    def get_extra_params(self, request: HttpRequest) -> dict[str, str]:
        return {"prompt": "login"} if "again" in request.GET else {}


class CallbackView(FromDiscovery, OIDCAuthenticationCallbackView):  # type: ignore[misc]
    """Takes a person who comes back from the provider, and says clearly why not."""

    def get(self, request: HttpRequest) -> HttpResponse:
        if not settings.ADMIN_OIDC_ISSUER:
            raise Http404
        if request.GET.get("state") not in request.session.get("oidc_states", {}):  # RFC 6749 §10.12
            return refusal(request, _("This sign-in was not begun in this browser, or is over already."), 400)
        if request.GET.get("iss", settings.ADMIN_OIDC_ISSUER) != settings.ADMIN_OIDC_ISSUER:  # RFC 9207
            return self._refused(_("Another provider answered than the one that was asked."))
        try:
            response: HttpResponse = super().get(request)
        except SignInRefused as error:
            logger.warning("sign_in_refused", issuer=settings.ADMIN_OIDC_ISSUER, reason=str(error))
            return self._refused(_("What the provider answered could not be verified."))
        except accounts.NoRights:
            reason = _(
                "%(provider)s knows you, but you have no right in this registry. Ask who looks after it."
            )
            return self._refused(reason % {"provider": settings.ADMIN_OIDC_NAME})
        except accounts.Disabled:
            return self._refused(_("Your account in this registry is disabled. Ask who looks after it."))
        except issuers.KeysUnavailable as error:
            return _unavailable(request, error)
        return response

    def login_success(self) -> HttpResponse:
        """Signed in until the session must be renewed; if it is not, it is over when the grace is."""
        response: HttpResponse = super().login_success()
        renewal = timedelta(seconds=settings.OIDC_RENEW_ID_TOKEN_EXPIRY_SECONDS)
        self.request.session.set_expiry(timezone.now() + renewal + GRACE)
        return response

    def login_failure(self) -> HttpResponse:
        """The provider said no: often because a session that was to be renewed has ended there."""
        return self._refused(_("The provider did not sign you in, or your session there has ended."))

    def _refused(self, reason: str) -> HttpResponse:
        """Whoever was signed in here is no more."""
        wanted = self.request.session.get("oidc_login_next")
        auth.logout(self.request)
        return refusal(self.request, reason, 403, wanted)


class SessionRenewal(FromDiscovery, SessionRefresh):  # type: ignore[misc]
    """Asks the provider anew, without a word to the person, when somebody opens a page and it is time."""

    def is_refreshable_url(self, request: HttpRequest) -> bool:
        """Pages of the admin that are opened as such: what a script fetches cannot be sent to the provider."""
        return (
            bool(settings.ADMIN_OIDC_ISSUER)
            and request.path.startswith(reverse("admin:index"))
            and request.headers.get("Sec-Fetch-Mode", "navigate") == "navigate"
            and super().is_refreshable_url(request)
        )

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        try:
            response: HttpResponse | None = super().process_request(request)
        except issuers.KeysUnavailable as error:
            return _unavailable(request, error)
        return response


def end_session_address(request: HttpRequest) -> str:
    """Where somebody goes who signed out here: to sign out there as well (RP-Initiated Logout 1.0 §2)."""
    home = reverse("admin:login")
    token = request.session.get("oidc_id_token")
    if not token or not settings.ADMIN_OIDC_ISSUER:  # signed in with a password
        return home
    try:
        address = _endpoint("end_session_endpoint")
    except issuers.KeysUnavailable:
        return home
    query = {
        "id_token_hint": token,
        "client_id": settings.OIDC_RP_CLIENT_ID,
        "post_logout_redirect_uri": request.build_absolute_uri(home),
    }
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"


# --- Pages --------------------------------------------------------------------------------------------


class SignInForm(PasswordForm):
    """What the page of the sign-in offers: passwords, a provider, or both."""

    @property
    def has_passwords(self) -> bool:
        return bool(settings.ADMIN_PASSWORD_SIGN_IN)

    @property
    def provider(self) -> str:
        """What people call the provider; empty: there is none."""
        return settings.ADMIN_OIDC_NAME if settings.ADMIN_OIDC_ISSUER else ""


def refusal(request: HttpRequest, reason: str, status: int, wanted: str | None = None) -> HttpResponse:
    """The page that says why somebody is not signed in, with a way to try again."""
    context = {
        **admin.site.each_context(request),
        "title": _("Not signed in"),
        "reason": reason,
        "next": wanted or reverse("admin:index"),
        "provider": settings.ADMIN_OIDC_NAME,
        "has_passwords": settings.ADMIN_PASSWORD_SIGN_IN,
    }
    return render(request, "admin/sign_in_refused.html", context, status=status)


def _unavailable(request: HttpRequest, error: issuers.KeysUnavailable) -> HttpResponse:
    logger.warning("sign_in_unavailable", issuer=settings.ADMIN_OIDC_ISSUER, reason=str(error))
    return refusal(request, _("The provider cannot be asked at the moment. Try again in a minute."), 503)
