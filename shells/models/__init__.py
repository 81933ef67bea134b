"""Descriptors, what is found in their documents, and what is asked to be done with many of them.

Only `shells/services` writes these tables, `shells/figures.py` those of figures, and `bulk` and `uploads` what
they are to do. A descriptor is stored once, in `document`. Every other column
and table is a projection of it (`projections.py`), written in the same transaction.

Keys: `(tenant, id)` is what rows refer to, so that no row can point into another tenant and a join always
names the tenant. Django cannot declare those foreign keys; migrations have them. They remove the projections
of a descriptor with it.
"""

from shells.models.activity import BulkOperation, Change, ImportRun, Upload
from shells.models.discovery import AssetLink, AssetLinks
from shells.models.figures import (
    DailyFigure,
    FigureState,
    RefusedRequests,
    SemanticIdFigure,
    SlowRequest,
    Total,
)
from shells.models.indexes import beginning, host_hash, text_hash
from shells.models.quotas import Quota
from shells.models.shells import AssetId, Endpoint, Shell, Submodel
from shells.models.submodels import StandaloneEndpoint, StandaloneSubmodel

__all__ = [
    "AssetId",
    "AssetLink",
    "AssetLinks",
    "BulkOperation",
    "Change",
    "DailyFigure",
    "Endpoint",
    "FigureState",
    "ImportRun",
    "Quota",
    "RefusedRequests",
    "SemanticIdFigure",
    "Shell",
    "SlowRequest",
    "StandaloneEndpoint",
    "StandaloneSubmodel",
    "Submodel",
    "Total",
    "Upload",
    "beginning",
    "host_hash",
    "text_hash",
]
