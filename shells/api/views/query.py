"""The AAS query language over both collections (aas-registry-api.md §7)."""

from typing import ClassVar

from django.conf import settings
from django.http import HttpResponse
from pydantic_core import to_json
from rest_framework.request import Request

from shells import querysets
from shells.api import schema
from shells.api.pagination import page_request
from shells.api.requests import body_of, caller
from shells.api.views.base import RegistryViewSet
from shells.collections import SHELLS, SUBMODELS, Collection
from shells.descriptors import read_json
from shells.query import compile_query


class QueryViewSet(RegistryViewSet):
    """Search the descriptors of one collection."""

    collection: ClassVar[Collection]
    result_type: ClassVar[str]

    def search(self, request: Request, **address: str) -> HttpResponse:
        body = body_of(request)
        tenant_pk = caller(request).tenant_pk
        value = read_json(body)
        query = compile_query(value, self.collection, tenant_pk, caller(request).subject)
        page = page_request(request, f"query/{self.collection.name}", to_json(value))
        rows = querysets.matching(
            self.collection,
            tenant_pk,
            query,
            after=page.after or 0,
            size=page.size,
            timeout_ms=settings.QUERY_TIMEOUT_MS,
            subject=caller(request).subject,
        )
        return page.response(
            rows,
            item=lambda row: to_json(row[1]) if query.ids_only else row[1].encode(),
            key=lambda row: row[0],
            result_type="Identifier" if query.ids_only else self.result_type,
        )


@schema.query_shell_descriptors
class QueryShellDescriptorViewSet(QueryViewSet):
    """`/query/shell-descriptors` (O17)."""

    collection = SHELLS
    result_type = "AssetAdministrationShellDescriptor"


@schema.query_submodel_descriptors
class QuerySubmodelDescriptorViewSet(QueryViewSet):
    """`/query/submodel-descriptors` (O31)."""

    collection = SUBMODELS
    result_type = "SubmodelDescriptor"
