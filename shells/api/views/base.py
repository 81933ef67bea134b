"""What the views of the registry have in common."""

from typing import Any, ClassVar, NoReturn

from django.http import Http404
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from tenants.authentication import BearerAuthentication
from tenants.limits import RequestRate
from tenants.models import Role
from tenants.permissions import TenantPermission


class RegistryView(APIView):
    """A view that speaks JSON whatever `Accept` asks for, and the methods of the registry API (§0.3)."""

    http_method_names = ["get", "head", "post", "put", "delete"]
    default_response_headers: ClassVar[dict[str, str]] = {}
    #: The role that a caller needs; None: reader for GET, editor for what changes something.
    required_role: Role | None = None

    # DRF makes these anew for each request; they have no state, and a body is read by its model.
    _authenticators: ClassVar[Any] = (BearerAuthentication(),)
    _permissions: ClassVar[Any] = (TenantPermission(),)
    _throttles: ClassVar[Any] = (RequestRate(),)

    def get_parsers(self) -> list[BaseParser]:
        return []

    def get_authenticators(self) -> Any:
        return self._authenticators

    def get_permissions(self) -> Any:
        return self._permissions

    def get_throttles(self) -> Any:
        return self._throttles

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """DRF's, less the choice of a renderer and of a version, which are always the same."""
        self.perform_authentication(request)
        self.check_permissions(request)
        self.check_throttles(request)

    def perform_authentication(self, request: Request) -> None:
        """DRF's, less the property `user`, which asks whether it was asked before."""
        request._authenticate()  # type: ignore[attr-defined]  # the stubs leave it out

    def raise_uncaught_exception(self, exc: Exception) -> NoReturn:
        """To Django, which logs it and calls `errors.server_error`."""
        raise exc


class RegistryViewSet(ViewSetMixin, RegistryView):
    """Several operations below one address."""


class UnknownRouteView(RegistryView):
    """Any other address below the API: 401 and 403 come first there as well, then 404."""

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        raise Http404
