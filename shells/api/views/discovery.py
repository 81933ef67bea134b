"""Discovery: from the ids of an asset to its shells, and back (aas-registry-api.md §1.2, §1.5)."""

from django.http import HttpResponse
from pydantic_core import to_json
from rest_framework.request import Request

from shells import querysets, services
from shells.api import schema
from shells.api.filters import asset_ids
from shells.api.pagination import page_request
from shells.api.requests import body_of, caller, decoded, empty_response, is_strict, json_response, log
from shells.api.views.base import RegistryViewSet
from shells.descriptors import check_asset_links, check_lookup, read_json
from shells.querysets import AssetLinkPairs
from shells.services import NotRegistered


@schema.lookup
class LookupViewSet(RegistryViewSet):
    """`/lookup/shells` (O18) and `/lookup/shellsByAssetLink` (O19)."""

    def list(self, request: Request, **address: str) -> HttpResponse:
        pairs = asset_ids(request) if "assetIds" in request.query_params else []
        return _found(request, "lookup/shells", pairs)

    def search(self, request: Request, **address: str) -> HttpResponse:
        body = body_of(request)
        return _found(request, "lookup/shellsByAssetLink", check_lookup(read_json(body)))


@schema.asset_links
class AssetLinksViewSet(RegistryViewSet):
    """`/lookup/shells/{aasIdentifier}` (O20 to O22)."""

    def retrieve(self, request: Request, **address: str) -> HttpResponse:
        links = querysets.asset_links(
            caller(request).tenant_pk, self._shell(request), caller(request).subject
        )
        if links is None:
            raise NotRegistered("shell with asset links")
        return json_response(links)

    def create(self, request: Request, **address: str) -> HttpResponse:
        shell_id = self._shell(request)
        links = check_asset_links(read_json(body_of(request)), strict=is_strict(request))
        return json_response(services.set_asset_links(caller(request).tenant_pk, shell_id, links), 201)

    def destroy(self, request: Request, **address: str) -> HttpResponse:
        services.delete_asset_links(caller(request).tenant_pk, self._shell(request))
        return empty_response(204)

    def _shell(self, request: Request) -> str:
        shell_id = decoded("aasIdentifier", self.kwargs["aasIdentifier"])
        log(request, shell=shell_id)
        return shell_id


def _found(request: Request, operation: str, pairs: AssetLinkPairs) -> HttpResponse:
    """The page of ids of the shells that have all of `pairs`; of none, if nothing is asked for."""
    page = page_request(request, operation, to_json(sorted(pairs)))
    after = (0, 0) if page.after is None else (page.after[0], page.after[1])
    tenant_pk = caller(request).tenant_pk
    subject = caller(request).subject
    rows = querysets.shells_by_asset_links(tenant_pk, pairs, after, page.size, subject) if pairs else []
    return page.response(rows, item=lambda row: to_json(row[1]), key=lambda row: row[0])
