"""How many shells a tenant may have."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import IntegrityError, OperationalError, transaction
from django.db.models import F
from psycopg.errors import LockNotAvailable

from shells import statements
from shells.models import Quota
from shells.services.running import run
from tenants.services import violated_constraint

#: How long `set_quota` waits for those who are writing; meanwhile nobody else can begin to.
LOCK_MILLISECONDS = 5000


class QuotaExceeded(Exception):
    """The tenant would have more shells than it may; nothing is changed."""

    def __init__(self) -> None:
        super().__init__("the tenant may have no more shells: its quota is used up")


class CannotSetQuota(Exception):
    """The quota cannot be set; the message says why, in one line."""


@contextmanager
def within_quota() -> Iterator[None]:
    """Around a transaction that registers shells. Raises QuotaExceeded."""
    try:
        yield
    except IntegrityError as error:
        if violated_constraint(error) == "quota_is_kept":
            raise QuotaExceeded from None
        raise


def foresee_quota(tenant_pk: int, shells: int) -> None:
    """As if so many shells had been registered just now. Raises QuotaExceeded."""
    if Quota.objects.filter(tenant=tenant_pk, max_shells__lt=F("shells") + shells).exists():
        raise QuotaExceeded


def set_quota(tenant_pk: int, max_shells: int | None) -> None:
    """Let a tenant have so many shells, with None any number.

    What is there is counted while nobody can write; from then on each write counts. Raises CannotSetQuota if it
    has more already, or if somebody writes for long (an atomic import).
    """
    try:
        with transaction.atomic():
            if max_shells is None:
                Quota.objects.filter(tenant=tenant_pk).delete()
                return
            run(statements.LOCK_SHELLS, {"milliseconds": LOCK_MILLISECONDS})
            run(statements.SET_QUOTA, {"tenant": tenant_pk, "max_shells": max_shells})
    except IntegrityError as error:
        if violated_constraint(error) == "quota_is_kept":
            raise CannotSetQuota(f"the tenant has more than {max_shells} shells") from None
        raise
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            raise CannotSetQuota("shells are being written; try again when that has ended") from None
        raise
