"""What the pages of both collections have in common: to read a descriptor, to edit it, to remove it.

Nothing here saves a model: what is written goes through `shells.services`, checked as the API checks it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic_core import from_json
from unfold.widgets import UnfoldAdminSelectWidget

from shells import identifiers, querysets, services
from shells.admin import documents
from shells.admin.history import changes_of, with_differences
from shells.admin.paging import LargeListAdmin
from shells.admin.reading import Reading
from shells.admin.texts import moment
from shells.collections import Collection
from shells.defects import Defect, InvalidDescriptor
from shells.descriptors import Document, read_json
from shells.services import Author
from tenants.models import Role, Tenant, Validation
from tenants.people import person_of

#: So many rows at most are removed at once.
MAX_REMOVED = 1000
#: So many changes are shown on the page of a descriptor, and on a page of its history.
CHANGES_SHOWN, CHANGES_OF_HISTORY = 5, 10


def author(request: HttpRequest) -> Author:
    """Who is noted to have made a change."""
    return Author(person_of(request).name, request.correlation_id)  # type: ignore[attr-defined]


class DescriptorForm(forms.Form):
    """A document as it is typed, and what it is to be written in place of."""

    tenant = forms.ModelChoiceField(
        Tenant.objects.none(), label=gettext_lazy("tenant"), widget=UnfoldAdminSelectWidget, empty_label=None
    )
    #: The id of the descriptor that is edited; empty: a new one.
    identifier = forms.CharField(required=False, strip=False, widget=forms.HiddenInput)
    #: The digest of the document that was there when the editor was opened; empty: there was none.
    version = forms.CharField(required=False, widget=forms.HiddenInput)
    document = forms.CharField(strip=False, label=gettext_lazy("document"), widget=forms.Textarea)

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        tenants = Tenant.objects.filter(person_of(request).rows("pk", role=Role.EDITOR))
        self.fields["tenant"].queryset = tenants.order_by("identifier")  # type: ignore[attr-defined]
        if self["identifier"].value():
            self.fields["tenant"].widget = forms.HiddenInput()


class Refusal(Exception):
    """Why a document was not written: its defects, or what somebody else has written (None: it was removed)."""

    def __init__(
        self, defects: Sequence[Defect] = (), present: str | None = None, *, is_conflict: bool = False
    ) -> None:
        super().__init__()
        self.defects = defects
        self.present = present
        self.is_conflict = is_conflict


class DescriptorAdmin(LargeListAdmin):
    """Descriptors of a collection: who may edit in a tenant registers, replaces and removes."""

    collection: Collection
    reading: Callable[[dict[str, Any]], Reading]
    #: A descriptor with what is required, for a new one to begin with.
    example: str
    deferred = ["document"]
    add_role = change_role = delete_role = Role.EDITOR

    @admin.display(description=gettext_lazy("registered"))
    def created(self, row: Any) -> SafeString:
        return moment(row.created_at)

    @admin.display(description=gettext_lazy("last change"))
    def updated(self, row: Any) -> SafeString:
        return moment(row.updated_at)

    # --- One descriptor -------------------------------------------------------------------------------

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        if not object_id.isdecimal():
            return None
        rows = self.get_queryset(request).defer(None).select_related("tenant")
        return rows.filter(pk=object_id).first()

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if object_id is None:
            if not self.has_add_permission(request):
                raise PermissionDenied
            return self._edit(request, None)
        row = self.get_object(request, unquote(object_id))
        if row is None and not request.POST.get("identifier"):
            return self.gone(request, object_id)
        if request.method != "POST" and "edit" not in request.GET:
            return self._read(request, row)
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        return self._edit(request, row)

    def _read(self, request: HttpRequest, row: Any) -> HttpResponse:
        changes = changes_of(self.collection, row.tenant_id, row.identifier)
        url = self._api_url(request, row)
        context = {
            "reading": type(self).reading(from_json(row.document)),
            "document": documents.indented(row.document),
            "tree": documents.tree(row.document),
            "api_url": url,
            "curl": f"curl -H \"Authorization: Bearer $TOKEN\" '{url}'",
            "changes": list(changes[:CHANGES_SHOWN]),
            **self.surroundings(row),
        }
        return self._response(request, "admin/shells/descriptor.html", row, context)

    def surroundings(self, row: Any) -> dict[str, Any]:
        """What is known of a descriptor beside its document."""
        return {}

    def _api_url(self, request: HttpRequest, row: Any) -> str:
        base = settings.BASE_URL or f"{request.scheme}://{request.get_host()}"
        path = f"{row.tenant.identifier}/{self.collection.name}/{identifiers.encode(row.identifier)}"
        return f"{base}/aas-api/v3/{path}"

    def history(self, request: HttpRequest, row: Any) -> HttpResponse:
        changes = changes_of(self.collection, row.tenant_id, row.identifier)
        if request.GET.get("before", "").isdecimal():
            changes = changes.filter(pk__lt=min(int(request.GET["before"]), 2**63 - 1))
        shown = with_differences(changes[: CHANGES_OF_HISTORY + 1])
        context = {"shown": shown[:CHANGES_OF_HISTORY], "more": len(shown) > CHANGES_OF_HISTORY}
        return self._response(request, "admin/shells/history.html", row, context)

    def _response(
        self, request: HttpRequest, template: str, row: Any | None, context: dict[str, Any]
    ) -> HttpResponse:
        name = _("Register a %s") % self.opts.verbose_name if row is None else str(row)
        return TemplateResponse(
            request,
            template,
            {
                **self.admin_site.each_context(request),
                "opts": self.opts,
                "title": Truncator(name).chars(80),
                "row": row,
                "media": forms.Media(self.Media),
                "has_change_permission": row is not None and self.has_change_permission(request, row),
                "has_delete_permission": row is not None and self.has_delete_permission(request, row),
                **context,
            },
        )

    # --- Write ----------------------------------------------------------------------------------------

    def _edit(self, request: HttpRequest, row: Any | None) -> HttpResponse:
        """The editor, and what becomes of what was typed there."""
        refusal = Refusal()
        if request.method == "POST":
            form = DescriptorForm(request, request.POST.copy())
            if form.is_valid():
                try:
                    return self._written(request, **form.cleaned_data)
                except Refusal as refused:
                    refusal = refused
        else:
            form = DescriptorForm(request, initial=self._initial(row))
        text = str(form["document"].value() or "")
        lines = documents.lines_of_pointers(text) if refusal.defects else {}
        context = {
            "form": form,
            "defects": [(documents.line_of(lines, defect), defect) for defect in refusal.defects],
            "refusal": refusal,
        }
        if refusal.is_conflict:
            form.data["version"] = _version(refusal.present)  # type: ignore[index]
            mine = read_json(text.encode())
            context["difference"] = documents.difference(refusal.present, documents.compact(mine))
        return self._response(request, "admin/shells/edit.html", row, context)

    def _initial(self, row: Any | None) -> dict[str, Any]:
        if row is None:
            return {"document": self.example}
        return {
            "tenant": row.tenant_id,
            "identifier": row.identifier,
            "version": _version(row.document),
            "document": documents.indented(row.document),
        }

    def _written(
        self, request: HttpRequest, tenant: Tenant, identifier: str, version: str, document: str
    ) -> HttpResponse:
        """The way to what was written. Raises Refusal; nothing is changed then."""
        checked = self._checked(tenant, identifier, document)
        try:
            if identifier:
                self._replace(request, tenant, checked, version)
            else:
                services.register(self.collection, tenant.pk, checked, author(request))
                messages.success(request, _("It is registered."))
        except services.IdentifierTaken as taken:
            raise Refusal([Defect("/id", str(taken))]) from None
        except services.PreconditionFailed:
            stored = querysets.stored(self.collection, tenant.pk, checked.id)
            present = None if stored is None else stored.document.decode()
            raise Refusal(present=present, is_conflict=True) from None
        written = self.model._default_manager.filter(tenant=tenant, digest=identifiers.digest(checked.id))
        key = written.values_list("pk", flat=True).first()
        if key is None:  # somebody has removed it since
            return HttpResponseRedirect(self._url("changelist"))
        return HttpResponseRedirect(self._url("change", key))

    def _checked(self, tenant: Tenant, identifier: str, text: str) -> Document:
        try:
            strict = tenant.validation == Validation.STRICT
            checked = self.collection.check(read_json(text.encode()), strict=strict)
        except InvalidDescriptor as invalid:
            raise Refusal(invalid.defects) from None
        if identifier and checked.id != identifier:
            text = _("the id cannot be changed: register a new one, and delete this")
            raise Refusal([Defect("/id", text)])
        return checked

    def _replace(self, request: HttpRequest, tenant: Tenant, document: Document, version: str) -> None:
        if _version(document.text) == version:
            messages.info(request, _("Nothing was changed."))
            return
        services.replace(
            self.collection,
            tenant.pk,
            document,
            author(request),
            lambda present: _version(None if present is None else present.decode()) == version,
        )
        messages.success(request, _("The change is saved."))

    def _url(self, page: str, *arguments: object) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{page}", args=arguments)

    # --- Remove ---------------------------------------------------------------------------------------

    def belongings(self, rows: list[Any]) -> dict[str, int]:
        """How much is removed together with these descriptors, by what it is called."""
        raise NotImplementedError

    def get_deleted_objects(
        self, objs: Iterable[Any], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """What is removed, and how much goes with it. Raises BadRequest if that is too much at once."""
        rows = list(objs[: MAX_REMOVED + 1] if isinstance(objs, QuerySet) else objs)
        if len(rows) > MAX_REMOVED:
            raise BadRequest(f"more than {MAX_REMOVED} at once")
        lacking = {
            str(self.opts.verbose_name) for row in rows if not self.has_delete_permission(request, row)
        }
        counts = {str(self.opts.verbose_name_plural): len(rows), **self.belongings(rows)}
        names = [Truncator(row).chars(120) for row in rows]
        return names, {name: count for name, count in counts.items() if count}, lacking, []

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        services.remove_many(self.collection, obj.tenant_id, [obj.identifier], author(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        by_tenant: dict[int, list[str]] = {}
        for row in queryset:
            by_tenant.setdefault(row.tenant_id, []).append(row.identifier)
        with transaction.atomic():
            for tenant_pk, names in by_tenant.items():
                services.remove_many(self.collection, tenant_pk, names, author(request))

    # Each write is noted as a Change, with what was there before: Django's own log would say less.

    def log_deletions(self, request: HttpRequest, queryset: Iterable[Any]) -> None:
        return None


def _version(document: str | None) -> str:
    return "" if document is None else identifiers.digest(document)
