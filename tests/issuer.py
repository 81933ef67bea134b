"""A foreign issuer on loopback: keys, a discovery document, and tokens with whatever claims a test wants."""

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey

Answer = Callable[[BaseHTTPRequestHandler], None]


class Issuer:
    """What it publishes can be changed at any time; `requests` are the paths that were asked for."""

    def __init__(self) -> None:
        self.first_key = RSAKey.generate_key(2048)
        self.keys: list[Key] = [self.first_key]
        self.requests: list[str] = []
        self.answers: dict[str, Answer] = {}
        self.down = False
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.requests.append(self.path)
                with contextlib.suppress(OSError):  # who asked has gone
                    issuer.answer(self)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *arguments: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.jwks_uri = f"{self.url}/keys"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        if self.down:
            reply(handler, b"", 503)
        elif handler.path in self.answers:
            self.answers[handler.path](handler)
        elif handler.path == "/keys":
            reply(handler, json.dumps({"keys": [self.published(key) for key in self.keys]}).encode())
        elif handler.path == "/.well-known/openid-configuration":
            reply(handler, json.dumps({"issuer": self.url, "jwks_uri": self.jwks_uri}).encode())
        else:
            reply(handler, b"", 404)

    @staticmethod
    def published(key: Key) -> dict[str, Any]:
        return {**key.as_dict(private=False), "kid": key.thumbprint()}

    def token(self, header: dict[str, Any] | None = None, key: Key | None = None, **changes: Any) -> str:
        """A good access token, with `changes` of its claims; None takes a claim out."""
        key = key or self.keys[-1]
        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": self.url,
            "aud": "registry",
            "sub": "robot",
            "client_id": "robot",
            "iat": now,
            "exp": now + 300,
            "jti": str(uuid.uuid4()),
            "roles": ["editor"],
            **changes,
        }
        return jwt.encode(
            {"alg": algorithm(key), "typ": "at+jwt", "kid": key.thumbprint(), **(header or {})},
            {name: value for name, value in claims.items() if value is not None},
            key,
            algorithms=["RS256", "PS256", "ES256", "Ed25519", "HS256"],
        )


def algorithm(key: Key) -> str:
    if isinstance(key, ECKey):
        return "ES256"
    return "Ed25519" if isinstance(key, OKPKey) else "RS256"


def reply(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body)))
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


@contextlib.contextmanager
def running_issuer(kind: type[Issuer] = Issuer) -> Iterator[Issuer]:
    issuer = kind()
    thread = threading.Thread(target=issuer.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield issuer
    finally:
        issuer.server.shutdown()
        thread.join()
        issuer.server.server_close()
