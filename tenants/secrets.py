"""Client secrets: random, shown once, stored as keyed digests.

A digest keyed with `SECRET_DIGEST_KEY` is enough for 256 random bits, and takes microseconds; a password
hash would cost each token half a second and protect nothing more.
"""

import hashlib
import hmac
import secrets

from django.conf import settings

#: The credentials of `make run`, the same on every machine. Outside DEBUG the secret opens nothing, and the
#: server does not start with the password (tenants.E003).
DEMO_CLIENT_ID = "demo-module"
DEMO_SECRET = "demo-secret-for-trying-things-out"  # noqa: S105
DEMO_ADMIN = "admin"
DEMO_ADMIN_PASSWORD = "admin-for-trying-things-out"  # noqa: S105


def new_client_id() -> str:
    """A public client id: 25 letters and digits, as the contract's look."""
    alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
    return "".join(secrets.choice(alphabet) for _ in range(25))


def new_secret() -> str:
    """A client secret: 256 random bits in 43 characters that need no escaping in a form or a shell."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """The keyed SHA-256 digest under which `secret` is stored: 64 hexadecimal digits."""
    return hmac.new(settings.SECRET_DIGEST_KEY.encode(), secret.encode(), hashlib.sha256).hexdigest()
