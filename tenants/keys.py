"""The keys that sign tokens: PEM files in `SIGNING_KEYS_DIR`.

The file whose name sorts last signs; every file verifies. A key is rotated by adding a file whose name
sorts later, and retired by deleting its file once the tokens it signed have expired. Running processes
notice a change of the directory by themselves.
"""

import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import structlog
from django.conf import settings
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, RSAKey

logger = structlog.get_logger(__name__)

ALGORITHM = "RS256"
MINIMUM_BITS = 2048
RECHECK_SECONDS = 5


class NoSigningKey(Exception):
    """No key can be had from SIGNING_KEYS_DIR; the message says why."""


@dataclass
class _Loaded:
    """The keys as last read, oldest first."""

    directory: Path | None = None
    changed_ns: int = 0
    checked: float = 0.0
    problem: str = ""
    keys: list[RSAKey] = field(default_factory=list)


_loaded = _Loaded()


def signing_key() -> RSAKey:
    """The newest key. Raises NoSigningKey."""
    return _keys()[-1]


def verification_keys() -> KeySet:
    """All keys, each with its RFC 7638 thumbprint as `kid`. Raises NoSigningKey."""
    return KeySet(list(_keys()))


def jwks() -> dict[str, list[dict[str, object]]]:
    """The public halves of all keys as a JSON Web Key Set (RFC 7517 §5). Raises NoSigningKey."""
    return {
        "keys": [
            {**key.as_dict(private=False), "kid": key.kid, "use": "sig", "alg": ALGORITHM} for key in _keys()
        ]
    }


def _keys() -> list[RSAKey]:
    directory = Path(settings.SIGNING_KEYS_DIR)
    now = time.monotonic()
    if directory == _loaded.directory and now - _loaded.checked < RECHECK_SECONDS:
        return _loaded.keys
    try:
        _reload(directory)
    except NoSigningKey as error:
        if directory != _loaded.directory:
            raise
        # A file that is just being written, say: what was read before still serves.
        _loaded.problem = str(error)
        logger.error("signing_keys_not_reloaded", reason=str(error))
    _loaded.checked = now
    return _loaded.keys


def problem() -> str:
    """Why the keys cannot be read or read again; empty if they can."""
    try:
        _keys()
    except NoSigningKey as error:
        return str(error)
    return _loaded.problem


def _reload(directory: Path) -> None:
    """Read the keys if the directory has changed since. Raises NoSigningKey and changes nothing then."""
    if settings.DEBUG:
        _make_first_key(directory)
    try:
        changed_ns = directory.stat().st_mtime_ns
    except OSError as error:
        raise NoSigningKey(f"SIGNING_KEYS_DIR {directory} cannot be read: {error.strerror}") from None
    if directory != _loaded.directory or changed_ns != _loaded.changed_ns or _loaded.problem:
        _loaded.keys = _read(directory)
        _loaded.directory, _loaded.changed_ns, _loaded.problem = directory, changed_ns, ""


def _read(directory: Path) -> list[RSAKey]:
    keys = []
    for path in sorted(directory.glob("*.pem")):
        try:
            key = RSAKey.import_key(path.read_bytes(), {"use": "sig", "alg": ALGORITHM})
        except (OSError, ValueError, JoseError):
            raise NoSigningKey(f"{path} is not a private RSA key in PEM form") from None
        if not key.is_private or key.raw_value.key_size < MINIMUM_BITS:
            raise NoSigningKey(f"{path} must hold a private RSA key of at least {MINIMUM_BITS} bits")
        key.ensure_kid()
        keys.append(key)
    if not keys:
        raise NoSigningKey(f"there is no *.pem file in SIGNING_KEYS_DIR {directory}")
    return keys


def _make_first_key(directory: Path) -> None:
    """In development: make a key unless there is one. Of two processes at once, one wins."""
    if any(directory.glob("*.pem")):
        return
    directory.mkdir(parents=True, exist_ok=True)
    pem = RSAKey.generate_key(MINIMUM_BITS).as_pem(private=True)
    descriptor, name = tempfile.mkstemp(dir=directory)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
        os.link(name, directory / "development.pem")
    except FileExistsError:
        pass
    finally:
        os.unlink(name)
