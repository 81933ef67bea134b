"""The one place that writes tenants and modules: commands, admin and tests call these functions."""

import structlog
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from tenants import secrets
from tenants.models import Module, Role, Tenant, Validation

logger = structlog.get_logger(__name__)


class TenantError(Exception):
    """Something about a tenant or module cannot be done; the message says what, in one line."""


def create_tenant(identifier: str, *, name: str = "", validation: Validation = Validation.LENIENT) -> Tenant:
    """Create the tenant `identifier`.

    Raises TenantError if the id is malformed or exists.
    """
    tenant = Tenant(identifier=identifier, name=name, validation=validation)
    try:
        tenant.clean_fields()
        with transaction.atomic():
            tenant.save(force_insert=True)
    except ValidationError as error:
        raise TenantError(_first_message(error)) from None
    except IntegrityError:
        raise TenantError(f"tenant {identifier!r} exists already") from None
    logger.info("tenant_created", tenant=identifier)
    return tenant


def add_module(
    tenant_identifier: str,
    name: str,
    *,
    role: Role = Role.EDITOR,
    client_id: str | None = None,
    secret: str | None = None,
) -> tuple[Module, str]:
    """Add a module to a tenant; return it with its client secret, which is nowhere else from then on.

    Credentials are made at random unless they are given.
    Raises TenantError for an unknown tenant, a malformed name or one that exists.
    """
    tenant = Tenant.objects.filter(identifier=tenant_identifier).first()
    if tenant is None:
        raise TenantError(f"there is no tenant {tenant_identifier!r}")
    secret = secret or secrets.new_secret()
    module = Module(
        tenant=tenant,
        name=name,
        role=role,
        client_id=client_id or secrets.new_client_id(),
        secret_digest=secrets.digest(secret),
    )
    try:
        module.clean_fields(exclude=["tenant"])
        with transaction.atomic():
            module.save(force_insert=True)
    except UnicodeEncodeError:
        raise TenantError("name: contains what is no text") from None
    except ValidationError as error:
        raise TenantError(_first_message(error)) from None
    except IntegrityError:
        raise TenantError(f"tenant {tenant_identifier!r} has a module {name!r} already") from None
    logger.info("module_added", tenant=tenant_identifier, module=name, role=role)
    return module, secret


def _first_message(error: ValidationError) -> str:
    field, messages = next(iter(error.message_dict.items()))
    return f"{field}: {messages[0]}"
