"""Attempts to prove who one is, with a secret or a password: after too many that failed one has to wait.

Failures are counted by name and address together, and by address. So who guesses at one secret is stopped,
and nobody can lock a client or a person out from elsewhere; what succeeds counts nothing.
"""

import ipaddress
import math
from dataclasses import dataclass

from django.conf import settings
from django.db import connection
from django.http import HttpRequest

from tenants import limits

_WAIT = """
SELECT max(extract(epoch FROM ends_at - clock_timestamp()))::float FROM tenants_counter
WHERE ends_at > clock_timestamp() AND (key = %s::uuid AND used >= %s OR key = %s::uuid AND used >= %s)
"""


@dataclass(frozen=True)
class Allowed:
    """How many attempts may fail in a window of so many seconds; 0: any number."""

    of_name: int
    of_address: int
    seconds: int


class Attempt:
    """Somebody at the address of `request` says to be `name`, and is about to prove it."""

    def __init__(self, request: HttpRequest, purpose: str, name: str, allowed: Allowed) -> None:
        address = client_address(request)
        self._of_name = limits.key(purpose, "name", address, name)
        self._of_address = limits.key(purpose, "address", address)
        self._allowed = allowed

    def wait(self) -> int | None:
        """In how many seconds the next attempt may be made; None: now."""
        parameters: list[str | int] = [
            str(self._of_name),
            self._allowed.of_name or limits.NO_LIMIT,
            str(self._of_address),
            self._allowed.of_address or limits.NO_LIMIT,
        ]
        with connection.cursor() as cursor:
            cursor.execute(_WAIT, parameters)
            (wait,) = cursor.fetchone()
        return None if wait is None else max(math.ceil(wait), 1)

    def failed(self) -> None:
        """Count the attempt."""
        limits.take([self._of_name, self._of_address], 1, limits.NO_LIMIT, self._allowed.seconds)


def of_client(request: HttpRequest, client_id: str) -> Attempt:
    """A client that asks the token endpoint for a token."""
    per_client, per_address = settings.TOKEN_FAILURES_PER_CLIENT, settings.TOKEN_FAILURES_PER_ADDRESS
    return Attempt(request, "token", client_id, Allowed(per_client, per_address, 60))


def of_person(request: HttpRequest, username: str) -> Attempt:
    """A person who signs in to the admin with a password."""
    per_person, per_address = settings.SIGN_IN_FAILURES_PER_PERSON, settings.SIGN_IN_FAILURES_PER_ADDRESS
    return Attempt(request, "sign-in", username, Allowed(per_person, per_address, 15 * 60))


def client_address(request: HttpRequest) -> str:
    """Where a request comes from: of IPv6 the first 64 bits, of which a client has all the others.

    It is the peer of the connection; where TRUST_X_FORWARDED is set, the last address in X-Forwarded-For,
    which is the peer of the proxy next to us: what stands before it anybody can send.
    """
    address = str(request.META.get("REMOTE_ADDR", ""))
    if settings.TRUST_X_FORWARDED:
        forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2].strip()
        address = forwarded or address
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:  # a Unix socket has none
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
