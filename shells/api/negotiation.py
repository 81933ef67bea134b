"""The API reads and writes JSON, and nothing else."""

from collections.abc import Iterable
from typing import Any

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class JSONOnly(DefaultContentNegotiation):
    """JSON whatever `Accept` asks for: a client that forgot the header still understands the answer."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class JSONBody(BaseParser):
    """Hands the body of a request over as bytes: its model reads it, once."""

    media_type = "application/json"

    def parse(  # type: ignore[override]  # the stubs know dictionaries only; DRF takes any object
        self, stream: Any, media_type: str | None = None, parser_context: Any = None
    ) -> bytes:
        body: bytes = parser_context["request"]._request.body
        return body
