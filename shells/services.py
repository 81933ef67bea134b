"""The one place that writes shells and their projections: API, admin and commands call these functions."""

from pydantic_core import to_json

from shells import projections
from shells.descriptors import Shell
from shells.identifiers import digest
from shells.querysets import fetch_value


class IdentifierTaken(Exception):
    """A shell with this id is registered in the tenant already."""


# One statement is one transaction and one round trip, whatever the document contains. The rows of each
# projection travel as one JSON array: psycopg takes 200 µs longer to write the columns as SQL arrays. When
# the id is taken, `shell` has no row, and the other inserts get none.
_REGISTER = """
WITH shell AS (
    INSERT INTO shells_shell
        (tenant_id, digest, identifier, document, id_short, asset_kind, asset_type, global_asset_id)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (digest, tenant_id) DO NOTHING
    RETURNING tenant_id, id
), submodel AS (
    INSERT INTO shells_submodel
        (tenant_id, shell_id, position, digest, identifier, id_short, semantic_id)
    SELECT shell.tenant_id, shell.id, row.*
    FROM shell, json_to_recordset(%s)
        AS row (position int, digest uuid, identifier text, id_short text, semantic_id text)
), endpoint AS (
    INSERT INTO shells_endpoint
        (tenant_id, shell_id, submodel_position, position, interface, href)
    SELECT shell.tenant_id, shell.id, row.*
    FROM shell, json_to_recordset(%s)
        AS row (submodel_position int, position int, interface text, href text)
), asset_id AS (
    INSERT INTO shells_assetid
        (tenant_id, shell_id, position, name, value, pair, external_subject_id)
    SELECT shell.tenant_id, shell.id, row.*
    FROM shell, json_to_recordset(%s)
        AS row (position int, name text, value text, pair bigint, external_subject_id text)
)
SELECT id FROM shell
"""


def register(tenant_pk: int, shell: Shell) -> None:
    """Store a new shell descriptor with its projections, in one statement and one transaction.

    Raises IdentifierTaken if the tenant has a shell with this id; nothing is changed then
    (aas-registry-api.md §1.5).
    """
    members = shell.members
    row = fetch_value(
        _REGISTER,
        [
            str(tenant_pk),
            digest(shell.id),
            shell.id,
            shell.document,
            members.get("idShort"),
            members.get("assetKind"),
            members.get("assetType"),
            members.get("globalAssetId"),
            to_json(projections.submodels(members)).decode(),
            to_json(projections.endpoints(members)).decode(),
            to_json(projections.asset_ids(tenant_pk, members)).decode(),
        ],
    )
    if row is None:
        raise IdentifierTaken(shell.id)
