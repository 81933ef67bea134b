"""What a request says: who asks, for what, with which body. And its answer in JSON."""

from typing import cast

from django.conf import settings
from django.http import HttpResponse
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request

from shells import identifiers
from shells.api.errors import BadRequest
from shells.services import Author
from tenants.callers import Caller
from tenants.models import Validation


def caller(request: Request) -> Caller:
    """Who is asking."""
    return cast(Caller, request.user)


def author(request: Request) -> Author:
    """Who is noted to have made a change."""
    return Author(caller(request).module_name, request._request.correlation_id)  # type: ignore[attr-defined]


def is_strict(request: Request) -> bool:
    """Whether the caller's tenant takes exactly what the specification says."""
    return caller(request).validation is Validation.STRICT


def log(request: Request, **facts: object) -> None:
    """Say more in the event of this request than method, operation and status."""
    request._request.log_facts.update(facts)  # type: ignore[attr-defined]


def json_response(content: bytes, status: int = 200) -> HttpResponse:
    return HttpResponse(content, status=status, content_type="application/json")


def empty_response(status: int, **headers: str) -> HttpResponse:
    response = HttpResponse(status=status, headers=headers)
    del response["Content-Type"]  # Django says text/html of nothing
    return response


def body_of(request: Request) -> bytes:
    """The body of a request that must have one, as it came: its model reads it, once."""
    http_request = request._request
    if not http_request.body.strip():
        raise BadRequest("the request has no body; JSON is expected")
    if http_request.content_type != "application/json":
        raise UnsupportedMediaType(http_request.content_type or "(none)")
    chunked = "HTTP_TRANSFER_ENCODING" in http_request.META  # has no length
    if not chunked and len(http_request.body) < int(http_request.META.get("CONTENT_LENGTH") or 0):
        raise BadRequest("the body ended before its Content-Length")
    return http_request.body


def decoded(parameter: str, encoded: str) -> str:
    """The identifier in an address. Raises BadRequest, which names the parameter."""
    try:
        return identifiers.decode(encoded)
    except identifiers.InvalidIdentifier as error:
        raise BadRequest(f"{parameter}: {error}") from None


def base_url(request: Request) -> str:
    """The absolute address that the tenant's part of the API has for clients, without a slash at its end.

    Raises SuspiciousOperation for a Host header that is not allowed: ask before anything is stored.
    """
    http_request = request._request
    base = settings.BASE_URL or f"{http_request.scheme}://{http_request.get_host()}"
    return f"{base}/aas-api/v3/{caller(request).tenant_identifier}"
