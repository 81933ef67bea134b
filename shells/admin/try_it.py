"""The page on which somebody tries the API: the browser itself calls it, with the credentials of a module."""

import uuid
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _

from tenants import issuing, secrets
from tenants.models import Module, Role
from tenants.people import person_of


def try_it(request: HttpRequest) -> TemplateResponse:
    """The modules that the person sees and that can get a token; what happens then is in try_it.js."""
    person = person_of(request)
    if not person.sees_something:
        raise PermissionDenied
    modules = Module.objects.live().filter(person.rows()).order_by("tenant__identifier", "name")
    found = modules.values_list("tenant__identifier", "name", "client_id", "role")
    context = {
        **admin.site.each_context(request),
        "title": _("Try it"),
        "setup": {
            "modules": [_module(*row) for row in found],
            "scope": f"{issuing.AUDIENCE_PREFIX}{settings.TARGET_CLIENTS[0].client_id} openid",
            "texts": {
                "token": _("Get a token"),
                "register": _("Register the shell"),
                "fetch": _("Fetch it"),
                "search": _("Search for it by an asset id"),
                "remove": _("Remove it"),
                "request": _("Request"),
                "answer": _("Answer"),
                "curl": _("As curl"),
                "running": _("Running …"),
                "done": _("All went well."),
                "failed": _("Stopped at an answer that is not what was hoped for."),
                "no_document": _("The document is no JSON object with an id."),
                "no_answer": _("No answer:"),
                "no_asset_id": _("The document has no asset id to search by."),
            },
        },
        "example": example(f"urn:example:try-it:{uuid.uuid4()}"),
    }
    return TemplateResponse(request, "admin/shells/try_it.html", context)


def _module(tenant: str, name: str, client_id: str, role: str) -> dict[str, Any]:
    is_demo = settings.DEBUG and client_id == secrets.DEMO_CLIENT_ID
    return {
        "label": f"{tenant} / {name} ({Role(role).short_label})",
        "clientId": client_id,
        "secret": secrets.DEMO_SECRET if is_demo else "",
        "token": reverse("token", args=[tenant]),
        "api": f"/aas-api/v3/{tenant}",
    }


def example(identifier: str) -> dict[str, Any]:
    """A shell with one submodel, as small as says something."""
    return {
        "id": identifier,
        "idShort": "Pump",
        "description": [{"language": "en", "text": "A pump to try things with"}],
        "assetKind": "Instance",
        "globalAssetId": f"{identifier}:asset",
        "specificAssetIds": [{"name": "serialNumber", "value": identifier.rpartition(":")[2]}],
        "submodelDescriptors": [
            {
                "id": f"{identifier}:nameplate",
                "idShort": "Nameplate",
                "semanticId": {
                    "type": "ExternalReference",
                    "keys": [
                        {
                            "type": "GlobalReference",
                            "value": "https://admin-shell.io/idta/nameplate/3/0/Nameplate",
                        }
                    ],
                },
                "endpoints": [
                    {
                        "interface": "SUBMODEL-3.1",
                        "protocolInformation": {
                            "href": "https://example.com/submodels/nameplate",
                            "endpointProtocol": "HTTP",
                            "endpointProtocolVersion": ["1.1"],
                        },
                    }
                ],
            }
        ],
    }


# unfold asks the site for pages beside those of models; who comes later adds to what is there.
_pages_before = getattr(admin.site, "extra_urls", list)


def _pages() -> list[URLPattern]:
    return [*_pages_before(), path("try-it/", admin.site.admin_view(try_it), name="try-it")]


admin.site.extra_urls = _pages  # type: ignore[attr-defined]
