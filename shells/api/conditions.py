"""Conditional requests: entity tags of single descriptors (RFC 9110 §13, §8.8.3)."""

from base64 import urlsafe_b64encode
from hashlib import sha256

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import parse_etags

from shells.services import Precondition, PreconditionFailed

_CONDITIONAL = ("HTTP_IF_NONE_MATCH", "HTTP_IF_MATCH", "HTTP_IF_MODIFIED_SINCE", "HTTP_IF_UNMODIFIED_SINCE")


def etag(document: bytes) -> str:
    """The strong entity tag of a document: a digest of its bytes (SHA-256, for which processors have instructions)."""
    return f'"{urlsafe_b64encode(sha256(document).digest()[:15]).decode()}"'


def conditional(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """`response` to a GET with an ETag, or 304 in its place. Raises PreconditionFailed."""
    if not any(header in request.META for header in _CONDITIONAL):
        return response
    answer = get_conditional_response(request, etag=response["ETag"], response=response)
    if answer is not None and answer.status_code == 412:
        raise PreconditionFailed
    assert isinstance(answer, HttpResponse)
    return answer


def precondition(request: HttpRequest) -> Precondition | None:
    """What `If-Match` and `If-None-Match` demand of the document that a write would change."""
    match, none_match = request.META.get("HTTP_IF_MATCH"), request.META.get("HTTP_IF_NONE_MATCH")
    if match is None and none_match is None:
        return None

    def holds(present: bytes | None) -> bool:
        tag = None if present is None else etag(present)
        return (match is None or _lists(match, tag)) and (none_match is None or not _lists(none_match, tag))

    return holds


def _lists(header: str, tag: str | None) -> bool:
    return tag is not None and (header.strip() == "*" or tag in parse_etags(header))
