"""The database backend: embedded server, liveness, and statements straight through libpq."""

import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, ProgrammingError, connection, transaction
from django.db.utils import IntegrityError
from django.test.utils import CaptureQueriesContext

from registry_project.postgresql import embedded
from registry_project.postgresql.base import DatabaseClient

backend: Any = connection


@pytest.mark.django_db
class TestFetchValue:
    def test_it_works(self) -> None:
        assert backend.fetch_row("SELECT %s::text || %s::text", ["ä", "%'\\"]) == ("ä%'\\".encode(),)
        assert backend.fetch_row("SELECT %s::int + 1", ["41"]) == (b"42",)

    def test_no_row(self) -> None:
        assert backend.fetch_row("SELECT 1 WHERE %s::boolean", ["false"]) is None

    def test_null_parameters(self) -> None:
        assert backend.fetch_row("SELECT coalesce(%s::text, 'none')", [None]) == (b"none",)

    def test_it_is_counted_where_statements_are_watched(self) -> None:
        with CaptureQueriesContext(connection) as queries:
            assert backend.fetch_row("SELECT %s::int", ["7"]) == (b"7",)
        assert len(queries) == 1

    def test_it_raises_djangos_exceptions(self, tenant_a: Any) -> None:
        with pytest.raises(IntegrityError), transaction.atomic():
            backend.fetch_row("UPDATE tenants_tenant SET validation = %s RETURNING 1", ["harsh"])
        with pytest.raises(ProgrammingError), transaction.atomic():
            backend.fetch_row("SELECT nonsense", [])

    def test_it_takes_part_in_transactions(self, tenant_a: Any) -> None:
        with transaction.atomic():
            backend.fetch_row("UPDATE tenants_tenant SET name = %s RETURNING 1", ["changed"])
            transaction.set_rollback(True)
        tenant_a.refresh_from_db()
        assert tenant_a.name == "Tenant A"


@pytest.mark.django_db(transaction=True)
class TestConnection:
    def test_a_statement_that_was_deallocated_is_prepared_again(self) -> None:
        assert backend.fetch_row("SELECT %s::int", ["1"]) == (b"1",)
        with connection.cursor() as cursor:
            cursor.execute("DEALLOCATE ALL")
        assert backend.fetch_row("SELECT %s::int", ["2"]) == (b"2",)

    def test_a_connection_that_breaks_in_the_middle_is_an_operational_error(self) -> None:
        backend.ensure_connection()
        with socket.socket(fileno=os.dup(backend.connection.pgconn.socket)) as peer:
            closing = threading.Timer(0.3, peer.shutdown, [socket.SHUT_RDWR])
            closing.start()
            with pytest.raises(OperationalError):
                backend.fetch_row("SELECT pg_sleep(5)::text || %s", ["x"])
            closing.join()
        backend.close()

    def test_a_connection_that_the_server_ended_is_not_usable(self) -> None:
        backend.ensure_connection()
        assert backend.is_usable()
        other = connection.copy()
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [backend.connection.info.backend_pid])
        other.close()
        assert not backend.is_usable()
        backend.close()
        assert not backend.is_usable()

    def test_a_connection_inside_a_transaction_is_not_idle(self) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            assert not backend.is_usable()
        assert backend.is_usable()


def test_dbshell_finds_the_embedded_server(settings: Any) -> None:
    settings_dict = connection.settings_dict
    if "embedded" not in settings_dict["OPTIONS"]:
        pytest.fail("these tests run on the embedded server: unset DATABASE_URL")
    arguments, _ = DatabaseClient.settings_to_cmd_args_env(settings_dict, ["-c", "SELECT 1"])
    assert Path(arguments[0]) == embedded.executable("psql")
    assert Path(arguments[0]).exists()
    host = arguments[arguments.index("-h") + 1]
    assert (Path(host) / ".s.PGSQL.5432").exists()


def test_a_pid_file_of_somebody_else_is_forgotten(tmp_path: Path) -> None:
    """After a crash, or in a new container, another program may have the process id of the dead server."""
    pid_file = tmp_path / "postmaster.pid"
    pid_file.write_text("1\n/somewhere\n")
    embedded._forget_dead_server(tmp_path)
    assert not pid_file.exists()
    embedded._forget_dead_server(tmp_path)
