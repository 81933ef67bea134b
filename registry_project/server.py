"""The server: the WSGI application, and `python -m registry_project.server` which serves it with granian.

With `--demo` it first migrates, makes a tenant to try things with and prints how (`make run`).
"""

import argparse
import os
from collections.abc import Callable, Iterable
from typing import Any

import django
from django.conf import settings
from django.core.cache import close_caches
from django.core.exceptions import RequestDataTooBig
from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.db import DEFAULT_DB_ALIAS, close_old_connections, connections, reset_queries
from django.http import HttpResponse
from django.utils.module_loading import import_string
from granian import Granian
from granian.constants import Interfaces
from granian.http import HTTP1Settings

from tenants import keys

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "registry_project.settings")
django.setup(set_prefix=False)

from shells.figures import keeper  # noqa: E402  (its models can be imported only now)

#: Two encoded identifiers of 2,048 four-byte characters are 21,848 bytes; the rest is for headers.
REQUEST_HEAD_BYTES = 128 * 1024


#: How much of a body that is too large is read to its end; then the connection is closed.
READ_ON_MIB = 64


class ChunkedBody:
    """A body that comes in chunks, without Content-Length; read when it is asked for, not before."""

    def __init__(self, stream: Any, limit: int) -> None:
        self.stream = stream
        self.limit = limit

    def read(self, size: int = -1) -> bytes:
        """All of the body, once. Raises RequestDataTooBig if it has more than `limit` bytes."""
        body: bytes = self.stream.read(self.limit + 1)
        if len(body) > self.limit:
            raise RequestDataTooBig("the body is too large")
        return body

    readline = read  # Django wants one; nobody reads a body line by line


class Application(WSGIHandler):
    """Django's WSGI handler, with a short way for the API and with what granian leaves to the application."""

    def load_middleware(self, is_async: bool = False) -> None:
        """Load `MIDDLEWARE`, and beside it the chain of `API_MIDDLEWARE` for requests below `API_PREFIXES`.

        Django's full stack takes a fifth of the time of a GET and gives the API nothing.
        """
        super().load_middleware(is_async)
        api: Any = convert_exception_to_response(self._get_response)  # type: ignore[attr-defined]
        for name in reversed(settings.API_MIDDLEWARE):
            api = convert_exception_to_response(import_string(name)(api))
        self._api = api
        # Looking up a setting takes half a microsecond.
        self._api_prefixes = settings.API_PREFIXES
        self._body_limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        self._debug = settings.DEBUG

    def __call__(  # type: ignore[override]  # django-stubs: a response; PEP 3333: an iterable
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        if not keeper.started:
            keeper.start()
        body = environ["wsgi.input"]
        if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
            # Django reads as many bytes as Content-Length says, none without it.
            environ["wsgi.input"] = ChunkedBody(body, self._body_limit)
            environ["CONTENT_LENGTH"] = str(self._body_limit)
        if environ["PATH_INFO"].startswith(self._api_prefixes):
            response = self._answer(environ, start_response)
        else:
            page = super().__call__(environ, start_response)
            if not isinstance(page, HttpResponse):  # it streams
                return page
            page.close()
            response = page
        if response.status_code == 413:
            _read_on(body)
        # A list goes out in one piece with a Content-Length; granian sends any other iterable in chunks.
        return [response.content]

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> HttpResponse:
        """As the parent's `__call__`, for the API.

        It sends no signals: what would listen to them is called, or has nothing to do. The addresses of the
        thread are those of the project, and a refused request has its event already.
        """
        _look_at_connection()
        if self._debug:
            reset_queries()
        request = self.request_class(environ)
        response: HttpResponse = self._api(request)
        request.close()
        headers = list(response.headers._store.values())  # in a tenth of the time of items()
        start_response(f"{response.status_code} {response.reason_phrase}", headers)
        return response


def _read_on(body: Any) -> None:
    """Read what a client still sends of a refused body: until it has sent it, it reads no answer."""
    for _ in range(READ_ON_MIB):
        if not body.read(1024 * 1024):
            return


application = Application()


def _look_at_connection(**kwargs: Any) -> None:
    """Before a request: drop a connection that broke, and have it checked before it is used."""
    connections[DEFAULT_DB_ALIAS].close_if_unusable_or_obsolete()


# Housekeeping around each request that has nothing to keep here: no cache is configured, statements are
# collected in DEBUG only, there is one connection, and what a request leaves of it the next one looks at.
request_finished.disconnect(close_caches)
request_finished.disconnect(close_old_connections)
request_started.disconnect(close_old_connections)
request_started.connect(_look_at_connection)
if not settings.DEBUG:
    request_started.disconnect(reset_queries)


def main() -> None:
    """Serve until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m registry_project.server", description=__doc__)
    parser.add_argument("--demo", action="store_true", help="migrate, make a demo tenant, print its use")
    if parser.parse_args().demo:
        call_command("migrate", verbosity=0)
        keys.signing_key()
        call_command("demo")
    else:
        call_command("check", databases=["default"], deploy=not settings.DEBUG, fail_level="ERROR")
    connections[DEFAULT_DB_ALIAS].ensure_connection()  # an embedded server is this process's to stop
    from shells import bulk, uploads  # their models can be imported only now

    while bulk.run_next():  # what a process that was killed left behind
        pass
    uploads.start_waiting()
    connections.close_all()  # the workers are forked from here
    Granian(
        "registry_project.server:application",
        address=settings.HOST,
        port=settings.PORT,
        interface=Interfaces.WSGI,
        workers=settings.WORKERS,
        blocking_threads=settings.BLOCKING_THREADS,
        websockets=False,
        http1_settings=HTTP1Settings(max_buffer_size=REQUEST_HEAD_BYTES),
        respawn_failed_workers=True,
        workers_kill_timeout=5,
        log_enabled=settings.DEBUG,
    ).serve()


if __name__ == "__main__":
    main()
