"""Lengths of time as people type them: 90s, 30m, 24h, 7d."""

import re
from datetime import timedelta

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_duration = re.compile(r"(\d{1,5})([smhd])", re.ASCII)


def parse(text: str) -> timedelta:
    """The length of time that `text` says. Raises ValueError, with a sentence."""
    match = _duration.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no length of time such as 90s, 30m, 24h or 7d")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
