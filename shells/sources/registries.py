"""Another registry over HTTP (IDTA-01002-3, AAS registry API): its shells, page by page."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
from pydantic_core import from_json, to_json

from shells.sources.items import Item, Unreadable

PAGE_ITEMS = 500
TIMEOUT_SECONDS = 60
#: A token is renewed so long before it expires (contract §5.6).
RENEWAL_MARGIN_SECONDS = 60
#: How often a page is asked for that does not come, and how long to wait before the second time.
ATTEMPTS = 5
FIRST_WAIT_SECONDS = 1.0


@dataclass(frozen=True)
class Credentials:
    """How to get tokens: from an address, by the client-credentials flow. Without one, none are sent."""

    token_url: str = ""
    client_id: str = ""
    client_secret: str = ""
    scope: str = ""


class Registry:
    """The shells of another registry, below `url`."""

    def __init__(
        self, url: str, credentials: Credentials, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.names: Sequence[str] = [url]
        self.total: int | None = None
        self.read = 0
        self._url = url.rstrip("/") + "/shell-descriptors"
        self._credentials = credentials
        self._client = httpx.Client(timeout=TIMEOUT_SECONDS, transport=transport)
        self._token: str | None = None
        self._expires = 0.0

    def parts(self) -> Iterator[tuple[str, Iterator[Item]]]:
        yield self.names[0], self._items()

    def state(self) -> str:
        raise Unreadable("another registry may have changed meanwhile; use --on-conflict skip")

    def _items(self) -> Iterator[Item]:
        cursor: str | None = None
        with self._client:
            while True:
                page = self._page(cursor)
                for descriptor in page["result"]:
                    yield Item(None, to_json(descriptor))
                metadata = page.get("paging_metadata")
                following = metadata.get("cursor") if isinstance(metadata, dict) else None
                if not following:
                    return
                if following == cursor:
                    raise Unreadable("its pages have no end: the same cursor came twice")
                cursor = following

    def _page(self, cursor: str | None) -> dict[str, Any]:
        parameters: dict[str, str | int] = {"limit": PAGE_ITEMS}
        if cursor:
            parameters["cursor"] = cursor
        response = self._get(parameters)
        self.read += len(response.content)
        try:
            page = from_json(response.content)
        except ValueError as error:
            raise Unreadable(f"{self._url} answers with what is no JSON: {error}") from None
        if not isinstance(page, dict) or not isinstance(page.get("result"), list):
            raise Unreadable(f"{self._url} answers with what is no list of descriptors")
        return page

    def _get(self, parameters: dict[str, str | int]) -> httpx.Response:
        """One page; what passes is waited for. A token that is refused is renewed, once."""
        renewed = False
        wait = FIRST_WAIT_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            try:
                response = self._client.get(self._url, params=parameters, headers=self._authorization())
            except httpx.TransportError as error:
                reason = f"{self._url} cannot be reached: {error or type(error).__name__}"
            else:
                if response.status_code == 200:
                    return response
                reason = f"{self._url} answers {response.status_code}"
                if response.status_code == 401 and self._token is not None and not renewed:
                    renewed = True
                    self._token = None
                    continue
                if response.status_code not in (429, 502, 503, 504):
                    raise Unreadable(reason)
            if attempt < ATTEMPTS:
                time.sleep(wait)
                wait *= 2
        raise Unreadable(reason)

    def _authorization(self) -> dict[str, str]:
        if not self._credentials.token_url:
            return {}
        if self._token is None or time.monotonic() > self._expires - RENEWAL_MARGIN_SECONDS:
            self._renew()
        return {"Authorization": f"Bearer {self._token}"}

    def _renew(self) -> None:
        form = {
            "grant_type": "client_credentials",
            "client_id": self._credentials.client_id,
            "client_secret": self._credentials.client_secret,
            "scope": self._credentials.scope,
        }
        response = self._client.post(
            self._credentials.token_url, data=form, headers={"cache-control": "no-cache"}
        )
        try:
            answer = response.raise_for_status().json()
            self._token = str(answer["access_token"])
            lifetime = float(answer.get("expires_in", 3600))
        except (httpx.HTTPStatusError, ValueError, KeyError, TypeError):
            raise Unreadable(
                f"{self._credentials.token_url} gives no token: it answers {response.status_code}"
            ) from None
        # A token that lives shorter than the margin is used until it is refused.
        self._expires = time.monotonic() + max(lifetime, RENEWAL_MARGIN_SECONDS + 1)
