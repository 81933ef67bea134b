"""Import of a file: sent, checked, looked at, and imported; `shells/uploads.py` does it."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin import display
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Model
from django.forms import ModelForm
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from shells import uploads
from shells.admin.descriptors import author
from shells.models import Upload
from tenants.admin.base import TenantFilter, TenantRowsAdmin
from tenants.models import Role

#: So many rejections are shown; the report has all of them.
SHOWN_REJECTIONS = 100
COUNTS = {
    "created": gettext_lazy("created"),
    "replaced": gettext_lazy("replaced"),
    "unchanged": gettext_lazy("unchanged"),
    "skipped": gettext_lazy("skipped"),
    "rejected": gettext_lazy("rejected"),
}


@admin.register(Upload)
class UploadAdmin(TenantRowsAdmin):
    add_role = delete_role = Role.EDITOR
    list_display = ["name", "tenant", "shown_state", "outcome", "author", "created_at"]
    list_filter = [("tenant", TenantFilter), "state"]
    fields = ["tenant", "file", "on_conflict", "validation", "atomic", "endpoint_base"]
    add_form_template = "admin/shells/upload/add_form.html"
    change_form_template = "admin/shells/upload/change_form.html"
    actions = None

    class Media:
        js = ["shells/upload.js"]
        css = {"all": ["shells/upload.css"]}

    @display(description=gettext_lazy("state"))
    def shown_state(self, upload: Upload) -> str:
        return str(upload.get_state_display())

    @display(description=gettext_lazy("outcome"))
    def outcome(self, upload: Upload) -> str:
        found = [
            f"{intcomma(upload.counts[name])} {label}"
            for name, label in COUNTS.items()
            if upload.counts.get(name)
        ]
        return ", ".join(found)

    # --- Sending a file ---------------------------------------------------------------------------

    def get_form(self, *args: Any, **kwargs: Any) -> Any:
        form = super().get_form(*args, **kwargs)
        if "file" in form.base_fields:
            limit = filesizeformat(settings.MAX_UPLOAD_BYTES)
            form.base_fields["file"].widget.attrs |= {
                "data-max-bytes": settings.MAX_UPLOAD_BYTES,
                "data-too-large": _("The file is too large: at most %(limit)s are taken.") % {"limit": limit},
            }
        return form

    def save_model(self, request: HttpRequest, obj: Upload, form: "ModelForm[Upload]", change: bool) -> None:
        uploads.accept(obj, form.cleaned_data["file"], author(request))

    def log_addition(self, request: HttpRequest, obj: Upload, message: Any) -> None:
        """The upload itself says who sent what."""

    def response_add(
        self, request: HttpRequest, obj: Upload, post_url_continue: str | None = None
    ) -> HttpResponse:
        return self._back_to(obj.pk)

    # --- Looking at it, and what can be done with it ----------------------------------------------

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        finished = not isinstance(obj, Upload) or obj.is_finished
        return finished and super().has_delete_permission(request, obj)

    def delete_model(self, request: HttpRequest, obj: Upload) -> None:
        uploads.remove(obj)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> None:
        """What was imported is noted with each shell."""

    def get_urls(self) -> list[URLPattern]:
        def of(name: str, view: Any) -> Any:
            return path(f"<int:pk>/{name}/", self.admin_site.admin_view(view), name=f"shells_upload_{name}")

        return [
            of("progress", self.progress),
            of("report", self.report),
            of("import", require_POST(self.go_on)),
            of("stop", require_POST(self.stop)),
            *super().get_urls(),
        ]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        upload = context["original"]
        if upload is not None:
            rejected = uploads.rejections(upload, SHOWN_REJECTIONS + 1)
            context |= {
                "upload": upload,
                "counts": [(name, label, upload.counts.get(name, 0)) for name, label in COUNTS.items()],
                "rejections": rejected[:SHOWN_REJECTIONS],
                "has_more_rejections": len(rejected) > SHOWN_REJECTIONS,
                "may_act": self._may(request, Role.EDITOR, upload),
            }
        response: HttpResponse = super().render_change_form(request, context, *args, **kwargs)
        return response

    def progress(self, request: HttpRequest, pk: int) -> JsonResponse:
        upload = self._find(request, pk)
        return JsonResponse(
            {
                "finished": upload.is_finished,
                "read": upload.read,
                "size": upload.size,
                "counts": upload.counts,
            }
        )

    def report(self, request: HttpRequest, pk: int) -> FileResponse:
        upload = self._find(request, pk)
        try:
            file = open(upload.report_path, "rb")  # noqa: SIM115  (the response closes it)
        except FileNotFoundError:
            raise Http404 from None
        name = f"{upload.name}.rejected.jsonl"
        return FileResponse(file, as_attachment=True, filename=name, content_type="application/jsonl")

    def go_on(self, request: HttpRequest, pk: int) -> HttpResponse:
        upload = self._find(request, pk, Role.EDITOR)
        if not uploads.go_on(upload.pk):
            messages.warning(request, _("It is imported already, or being imported."))
        return self._back_to(upload.pk)

    def stop(self, request: HttpRequest, pk: int) -> HttpResponse:
        upload = self._find(request, pk, Role.EDITOR)
        if not uploads.stop(upload.pk):
            messages.warning(request, _("It had ended before."))
        return self._back_to(upload.pk)

    def _find(self, request: HttpRequest, pk: int, role: Role = Role.READER) -> Upload:
        """Raises Http404 for what the person does not see, or may not do."""
        upload: Upload | None = self.get_queryset(request).filter(pk=pk).first()
        if upload is None or not self._may(request, role, upload):
            raise Http404
        return upload

    def _back_to(self, pk: int) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:shells_upload_change", args=[pk]))
