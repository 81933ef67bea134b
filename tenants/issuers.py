"""The addresses of issuers: our own, and where trusted ones publish their keys and say where the rest is.

Keys are fetched from addresses that an operator wrote down, or that the issuer's own discovery document
names; never from one in a token. What was fetched is kept for each process: it is fetched anew when it is old
or when a token names a key that is not in it, at most once in `JWKS_INTERVAL_SECONDS`, and it serves on for
`JWKS_STALE_SECONDS` while the issuer cannot be reached.
"""

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2
import structlog
from django.conf import settings
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet, OctKey, RSAKey

from tenants import keys

logger = structlog.get_logger(__name__)

#: No more is read of an answer; the largest known key sets have some 10 KiB.
MAX_BYTES = 256 * 1024
#: For each step of a request, and for all of a fetch.
STEP_SECONDS = 2.0
FETCH_SECONDS = 5.0


class KeysUnavailable(Exception):
    """The keys of an issuer, or what else it is asked for, cannot be had; one line that says why."""


@dataclass(frozen=True)
class Source:
    """Where the keys of an issuer are; without `jwks_uri` its discovery document says so."""

    issuer: str
    jwks_uri: str = ""


@dataclass(frozen=True)
class _State:
    """What is known of a source: replaced as a whole, so that no reader sees half of it."""

    keys: KeySet | None = None
    document: Mapping[str, Any] = field(default_factory=dict)
    kids: frozenset[str | None] = frozenset()
    fetched: float = 0.0
    attempted: float | None = None
    failure: str = ""

    def is_old(self, now: float) -> bool:
        return self.keys is None or now - self.fetched >= settings.JWKS_MAX_AGE_SECONDS

    def lacks(self, kid: str | None) -> bool:
        return self.keys is None or (kid is not None and kid not in self.kids)

    def is_due(self, kid: str | None, now: float) -> bool:
        """Whether to fetch: for want of this key or for age, and not too soon after the last attempt."""
        rested = self.attempted is None or now - self.attempted >= settings.JWKS_INTERVAL_SECONDS
        return rested and (self.lacks(kid) or self.is_old(now))


@dataclass
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    state: _State = field(default_factory=_State)


_entries: dict[Source, _Entry] = {}


def own_prefix() -> str:
    """What every issuer of our own tokens begins with; a tenant id follows."""
    return f"{settings.AUTH_URL}/iam/access-management/v1/tenants/"


def check_address(address: str) -> None:
    """Whether keys may be fetched there: https, or http as well in DEBUG.

    Raises ValueError, with the reason.
    """
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and settings.DEBUG):
        raise ValueError(f"{address!r} is no https address")
    if not parts.hostname or "@" in parts.netloc or parts.fragment or not address.isprintable():
        raise ValueError(f"{address!r} is no plain address")


def key_set(source: Source, kid: str | None) -> KeySet:
    """The keys of an issuer for a token that names the key `kid`; it may turn out not to be among them.

    Raises KeysUnavailable if they were never fetched or too long ago, and if `kid` is not among them while
    the issuer cannot be asked.
    """
    published = _state(source, kid).keys
    assert published is not None
    return published


def endpoint(issuer: str, name: str) -> str:
    """The address that the discovery document of `issuer` has under `name`. Raises KeysUnavailable."""
    address = _state(Source(issuer), None).document.get(name)
    try:
        check_address(str(address))
    except ValueError as error:
        raise KeysUnavailable(f"the discovery document of {issuer} has no {name}: {error}") from None
    return str(address)


def authentication_methods(issuer: str) -> list[str]:
    """How a client may prove who it is at the token endpoint (OpenID Connect Discovery §3).

    Raises KeysUnavailable.
    """
    said = _state(Source(issuer), None).document.get("token_endpoint_auth_methods_supported")
    return said if isinstance(said, list) else ["client_secret_basic"]


def exchange(
    address: str, form: dict[str, str], credentials: tuple[str, str] | None = None
) -> dict[str, Any]:
    """What the token endpoint at `address` answers to `form`: tokens, or an error (RFC 6749 §5).

    Raises KeysUnavailable if that is no JSON.
    """
    with _client() as client:
        return _json(client, address, time.monotonic() + FETCH_SECONDS, form, credentials)


def _state(source: Source, kid: str | None) -> _State:
    """What is known of a source, fetched if need be. Raises KeysUnavailable as `key_set`."""
    entry = _entries.setdefault(source, _Entry())
    state = entry.state
    if state.is_due(kid, time.monotonic()):
        # Who lacks a key waits for the one that fetches; who only has old ones goes on with them.
        if entry.lock.acquire(timeout=FETCH_SECONDS if state.lacks(kid) else 0):
            try:
                if entry.state.is_due(kid, time.monotonic()):
                    entry.state = _refreshed(source, entry.state)
            finally:
                entry.lock.release()
        state = entry.state
    if state.keys is None or time.monotonic() - state.fetched >= settings.JWKS_STALE_SECONDS:
        raise KeysUnavailable(state.failure or "the keys are being fetched")
    if state.failure and state.lacks(kid):
        raise KeysUnavailable(state.failure)
    return state


def fetch(source: Source) -> KeySet:
    """The keys that an issuer publishes at the moment (RFC 7517 §5). Raises KeysUnavailable."""
    return _fetched(source)[1]


def _fetched(source: Source) -> tuple[dict[str, Any], KeySet]:
    """The discovery document of an issuer, unless the source says where its keys are, and the keys."""
    deadline = time.monotonic() + FETCH_SECONDS
    document: dict[str, Any] = {}
    with _client() as client:
        address = source.jwks_uri
        if not address:
            document = _json(
                client, f"{source.issuer.rstrip('/')}/.well-known/openid-configuration", deadline
            )
            if document.get("issuer") != source.issuer:  # OpenID Connect Discovery §4.3
                raise KeysUnavailable(f"the discovery document of {source.issuer} names another issuer")
            address = str(document.get("jwks_uri"))
        published = _json(client, address, deadline).get("keys")
    usable = [key for key in map(_usable, published if isinstance(published, list) else []) if key]
    if not usable:
        raise KeysUnavailable(f"{address} has no usable key")
    return document, KeySet(usable)


def _client() -> httpx2.Client:
    # A redirect is an answer like any other that is not 200. Compressed, a small answer could be a large one.
    return httpx2.Client(
        timeout=STEP_SECONDS,
        follow_redirects=False,
        headers={"Accept": "application/json", "Accept-Encoding": "identity"},
    )


def forget() -> None:
    """Forget all keys, as a new process would."""
    _entries.clear()


def _refreshed(source: Source, state: _State) -> _State:
    """The state after an attempt to fetch; a failed one leaves the keys as they were."""
    try:
        document, fetched = _fetched(source)
    except KeysUnavailable as error:
        logger.warning("issuer_keys_not_fetched", issuer=source.issuer, reason=str(error))
        return _State(state.keys, state.document, state.kids, state.fetched, time.monotonic(), str(error))
    kids = frozenset(key.kid for key in fetched)
    logger.info("issuer_keys_fetched", issuer=source.issuer, keys=len(kids))
    return _State(fetched, document, kids, time.monotonic(), time.monotonic())


def _json(
    client: httpx2.Client,
    address: str,
    deadline: float,
    form: dict[str, str] | None = None,
    credentials: tuple[str, str] | None = None,
) -> dict[str, Any]:
    """The JSON object that is answered to a GET, or to a POST of `form`. Raises KeysUnavailable."""
    body = b""
    try:
        check_address(address)
        method = "GET" if form is None else "POST"
        with client.stream(method, address, data=form, auth=credentials) as response:
            if response.status_code != 200 and form is None:
                raise KeysUnavailable(f"{address} answers {response.status_code}")
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > MAX_BYTES:
                    raise KeysUnavailable(f"{address} answers more than {MAX_BYTES} bytes")
                if time.monotonic() > deadline:
                    raise KeysUnavailable(f"{address} takes longer than {FETCH_SECONDS} seconds")
        document = json.loads(body)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise KeysUnavailable(f"{address} cannot be fetched: {type(error).__name__}") from None
    except (ValueError, RecursionError):
        raise KeysUnavailable(f"{address} is no address of ours to ask, or answers no JSON") from None
    if not isinstance(document, dict):
        raise KeysUnavailable(f"{address} answers no JSON object")
    return document


def _usable(published: Any) -> Key | None:
    """A published key, if it can verify signatures; others are passed over (RFC 7517 §5)."""
    if not isinstance(published, dict) or published.get("use", "sig") != "sig":
        return None
    try:
        key = JWKRegistry.import_key(published)
        key.ensure_kid()
        _ = key.raw_value  # reads it; until then nothing is known to fit
    except (JoseError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if isinstance(key, OctKey) or not isinstance(key.kid, str):
        return None
    if isinstance(key, RSAKey) and key.raw_value.key_size < keys.MINIMUM_BITS:
        return None
    return key
