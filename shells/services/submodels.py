"""The submodel descriptors of one shell: each change is one of the shell."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from pydantic_core import from_json, to_json

from shells.collections import SHELLS, SUBMODELS
from shells.descriptors import Document
from shells.projections import Members
from shells.services.writing import (
    SYSTEM,
    Author,
    IdentifierTaken,
    NotRegistered,
    Precondition,
    lock,
    replace_many,
    require,
)


def add_submodel(tenant_pk: int, shell_id: str, submodel: Document, by: Author = SYSTEM) -> None:
    """Append a submodel descriptor to those of a shell. Raises NotRegistered or IdentifierTaken."""
    with _submodels_of(tenant_pk, shell_id, by) as submodels:
        if _position(submodels, submodel.id) is not None:
            raise IdentifierTaken(SUBMODELS.noun)
        submodels.append(submodel.members)


def replace_submodel(
    tenant_pk: int,
    shell_id: str,
    submodel: Document,
    by: Author = SYSTEM,
    precondition: Precondition | None = None,
) -> bool:
    """Put a submodel descriptor in the place of the one with its id, or at the end; whether it is new.

    Raises NotRegistered if there is no such shell, or PreconditionFailed.
    """
    with _submodels_of(tenant_pk, shell_id, by) as submodels:
        position = _position(submodels, submodel.id)
        present = None if position is None else to_json(submodels[position])
        require(precondition, present)
        if position is None:
            submodels.append(submodel.members)
        else:
            submodels[position] = submodel.members
    return position is None


def remove_submodel(
    tenant_pk: int,
    shell_id: str,
    submodel_id: str,
    by: Author = SYSTEM,
    precondition: Precondition | None = None,
) -> None:
    """Delete a submodel descriptor of a shell.

    Raises NotRegistered, for the shell or the submodel, or PreconditionFailed.
    """
    with _submodels_of(tenant_pk, shell_id, by) as submodels:
        position = _position(submodels, submodel_id)
        if position is None:
            raise NotRegistered(SUBMODELS.noun)
        require(precondition, to_json(submodels[position]))
        del submodels[position]


@contextmanager
def _submodels_of(tenant_pk: int, shell_id: str, by: Author) -> Iterator[list[Members]]:
    """The submodel descriptors of a shell, to be changed while nobody else can write it.

    The shell is stored with what became of them; an exception leaves it as it was.
    """
    with transaction.atomic():
        present = lock(SHELLS, tenant_pk, shell_id)
        if present is None:
            raise NotRegistered(SHELLS.noun)
        shell: Members = from_json(present)
        submodels = shell.setdefault("submodelDescriptors", [])
        yield submodels
        if not submodels:
            del shell["submodelDescriptors"]
        replace_many(SHELLS, tenant_pk, [Document(shell, to_json(shell).decode())], by)


def _position(submodels: list[Members], submodel_id: str) -> int | None:
    return next((place for place, item in enumerate(submodels) if item["id"] == submodel_id), None)
