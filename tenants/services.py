"""The one place that writes tenants, modules and issuers: commands, admin and tests call these functions."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import structlog
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from tenants import issuers, secrets
from tenants.models import Module, Role, Tenant, TrustedIssuer, Validation, default_algorithms, own_roles

logger = structlog.get_logger(__name__)

LONGEST_OVERLAP = timedelta(days=365)
#: How exact `Module.last_used_at` is; a busy module costs one write in that time.
USE_INTERVAL = timedelta(minutes=1)


class TenantError(Exception):
    """Something about a tenant, module or issuer cannot be done; the message says what, in one line.

    `field` is the name of what is wrong with it, if that is one thing.
    """

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field

    @property
    def text(self) -> str:
        """The message as it is read beside the field."""
        return str(self).removeprefix(f"{self.field}: ")


def find_tenant(identifier: str) -> Tenant:
    """The tenant `identifier`. Raises TenantError."""
    try:
        return Tenant.objects.get(identifier=identifier)
    except (Tenant.DoesNotExist, UnicodeEncodeError, DataError):  # the last two: what is no text
        raise TenantError(f"there is no tenant {identifier!r}") from None


def create_tenant(
    identifier: str,
    *,
    name: str = "",
    validation: Validation = Validation.LENIENT,
    asset_ids_by_subject: bool = False,
    requests_per_minute: int | None = None,
) -> Tenant:
    """Create the tenant `identifier`.

    Raises TenantError if the id is malformed or exists.
    """
    tenant = Tenant(
        identifier=identifier,
        name=name,
        validation=validation,
        asset_ids_by_subject=asset_ids_by_subject,
        requests_per_minute=requests_per_minute,
    )
    try:
        tenant.clean_fields()
        with transaction.atomic():
            tenant.save(force_insert=True)
    except ValidationError as error:
        raise _first(error) from None
    except IntegrityError:
        raise TenantError(gettext("tenant {!r} exists already").format(identifier), "identifier") from None
    logger.info("tenant_created", tenant=identifier)
    return tenant


def change_tenant(
    identifier: str, *, name: str, validation: Validation, asset_ids_by_subject: bool
) -> Tenant:
    """Change what may change of a tenant; its id never does. Raises TenantError."""
    with transaction.atomic():
        tenant = Tenant.objects.select_for_update().filter(pk=find_tenant(identifier).pk).get()
        tenant.name = name
        tenant.validation = validation
        tenant.asset_ids_by_subject = asset_ids_by_subject
        _save(tenant, ["name", "validation", "asset_ids_by_subject"])
    logger.info("tenant_changed", tenant=identifier)
    return tenant


def add_module(
    tenant_identifier: str,
    name: str,
    *,
    role: Role = Role.EDITOR,
    client_id: str | None = None,
    secret: str | None = None,
    expires_at: datetime | None = None,
    subject: str = "",
    requests_per_minute: int | None = None,
) -> tuple[Module, str]:
    """Add a module to a tenant; return it with its client secret, which is nowhere else from then on.

    Credentials are made at random unless they are given.
    Raises TenantError for an unknown tenant, a malformed name or one that exists.
    """
    tenant = find_tenant(tenant_identifier)
    secret = secret or secrets.new_secret()
    module = Module(
        tenant=tenant,
        name=name,
        role=role,
        client_id=client_id or secrets.new_client_id(),
        secret_digest=secrets.digest(secret),
        expires_at=expires_at,
        subject=subject,
        requests_per_minute=requests_per_minute,
    )
    try:
        module.clean_fields(exclude=["tenant"])
        with transaction.atomic():
            module.save(force_insert=True)
    except UnicodeEncodeError:
        raise TenantError(gettext("name: contains what is no text"), "name") from None
    except ValidationError as error:
        raise _first(error) from None
    except IntegrityError:
        text = gettext("tenant {tenant!r} has a module {name!r} already")
        raise TenantError(text.format(tenant=tenant_identifier, name=name), "name") from None
    logger.info("module_added", tenant=tenant_identifier, module=name, role=role)
    return module, secret


def change_module(
    tenant_identifier: str, name: str, *, role: Role, expires_at: datetime | None, subject: str
) -> Module:
    """Change what a module may do, until when, and for whom it reads; tokens it has live on as they are.

    Raises TenantError for an unknown tenant or module, and for what is malformed.
    """
    with transaction.atomic():
        module = _module_for_update(tenant_identifier, name)
        module.role, module.expires_at, module.subject = role, expires_at, subject
        _save(module, ["role", "expires_at", "subject"])
    logger.info("module_changed", tenant=tenant_identifier, module=name, role=role, expires_at=expires_at)
    return module


def rotate_secret(
    tenant_identifier: str, name: str, *, overlap: timedelta, seen: str | None = None
) -> tuple[Module, str]:
    """Give a module a new secret; return it with the secret, which is nowhere else from then on.

    The secret it had is taken for `overlap` longer; one from an earlier rotation ends at once, so that
    never more than two are live. With `seen`, the mark of the secret that the caller knows of, nothing is done if
    that is no longer the module's: a form that is sent twice rotates once.
    Raises TenantError for an unknown tenant or module, and for an overlap that is negative or over a year.
    """
    if not timedelta(0) <= overlap <= LONGEST_OVERLAP:
        text = gettext("the overlap must be between 0 and {} days")
        raise TenantError(text.format(LONGEST_OVERLAP.days), "overlap")
    secret = secrets.new_secret()
    with transaction.atomic():
        module = _module_for_update(tenant_identifier, name)
        if seen is not None and seen != module.secret_mark:
            raise TenantError(gettext("the secret was rotated meanwhile; look before you rotate it again"))
        module.previous_secret_digest = module.secret_digest if overlap else None
        module.previous_secret_expires_at = timezone.now() + overlap if overlap else None
        module.secret_digest = secrets.digest(secret)
        module.save(update_fields=["secret_digest", "previous_secret_digest", "previous_secret_expires_at"])
    logger.info(
        "secret_rotated",
        tenant=tenant_identifier,
        module=name,
        previous_expires_at=module.previous_secret_expires_at,
    )
    return module, secret


def disable_module(tenant_identifier: str, name: str) -> Module:
    """Disable a module: no token from now on, and those it has are refused within `TOKEN_CACHE_SECONDS`.

    Raises TenantError for an unknown tenant or module.
    """
    module = _set_enabled(tenant_identifier, name, enabled=False)
    logger.info("module_disabled", tenant=tenant_identifier, module=name)
    return module


def enable_module(tenant_identifier: str, name: str) -> Module:
    """Let a module that was disabled get tokens again. Raises TenantError for an unknown tenant or module."""
    module = _set_enabled(tenant_identifier, name, enabled=True)
    logger.info("module_enabled", tenant=tenant_identifier, module=name)
    return module


def limit_requests(tenant_identifier: str, name: str | None, per_minute: int | None) -> None:
    """Let a tenant, or its module `name`, make so many requests a minute, any number with None.

    It holds within `TOKEN_CACHE_SECONDS`. Raises TenantError for an unknown tenant or module.
    """
    with transaction.atomic():
        tenant = find_tenant(tenant_identifier)
        limited = tenant if name is None else _module_for_update(tenant_identifier, name)
        limited.requests_per_minute = per_minute
        _save(limited, ["requests_per_minute"])
    logger.info("requests_limited", tenant=tenant_identifier, module=name, per_minute=per_minute)


def note_use(module: Module) -> None:
    """Write down that `module` was used just now, unless that was done within the last minute.

    Of several processes at once one writes: the others find the condition no longer true.
    """
    now = timezone.now()
    if module.last_used_at is not None and now - module.last_used_at < USE_INTERVAL:
        return
    due = Q(last_used_at__isnull=True) | Q(last_used_at__lte=now - USE_INTERVAL)
    Module.objects.filter(due, pk=module.pk).update(last_used_at=now)


def trust_issuer(
    tenant_identifier: str,
    issuer: str,
    *,
    audiences: Sequence[str],
    jwks_uri: str = "",
    audience_claim: str = "aud",
    tenant_claim: str = "",
    tenant_value: str = "",
    roles_claim: str = "roles",
    role_map: Mapping[str, Role] | None = None,
    subject_claim: str = "",
    algorithms: Sequence[str] = (),
) -> TrustedIssuer:
    """Let the access tokens of `issuer` open a tenant, from now on as said here and no longer as said before.

    Without `tenant_value`, a `tenant_claim` must name the tenant's id. Without `role_map`, the names of our
    roles stand for themselves.
    Raises TenantError for an unknown tenant, an address that is not https (outside DEBUG), our own address,
    and whatever else is malformed.
    """
    tenant = find_tenant(tenant_identifier)
    if issuer.startswith(issuers.own_prefix()):
        raise TenantError(gettext("issuer: this registry's own tokens need no trust"), "issuer")
    for field, address in (("issuer", issuer), ("jwks_uri", jwks_uri)):
        try:
            if address or field == "issuer":
                issuers.check_address(address)
        except ValueError as error:
            raise TenantError(f"{field}: {error}", field) from None
    if tenant_claim and not tenant_value:
        tenant_value = tenant_identifier
    conditions = {
        "jwks_uri": jwks_uri,
        "audiences": list(audiences),
        "audience_claim": audience_claim,
        "tenant_claim": tenant_claim,
        "tenant_value": tenant_value,
        "roles_claim": roles_claim,
        "role_map": dict(role_map or own_roles()),
        "subject_claim": subject_claim,
        "algorithms": list(algorithms) or default_algorithms(),
        "enabled": True,
    }
    try:
        TrustedIssuer(tenant=tenant, issuer=issuer, **conditions).clean_fields(exclude=["tenant"])
        with transaction.atomic():
            trusted, _ = TrustedIssuer.objects.update_or_create(
                tenant=tenant, issuer=issuer, defaults=conditions
            )
    except (UnicodeEncodeError, DataError):
        raise TenantError(gettext("issuer: something of it is no text"), "issuer") from None
    except ValidationError as error:
        raise _first(error) from None
    except IntegrityError as error:
        raise TenantError(f"issuer: {violated_constraint(error)}", "issuer") from None
    logger.info("issuer_trusted", tenant=tenant_identifier, issuer=issuer)
    return trusted


def distrust_issuer(tenant_identifier: str, issuer: str) -> TrustedIssuer:
    """Refuse the tokens of `issuer`, within `TOKEN_CACHE_SECONDS`; what was said of it is kept.

    Raises TenantError for an unknown tenant and for an issuer that it never trusted.
    """
    find_tenant(tenant_identifier)
    with transaction.atomic():
        try:
            of_tenant = TrustedIssuer.objects.of(tenant_identifier).select_for_update(of=("self",))
            trusted = of_tenant.get(issuer=issuer)
        except (TrustedIssuer.DoesNotExist, UnicodeEncodeError, DataError):
            raise TenantError(f"tenant {tenant_identifier!r} has no issuer {issuer!r}") from None
        trusted.enabled = False
        trusted.save(update_fields=["enabled"])
    logger.info("issuer_distrusted", tenant=tenant_identifier, issuer=issuer)
    return trusted


def violated_constraint(error: IntegrityError) -> str:
    """The name of the constraint that is violated, which says what must be."""
    diagnostics = getattr(error.__cause__, "diag", None)
    return str(getattr(diagnostics, "constraint_name", "not as the database wants it"))


def _set_enabled(tenant_identifier: str, name: str, *, enabled: bool) -> Module:
    with transaction.atomic():
        module = _module_for_update(tenant_identifier, name)
        module.enabled = enabled
        module.save(update_fields=["enabled"])
    return module


def _save(row: Tenant | Module, fields: list[str]) -> None:
    """Check and write some fields of a row. Raises TenantError."""
    try:
        row.clean_fields(exclude=[field.name for field in row._meta.fields if field.name not in fields])
        row.save(update_fields=fields)
    except UnicodeEncodeError:
        raise TenantError(gettext("something of it is no text")) from None
    except ValidationError as error:
        raise _first(error) from None


def _module_for_update(tenant_identifier: str, name: str) -> Module:
    """The module, locked until the end of the transaction. Raises TenantError."""
    find_tenant(tenant_identifier)
    try:
        return Module.objects.of(tenant_identifier).select_for_update(of=("self",)).get(name=name)
    except (Module.DoesNotExist, UnicodeEncodeError, DataError):
        raise TenantError(f"tenant {tenant_identifier!r} has no module {name!r}") from None


def _first(error: ValidationError) -> TenantError:
    field, messages = next(iter(error.message_dict.items()))
    return TenantError(f"{field}: {messages[0]}", field)
