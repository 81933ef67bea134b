"""What a caller who reads for somebody sees of asset ids, decided in SQL (docs/identity.md).

`subject` is that somebody; an asset id is visible if it has no external subject, if one of the keys of its
external subject is `subject`, or if one is PUBLIC_READABLE.
"""

from django.db import migrations

CREATE = """
-- An asset id by its columns: value of the first key, and the whole reference if it is unusual.
CREATE FUNCTION shells_sees(subject text, first_key text, reference jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(
        first_key IN (nullif(subject, ''), 'PUBLIC_READABLE')
        OR EXISTS (
            SELECT FROM jsonb_path_query(reference, '$.keys[*].value') AS value
            WHERE value #>> '{}' IN (nullif(subject, ''), 'PUBLIC_READABLE')
        )
        OR (first_key IS NULL AND reference IS NULL),
        FALSE
    )
$$;

-- The visible ones of a JSON array of asset ids, as they are written; NULL if there are none.
CREATE FUNCTION shells_visible_asset_ids(subject text, asset_ids json) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT '[' || string_agg(item::text, ',' ORDER BY place) || ']'
    FROM json_array_elements(asset_ids) WITH ORDINALITY AS items (item, place)
    WHERE item -> 'externalSubjectId' IS NULL
        OR EXISTS (
            SELECT FROM json_array_elements(item #> '{externalSubjectId,keys}') AS keys (key)
            WHERE key ->> 'value' IN (nullif(subject, ''), 'PUBLIC_READABLE')
        )
$$;

-- A shell descriptor with its visible asset ids; all else as it is, in its order.
CREATE FUNCTION shells_visible(subject text, document text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT '{' || string_agg(to_json(name)::text || ':' || member, ',' ORDER BY place) || '}'
    FROM (
        SELECT name, place, CASE name
            WHEN 'specificAssetIds' THEN shells_visible_asset_ids(subject, value) ELSE value::text
        END AS member
        FROM json_each(document::json) WITH ORDINALITY AS members (name, value, place)
    ) AS members
    WHERE member IS NOT NULL
$$;
"""
DROP = """
DROP FUNCTION shells_visible(text, text);
DROP FUNCTION shells_visible_asset_ids(text, json);
DROP FUNCTION shells_sees(text, text, jsonb);
"""


class Migration(migrations.Migration):
    dependencies = [("shells", "0006_asset_link_subjects")]

    operations = [migrations.RunSQL(CREATE, DROP)]
