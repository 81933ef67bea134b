"""What requests pass: each gets its correlation id and one log event when it is answered, a page its language."""

import re
import secrets
import time
from collections.abc import Callable
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils import translation

from shells import figures

#: Calls of these are observed: the API, and requests for tokens.
OBSERVED = ("/aas-api/", "/iam/")
#: What has its texts in several languages.
PAGES = "/admin/"

_correlation_id = re.compile(r"[\w.:~-]{1,128}", re.ASCII)


class LanguageMiddleware(LocaleMiddleware):
    """Pages of the admin in the language of their reader; everything else, such as the API, in English.

    The language belongs to the thread, and Django leaves that of a page there: the next request may be one of the API.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(PAGES):
            return self.get_response(request)  # type: ignore[return-value]  # of an Awaitable: under ASGI only
        try:
            return super().__call__(request)  # type: ignore[return-value]
        finally:
            translation.deactivate()


class ApiSecurityMiddleware(SecurityMiddleware):
    """Django's, less the headers that say something of pages only."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        self.referrer_policy = self.cross_origin_opener_policy = None


class RequestEventMiddleware:
    """Gives each request its correlation id, and logs one event when it is answered.

    A caller's own `X-Request-ID` is taken over if it is short and plain; the answer repeats it, and so do
    each error message (`correlationId`) and all log events of the request. Views may add facts to
    `request.log_facts`: the tenant, the module, the shell. No token, secret or body is ever logged.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self.logger = structlog.get_logger(__name__).bind()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        offered = request.META.get("HTTP_X_REQUEST_ID", "")
        correlation_id = offered if _correlation_id.fullmatch(offered) else secrets.token_hex(16)
        request.correlation_id = correlation_id  # type: ignore[attr-defined]
        facts: dict[str, Any] = {}
        request.log_facts = facts  # type: ignore[attr-defined]
        structlog.contextvars.bind_contextvars(correlation_id=correlation_id)
        try:
            response = self.get_response(request)
            response["X-Request-ID"] = correlation_id
            match = request.resolver_match
            seconds = time.perf_counter() - started
            self.logger.info(
                "request",
                method=request.method,
                operation=match.view_name if match else None,
                status=response.status_code,
                duration_ms=round(seconds * 1000, 2),
                **facts,
            )
            if response.status_code >= 400 or seconds >= figures.SLOW_SECONDS:
                self._observe(request, response.status_code, seconds)
            return response
        finally:
            structlog.contextvars.unbind_contextvars("correlation_id")

    @staticmethod
    def _observe(request: HttpRequest, status: int, seconds: float) -> None:
        """Calls of the API that are refused or slow are for the dashboard."""
        match = request.resolver_match
        if match is not None and request.path_info.startswith(OBSERVED):
            operation = f"{request.method} {match.view_name}"
            correlation_id: str = request.correlation_id  # type: ignore[attr-defined]
            tenant = match.kwargs.get("tenantId", match.kwargs.get("tenant_id"))
            figures.observed.note(tenant, operation, status, seconds, correlation_id)
