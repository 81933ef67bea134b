"""Addresses below `/aas-api/` that name no tenant."""

from django.urls import re_path

from shells.api.views.base import UnknownRouteView

urlpatterns = [re_path(r"", UnknownRouteView.as_view(), name="unknown-route")]
