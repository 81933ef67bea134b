"""People who come from an identity provider: found by its issuer and their subject there, never by an address.

Claims of the ID token decide at each sign-in what somebody may do; what the admin's own pages said before is
replaced. Docs: docs/identity.md, "People".
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from tenants.claims import claim, texts
from tenants.models import Membership, ProviderAccount, Role, Tenant

logger = structlog.get_logger(__name__)

#: Two first sign-ins at once, or two people who want the same name: whoever is second begins anew.
ATTEMPTS = 3
LONGEST_USERNAME = 150
_username = UnicodeUsernameValidator()


class NotAdmitted(Exception):
    """The provider knows the person, but the person may not sign in here."""


class NoRights(NotAdmitted):
    """The claims give no right at all."""


class Disabled(NotAdmitted):
    """The account was disabled in the admin."""


@dataclass(frozen=True)
class Rights:
    """What claims give: everything, or a role in each of some tenants, by their ids."""

    is_superuser: bool
    roles: Mapping[str, Role]

    def __bool__(self) -> bool:
        return self.is_superuser or bool(self.roles)


def rights(claims: Mapping[str, Any]) -> Rights:
    """What the claims of an ID token give; of several roles in a tenant the highest counts."""
    values = texts(claims, settings.ADMIN_OIDC_ROLES_CLAIM)
    is_superuser = bool(values & set(settings.ADMIN_OIDC_SUPERUSER_VALUES))
    if settings.ADMIN_OIDC_STAFF_VALUES and not values & set(settings.ADMIN_OIDC_STAFF_VALUES):
        return Rights(is_superuser, {})
    found: dict[str, Role] = {}
    for name, role in _pairs(claims):
        if role in Role.values and name.isprintable():
            found[name] = max(found.get(name, Role.READER), Role(role), key=list(Role).index)
    return Rights(is_superuser, found)


def _pairs(claims: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Tenants and roles as the claim has them: texts `acme:editor`, or an object `{"acme": "editor"}`."""
    given = claim(claims, settings.ADMIN_OIDC_TENANTS_CLAIM)
    if isinstance(given, dict):
        for name in given:
            yield from ((name, role) for role in texts(given, name))
    else:
        for text in texts(claims, settings.ADMIN_OIDC_TENANTS_CLAIM):
            name, _, role = text.partition(":")
            yield name, role


def admit(issuer: str, claims: Mapping[str, Any]) -> User:
    """The person whose verified ID token says `claims`, with the rights that they give, in one transaction.

    A person without a right is not created, and loses those that were given before. Raises NoRights and Disabled.
    """
    given = rights(claims)
    for attempt in range(ATTEMPTS):
        try:
            with transaction.atomic():
                person, unknown = _admitted(issuer, claims, given)
            break
        except IntegrityError:
            if attempt == ATTEMPTS - 1:
                raise
    if unknown:
        logger.warning("person_of_unknown_tenants", issuer=issuer, tenants=unknown)
    if person is None or not person.is_staff:
        raise NoRights
    if not person.is_active:
        raise Disabled
    logger.info("person_signed_in", person=person.username, issuer=issuer, superuser=given.is_superuser)
    return person


def _admitted(issuer: str, claims: Mapping[str, Any], given: Rights) -> tuple[User | None, list[str]]:
    """The person, with exactly these rights; and the tenants among them that do not exist."""
    tenants = {tenant.identifier: tenant for tenant in Tenant.objects.filter(identifier__in=given.roles)}
    unknown = sorted(set(given.roles) - set(tenants))
    memberships = {tenants[name]: role for name, role in given.roles.items() if name in tenants}
    may_enter = given.is_superuser or bool(memberships)
    accounts = ProviderAccount.objects.filter(issuer=issuer, subject=claims["sub"])
    person = User.objects.select_for_update().filter(provider_account__in=accounts).first()
    if person is None:
        if not may_enter:
            return None, unknown
        person = User(username=_free_username(issuer, claims))
        person.set_unusable_password()
    person.is_staff, person.is_superuser = may_enter, given.is_superuser
    person.first_name = _text(claims, "given_name", 150)
    person.last_name = _text(claims, "family_name", 150)
    person.email = _text(claims, "email", 254)
    is_new = person.pk is None
    person.save()
    if is_new:
        ProviderAccount.objects.create(person=person, issuer=issuer, subject=claims["sub"])
    person.memberships.exclude(tenant__in=memberships).delete()
    Membership.objects.bulk_create(
        [Membership(person=person, tenant=tenant, role=role) for tenant, role in memberships.items()],
        update_conflicts=True,
        unique_fields=["person", "tenant"],
        update_fields=["role"],
    )
    return person, unknown


def _free_username(issuer: str, claims: Mapping[str, Any]) -> str:
    """The name that the provider shows for the person, if nobody has it; else with a mark of its own."""
    mark = hashlib.blake2b(f"{issuer} {claims['sub']}".encode(), digest_size=4).hexdigest()
    name = _text(claims, "preferred_username", LONGEST_USERNAME) or _text(claims, "email", LONGEST_USERNAME)
    try:
        _username(name)
    except ValidationError:
        name = ""
    if name and not User.objects.filter(username__iexact=name).exists():
        return name
    return f"{name[: LONGEST_USERNAME - 9]}-{mark}" if name else f"person-{mark}"


def _text(claims: Mapping[str, Any], name: str, longest: int) -> str:
    value = claims.get(name)
    return value[:longest] if isinstance(value, str) and value.isprintable() else ""
