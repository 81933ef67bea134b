"""The database backend of the project: Django's for PostgreSQL, with three additions.

* Where `OPTIONS["embedded"]` names a directory, the first connection starts a server there
  (`embedded.py`), so that a fresh machine needs nothing but Python.
* A persistent connection whose server went away is found out before it is used, without asking the
  server: an idle connection has nothing to read unless the server said goodbye.
* `fetch_row` runs a statement of the request path straight through libpq, in half of a cursor's CPU time
  (docs/decisions/0001-statements-through-libpq.md).
"""

import re
import select
from collections.abc import Sequence
from functools import cache
from itertools import count, repeat
from pathlib import Path
from typing import Any

import psycopg
from django.db.backends.postgresql import base, client
from psycopg.pq import DiagnosticField, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from registry_project.postgresql import embedded


class DatabaseClient(client.DatabaseClient):
    """`manage.py dbshell`, which finds the embedded server and its psql."""

    @classmethod
    def settings_to_cmd_args_env(
        cls, settings_dict: dict[str, Any], parameters: Any
    ) -> tuple[list[str], dict[str, str] | None]:
        directory = settings_dict["OPTIONS"].get("embedded")
        if directory is None:
            return super().settings_to_cmd_args_env(settings_dict, parameters)
        host = embedded.socket_directory(Path(directory))
        arguments, env = super().settings_to_cmd_args_env({**settings_dict, "HOST": host}, parameters)
        return [str(embedded.executable("psql")), *arguments[1:]], env


class DatabaseWrapper(base.DatabaseWrapper):
    client_class = DatabaseClient

    def get_connection_params(self) -> dict[str, Any]:
        params: dict[str, Any] = super().get_connection_params()
        directory = params.pop("embedded", None)
        if directory is not None:
            params["host"] = embedded.socket_directory(Path(directory))
        return params

    def is_usable(self) -> bool:
        """Whether the connection is alive, by looking at its socket instead of sending a query.

        Between two requests the server sends nothing, except that it is shutting down or ended the
        session; then, and when the peer is gone, the socket is readable.
        """
        if self.connection is None or self.connection.closed:
            return False
        pgconn = self.connection.pgconn
        if pgconn.transaction_status != TransactionStatus.IDLE:
            return False
        poll = select.poll()
        poll.register(pgconn.socket, select.POLLIN | select.POLLPRI)
        return not poll.poll(0)

    def fetch_row(self, sql: str, params: Sequence[str | None]) -> tuple[bytes | None, ...] | None:
        """Run `sql` as a prepared statement; return its first row, None without one.

        Parameters are the `%s` of `sql`, in their text form; values come in their text form too, in UTF-8.
        Raises what a cursor raises. Inside a transaction, and where statements are watched (DEBUG, tests that
        count them, execute wrappers), a cursor runs them, to the same effect.
        """
        if self.in_atomic_block or self.queries_logged or self.execute_wrappers:
            with self.cursor() as cursor:
                cursor.execute(sql, params)
                row = cursor.fetchone()
            return (
                None
                if row is None
                else tuple(None if value is None else str(value).encode() for value in row)
            )
        self.close_if_health_check_failed()
        if self.connection is None:
            self.ensure_connection()
        encoded = [None if value is None else value.encode() for value in params]
        with self.wrap_database_errors:
            result = self._execute_prepared(sql, encoded)
            if result.status != ExecStatus.TUPLES_OK:
                state = result.error_field(DiagnosticField.SQLSTATE)
                if state is None:  # not PostgreSQL's error but libpq's: the connection broke
                    raise psycopg.OperationalError(result.error_message.decode(errors="replace").strip())
                if state != b"26000":
                    raise psycopg.errors.error_from_result(result)
                # A pooler or somebody's DEALLOCATE took the statement away: prepare it again.
                self.connection.__dict__.pop("registry_statements")
                result = self._execute_prepared(sql, encoded)
            if not result.ntuples:
                return None
            return tuple(map(result.get_value, repeat(0), range(result.nfields)))

    def _execute_prepared(self, sql: str, params: Sequence[bytes | None]) -> PGresult:
        """Run `sql`, prepared on this connection now or before. psycopg prepares nothing itself here."""
        connection: Any = self.connection
        names: dict[str, bytes] = connection.__dict__.setdefault("registry_statements", {})
        if sql not in names:
            name = b"registry_%d" % len(names)
            result = connection.pgconn.prepare(name, _with_numbered_parameters(sql))
            if result.status != ExecStatus.COMMAND_OK:
                raise psycopg.errors.error_from_result(result)
            names[sql] = name
        executed: PGresult = connection.pgconn.exec_prepared(names[sql], params)
        return executed


@cache
def _with_numbered_parameters(sql: str) -> bytes:
    numbers = count(1)
    return re.sub("%s", lambda _: f"${next(numbers)}", sql).encode()
