"""People who sign in to the admin, and the tenants they work for; superusers look after them."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from tenants.models import Membership, Role

admin.site.unregister(Group)  # roles in tenants say what people may do
admin.site.unregister(User)


class MembershipInline(TabularInline):  # type: ignore[misc]
    model = Membership
    extra = 0
    autocomplete_fields = ["tenant"]
    verbose_name = _("tenant")
    verbose_name_plural = _("tenants the person works for")


@admin.register(User)
class PersonAdmin(UserAdmin, ModelAdmin):  # type: ignore[misc,type-arg]
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ["username", "email", "works_for", "is_superuser", "is_active", "last_login"]
    list_filter = ["is_superuser", "is_active", "is_staff"]
    filter_horizontal = ()
    readonly_fields = ["last_login", "date_joined"]
    fieldsets = [
        (None, {"fields": ["username", "password", "first_name", "last_name", "email"]}),
        (
            _("Rights"),
            {
                "fields": ["is_active", "is_staff", "is_superuser"],
                "description": _(
                    "Who may sign in here (staff) sees the tenants below, in the role named there. "
                    "A superuser sees and does everything."
                ),
            },
        ),
        (_("Dates"), {"fields": ["last_login", "date_joined"]}),
    ]
    add_fieldsets = [(None, {"fields": ["username", "password1", "password2", "is_staff"]})]
    inlines = [MembershipInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("memberships__tenant")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"is_staff": True}

    @display(description=_("works for"))
    def works_for(self, user: User) -> str:
        if user.is_superuser:
            return gettext("all tenants")
        memberships = user.memberships.all()
        return ", ".join(f"{item.tenant} ({Role(item.role).short_label})" for item in memberships) or gettext(
            "no tenant"
        )
