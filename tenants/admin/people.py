"""People who sign in to the admin, and the tenants they work for; superusers look after them."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from unfold.admin import ModelAdmin, TabularInline
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from tenants.models import Membership

admin.site.unregister(Group)  # roles in tenants say what people may do
admin.site.unregister(User)


class MembershipInline(TabularInline):  # type: ignore[misc]
    model = Membership
    extra = 0
    autocomplete_fields = ["tenant"]


@admin.register(User)
class PersonAdmin(UserAdmin, ModelAdmin):  # type: ignore[misc,type-arg]
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ["username", "email", "is_staff", "is_superuser", "is_active", "last_login"]
    list_filter = ["is_staff", "is_superuser", "is_active"]
    filter_horizontal = ()
    fieldsets = [
        (None, {"fields": ["username", "password", "first_name", "last_name", "email"]}),
        ("Rights", {"fields": ["is_active", "is_staff", "is_superuser"]}),
        ("Dates", {"fields": ["last_login", "date_joined"]}),
    ]
    inlines = [MembershipInline]
