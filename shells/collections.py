"""The two collections of descriptors: shells, and submodels registered on their own.

They differ in what is checked, what is read out of a document, and in the names of tables; in nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from shells import projections
from shells.descriptors import Document, check_shell, check_submodel
from shells.projections import Members, Projection, Row


class Check(Protocol):
    """Checks a descriptor that was read from JSON; raises InvalidDescriptor."""

    def __call__(self, value: Any, *, strict: bool) -> Document: ...


@dataclass(frozen=True, eq=False)
class Collection:
    """Descriptors of one kind, unique by their id in a tenant."""

    #: Its name in addresses.
    name: str
    #: What one of its descriptors is called in messages.
    noun: str
    check: Check
    table: str
    #: The column by which projections refer to their descriptor.
    owner: str
    #: Members of the document as columns of the table: name → PostgreSQL type.
    columns: dict[str, str]
    values: Callable[[Members], Row]
    projections: tuple[Projection, ...] = field(default=())


def _shell_values(shell: Members) -> Row:
    return {
        "id_short": shell.get("idShort"),
        "asset_kind": shell.get("assetKind"),
        "asset_type": shell.get("assetType"),
        "global_asset_id": shell.get("globalAssetId"),
    }


def _submodel_values(submodel: Members) -> Row:
    return {
        "id_short": submodel.get("idShort"),
        "semantic_id": projections.first_key(submodel.get("semanticId")),
        "semantic_reference": projections.unusual(submodel.get("semanticId")),
    }


SHELLS = Collection(
    name="shell-descriptors",
    noun="shell",
    check=check_shell,
    table="shells_shell",
    owner="shell_id",
    columns={"id_short": "text", "asset_kind": "text", "asset_type": "text", "global_asset_id": "text"},
    values=_shell_values,
    projections=(projections.SUBMODELS, projections.ENDPOINTS, projections.ASSET_IDS),
)
SUBMODELS = Collection(
    name="submodel-descriptors",
    noun="submodel",
    check=check_submodel,
    table="shells_standalonesubmodel",
    owner="submodel_id",
    columns={"id_short": "text", "semantic_id": "text", "semantic_reference": "jsonb"},
    values=_submodel_values,
    projections=(projections.STANDALONE_ENDPOINTS,),
)
COLLECTIONS = {collection.name: collection for collection in (SHELLS, SUBMODELS)}
