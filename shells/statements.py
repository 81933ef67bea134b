"""The SQL that writes a collection, made from what `collections.py` says of it.

Rows of a projection travel as one JSON array: psycopg takes longer to write the columns as SQL arrays. Each
statement names the tenant, and so does each join.
"""

from functools import cache

from shells.collections import SHELLS, Collection
from shells.projections import Projection


def _names(columns: dict[str, str]) -> str:
    return ", ".join(columns)


def _record(columns: dict[str, str]) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in columns.items())


@cache
def register(collection: Collection) -> str:
    """Insert one descriptor and its projections, or nothing if its id is taken; returns its key.

    Positional parameters: tenant, digest, identifier, document, the columns of the collection, the rows of each
    projection, then author and correlation id. When the id is taken, `owner` has no row, and the other inserts
    get none.
    """

    def insert(projection: Projection) -> str:
        return f"""{projection.table} AS (
    INSERT INTO {projection.table} (tenant_id, {collection.owner}, {_names(projection.columns)})
    SELECT owner.tenant_id, owner.id, row.* FROM owner, json_to_recordset(%s) AS row ({_record(projection.columns)})
)"""

    parts = [insert(projection) for projection in collection.projections]
    if collection is SHELLS:  # what was said of the shell through discovery is over: the last writer wins
        parts.append("""links AS (
    DELETE FROM shells_assetlinks AS links USING owner
    WHERE links.tenant_id = owner.tenant_id AND links.digest = owner.digest
)""")
        parts.append("""counted AS (
    UPDATE shells_quota AS quota SET shells = quota.shells + 1 FROM owner WHERE quota.tenant_id = owner.tenant_id
)""")
    parts.append(f"""change AS (
    INSERT INTO shells_change (tenant_id, collection, digest, identifier, action, author, correlation_id)
    SELECT tenant_id, '{collection.name}', digest, identifier, 'registered', %s, %s FROM owner
)""")
    return f"""
WITH owner AS (
    INSERT INTO {collection.table} (tenant_id, digest, identifier, document, {_names(collection.columns)})
    VALUES (%s, %s, %s, %s{", %s" * len(collection.columns)})
    ON CONFLICT (digest, tenant_id) DO NOTHING
    RETURNING tenant_id, id, digest, identifier
), {", ".join(parts)}
SELECT id FROM owner
"""


@cache
def insert_many(collection: Collection) -> str:
    """Insert many descriptors, in the order given; those whose id is taken are left out. They are counted and noted.

    Parameters: tenant, digests, identifiers, documents, an array for each column of the collection, author,
    correlation id. Returns the identifiers of those that were inserted.
    """
    columns = _written(collection)
    return f"""
WITH inserted AS (
    INSERT INTO {collection.table} (tenant_id, {_names(columns)})
    SELECT %(tenant)s, {_names(columns)} FROM {_items(columns)} ORDER BY place
    ON CONFLICT (digest, tenant_id) DO NOTHING
    RETURNING tenant_id, id, digest, identifier
), change AS ({_note(collection, "registered", "inserted ORDER BY id", before="NULL")}
){_counted(collection, "+", "inserted")}
SELECT identifier FROM inserted
"""


@cache
def update_many(collection: Collection) -> str:
    """Replace descriptors that are there. Parameters as those of `insert_many`."""
    columns = _written(collection)
    changed = ", ".join(f"{name} = item.{name}" for name in ["document", *collection.columns])
    return f"""
UPDATE {collection.table} AS descriptor SET {changed}, updated_at = now()
FROM {_items(columns)}
WHERE descriptor.tenant_id = %(tenant)s AND descriptor.digest = item.digest
"""


def _written(collection: Collection) -> dict[str, str]:
    return {"digest": "uuid", "identifier": "text", "document": "text", **collection.columns}


def _items(columns: dict[str, str]) -> str:
    arrays = ", ".join(f"%({name})s::text[]::{type_}[]" for name, type_ in columns.items())
    return f"unnest({arrays}) WITH ORDINALITY AS item ({_names(columns)}, place)"


@cache
def delete_projections(collection: Collection) -> str:
    """Delete what was read out of the documents with these digests. Parameters: tenant, digests."""
    parts = "".join(
        f""", {projection.table} AS (
    DELETE FROM {projection.table} AS row USING owner
    WHERE row.tenant_id = %(tenant)s AND row.{collection.owner} = owner.id
)"""
        for projection in collection.projections
    )
    return f"{_owner(collection)}{parts} SELECT count(*) FROM owner"


@cache
def insert_projections(collection: Collection) -> str:
    """Insert what was read out of documents. Parameters: tenant, digests, and the rows of each table as JSON,
    each with the digest of its descriptor as `owner`.
    """
    parts = "".join(
        f""", {projection.table} AS (
    INSERT INTO {projection.table} (tenant_id, {collection.owner}, {_names(projection.columns)})
    SELECT %(tenant)s, owner.id, {", ".join(f"row.{name}" for name in projection.columns)}
    FROM json_to_recordset(%({projection.table})s) AS row (owner uuid, {_record(projection.columns)})
    JOIN owner ON owner.digest = row.owner
)"""
        for projection in collection.projections
    )
    return f"{_owner(collection)}{parts} SELECT count(*) FROM owner"


@cache
def set_columns(collection: Collection) -> str:
    """Set the columns that are read out of documents. Parameters: tenant, digests, and each column by its name."""
    columns = ", ".join(f"{name} = %({name})s::{type_}" for name, type_ in collection.columns.items())
    return f"""
UPDATE {collection.table} SET {columns}
WHERE tenant_id = %(tenant)s AND digest = ANY (%(digests)s::text[]::uuid[])
"""


def _counted(collection: Collection, sign: str, rows: str) -> str:
    """Add the number of `rows` to the tenant's quota, if it has one, or subtract it; only shells are counted.

    Without rows, the quota is not locked.
    """
    if collection is not SHELLS:
        return ""
    return f""", counted AS (
    UPDATE shells_quota SET shells = shells {sign} (SELECT count(*) FROM {rows})
    WHERE tenant_id = %(tenant)s AND EXISTS (SELECT FROM {rows})
)"""


#: Parameters: tenant, count.
COUNT_SHELLS = "UPDATE shells_quota SET shells = shells + %(count)s WHERE tenant_id = %(tenant)s"
#: Nobody writes shells until the transaction ends; how many are there stays as it is.
LOCK_SHELLS = "SET LOCAL lock_timeout = %(milliseconds)s; LOCK TABLE shells_shell IN SHARE MODE"
SET_QUOTA = """
INSERT INTO shells_quota (tenant_id, max_shells, shells)
SELECT %(tenant)s, %(max_shells)s, count(*) FROM shells_shell WHERE tenant_id = %(tenant)s
ON CONFLICT (tenant_id) DO UPDATE SET max_shells = EXCLUDED.max_shells
"""


def _owner(collection: Collection) -> str:
    return f"""
WITH owner AS (
    SELECT id, digest FROM {collection.table}
    WHERE tenant_id = %(tenant)s AND digest = ANY (%(digests)s::text[]::uuid[])
)"""


@cache
def lock(collection: Collection) -> str:
    """Identifier and document of descriptors, locked until the transaction ends.

    Parameters: tenant, digests, identifiers.
    """
    return f"SELECT identifier, document FROM {collection.table} WHERE {_THESE} ORDER BY digest FOR UPDATE"


@cache
def lock_and_note(collection: Collection) -> str:
    """Lock descriptors until the transaction ends, and note that they are replaced. Returns their identifiers.

    Parameters: tenant, digests, identifiers, author, correlation id.
    """
    return f"""
WITH present AS (
    SELECT tenant_id, digest, identifier, document FROM {collection.table} WHERE {_THESE} ORDER BY digest FOR UPDATE
), change AS ({_note(collection, "replaced", "present", before="document")}
)
SELECT identifier FROM present
"""


@cache
def remove_many(collection: Collection) -> str:
    """Delete descriptors; their projections go with them. Returns the identifiers of those that were there.

    Parameters: tenant, digests, identifiers, author, correlation id.
    """
    return f"""
WITH removed AS (
    DELETE FROM {collection.table} WHERE {_THESE} RETURNING tenant_id, digest, identifier, document
), change AS ({_note(collection, "removed", "removed", before="document")}
){_counted(collection, "-", "removed")}
SELECT identifier FROM removed
"""


def _note(collection: Collection, action: str, rows: str, *, before: str) -> str:
    """Write down what is done with `rows` (a FROM clause). Parameters: author, correlation id."""
    return f"""
    INSERT INTO shells_change (tenant_id, collection, digest, identifier, action, author, correlation_id, before)
    SELECT tenant_id, '{collection.name}', digest, identifier, '{action}', %(author)s, %(correlation_id)s, {before}
    FROM {rows}"""


_THESE = """tenant_id = %(tenant)s AND digest = ANY (%(digests)s::text[]::uuid[])
    AND identifier = ANY (%(identifiers)s::text[])"""


# --- Imports: COPY --------------------------------------------------------------------------------------

#: The planner has no statistics of tables that are being filled, and would read them whole for each batch.
BY_INDEX = "SET LOCAL enable_seqscan = off"


@cache
def present(collection: Collection, *, lock: bool) -> str:
    """Digest, key and checksum of the document (`copying.checksum`) of each descriptor that is there.

    Without a lock, for which the checksum is not asked for, it is empty. Parameters: tenant, digests.
    """
    checksum = "encode(sha256(convert_to(document, 'UTF8')), 'hex')" if lock else "''"
    return f"""
SELECT replace(digest::text, '-', ''), id, {checksum} FROM {collection.table}
WHERE tenant_id = %(tenant)s AND digest = ANY (%(digests)s::text[]::uuid[])
{"ORDER BY digest FOR UPDATE" if lock else ""}
"""


@cache
def new_keys(collection: Collection) -> str:
    """Keys for new descriptors, in ascending order. Parameter: how many."""
    return f"""
SELECT nextval(pg_get_serial_sequence('{collection.table}', 'id')) AS key
FROM generate_series(1, %(count)s) ORDER BY key
"""


@cache
def copy_descriptors(collection: Collection, *, table: str | None = None) -> str:
    """Copy the rows of `copying.Prepared.row`, with their keys, into the collection's table or one like it."""
    return f"COPY {table or collection.table} (id, tenant_id, {_names(_written(collection))}) FROM STDIN"


@cache
def copy_projection(collection: Collection, projection: Projection) -> str:
    """Copy the rows of `copying.Prepared.projections`, with the keys of their descriptors."""
    return f"COPY {projection.table} ({collection.owner}, tenant_id, {_names(projection.columns)}) FROM STDIN"


@cache
def note_registered(collection: Collection) -> str:
    """Write down that descriptors were registered, which are there now. Parameters: as `note_replaced`."""
    return _note(collection, "registered", _copied(collection), before="NULL")


@cache
def note_replaced(collection: Collection) -> str:
    """Write down that descriptors are about to be replaced. Parameters: tenant, digests, author, correlation id."""
    return _note(collection, "replaced", _copied(collection), before="document")


def _copied(collection: Collection) -> str:
    return f"{collection.table} WHERE tenant_id = %(tenant)s AND digest = ANY (%(digests)s::text[]::uuid[]) ORDER BY id"


#: Where the new documents of descriptors that are replaced wait for it.
REPLACEMENTS = "import_replacements"


@cache
def create_replacements(collection: Collection) -> str:
    return f"""
CREATE TEMPORARY TABLE IF NOT EXISTS {REPLACEMENTS}_{collection.owner} ON COMMIT DELETE ROWS AS
SELECT id, tenant_id, {_names(_written(collection))} FROM {collection.table} WITH NO DATA
"""


@cache
def replace_by_replacements(collection: Collection) -> str:
    """Give the descriptors in the temporary table their new documents, and empty it. Parameter: tenant."""
    changed = ["document", *collection.columns]
    table = f"{REPLACEMENTS}_{collection.owner}"
    return f"""
WITH replacement AS (DELETE FROM {table} RETURNING *)
UPDATE {collection.table} AS descriptor
SET {", ".join(f"{name} = replacement.{name}" for name in changed)}, updated_at = now()
FROM replacement
WHERE descriptor.tenant_id = %(tenant)s AND replacement.tenant_id = descriptor.tenant_id
    AND descriptor.id = replacement.id
"""


#: What a dry run has seen already; gone with the session.
CREATE_SEEN = """
CREATE TEMPORARY TABLE IF NOT EXISTS import_seen (digest uuid PRIMARY KEY);
TRUNCATE import_seen
"""
SEE = """
INSERT INTO import_seen SELECT unnest(%(digests)s::text[])::uuid
ON CONFLICT DO NOTHING RETURNING replace(digest::text, '-', '')
"""

BEGIN_RUN = """
INSERT INTO shells_importrun AS run (tenant_id, key, sources, state, part, item, counts, report_size)
VALUES (%(tenant)s, %(key)s, %(sources)s, %(state)s, 0, 0, '{}', 0)
ON CONFLICT (key, tenant_id) DO UPDATE SET
    sources = EXCLUDED.sources, state = EXCLUDED.state, part = 0, item = 0, counts = '{}', report_size = 0,
    started_at = now(), updated_at = now(), finished_at = NULL
"""
NOTE_RUN = """
UPDATE shells_importrun SET
    part = %(part)s, item = %(item)s, counts = %(counts)s, report_size = %(report_size)s, updated_at = now(),
    finished_at = CASE WHEN %(finished)s THEN now() END
WHERE tenant_id = %(tenant)s AND key = %(key)s
"""


FORGET_LINKS = """
DELETE FROM shells_assetlinks
WHERE tenant_id = %(tenant)s AND digest = ANY (%(digests)s::text[]::uuid[])
"""
SET_LINKS = """
INSERT INTO shells_assetlinks (tenant_id, digest, identifier, document)
VALUES (%(tenant)s, %(digest)s, %(identifier)s, %(document)s)
ON CONFLICT (digest, tenant_id) DO UPDATE SET document = EXCLUDED.document, updated_at = now()
RETURNING id
"""
CLEAR_LINKS = "DELETE FROM shells_assetlink WHERE tenant_id = %(tenant)s AND links_id = %(links)s"
INSERT_LINKS = """
INSERT INTO shells_assetlink
    (tenant_id, links_id, position, name, value, pair, external_subject_id, external_subject_reference)
SELECT %(tenant)s, %(links)s, row.*
FROM json_to_recordset(%(rows)s) AS row (
    position int, name text, value text, pair bigint,
    external_subject_id text, external_subject_reference jsonb
)
"""
