"""The one place that writes descriptors and what is read out of them: API, admin and commands call these.

Each function is one transaction, and takes a number of statements that does not depend on what it writes.
"""

from shells.services.changes import forget_changes
from shells.services.discovery import delete_asset_links, set_asset_links
from shells.services.imports import (
    Fate,
    OnConflict,
    begin_foreseeing,
    begin_run,
    copy_many,
    foresee,
    note_run,
)
from shells.services.quotas import CannotSetQuota, QuotaExceeded, foresee_quota, set_quota
from shells.services.rebuilding import rebuild_asset_links, rebuild_projections
from shells.services.submodels import add_submodel, remove_submodel, replace_submodel
from shells.services.writing import (
    SYSTEM,
    Author,
    IdentifierTaken,
    NotRegistered,
    Precondition,
    PreconditionFailed,
    register,
    register_many,
    remove,
    remove_many,
    replace,
    replace_many,
)

__all__ = [
    "SYSTEM",
    "Author",
    "CannotSetQuota",
    "Fate",
    "IdentifierTaken",
    "NotRegistered",
    "OnConflict",
    "Precondition",
    "PreconditionFailed",
    "QuotaExceeded",
    "add_submodel",
    "begin_foreseeing",
    "begin_run",
    "copy_many",
    "delete_asset_links",
    "foresee",
    "foresee_quota",
    "forget_changes",
    "note_run",
    "rebuild_asset_links",
    "rebuild_projections",
    "register",
    "register_many",
    "remove",
    "remove_many",
    "remove_submodel",
    "replace",
    "replace_many",
    "replace_submodel",
    "set_asset_links",
    "set_quota",
]
