"""Pages of a list: `limit`, `cursor` and the envelope (aas-registry-api.md §4).

A cursor holds the key of the last item that was returned, signed together with what it belongs to: the
operation, the tenant and the filters. It is opaque to clients.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core import signing
from django.http import HttpResponse
from pydantic_core import to_json
from rest_framework.request import Request

from shells.api.errors import BadRequest
from shells.api.requests import caller, json_response

DEFAULT_LIMIT = 100
MAX_LIMIT = 1000
PAGING_PARAMETERS = ("limit", "cursor")

Row = TypeVar("Row")


@dataclass(frozen=True)
class PageRequest:
    """Which page a client asks for."""

    limit: int
    #: The key in the cursor; None on the first page.
    after: Any
    scope: str

    @property
    def size(self) -> int:
        """How many rows to look for: one more than are returned says whether there are more."""
        return self.limit + 1

    def response(
        self,
        rows: Sequence[Row],
        item: Callable[[Row], bytes],
        key: Callable[[Row], Any],
        result_type: str | None = None,
    ) -> HttpResponse:
        """The envelope with up to `limit` of `rows`, and a cursor if there are more."""
        shown = rows[: self.limit]
        metadata = {}
        if len(rows) > self.limit:
            metadata["cursor"] = _signer(self.scope).sign_object(key(shown[-1]))
        if result_type is not None:
            metadata["resultType"] = result_type
        items = b",".join(map(item, shown))
        return json_response(b'{"paging_metadata":%b,"result":[%b]}' % (to_json(metadata), items))


def page_request(request: Request, operation: str, body: bytes = b"") -> PageRequest:
    """Read `limit` and `cursor`. Raises BadRequest.

    The cursor must be of this operation, tenant, query string and `body`.
    """
    filters = sorted(
        (name, sorted(values))
        for name, values in request.query_params.lists()
        if name not in PAGING_PARAMETERS
    )
    scope = to_json([operation, caller(request).tenant_pk, filters]).decode() + body.decode()
    return PageRequest(_limit(request), _after(request, scope), scope)


def single(request: Request, names: Iterable[str]) -> dict[str, str]:
    """The values of query parameters that may be given once. Raises BadRequest if one is given more often."""
    values = {name: request.query_params.getlist(name) for name in names if name in request.query_params}
    repeated = [f"{name}: is given more than once" for name, given in values.items() if len(given) > 1]
    if repeated:
        raise BadRequest(*repeated)
    return {name: given[0] for name, given in values.items()}


def _limit(request: Request) -> int:
    limit = single(request, ["limit"]).get("limit")
    if limit is None:
        return DEFAULT_LIMIT
    if not (limit.isascii() and limit.isdigit()) or not limit.strip("0"):
        raise BadRequest("limit: must be a whole number from 1 on")
    return MAX_LIMIT if len(limit.lstrip("0")) > len(str(MAX_LIMIT)) else min(int(limit), MAX_LIMIT)


def _after(request: Request, scope: str) -> Any:
    cursor = single(request, ["cursor"]).get("cursor")
    if cursor is None:
        return None
    try:
        return _signer(scope).unsign_object(cursor)
    except signing.BadSignature:
        raise BadRequest("cursor: is not one of this list; start again without a cursor") from None


def _signer(scope: str) -> signing.Signer:
    return signing.Signer(salt=f"shells.api.pagination:{scope}", sep=".")
