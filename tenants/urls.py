"""Below `/iam/access-management/v1/tenants/<tenant_id>/openid-connect/` (contract §5.3)."""

from django.urls import path

from tenants import views

urlpatterns = [
    path("token", views.token, name="token"),
    path("certs", views.certs, name="certs"),
    path(".well-known/openid-configuration", views.openid_configuration, name="openid-configuration"),
]
