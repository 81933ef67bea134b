"""Who is asking, once a token is verified, and the ways in which that fails."""

from dataclasses import dataclass

from rest_framework.exceptions import APIException, AuthenticationFailed

from tenants.limits import RateLimit
from tenants.models import Module, Role, Tenant, Validation


class CannotVerify(APIException):
    """The token cannot be verified at the moment; `wait` goes into `Retry-After`."""

    status_code = 503
    default_detail = "the signing keys cannot be read; try again"
    wait = 5


class InvalidToken(AuthenticationFailed):
    """The token is not acceptable; its text goes into `error_description` (RFC 6750 §3.1)."""


def seen_as(tenant: Tenant, role: Role, subject: str) -> str | None:
    """As whom a caller sees the asset ids of a tenant, see `Caller.subject`: who may write sees all."""
    return subject if tenant.asset_ids_by_subject and role is Role.READER else None


def limits_of(tenant: Tenant, module: Module | None = None) -> tuple[RateLimit, ...]:
    """How many requests a caller may make: as a module of ours, and as one of the tenant's clients."""
    limits = []
    if module is not None and module.requests_per_minute is not None:
        limits.append(RateLimit("module", module.pk, module.requests_per_minute))
    if tenant.requests_per_minute is not None:
        limits.append(RateLimit("tenant", tenant.pk, tenant.requests_per_minute))
    return tuple(limits)


@dataclass(frozen=True)
class Caller:
    """A verified token: which module is asking, for which tenant, with which right.

    `issuer` is empty for our own tokens; with a foreign one, `module_name` is what that issuer calls its client.
    """

    tenant_pk: int
    tenant_identifier: str
    validation: Validation
    module_name: str
    role: Role
    #: When it is believed no longer, in seconds since 1970.
    expires_at: float
    issuer: str = ""
    #: As whom the caller sees asset ids that are for somebody: "" is nobody, None sees all.
    subject: str | None = None
    #: How many requests it may make, the narrower limit first.
    limits: tuple[RateLimit, ...] = ()

    is_authenticated = True
