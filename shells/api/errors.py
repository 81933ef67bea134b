"""Every unsuccessful answer below `/aas-api/` is a `Result` (IDTA-01002-3, aas-registry-api.md §3)."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError, connection
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.views import defaults
from rest_framework import exceptions, status
from rest_framework.request import Request

from shells import services
from shells.defects import InvalidDescriptor
from shells.query import InvalidQuery
from shells.querysets import QueryTooExpensive
from tenants.callers import InvalidToken

logger = structlog.get_logger(__name__)

API_PREFIX = "/aas-api/"
RETRY_AFTER_SECONDS = 2


class BadRequest(exceptions.APIException):
    """Something in the address or the body is not acceptable (ClientErrorBadRequest): one text a defect."""

    status_code = status.HTTP_400_BAD_REQUEST

    def __init__(self, *texts: str) -> None:
        super().__init__(list(texts))


def result(request: HttpRequest, status_code: int, texts: Sequence[str]) -> JsonResponse:
    """A `Result` with one message for each of `texts`."""
    message = {
        "messageType": "Error" if status_code < 500 else "Exception",
        "code": str(status_code),
        "correlationId": request.correlation_id,  # type: ignore[attr-defined]
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    shown = list(texts[: settings.MAX_MESSAGES])
    if len(texts) > settings.MAX_MESSAGES:
        shown.append(f"and {len(texts) - settings.MAX_MESSAGES} more")
    return JsonResponse({"messages": [{**message, "text": text} for text in shown]}, status=status_code)


def exception_handler(exception: Exception, context: dict[str, Any]) -> HttpResponseBase | None:
    """DRF's EXCEPTION_HANDLER: what a view raises, as an answer. None lets Django answer with 500."""
    request: Request = context["request"]
    http_request = request._request
    match exception:
        case InvalidDescriptor() | InvalidQuery():
            return result(http_request, 400, [str(defect) for defect in exception.defects])
        case RequestDataTooBig():
            return result(http_request, 413, ["the body is larger than this registry takes"])
        case SuspiciousOperation():
            return result(http_request, 400, ["the request cannot be read"])
        case Http404():
            return not_found(http_request, exception)
        case PermissionDenied():
            return result(http_request, 403, ["not allowed"])
        case services.NotRegistered():
            return result(http_request, 404, [str(exception)])
        case services.IdentifierTaken():
            return result(http_request, 409, [f"/id: {exception}"])
        case services.QuotaExceeded():  # the one refusal that §1.1 lists for POST and PUT and that fits
            return result(http_request, 403, [str(exception)])
        case services.PreconditionFailed():
            return result(http_request, 412, [str(exception)])
        case exceptions.APIException():
            detail = exception.detail
            texts = [str(text) for text in detail] if isinstance(detail, list) else [str(detail)]
            response = result(http_request, exception.status_code, texts)
            for name, value in _headers(exception, context).items():
                response[name] = value
            return response
        case QueryTooExpensive():
            return _try_again(http_request, "the query takes too long: make it more selective, or try again")
        case OperationalError() | InterfaceError():  # the database is down, or shutting down
            connection.close()
            logger.error("database_unavailable", error=type(exception).__name__)
            return _try_again(http_request, "the database does not answer; try again")
    return None


def _try_again(request: HttpRequest, text: str) -> HttpResponseBase:
    response = result(request, 503, [text])
    response["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def _headers(exception: exceptions.APIException, context: dict[str, Any]) -> dict[str, str]:
    if isinstance(exception, exceptions.MethodNotAllowed):
        return {"Allow": ", ".join(context["view"].allowed_methods)}
    wait: int | None = getattr(exception, "wait", None)  # of Throttled
    if wait is not None:
        return {"Retry-After": str(wait)}
    challenge = getattr(exception, "auth_header", None)
    if challenge is None:
        return {}
    if isinstance(exception, InvalidToken):  # RFC 6750 §3.1
        challenge += f', error="invalid_token", error_description="{exception.detail}"'
    return {"WWW-Authenticate": challenge}


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Django's handler400, for what is refused before a view."""
    if not request.path_info.startswith(API_PREFIX):
        if isinstance(exception, RequestDataTooBig):
            return HttpResponse(str(exception), status=413, content_type="text/plain")
        return defaults.bad_request(request, exception)
    return result(request, 400, ["the request cannot be read"])


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Django's handler404."""
    if not request.path_info.startswith(API_PREFIX):
        return defaults.page_not_found(request, exception)
    return result(request, 404, ["there is no such resource; ids in addresses are base64url-encoded"])


def server_error(request: HttpRequest) -> HttpResponseBase:
    """Django's handler500. What went wrong is in the log, under the correlation id."""
    if not request.path_info.startswith(API_PREFIX):
        return defaults.server_error(request)
    return result(request, 500, ["the server failed; its operator finds the reason by the correlationId"])
