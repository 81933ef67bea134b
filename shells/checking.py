"""What the processes of an import do: check descriptors, and make the rows that are copied in. No Django."""

import gc
import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import parent_process

from pydantic_core import from_json

from shells.collections import COLLECTIONS
from shells.copying import Prepared, prepare
from shells.defects import Defect, InvalidDescriptor
from shells.sources.items import Item


@dataclass(frozen=True, slots=True)
class Refused:
    """An item that is no acceptable descriptor."""

    #: Its id, if it has one.
    id: str | None
    defects: list[Defect]


def check(
    collection_name: str, tenant_pk: int, strict: bool, items: Sequence[Item]
) -> list[Prepared | Refused]:
    """The rows of each item, or what is wrong with it."""
    return [_check_one(collection_name, tenant_pk, strict, item) for item in items]


def _check_one(collection_name: str, tenant_pk: int, strict: bool, item: Item) -> Prepared | Refused:
    if item.defect is not None:
        return Refused(None, [Defect("", item.defect)])
    collection = COLLECTIONS[collection_name]
    try:
        value = from_json(item.content, allow_inf_nan=False)
    except ValueError as error:
        return Refused(None, [Defect("", f"no JSON: {error}")])
    try:
        return prepare(collection, tenant_pk, collection.check(value, strict=strict))
    except InvalidDescriptor as error:
        identifier = value.get("id") if isinstance(value, dict) else None
        return Refused(identifier if isinstance(identifier, str) else None, error.defects)


def start_process() -> None:
    """What a process of an import does first."""
    # Ctrl-C goes to all processes of a terminal; the one that writes says what becomes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Descriptors are trees, and go when they are let go of: looking for cycles among them often takes as long
    # as checking them.
    gc.freeze()
    gc.set_threshold(100_000)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
