"""What a person may see and do in the admin: a member of a tenant by the role there, a superuser everything."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q
from django.http import HttpRequest

from tenants.models import Membership, Role, Tenant


@dataclass(frozen=True)
class Person:
    """Somebody who is signed in to the admin, or nobody: then there are no roles."""

    #: Whether all tenants are seen, and everything may be done.
    is_superuser: bool
    #: The role in each tenant of which the person is a member.
    memberships: Mapping[Tenant, Role]
    #: The name under which what the person does is noted.
    name: str

    @cached_property
    def roles(self) -> Mapping[int, Role]:
        """The role in each tenant, by the tenant's key."""
        return {tenant.pk: role for tenant, role in self.memberships.items()}

    @cached_property
    def seen(self) -> list[Tenant]:
        """The tenants that the person sees."""
        return list(Tenant.objects.all() if self.is_superuser else self.memberships)

    @property
    def sees_something(self) -> bool:
        return self.is_superuser or bool(self.roles)

    def may(self, role: Role, tenant_pk: int | None = None) -> bool:
        """Whether the person may do what `role` may: in a tenant, or in at least one."""
        if self.is_superuser:
            return True
        if tenant_pk is None:
            return any(own.includes(role) for own in self.roles.values())
        return tenant_pk in self.roles and self.roles[tenant_pk].includes(role)

    def tenants(self, role: Role = Role.READER) -> list[int] | None:
        """The keys of the tenants in which the person has `role`; None: all."""
        if self.is_superuser:
            return None
        return [tenant for tenant, own in self.roles.items() if own.includes(role)]

    def rows(self, tenant: str = "tenant", role: Role = Role.READER) -> Q:
        """The condition on rows whose `tenant` (a foreign key, or pk) the person sees with `role`."""
        tenants = self.tenants(role)
        return Q() if tenants is None else Q(**{f"{tenant}__in": tenants})


_NOBODY = Person(is_superuser=False, memberships={}, name="")


def person_of(request: HttpRequest) -> Person:
    """Who is signed in; memberships, and the tenants that are seen, are read once a request."""
    person: Person | None = getattr(request, "_person", None)
    if person is None:
        person = _person(request.user)
        request._person = person  # type: ignore[attr-defined]
    return person


def _person(user: AbstractBaseUser | AnonymousUser) -> Person:
    if not (user.is_active and getattr(user, "is_staff", False)):
        return _NOBODY
    if getattr(user, "is_superuser", False):
        return Person(is_superuser=True, memberships={}, name=user.get_username())
    found = Membership.objects.filter(person_id=user.pk).select_related("tenant").order_by("tenant")
    memberships = {membership.tenant: Role(membership.role) for membership in found}
    return Person(is_superuser=False, memberships=memberships, name=user.get_username())
