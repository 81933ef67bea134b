"""System checks: each dangerous combination of settings and data has a stable id (docs/configuration.md)."""

import ipaddress
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import Error as DatabaseError
from django.db.models import Q

from tenants import issuers, keys, secrets
from tenants.models import Module

#: Within this time a module that was disabled is refused everywhere.
LONGEST_TOKEN_CACHE_SECONDS = 30


@register(Tags.security)
def check_signing_keys(app_configs: Any, **kwargs: Any) -> Sequence[CheckMessage]:
    if settings.DEBUG:  # the first one is made when it is needed
        return []
    problem = keys.problem()
    if not problem:
        return []
    return [Error(problem, hint="Put a private RSA key there, as a PEM file.", id="tenants.E001")]


@register(Tags.database)
def check_no_demo_module(
    app_configs: Any, databases: Sequence[str] | None = None, **kwargs: Any
) -> Sequence[CheckMessage]:
    if settings.DEBUG or not databases:
        return []
    try:
        digest = secrets.digest(secrets.DEMO_SECRET)
        with_digest = Q(secret_digest=digest) | Q(previous_secret_digest=digest)
        found = Module.objects.filter(with_digest, enabled=True)
        tenants = sorted(found.values_list("tenant__identifier", flat=True))
    except DatabaseError:  # not migrated yet
        return []
    return [
        Error(
            f"tenant {tenant!r} has a module with the demo secret, which everybody knows",
            hint="Remove or disable the module; outside DEBUG it is refused anyhow.",
            id="tenants.E002",
        )
        for tenant in tenants
    ]


@register(Tags.database)
def check_no_demo_admin(
    app_configs: Any, databases: Sequence[str] | None = None, **kwargs: Any
) -> Sequence[CheckMessage]:
    if settings.DEBUG or not databases:
        return []
    try:
        admin = get_user_model().objects.filter(username=secrets.DEMO_ADMIN, is_active=True).first()
    except DatabaseError:  # not migrated yet
        return []
    if admin is None or not admin.check_password(secrets.DEMO_ADMIN_PASSWORD):
        return []
    return [
        Error(
            f"the user {secrets.DEMO_ADMIN!r} has the demo password, which everybody knows",
            hint=f"manage.py changepassword {secrets.DEMO_ADMIN}",
            id="tenants.E003",
        )
    ]


@register(Tags.security)
def check_debug_is_local(app_configs: Any, **kwargs: Any) -> Sequence[CheckMessage]:
    if not settings.DEBUG or settings.HOST == "localhost" or _is_loopback(settings.HOST):
        return []
    return [
        Warning(
            f"DEBUG is on and HOST is {settings.HOST}: others can reach a server with well-known secrets",
            hint="Set DEBUG=False and the secrets it asks for.",
            id="tenants.W001",
        )
    ]


@register(Tags.security, deploy=True)
def check_embedded_database(app_configs: Any, **kwargs: Any) -> Sequence[CheckMessage]:
    if "embedded" not in settings.DATABASES["default"]["OPTIONS"]:
        return []
    return [
        Warning(
            "the embedded PostgreSQL is in use",
            hint="Set DATABASE_URL to a server that is backed up and monitored.",
            id="tenants.W002",
        )
    ]


@register(Tags.security, deploy=True)
def check_auth_url(app_configs: Any, **kwargs: Any) -> Sequence[CheckMessage]:
    if settings.AUTH_URL.startswith("https://"):
        return []
    return [
        Warning(
            f"AUTH_URL is {settings.AUTH_URL}: clients would send their secrets in the clear",
            hint="Tokens carry this address as their issuer; it must be an https address.",
            id="tenants.W003",
        )
    ]


@register(Tags.security)
def check_disabled_modules_are_refused_soon(app_configs: Any, **kwargs: Any) -> Sequence[CheckMessage]:
    if settings.TOKEN_CACHE_SECONDS <= LONGEST_TOKEN_CACHE_SECONDS:
        return []
    return [
        Warning(
            f"TOKEN_CACHE_SECONDS is {settings.TOKEN_CACHE_SECONDS}: "
            "the tokens of a disabled module open the registry for as long",
            hint=f"Set it to {LONGEST_TOKEN_CACHE_SECONDS} or less.",
            id="tenants.W004",
        )
    ]


@register(Tags.security)
def check_somebody_can_sign_in(app_configs: Any, **kwargs: Any) -> Sequence[CheckMessage]:
    if settings.ADMIN_PASSWORD_SIGN_IN or settings.ADMIN_OIDC_ISSUER:
        return []
    return [
        Error(
            "nobody can sign in to the admin: passwords are off, and there is no provider",
            hint="Set ADMIN_OIDC_ISSUER, or leave ADMIN_PASSWORD_SIGN_IN on.",
            id="tenants.E010",
        )
    ]


@register(Tags.security)
def check_provider_of_people(app_configs: Any, **kwargs: Any) -> Sequence[CheckMessage]:
    if not settings.ADMIN_OIDC_ISSUER:
        return []
    try:
        issuers.check_address(settings.ADMIN_OIDC_ISSUER)
    except ValueError as error:
        return [Error(f"ADMIN_OIDC_ISSUER: {error}", hint="It must be an https address.", id="tenants.E011")]
    return []


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
