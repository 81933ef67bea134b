"""The submodel descriptors of one shell: the list that stands in its descriptor as `submodelDescriptors`."""

from typing import Any

from django.http import HttpResponse
from pydantic_core import from_json, to_json
from rest_framework.request import Request

from shells import querysets, services
from shells.api import schema
from shells.api.conditions import conditional, etag, precondition
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
from shells.api.views.descriptors import created, replaced, same_identifier
from shells.collections import SHELLS, SUBMODELS
from shells.descriptors import check_submodel, read_json
from shells.identifiers import encode
from shells.projections import Members
from shells.services import NotRegistered


@schema.superpath
class SuperpathViewSet(RegistryViewSet):
    """`/shell-descriptors/{aasIdentifier}/submodel-descriptors` (O6 to O10)."""

    def list(self, request: Request, **address: str) -> HttpResponse:
        shell_id = self._shell(request)
        page = page_request(request, f"{SHELLS.name}/{shell_id}/{SUBMODELS.name}")
        submodels = _submodels(caller(request).tenant_pk, shell_id)
        first = 0 if page.after is None else _after(submodels, *page.after)
        rows = list(enumerate(submodels))[first : first + page.size]
        return page.response(rows, item=lambda row: to_json(row[1]), key=lambda row: (row[0], row[1]["id"]))

    def create(self, request: Request, **address: str) -> HttpResponse:
        shell_id = self._shell(request)
        collection_url = _collection_url(request, shell_id)
        submodel = check_submodel(read_json(body_of(request)), strict=is_strict(request))
        services.add_submodel(caller(request).tenant_pk, shell_id, submodel, author(request))
        return created(submodel.text, collection_url, submodel.id)

    def retrieve(self, request: Request, **address: str) -> HttpResponse:
        shell_id, submodel_id = self._both(request)
        submodels = _submodels(caller(request).tenant_pk, shell_id)
        submodel = next((item for item in submodels if item["id"] == submodel_id), None)
        if submodel is None:
            raise NotRegistered(SUBMODELS.noun)
        document = to_json(submodel)
        response = json_response(document)
        response["ETag"] = etag(document)
        return conditional(request._request, response)

    def update(self, request: Request, **address: str) -> HttpResponse:
        shell_id, submodel_id = self._both(request)
        collection_url = _collection_url(request, shell_id)
        submodel = check_submodel(read_json(body_of(request)), strict=is_strict(request))
        same_identifier(submodel.id, submodel_id)
        tenant_pk = caller(request).tenant_pk
        if services.replace_submodel(
            tenant_pk, shell_id, submodel, author(request), precondition(request._request)
        ):
            return created(submodel.text, collection_url, submodel.id)
        return replaced(submodel.text)

    def destroy(self, request: Request, **address: str) -> HttpResponse:
        shell_id, submodel_id = self._both(request)
        tenant_pk = caller(request).tenant_pk
        services.remove_submodel(
            tenant_pk, shell_id, submodel_id, author(request), precondition(request._request)
        )
        return empty_response(204)

    def _shell(self, request: Request) -> str:
        shell_id = decoded("aasIdentifier", self.kwargs["aasIdentifier"])
        log(request, shell=shell_id)
        return shell_id

    def _both(self, request: Request) -> tuple[str, str]:
        shell_id = self._shell(request)
        submodel_id = decoded("submodelIdentifier", self.kwargs["submodelIdentifier"])
        log(request, submodel=submodel_id)
        return shell_id, submodel_id


def _submodels(tenant_pk: int, shell_id: str) -> list[Members]:
    stored = querysets.stored(SHELLS, tenant_pk, shell_id)
    if stored is None:
        raise NotRegistered(SHELLS.noun)
    shell: dict[str, Any] = from_json(stored.document)
    submodels: list[Members] = shell.get("submodelDescriptors", [])
    return submodels


def _after(submodels: list[Members], position: int, submodel_id: str) -> int:
    """Where the list goes on behind the item of a cursor. If that was deleted, what followed moved up."""
    for place, item in enumerate(submodels):
        if item["id"] == submodel_id:
            return place + 1
    return position


def _collection_url(request: Request, shell_id: str) -> str:
    return f"{base_url(request)}/{SHELLS.name}/{encode(shell_id)}/{SUBMODELS.name}"
