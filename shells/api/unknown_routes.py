"""Addresses below `/aas-api/` that name no tenant."""

from django.urls import re_path

from shells.api import views

urlpatterns = [re_path(r"", views.UnknownRouteView.as_view(), name="unknown-route")]
