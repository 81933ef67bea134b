"""The real server process on a database of its own, as `make run` starts it."""

import atexit
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO

import httpx2
import psutil

ROOT = Path(__file__).parent.parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@cache
def _prepared() -> Path:
    """What the first start leaves, made once by each process of the tests: a database, the demo in it, keys."""
    server = Server(Path(tempfile.mkdtemp(prefix="registry-")), empty=True)
    try:
        server.start()
    finally:
        server.close()
    atexit.register(shutil.rmtree, server.directory, ignore_errors=True)
    return server.directory / "var"


class Server:
    """`python -m registry_project.server --demo`, with everything it owns under `directory`.

    It finds what a start before this one has left; with `empty`, nothing.
    """

    def __init__(self, directory: Path, *, empty: bool = False) -> None:
        self.directory = directory
        if not empty:  # the database belongs to a user of its own
            subprocess.run(["cp", "-a", _prepared(), directory / "var"], check=True)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},
            "VAR_DIR": str(directory / "var"),
            "PORT": str(self.port),
            "WORKERS": "2",
        }
        self.log: IO[bytes] = open(directory / "log", "ab")  # noqa: SIM115  (open as long as the server)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Server":
        self.process = subprocess.Popen(
            [sys.executable, "-m", "registry_project.server", "--demo"],
            cwd=ROOT,
            env=self.environment,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(httpx2.TransportError):
                httpx2.get(f"{self.url}/health/live")
                return self
            assert self.process.poll() is None, self.output()
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.1)

    def manage(self, *arguments: str, stdin: bytes = b"") -> str:
        """What `manage.py` prints with these arguments, beside the running server."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, input=stdin, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def output(self) -> str:
        return (self.directory / "log").read_text()

    def interrupt(self) -> None:
        """Ctrl-C: the terminal sends SIGINT to the whole process group."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(30)

    def kill(self) -> None:
        """The power goes: the server, its workers and its database end at once, without a word."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        for process in self.database_processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait(30)

    def database_processes(self) -> list[psutil.Process]:
        """The processes of the embedded PostgreSQL, the postmaster first."""
        pid_file = self.directory / "var" / "postgresql" / "postmaster.pid"
        try:
            postmaster = psutil.Process(int(pid_file.read_text().splitlines()[0]))
            return [postmaster, *postmaster.children(recursive=True)]
        except (FileNotFoundError, psutil.NoSuchProcess):
            return []

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.interrupt()
        self.log.close()


@contextlib.contextmanager
def running_server(directory: Path, *, empty: bool = False) -> Iterator[Server]:
    server = Server(directory, empty=empty)
    try:
        yield server.start()
    finally:
        server.close()
