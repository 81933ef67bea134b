"""The operations of the registry (aas-registry-api.md §1), as DRF viewsets.

A document goes out as the bytes that are stored: no serializer, no renderer.
"""

from typing import ClassVar, NoReturn, cast

from django.conf import settings
from django.http import Http404, HttpResponse
from rest_framework.exceptions import NotFound, UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from shells import identifiers, querysets, services
from shells.api.errors import BadRequest, Conflict
from shells.api.schema import shell_descriptors
from shells.descriptors import parse_shell
from tenants.authentication import Caller
from tenants.models import Validation


class RegistryView(APIView):
    """A view that speaks JSON whatever `Accept` asks for, and the methods of the registry API (§0.3)."""

    http_method_names = ["get", "head", "post", "put", "delete"]
    default_response_headers: ClassVar[dict[str, str]] = {}

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """DRF's, less the choice of a renderer and of a version, which are the same for every request."""
        self.perform_authentication(request)
        self.check_permissions(request)
        self.check_throttles(request)

    def raise_uncaught_exception(self, exc: Exception) -> NoReturn:
        """To Django, which logs it and calls `errors.server_error`."""
        raise exc


@shell_descriptors
class ShellDescriptorViewSet(ViewSetMixin, RegistryView):
    """`/shell-descriptors` (O2, O3)."""

    def create(self, request: Request, tenant_id: str) -> HttpResponse:
        """O2 PostAssetAdministrationShellDescriptor, contract §4.1."""
        caller = _caller(request)
        base = _collection_url(request)  # may refuse the Host header, so before anything is stored
        shell = parse_shell(_body(request), strict=caller.validation is Validation.STRICT)
        _log_facts(request)["shell"] = shell.id
        try:
            services.register(caller.tenant_pk, shell)
        except services.IdentifierTaken:
            raise Conflict("/id: a shell with this id is registered already") from None
        response = _json(shell.document.encode(), status=201)
        response["Location"] = f"{base}/{identifiers.encode(shell.id)}"
        return response

    def retrieve(self, request: Request, tenant_id: str, aas_identifier: str) -> HttpResponse:
        """O3 GetAssetAdministrationShellDescriptorById, contract §4.2."""
        identifier = _decoded("aasIdentifier", aas_identifier)
        _log_facts(request)["shell"] = identifier
        document = querysets.document(_caller(request).tenant_pk, identifier)
        if document is None:
            raise NotFound("no shell with this id is registered")
        return _json(document)


class UnknownRouteView(RegistryView):
    """Any other address below the API: 401 and 403 come first there as well, then 404."""

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        raise Http404


def _caller(request: Request) -> Caller:
    return cast(Caller, request.user)


def _log_facts(request: Request) -> dict[str, object]:
    """What the event of this request says beside method, operation and status."""
    facts: dict[str, object] = request._request.log_facts  # type: ignore[attr-defined]
    return facts


def _json(document: bytes, status: int = 200) -> HttpResponse:
    return HttpResponse(document, status=status, content_type="application/json")


def _body(request: Request) -> bytes:
    """The body of a request that must have one, as it came: its model reads it, once."""
    http_request = request._request
    if not http_request.body.strip():
        raise BadRequest("the request has no body; a JSON object is expected")
    if http_request.content_type != "application/json":
        raise UnsupportedMediaType(http_request.content_type or "(none)")
    chunked = "HTTP_TRANSFER_ENCODING" in http_request.META  # has no length
    if not chunked and len(http_request.body) < int(http_request.META.get("CONTENT_LENGTH") or 0):
        raise BadRequest("the body ended before its Content-Length")
    return http_request.body


def _decoded(parameter: str, encoded: str) -> str:
    try:
        return identifiers.decode(encoded)
    except identifiers.InvalidIdentifier as error:
        raise BadRequest(f"{parameter}: {error}") from None


def _collection_url(request: Request) -> str:
    """The absolute address of the collection that was called, without a slash at its end."""
    http_request = request._request
    base = settings.BASE_URL or f"{http_request.scheme}://{http_request.get_host()}"
    return f"{base}{http_request.path}"
