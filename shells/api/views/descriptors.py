"""The two collections of descriptors: the AAS registry and the standalone submodel registry."""

from typing import Any, ClassVar

from django.http import HttpResponse
from rest_framework.request import Request

from shells import identifiers, querysets, services
from shells.api import schema
from shells.api.conditions import conditional, etag, precondition
from shells.api.errors import BadRequest
from shells.api.filters import ChangeFilters, ShellFilters, SubmodelFilters, filtered
from shells.api.pagination import page_request
from shells.api.requests import (
    author,
    base_url,
    body_of,
    caller,
    decoded,
    empty_response,
    is_strict,
    json_response,
    log,
)
from shells.api.views.base import RegistryViewSet
from shells.collections import SHELLS, SUBMODELS, Collection
from shells.descriptors import read_json
from shells.models import Shell, StandaloneSubmodel
from shells.services import NotRegistered


class DescriptorViewSet(RegistryViewSet):
    """List, register, fetch, replace and remove descriptors of one collection (aas-registry-api.md §1.5)."""

    collection: ClassVar[Collection]
    #: What the identifier in an address is called.
    parameter: ClassVar[str]
    rows: ClassVar[Any]
    filters: ClassVar[type[ChangeFilters]]

    def list(self, request: Request, **address: str) -> HttpResponse:
        tenant_pk = caller(request).tenant_pk
        page = page_request(request, self.collection.name)
        rows, changed = filtered(request, self.filters, self.rows.of(tenant_pk))
        document = querysets.seen(self.collection, caller(request).subject)
        which = {"after": page.after or 0, "size": page.size}
        if changed is None:
            found = rows.page(document, **which)
        else:
            found = rows.page_of_changed(changed, tenant_pk, document, **which)
        return page.response(found, item=lambda row: row[1].encode(), key=lambda row: row[0])

    def create(self, request: Request, **address: str) -> HttpResponse:
        base = base_url(request)
        document = self.collection.check(read_json(body_of(request)), strict=is_strict(request))
        log(request, **{self.collection.noun: document.id})
        services.register(self.collection, caller(request).tenant_pk, document, author(request))
        return created(document.text, f"{base}/{self.collection.name}", document.id)

    def retrieve(self, request: Request, **address: str) -> HttpResponse:
        identifier = self._identifier(request)
        asking = caller(request)
        stored = querysets.stored(self.collection, asking.tenant_pk, identifier, asking.subject)
        if stored is None:
            raise NotRegistered(self.collection.noun)
        response = json_response(stored.document)
        response["ETag"] = etag(stored.document)
        response["Last-Modified"] = stored.modified
        response["X-Created-At"] = stored.created
        return conditional(request._request, response)

    def update(self, request: Request, **address: str) -> HttpResponse:
        identifier = self._identifier(request)
        base = base_url(request)
        document = self.collection.check(read_json(body_of(request)), strict=is_strict(request))
        same_identifier(document.id, identifier)
        new = services.replace(
            self.collection,
            caller(request).tenant_pk,
            document,
            author(request),
            precondition(request._request),
        )
        if new:
            return created(document.text, f"{base}/{self.collection.name}", document.id)
        return replaced(document.text)

    def destroy(self, request: Request, **address: str) -> HttpResponse:
        identifier = self._identifier(request)
        tenant_pk = caller(request).tenant_pk
        services.remove(
            self.collection, tenant_pk, identifier, author(request), precondition(request._request)
        )
        return empty_response(204)

    def _identifier(self, request: Request) -> str:
        identifier = decoded(self.parameter, self.kwargs[self.parameter])
        log(request, **{self.collection.noun: identifier})
        return identifier


@schema.shell_descriptors
class ShellDescriptorViewSet(DescriptorViewSet):
    """`/shell-descriptors` (O1 to O5), contract §4."""

    collection = SHELLS
    parameter = "aasIdentifier"
    rows = Shell.objects
    filters = ShellFilters


@schema.submodel_descriptors
class SubmodelDescriptorViewSet(DescriptorViewSet):
    """`/submodel-descriptors` (O23 to O27): a collection of its own (aas-registry-api.md §1.3)."""

    collection = SUBMODELS
    parameter = "submodelIdentifier"
    rows = StandaloneSubmodel.objects
    filters = SubmodelFilters


def same_identifier(of_body: str, of_address: str) -> None:
    """A PUT renames nothing. Raises BadRequest."""
    if of_body != of_address:
        raise BadRequest("/id: differs from the id in the address; to change an id, delete and register")


def replaced(text: str) -> HttpResponse:
    """204 to a PUT, with the entity tag of what is stored now."""
    response = empty_response(204)
    response["ETag"] = etag(text.encode())
    return response


def created(text: str, collection_url: str, identifier: str) -> HttpResponse:
    """201 with what was stored, and where."""
    document = text.encode()
    response = json_response(document, status=201)
    response["Location"] = f"{collection_url}/{identifiers.encode(identifier)}"
    response["ETag"] = etag(document)
    return response
