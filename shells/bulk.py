"""Many descriptors in one request, all or none (aas-registry-api.md §6).

A request is written down and answered; then it is carried out, by a thread of this process. The transaction
that changes the descriptors also writes down what came of it. So it happens once, whatever ends in between:
what a killed process leaves behind, the next one carries out.
"""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from shells import services
from shells.collections import COLLECTIONS, Collection
from shells.defects import Defect, InvalidDescriptor
from shells.descriptors import Document, check_identifiers, read_json
from shells.models import BulkOperation
from shells.services import Author
from tenants.models import Tenant, Validation

logger = structlog.get_logger(__name__)

Verb = BulkOperation.Verb
State = BulkOperation.State
#: How often a process that had work looks for what another one left behind.
LOOK_AGAIN_SECONDS = 30


def accept(tenant_pk: int, verb: Verb, collection: Collection, body: bytes, by: Author) -> uuid.UUID:
    """Write down what a client asks for; return the handle by which it asks what came of it.

    Raises InvalidDescriptor if the body is no array, empty, or has an item without an id.
    """
    items = _array(read_json(body))
    if verb is Verb.DELETE:
        check_identifiers(items)
    else:
        _has_ids(items)
    operation = BulkOperation(
        tenant_id=tenant_pk,
        verb=verb,
        collection=collection.name,
        author=by.name,
        correlation_id=by.correlation_id,
        body=body,
    )
    operation.save(force_insert=True)
    transaction.on_commit(runner.wake)
    return operation.handle


def find(tenant_pk: int, handle: uuid.UUID) -> BulkOperation | None:
    """The operation of a tenant; None if there is none, or its time is over."""
    return BulkOperation.objects.of(tenant_pk).defer("body").filter(handle=handle).first()


def run_next() -> bool:
    """Carry out the oldest operation that nobody is carrying out; whether there was one."""
    with transaction.atomic():
        waiting = BulkOperation.objects.filter(finished_at=None).order_by("created_at", "pk")
        operation = waiting.select_for_update(skip_locked=True).first()
        if operation is None:
            return False
        try:
            with transaction.atomic():
                _carry_out(operation)
        except InvalidDescriptor as error:
            operation.state = State.FAILED
            operation.defects = [str(defect) for defect in error.defects[: settings.MAX_MESSAGES]]
        except services.QuotaExceeded as error:
            operation.state = State.FAILED
            operation.defects = [str(error)]
        except OperationalError:  # a deadlock, or the database goes down: it stays to be done
            raise
        except Exception as error:
            logger.exception("bulk_operation_failed", handle=str(operation.handle))
            operation.state = State.FAILED
            operation.defects = [f"the server failed ({type(error).__name__}); nothing was changed"]
        else:
            operation.state = State.COMPLETED
        operation.body = b""
        operation.finished_at = timezone.now()
        operation.save()
    logger.info(
        "bulk_operation",
        tenant_pk=operation.tenant_id,
        handle=str(operation.handle),
        operation=f"{operation.verb} {operation.collection}",
        state=operation.state,
    )
    return True


def forget_old() -> None:
    """Delete what came of operations that were finished long ago."""
    end = timezone.now() - timedelta(seconds=settings.BULK_RESULT_SECONDS)
    BulkOperation.objects.filter(finished_at__lt=end).delete()


def _carry_out(operation: BulkOperation) -> None:
    """Do all of it. Raises InvalidDescriptor with the place of each item that cannot be done."""
    collection = COLLECTIONS[operation.collection]
    by = Author(operation.author, operation.correlation_id)
    items = _array(read_json(bytes(operation.body)))
    if operation.verb == Verb.DELETE:
        identifiers: list[str] = items
        with _all_or_none() as defects:
            _once(identifiers, "", defects)
        missing = services.remove_many(collection, operation.tenant_id, identifiers, by)
        _refuse(identifiers, missing, "", f"no {collection.noun} with this id is registered")
        return
    tenant = Tenant.objects.get(pk=operation.tenant_id)
    documents = _checked(collection, items, strict=tenant.validation == Validation.STRICT)
    if operation.verb == Verb.PUT:
        services.replace_many(collection, tenant.pk, documents, by)
        return
    taken = services.register_many(collection, tenant.pk, documents, by)
    identifiers = [document.id for document in documents]
    _refuse(identifiers, taken, "/id", f"a {collection.noun} with this id is registered already")


def _checked(collection: Collection, items: list[Any], *, strict: bool) -> list[Document]:
    documents = []
    with _all_or_none() as defects:
        for place, item in enumerate(items):
            try:
                documents.append(collection.check(item, strict=strict))
            except InvalidDescriptor as error:
                defects += [Defect(f"/{place}{defect.pointer}", defect.text) for defect in error.defects]
        if not defects:
            _once([document.id for document in documents], "/id", defects)
    return documents


def _array(value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise InvalidDescriptor([Defect("", "the body must be a JSON array with at least one item")])
    return value


def _has_ids(items: list[Any]) -> None:
    with _all_or_none() as defects:
        for place, item in enumerate(items):
            if not isinstance(item, dict):
                defects.append(Defect(f"/{place}", "must be a JSON object, a descriptor"))
            elif item.get("id") is None:
                defects.append(Defect(f"/{place}/id", "this member is required"))


def _once(identifiers: list[str], member: str, defects: list[Defect]) -> None:
    seen = set()
    for place, identifier in enumerate(identifiers):
        if identifier in seen:
            defects.append(Defect(f"/{place}{member}", "occurs before in the array"))
        seen.add(identifier)


def _refuse(identifiers: list[str], refused: set[str], member: str, text: str) -> None:
    with _all_or_none() as defects:
        defects += [
            Defect(f"/{place}{member}", text)
            for place, identifier in enumerate(identifiers)
            if identifier in refused
        ]


@contextmanager
def _all_or_none() -> Iterator[list[Defect]]:
    """Collects defects, and raises InvalidDescriptor if there are any."""
    defects: list[Defect] = []
    yield defects
    if defects:
        raise InvalidDescriptor(defects)


class Runner:
    """The thread of this process that carries out bulk operations; it starts with the first one."""

    def __init__(self) -> None:
        self._work = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """There may be something to do."""
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="bulk", daemon=True)
                self._thread.start()
        self._work.set()

    def _run(self) -> None:
        while True:
            self._work.wait(LOOK_AGAIN_SECONDS)
            self._work.clear()
            try:
                while run_next():
                    pass
                forget_old()
            except Exception:
                logger.exception("bulk_runner_failed")
            finally:
                connection.close()


runner = Runner()
