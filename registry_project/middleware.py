"""What every request passes: one log event, and for pages (not for the API) Django's own middleware.

Django's full stack costs an API request 14 % of its time and gives it nothing: the API has no sessions,
messages or users of the admin. Those classes therefore step aside below `API_PREFIXES`.
"""

import re
import time
import uuid
from collections.abc import Callable
from typing import Any

import structlog
from django.contrib.auth import middleware as auth
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.http import HttpRequest, HttpResponseBase
from django.middleware import common
from whitenoise import middleware as whitenoise

logger = structlog.get_logger(__name__)

API_PREFIXES = ("/aas-api/", "/iam/", "/health/")

_correlation_id = re.compile(r"[\w.:~-]{1,128}", re.ASCII)


class RequestEventMiddleware:
    """Gives each request its correlation id, and logs one event when it is answered.

    A caller's own `X-Request-ID` is taken over if it is short and plain; the answer repeats it, and so do
    each error message (`correlationId`) and all log events of the request. Views may add facts to
    `request.log_facts`: the operation, the tenant, the module. No token, secret or body is ever logged.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        offered = request.META.get("HTTP_X_REQUEST_ID", "")
        correlation_id = offered if _correlation_id.fullmatch(offered) else str(uuid.uuid4())
        request.correlation_id = correlation_id  # type: ignore[attr-defined]
        facts: dict[str, Any] = {}
        request.log_facts = facts  # type: ignore[attr-defined]
        structlog.contextvars.bind_contextvars(correlation_id=correlation_id)
        try:
            response = self.get_response(request)
            response["X-Request-ID"] = correlation_id
            match = request.resolver_match
            logger.info(
                "request",
                method=request.method,
                operation=facts.pop("operation", None) or (match.view_name if match else None),
                status=response.status_code,
                duration_ms=round((time.perf_counter() - started) * 1000, 2),
                **facts,
            )
            return response
        finally:
            structlog.contextvars.unbind_contextvars("correlation_id")


def for_pages(middleware: type[Any]) -> type[Any]:
    """`middleware`, which lets requests below `API_PREFIXES` through untouched."""

    class ForPages(middleware):  # type: ignore[misc]
        def __call__(self, request: HttpRequest) -> Any:
            if request.path_info.startswith(API_PREFIXES):
                return self.get_response(request)
            return super().__call__(request)

    return ForPages


WhiteNoiseMiddleware = for_pages(whitenoise.WhiteNoiseMiddleware)
SessionMiddleware = for_pages(sessions.SessionMiddleware)
CommonMiddleware = for_pages(common.CommonMiddleware)
AuthenticationMiddleware = for_pages(auth.AuthenticationMiddleware)
MessageMiddleware = for_pages(messages.MessageMiddleware)
