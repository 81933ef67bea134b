"""Named reads. Each is bound to one tenant: nothing is seen that is not the caller's."""

from collections.abc import Sequence
from typing import TypeVar

from django.db import connection, models

from shells import identifiers

Row = TypeVar("Row", bound=models.Model)

_DOCUMENT = "SELECT document FROM shells_shell WHERE tenant_id = %s AND digest = %s AND identifier = %s"


class TenantQuerySet(models.QuerySet[Row]):
    def of(self, tenant_pk: int) -> "TenantQuerySet[Row]":
        """The rows of one tenant."""
        return self.filter(tenant_id=tenant_pk)


def document(tenant_pk: int, identifier: str) -> bytes | None:
    """The JSON text (UTF-8) of a tenant's shell; None if there is none.

    It is found by the digest of its identifier and told apart by the text.
    """
    return fetch_value(_DOCUMENT, [str(tenant_pk), identifiers.digest(identifier), identifier])


def fetch_value(sql: str, params: Sequence[str | None]) -> bytes | None:
    """One value by one prepared statement; see `registry_project/postgresql/base.py`.

    For the statements of the request path only: building one with the ORM takes longer than running it.
    """
    value: bytes | None = connection.fetch_value(sql, params)  # type: ignore[attr-defined]
    return value
