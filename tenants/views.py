"""The addresses of the identity service: token endpoint, discovery document and JWKS."""

from collections.abc import Callable
from functools import wraps

from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from tenants import issuing, keys

identity_service = issuing.IdentityService()

View = Callable[[HttpRequest, str], HttpResponse]


def data_only(view: View) -> View:
    """The view, whose answers are never a page: a browser loads nothing for them, and shows them in no frame."""

    @wraps(view)
    def guarded(request: HttpRequest, tenant_id: str) -> HttpResponse:
        response = view(request, tenant_id)
        response["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'"
        response["X-Frame-Options"] = "DENY"
        return response

    return guarded


@csrf_exempt
@data_only
@require_POST
def token(request: HttpRequest, tenant_id: str) -> HttpResponse:
    """Issue a token to a module of the tenant (contract §5.3)."""
    request.log_facts["tenant"] = tenant_id  # type: ignore[attr-defined]
    try:
        return identity_service.token_response(request, tenant_id)
    except (BadRequest, SuspiciousOperation) as error:  # Django on a form it cannot or will not read
        status = 413 if isinstance(error, RequestDataTooBig) else 400
        return JsonResponse(
            {"error": "invalid_request", "error_description": "the form cannot be read"},
            status=status,
            headers={"Cache-Control": "no-store"},
        )


@data_only
@require_safe
@cache_control(public=True, max_age=300)
def certs(request: HttpRequest, tenant_id: str) -> HttpResponse:
    """The public keys that verify tokens (RFC 7517). The same for every tenant, known or not."""
    return JsonResponse(keys.jwks())


@data_only
@require_safe
@cache_control(public=True, max_age=300)
def openid_configuration(request: HttpRequest, tenant_id: str) -> HttpResponse:
    """The discovery document (OpenID Connect Discovery §3, RFC 8414 §2)."""
    issuer = issuing.issuer(tenant_id)
    return JsonResponse(
        {
            "issuer": issuer,
            "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/certs",
            "grant_types_supported": ["client_credentials"],
            "response_types_supported": [],
            "scopes_supported": ["openid"],
            "subject_types_supported": ["public"],
            "token_endpoint_auth_methods_supported": issuing.AUTH_METHODS,
            "id_token_signing_alg_values_supported": [keys.ALGORITHM],
        }
    )
