"""Settings and addresses of the yardstick: a Django view that does nothing, on the same server."""

from django.http import HttpRequest, HttpResponse
from django.urls import path

from registry_project.settings import *  # noqa: F403

ROOT_URLCONF = "benchmarks.noop"
INSTALLED_APPS = ["tenants", "shells", "django.contrib.auth", "django.contrib.contenttypes"]
MIDDLEWARE = API_MIDDLEWARE = []
TEMPLATES = []


def noop(request: HttpRequest) -> HttpResponse:
    return HttpResponse(b"ok")


urlpatterns = [path("noop", noop)]
