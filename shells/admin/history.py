"""What was done: changes, bulk operations and imports."""

from typing import Any, NamedTuple

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.db.models import Case, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from shells.admin.documents import DiffLine, difference
from shells.admin.filters import ActionFilter, AuthorFilter
from shells.admin.paging import LargeListAdmin
from shells.admin.search import DigestSearch
from shells.admin.texts import moment, text
from shells.collections import SHELLS, Collection
from shells.identifiers import digest
from shells.models import BulkOperation, Change, ImportRun, Shell, StandaloneSubmodel
from tenants.admin.base import TenantFilter, TenantRowsAdmin


def changes_of(collection: Collection, tenant_pk: int, identifier: str) -> QuerySet[Change]:
    """The changes of a descriptor, the newest first."""
    found = Change.objects.of(tenant_pk).filter(
        digest=digest(identifier), identifier=identifier, collection=collection.name
    )
    return found.order_by("-pk")


class ChangeWithDifference(NamedTuple):
    change: Change
    #: None: too long to be compared.
    difference: list[DiffLine] | None


def with_differences(changes: QuerySet[Change]) -> list[ChangeWithDifference]:
    """Changes of one collection, and what each changed.

    What was there after a change is what was there before the next one, or is there now.
    """
    next_change = Change.objects.filter(
        tenant=OuterRef("tenant"),
        digest=OuterRef("digest"),
        collection=OuterRef("collection"),
        pk__gt=OuterRef("pk"),
    )
    following = Subquery(next_change.order_by("pk").values("before")[:1])
    same = {"tenant": OuterRef("tenant"), "digest": OuterRef("digest")}
    now = Case(
        When(collection=SHELLS.name, then=Subquery(Shell.objects.filter(**same).values("document"))),
        default=Subquery(StandaloneSubmodel.objects.filter(**same).values("document")),
    )
    after = Case(When(action=Change.Action.REMOVED, then=Value(None)), default=Coalesce(following, now))
    return [
        ChangeWithDifference(change, difference(change.before, change.after))
        for change in changes.annotate(after=after)
    ]


def descriptor_url(change: Change) -> str | None:
    """The address of the page of what was changed, if it is still registered."""
    model = Shell if change.collection == SHELLS.name else StandaloneSubmodel
    found = model._default_manager.filter(
        tenant=change.tenant_id, digest=change.digest, identifier=change.identifier
    )
    key = found.values_list("pk", flat=True).first()
    return None if key is None else reverse(f"admin:shells_{model._meta.model_name}_change", args=[key])


@admin.register(Change)
class ChangeAdmin(DigestSearch, LargeListAdmin):
    list_display = ["when", "what", "text_of_identifier", "tenant", "text_of_author", "correlation_id"]
    list_filter = [("tenant", TenantFilter), ActionFilter, AuthorFilter]
    deferred = ["before"]

    @admin.display(description=_("time"))
    def when(self, change: Change) -> SafeString:
        return moment(change.at)

    @admin.display(description=_("action"))
    def what(self, change: Change) -> str:
        return str(change.get_action_display())

    @admin.display(description=_("identifier"))
    def text_of_identifier(self, change: Change) -> SafeString:
        return text(change.identifier)

    @admin.display(description=_("author"))
    def text_of_author(self, change: Change) -> SafeString:
        return text(change.author)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if object_id is None or request.method == "POST":
            refused: HttpResponse = super().changeform_view(request, object_id, form_url, extra_context)
            return refused
        key = unquote(object_id)
        rows = self.get_queryset(request).defer(None).select_related("tenant")
        found = with_differences(rows.filter(pk=key)) if key.isdecimal() and len(key) < 19 else []
        if not found:
            return self.gone(request, object_id)
        change, lines = found[0]
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": Truncator(change).chars(80),
            "row": change,
            "difference": lines,
            "url": descriptor_url(change),
            "media": forms.Media(self.Media),
        }
        return TemplateResponse(request, "admin/shells/change.html", context)


@admin.register(BulkOperation)
class BulkOperationAdmin(TenantRowsAdmin):
    list_display = ["handle", "tenant", "verb", "collection", "state", "created_at", "finished_at"]
    list_filter = [("tenant", TenantFilter), "state"]
    exclude = ["body"]
    deferred = ["body"]


@admin.register(ImportRun)
class ImportRunAdmin(TenantRowsAdmin):
    list_display = ["__str__", "tenant", "counts", "started_at", "updated_at", "finished_at"]
    ordering = ["-updated_at"]
