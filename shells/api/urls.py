"""Below `/aas-api/v3/<tenant_id>/` (contract §4). No address ends with a slash."""

from django.urls import path, re_path

from shells.api import views

urlpatterns = [
    path(
        "shell-descriptors",
        views.ShellDescriptorViewSet.as_view({"post": "create"}),
        name="shell-descriptors",
    ),
    path(
        "shell-descriptors/<str:aas_identifier>",
        views.ShellDescriptorViewSet.as_view({"get": "retrieve"}),
        name="shell-descriptor",
    ),
    re_path(r"", views.UnknownRouteView.as_view(), name="unknown-route"),
]
