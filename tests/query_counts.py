"""How many statements each operation takes, kept in a file: a new one is a line in review.

`UPDATE_QUERY_COUNTS=1 pytest -n 0 tests/test_query_counts.py` writes the file anew.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection
from django.test.utils import CaptureQueriesContext

FILE = Path(__file__).with_suffix(".json")


@contextmanager
def expected_query_count(operation: str) -> Iterator[CaptureQueriesContext]:
    """Fail unless the block takes as many statements as the file says of `operation`."""
    counts = json.loads(FILE.read_text()) if FILE.exists() else {}
    with CaptureQueriesContext(connection) as queries:
        yield queries
    if os.environ.get("UPDATE_QUERY_COUNTS"):
        FILE.write_text(json.dumps({**counts, operation: len(queries)}, indent=2, sort_keys=True) + "\n")
        return
    statements = "\n".join(query["sql"][:200] for query in queries.captured_queries)
    assert len(queries) == counts.get(operation), f"{operation} took {len(queries)} statements:\n{statements}"
