"""What PostgreSQL can do and Django cannot declare, for the tables of 0003; as in 0002.

* Foreign keys `(tenant, owner)`, compression and room for documents of standalone submodels.
* How many different asset ids and submodels there are: the planner's own guess from a sample is far too low.
  And that a pair says tenant, name and value: it would take all four for independent.
* References that were registered before there was a column for the unusual ones.
"""

from django.db import migrations

KEYS = [
    ("standaloneendpoint", "submodel_id", "shells_standalonesubmodel"),
    ("assetlink", "links_id", "shells_assetlinks"),
]

COMPRESS = """
DO $$ BEGIN
    IF EXISTS (
        SELECT FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)
    ) THEN
        ALTER TABLE shells_standalonesubmodel ALTER COLUMN document SET COMPRESSION lz4;
    END IF;
    ALTER TABLE shells_standalonesubmodel SET (toast_tuple_target = 4080);
END $$
"""

DISTINCT = """
ALTER TABLE shells_assetid ALTER COLUMN pair SET (n_distinct = -0.3);
ALTER TABLE shells_assetlink ALTER COLUMN pair SET (n_distinct = -0.3);
ALTER TABLE shells_submodel ALTER COLUMN digest SET (n_distinct = -0.9);
CREATE STATISTICS shells_assetid_pair (dependencies) ON pair, tenant_id, name, value FROM shells_assetid;
"""
NOT_DISTINCT = """
DROP STATISTICS shells_assetid_pair;
ALTER TABLE shells_assetid ALTER COLUMN pair RESET (n_distinct);
ALTER TABLE shells_assetlink ALTER COLUMN pair RESET (n_distinct);
ALTER TABLE shells_submodel ALTER COLUMN digest RESET (n_distinct);
"""

REFERENCES = """
UPDATE shells_{table} AS row SET {column} = reference
FROM (
    SELECT tenant_id, shell.id, ordinality - 1 AS position, item -> '{member}' AS reference
    FROM shells_shell AS shell
    CROSS JOIN jsonb_array_elements(document::jsonb -> '{list}') WITH ORDINALITY AS item (item)
) AS found
WHERE row.tenant_id = found.tenant_id AND row.shell_id = found.id AND row.position = found.position
    AND NOT coalesce(
        jsonb_array_length(reference -> 'keys') = 1 AND reference ->> 'type' = 'ExternalReference'
        AND reference #>> '{{keys,0,type}}' = 'GlobalReference' AND reference #> '{{keys,0,value}}' IS NOT NULL,
        reference IS NULL
    )
"""


class Migration(migrations.Migration):
    dependencies = [("shells", "0003_whole_registry_api")]

    operations = [
        *(
            migrations.RunSQL(
                f"ALTER TABLE shells_{table} ADD CONSTRAINT {table}_belongs_to_owner "
                f"FOREIGN KEY (tenant_id, {column}) REFERENCES {owner} (tenant_id, id) ON DELETE CASCADE",
                f"ALTER TABLE shells_{table} DROP CONSTRAINT {table}_belongs_to_owner",
            )
            for table, column, owner in KEYS
        ),
        migrations.RunSQL(COMPRESS, migrations.RunSQL.noop),
        migrations.RunSQL(DISTINCT, NOT_DISTINCT),
        *(
            migrations.RunSQL(
                REFERENCES.format(table=table, column=column, list=list_, member=member),
                migrations.RunSQL.noop,
            )
            for table, column, list_, member in [
                ("submodel", "semantic_reference", "submodelDescriptors", "semanticId"),
                ("assetid", "external_subject_reference", "specificAssetIds", "externalSubjectId"),
            ]
        ),
    ]
