"""The sidebar of the admin: what an operator looks for, as far as the person may see it."""

from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from tenants.people import Person, person_of

#: Groups of (title, icon, name of the address).
GROUPS: list[tuple[Promise, list[tuple[Promise, str, str]]]] = [
    (
        _("Registry"),
        [
            (_("Dashboard"), "dashboard", "admin:index"),
            (_("Shells"), "deployed_code", "admin:shells_shell_changelist"),
            (_("Submodels"), "view_module", "admin:shells_submodel_changelist"),
            (_("Endpoints"), "link", "admin:shells_endpoint_changelist"),
            (_("Asset ids"), "tag", "admin:shells_assetid_changelist"),
        ],
    ),
    (
        _("Submodel registry and discovery"),
        [
            (_("Submodel descriptors"), "data_object", "admin:shells_standalonesubmodel_changelist"),
            (_("Their endpoints"), "lan", "admin:shells_standaloneendpoint_changelist"),
            (_("Asset links"), "travel_explore", "admin:shells_assetlinks_changelist"),
        ],
    ),
    (
        _("Activity"),
        [
            (_("Changes"), "history", "admin:shells_change_changelist"),
            (_("Bulk operations"), "layers", "admin:shells_bulkoperation_changelist"),
            (_("Import runs"), "download", "admin:shells_importrun_changelist"),
        ],
    ),
    (
        _("Access"),
        [
            (_("Tenants"), "domain", "admin:tenants_tenant_changelist"),
            (_("Modules"), "key", "admin:tenants_module_changelist"),
            (_("Trusted issuers"), "verified_user", "admin:tenants_trustedissuer_changelist"),
            (_("People"), "group", "admin:auth_user_changelist"),
        ],
    ),
    (
        _("Tools"),
        [
            (_("Import of files"), "upload_file", "admin:shells_upload_changelist"),
            (_("Try it"), "play_circle", "admin:try-it"),
            (_("API docs"), "menu_book", "docs"),
        ],
    ),
]
#: What is there for whoever is signed in, and what for superusers only.
FOR_ALL = {"admin:index", "docs"}
FOR_SUPERUSERS = {"admin:auth_user_changelist"}


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The groups of the sidebar, for unfold."""
    person = person_of(request)
    groups = []
    for title, items in GROUPS:
        links = [
            {"title": name, "icon": icon, "link": link}
            for name, icon, view in items
            if _may_see(person, view) and (link := _address(view))
        ]
        if links:
            groups.append({"title": title, "items": links})
    return groups


def _may_see(person: Person, view: str) -> bool:
    if view in FOR_SUPERUSERS:
        return person.is_superuser
    return person.sees_something or view in FOR_ALL


def _address(view: str) -> str:
    """Empty for a page that this installation has not."""
    try:
        return reverse(view)
    except NoReverseMatch:
        return ""
