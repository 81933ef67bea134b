"""Bulk operations: asynchronous, all or none (aas-registry-api.md §6)."""

import uuid
from typing import ClassVar

from django.http import HttpResponse, HttpResponseBase
from pydantic_core import to_json
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from shells import bulk, identifiers
from shells.api import schema
from shells.api.errors import result
from shells.api.requests import author, base_url, body_of, caller, empty_response, json_response, log
from shells.api.views.base import RegistryViewSet
from shells.collections import SHELLS, SUBMODELS, Collection
from shells.models import BulkOperation

RETRY_AFTER_SECONDS = "1"


class BulkViewSet(RegistryViewSet):
    """Register, replace or remove many descriptors of one collection."""

    collection: ClassVar[Collection]

    def create(self, request: Request, **address: str) -> HttpResponse:
        return self._accept(request, bulk.Verb.POST)

    def update(self, request: Request, **address: str) -> HttpResponse:
        return self._accept(request, bulk.Verb.PUT)

    def destroy(self, request: Request, **address: str) -> HttpResponse:
        return self._accept(request, bulk.Verb.DELETE)

    def _accept(self, request: Request, verb: bulk.Verb) -> HttpResponse:
        base = base_url(request)
        handle = bulk.accept(
            caller(request).tenant_pk, verb, self.collection, body_of(request), author(request)
        )
        log(request, handle=str(handle))
        return empty_response(202, Location=f"{base}/bulk/status/{_encoded(handle)}")


@schema.bulk_shell_descriptors
class BulkShellDescriptorViewSet(BulkViewSet):
    """`/bulk/shell-descriptors` (O12 to O14)."""

    collection = SHELLS


@schema.bulk_submodel_descriptors
class BulkSubmodelDescriptorViewSet(BulkViewSet):
    """`/bulk/submodel-descriptors` (O28 to O30)."""

    collection = SUBMODELS


@schema.bulk_outcome
class BulkOutcomeViewSet(RegistryViewSet):
    """`/bulk/status/{handleId}` and `/bulk/result/{handleId}` (O15, O16)."""

    def status(self, request: Request, **address: str) -> HttpResponse:
        operation = _operation(request, address["handleId"])
        if operation.finished_at is not None:
            location = f"{base_url(request)}/bulk/result/{_encoded(operation.handle)}"
            return empty_response(302, Location=location)
        bulk.runner.wake()  # whoever was carrying it out may have been killed
        response = json_response(to_json({"executionState": operation.state}))
        response["Retry-After"] = RETRY_AFTER_SECONDS
        return response

    def result(self, request: Request, **address: str) -> HttpResponseBase:
        operation = _operation(request, address["handleId"])
        if operation.finished_at is None:
            raise NotFound("there is no result yet: ask for the status")
        if operation.state == BulkOperation.State.FAILED:
            return result(request._request, 400, operation.defects)
        return empty_response(204)


def _encoded(handle: uuid.UUID) -> str:
    return identifiers.encode(handle.hex)


def _operation(request: Request, encoded: str) -> BulkOperation:
    try:
        handle = uuid.UUID(identifiers.decode(encoded))
    except ValueError:
        operation = None
    else:
        log(request, handle=str(handle))
        operation = bulk.find(caller(request).tenant_pk, handle)
    if operation is None:
        raise NotFound("there is no bulk operation with this handle, or its time is over")
    return operation
