"""The services that a token can be asked for: target client ids and how long they are valid (contract §5.4)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class TargetClient:
    """A service that tokens are issued for, under its public client id."""

    client_id: str
    is_this_registry: bool
    until: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        return self.until is None or now < self.until


def issuable(targets: Iterable[TargetClient], now: datetime) -> set[str]:
    """The client ids that a token may be asked for at `now`."""
    return {target.client_id for target in targets if target.is_valid(now)}


def accepted(targets: Iterable[TargetClient], now: datetime) -> set[str]:
    """The client ids of which a token's audience must name one to be accepted here at `now`."""
    return {target.client_id for target in targets if target.is_this_registry and target.is_valid(now)}
