"""How often something may happen in a window of time, over all processes: counters in PostgreSQL.

A process asks the counter of a limit for a hundredth of it at a time, and hands that out by itself: however
many requests there are, a limit costs about a hundred statements a minute, and never more than the limit is
handed out (docs/decisions/0016-limits.md).

Counters are written outside transactions, so that nobody waits for a request to end. Their table is UNLOGGED:
no flush to disk, and after a crash of the database all windows begin anew.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from django.db import connection
from rest_framework.exceptions import Throttled
from rest_framework.throttling import BaseThrottle

if TYPE_CHECKING:  # DRF's views import this module while they are imported
    from rest_framework.request import Request
    from rest_framework.views import APIView

    from tenants.callers import Caller

#: How long the window of a rate of requests is.
WINDOW_SECONDS = 60
#: Into how many leases a limit is divided; smaller limits are handed out one by one.
LEASES = 100
#: How long a process waits before it looks again for windows that are over.
FORGET_SECONDS = 60
#: The limit of what is only counted.
NO_LIMIT = 2**62

_TAKE = """
WITH moment AS (
    SELECT clock_timestamp() AS at,
        to_timestamp((floor(extract(epoch FROM clock_timestamp()) / %(seconds)s) + 1) * %(seconds)s) AS ends_at
), taken AS (
    INSERT INTO tenants_counter AS counter (key, ends_at, used)
    SELECT key, ends_at, %(number)s FROM moment, unnest(%(keys)s::uuid[]) AS key ORDER BY key
    ON CONFLICT (key) DO UPDATE SET
        ends_at = EXCLUDED.ends_at,
        used = CASE WHEN counter.ends_at = EXCLUDED.ends_at THEN counter.used ELSE 0 END + EXCLUDED.used
    WHERE counter.ends_at < EXCLUDED.ends_at
        OR (counter.ends_at = EXCLUDED.ends_at AND counter.used < %(limit)s)
    RETURNING used
)
SELECT extract(epoch FROM ends_at)::bigint, extract(epoch FROM ends_at - at)::float,
    CASE WHEN taken.used IS NULL THEN 0 ELSE least(%(number)s, %(limit)s - taken.used + %(number)s) END
FROM moment LEFT JOIN taken ON TRUE
"""
_FORGET = """
DELETE FROM tenants_counter
WHERE key IN (SELECT key FROM tenants_counter WHERE ends_at < clock_timestamp() FOR UPDATE SKIP LOCKED)
"""


class Taken(NamedTuple):
    """What came of a look at a counter."""

    #: The end of the window, in seconds since 1970 by the clock of the database.
    window: int
    #: How long the window still lasts, in seconds.
    lasts: float
    #: How much was granted.
    granted: int


def key(*names: str) -> UUID:
    """The key of a counter: names may be long, hostile or private, a digest is none of it."""
    digest = blake2b(digest_size=16)
    for name in names:
        encoded = name.encode(errors="backslashreplace")
        digest.update(len(encoded).to_bytes(8) + encoded)
    return UUID(bytes=digest.digest())


def take(keys: Sequence[UUID], number: int, limit: int, seconds: int) -> Taken:
    """Count `number` in the current window of each counter, as far as its limit goes; about one of them is told.

    Windows begin at whole multiples of `seconds` by the clock of the database, the same for all processes.
    """
    parameters: dict[str, Any] = {"keys": list(keys), "number": number, "limit": limit, "seconds": seconds}
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, parameters)
        window, lasts, granted = cursor.fetchone()
    _forget_old()
    return Taken(window, lasts, granted)


_last_forgotten = -float(FORGET_SECONDS)


def _forget_old() -> None:
    """Delete the counters whose windows are over, now and again."""
    global _last_forgotten
    now = time.monotonic()
    if now - _last_forgotten < FORGET_SECONDS:
        return
    _last_forgotten = now
    with connection.cursor() as cursor:
        cursor.execute(_FORGET)


class RateLimit(NamedTuple):
    """How many requests a minute a module or a tenant may make."""

    owner: str
    pk: int
    per_minute: int


@dataclass
class _Lease:
    """What this process may still hand out of a limit in one window."""

    window: int
    #: When the window ends by our own clock; never later than it does by that of the database.
    ends: float
    left: int = 0
    is_exhausted: bool = False


class Leases:
    """The leases of one process. Its threads share them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._leases: dict[RateLimit, _Lease] = {}

    def take(self, limit: RateLimit) -> float | None:
        """Take one permission: None if there is one, else in how many seconds there may be."""
        now = time.monotonic()
        with self._lock:
            lease = self._leases.get(limit)
            if lease is not None and now < lease.ends:
                if lease.left:
                    lease.left -= 1
                    return None
                if lease.is_exhausted:
                    return lease.ends - now
        size = max(1, limit.per_minute // LEASES)
        taken = take([key(limit.owner, str(limit.pk))], size, limit.per_minute, WINDOW_SECONDS)
        with self._lock:
            lease = self._leases.get(limit)
            if lease is None or lease.window < taken.window:
                lease = self._leases[limit] = _Lease(taken.window, now + taken.lasts)
            if taken.window == lease.window:  # otherwise another thread is in the next one already
                lease.left += taken.granted
                lease.is_exhausted |= not taken.granted
            if lease.left:
                lease.left -= 1
                return None
            return max(lease.ends - time.monotonic(), 0)


_leases = Leases()


class RequestRate(BaseThrottle):
    """Of each view of the API: no more requests of a module, and of a tenant, than they may make in a minute.

    The module's limit comes first: what it refuses does not count for its tenant.
    """

    def allow_request(self, request: "Request", view: "APIView") -> bool:
        """True, or Throttled, which names the limit and becomes 429 with Retry-After (RFC 6585 §4)."""
        caller: Caller | None = request.user  # type: ignore[assignment]
        if (
            caller is None
        ):  # what is open to everybody (OPEN_DESCRIPTION) has no statement that could cost much
            return True
        for limit in caller.limits:
            wait = _leases.take(limit)
            if wait is not None:
                request._request.log_facts["limit"] = limit.owner  # type: ignore[attr-defined]
                raise Throttled(
                    max(wait, 1), f"the {limit.owner} may make {limit.per_minute} requests a minute."
                )
        return True
