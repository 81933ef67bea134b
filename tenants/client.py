"""Calls to other registries, with a token that is always good (contract §5.3 to §5.6).

Both strategies of contract §5.6: a token is renewed before it expires, and when an answer is 401 nevertheless (a clock
that is wrong, a key that was withdrawn), the request is sent once more with a new one.
"""

import threading
import time
from contextlib import AbstractContextManager
from typing import Any, cast

from authlib.integrations.httpx_client import OAuth2Client
from httpx2 import USE_CLIENT_DEFAULT, Response

#: A token is renewed so long before it expires; one that lives shorter than four times that, in its last quarter.
MARGIN_SECONDS = 60.0


class RegistryClient(OAuth2Client):  # type: ignore[misc]
    """An httpx client of one module at another registry; threads may share it.

    `token_endpoint` is the address of contract §5.3 there, `scope` names the target client id of §5.4. `margin`
    None leaves renewal to the second strategy. What else is given goes to httpx, such as `base_url` and `timeout`.
    A body must be one that can be sent again: JSON, a form, bytes.

    Requests raise what httpx raises, and Authlib's OAuthError if there is no token to be had.
    """

    def __init__(
        self,
        token_endpoint: str,
        client_id: str,
        client_secret: str,
        *,
        scope: str,
        margin: float | None = MARGIN_SECONDS,
        **options: Any,
    ) -> None:
        super().__init__(
            client_id,
            client_secret,
            token_endpoint_auth_method="client_secret_post",  # noqa: S106  (a method, not a secret)
            scope=scope,
            token_endpoint=token_endpoint,
            grant_type="client_credentials",
            **options,
        )
        self._margin = margin
        self._renewing = threading.Lock()

    def request(
        self,
        method: str,
        url: Any,
        withhold_token: bool = False,
        auth: Any = USE_CLIENT_DEFAULT,
        **options: Any,
    ) -> Response:
        """Send a request with a good token; when the answer is 401, once more with a new one."""
        if withhold_token or auth is not USE_CLIENT_DEFAULT:  # a token request among others
            return cast(Response, super().request(method, url, withhold_token, auth, **options))
        if not self.token:
            self._renew(None)
        response: Response = super().request(method, url, **options)
        if response.status_code != 401:
            return response
        self._renew(response.request.headers["Authorization"].removeprefix("Bearer "))
        return cast(Response, super().request(method, url, **options))

    def stream(self, *arguments: Any, **options: Any) -> AbstractContextManager[Response]:
        """As httpx's, with a token that is not about to expire. An answer of 401 is the caller's."""
        if not self.token:
            self._renew(None)
        return cast(AbstractContextManager[Response], super().stream(*arguments, **options))

    def ensure_active_token(self, token: Any = None) -> bool:
        """Renew the token if it is about to expire; Authlib calls this before each request."""
        token = token or self.token
        if self._is_due(token):
            self._renew(token["access_token"])
        return True

    def _is_due(self, token: dict[str, Any]) -> bool:
        expires_at, lifetime = token.get("expires_at"), token.get("expires_in")
        if self._margin is None or expires_at is None or lifetime is None:
            return False
        return bool(time.time() >= expires_at - min(self._margin, lifetime / 4))

    def _renew(self, old: str | None) -> None:
        """Get a new token unless another thread has done so since `old` was used."""
        with self._renewing:
            current = self.token and self.token["access_token"]
            if current == old:
                self.fetch_token()
