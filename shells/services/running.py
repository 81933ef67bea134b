"""How the statements of `shells/statements.py` are run."""

from typing import Any

from django.db import connection
from pydantic_core import to_json


def run(sql: str, parameters: dict[str, Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)


def rows_of(sql: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def copy(sql: str, rows: bytes) -> None:
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.cursor.copy(sql) as copy:
        copy.write(rows)


def text_of(value: Any) -> str | None:
    """A value of a column as PostgreSQL reads it: text as it is, a reference as JSON."""
    return value if value is None or isinstance(value, str) else to_json(value).decode()
