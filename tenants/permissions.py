"""Who may call what: the tenant of the token must be that of the address, and its role must suffice."""

from typing import TYPE_CHECKING

from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from tenants.callers import Caller
from tenants.models import Role

if TYPE_CHECKING:  # DRF's views import this module while they are imported
    from rest_framework.views import APIView


class TenantPermission(BasePermission):
    """Every view of the API. 401 without a token; 403, naming what is missing, with one that does not fit.

    An unknown tenant and a foreign one get the same answer, so that nobody learns which tenants exist.
    A view whose unsafe methods only read (a search by POST) sets `required_role`.
    """

    def has_permission(self, request: Request, view: "APIView") -> bool:
        caller = request.user
        if not isinstance(caller, Caller):
            raise NotAuthenticated("a bearer token is required")
        if view.kwargs.get("tenantId", caller.tenant_identifier) != caller.tenant_identifier:
            raise PermissionDenied("the token is not for this tenant")
        required: Role | None = getattr(view, "required_role", None)
        if required is None:
            required = Role.READER if request.method in SAFE_METHODS else Role.EDITOR
        if not caller.role.includes(required):
            raise PermissionDenied(f"this needs the role {required.value}; the token has {caller.role.value}")
        return True
