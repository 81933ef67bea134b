"""Another registry over HTTP (IDTA-01002-3, AAS registry API): its shells, page by page."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import httpx2
from authlib.common.errors import AuthlibBaseError
from pydantic_core import from_json, to_json

from shells.sources.items import Item, Unreadable

PAGE_ITEMS = 500
#: How often a page is asked for that does not come, and how long to wait before the second time.
ATTEMPTS = 5
FIRST_WAIT_SECONDS = 1.0


class Registry:
    """The shells of another registry, below `url`; `client` is what it is asked with, and closed at the end."""

    def __init__(self, url: str, client: httpx2.Client) -> None:
        self.names: Sequence[str] = [url]
        self.total: int | None = None
        self.read = 0
        self._url = url.rstrip("/") + "/shell-descriptors"
        self._client = client

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

    def _get(self, parameters: dict[str, str | int]) -> httpx2.Response:
        """One page; what passes is waited for."""
        wait = FIRST_WAIT_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            try:
                response = self._client.get(self._url, params=parameters)
            except httpx2.TransportError as error:
                reason = f"{self._url} cannot be reached: {error or type(error).__name__}"
            except (AuthlibBaseError, httpx2.HTTPStatusError, ValueError, KeyError) as error:
                raise Unreadable(f"no token can be had: {error or type(error).__name__}") from None
            else:
                if response.status_code == 200:
                    return response
                reason = f"{self._url} answers {response.status_code}"
                if response.status_code not in (429, 502, 503, 504):
                    raise Unreadable(reason)
            if attempt < ATTEMPTS:
                time.sleep(wait)
                wait *= 2
        raise Unreadable(reason)
