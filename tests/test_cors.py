"""Calls from pages in a browser (Fetch standard §3.2): for origins that are configured, and only below the API."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from tests.conftest import Persona

VIEWER = "https://viewer.example.com"
ROOT = Path(__file__).parent.parent


@pytest.fixture
def viewer(alice: Persona, settings: Settings) -> Persona:
    """alice in a browser, on a page of a configured origin."""
    settings.CORS_ALLOWED_ORIGINS = [VIEWER]
    settings.MIDDLEWARE = ["corsheaders.middleware.CorsMiddleware", *settings.MIDDLEWARE]
    settings.MIDDLEWARE.insert(0, settings.MIDDLEWARE.pop(1))  # the event comes first, as in API_MIDDLEWARE
    alice.client = Client()
    return alice


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_a_preflight_needs_no_token(viewer: Persona, method: str) -> None:
    response = viewer.client.options(
        f"{viewer.base}/shell-descriptors",
        headers={
            "Origin": VIEWER,
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": "authorization,content-type,if-match",
        },
    )
    assert response.status_code == 200
    assert response["Access-Control-Allow-Origin"] == VIEWER
    assert method in response["Access-Control-Allow-Methods"].split(", ")
    assert {"authorization", "content-type", "if-match", "if-none-match"} <= set(
        response["Access-Control-Allow-Headers"].split(", ")
    )


def test_a_page_reads_location_and_entity_tag(viewer: Persona) -> None:
    response = viewer.post("/shell-descriptors", {"id": "urn:1"}, Origin=VIEWER)
    assert response.status_code == 201
    assert response["Access-Control-Allow-Origin"] == VIEWER
    exposed = set(response["Access-Control-Expose-Headers"].split(", "))
    assert {"Location", "ETag", "Last-Modified", "X-Request-ID", "Retry-After"} <= exposed


@pytest.mark.parametrize(
    ("path", "status"), [("/nonsense", 404), ("/shell-descriptors/YQ", 404), ("/lookup/shells?limit=0", 400)]
)
def test_a_page_reads_errors(viewer: Persona, path: str, status: int) -> None:
    response = viewer.get(path, Origin=VIEWER)
    assert response.status_code == status
    assert response["Access-Control-Allow-Origin"] == VIEWER


def test_a_page_reads_that_its_token_is_bad(viewer: Persona) -> None:
    viewer.token = "x"
    response = viewer.get("/shell-descriptors", Origin=VIEWER)
    assert response.status_code == 401
    assert response["Access-Control-Allow-Origin"] == VIEWER
    assert "WWW-Authenticate" in response["Access-Control-Expose-Headers"]


def test_another_origin(viewer: Persona) -> None:
    response = viewer.get("/shell-descriptors", Origin="https://elsewhere.example.com")
    assert "Access-Control-Allow-Origin" not in response


def test_the_admin_is_for_no_other_page(viewer: Persona) -> None:
    response = viewer.client.get("/admin/login/", headers={"Origin": VIEWER})
    assert response.status_code == 200
    assert "Access-Control-Allow-Origin" not in response


@pytest.mark.parametrize(
    ("origins", "middleware", "all_origins"),
    [("", False, False), (VIEWER, True, False), ("*", True, True)],
)
def test_the_setting(origins: str, middleware: bool, all_origins: bool) -> None:
    script = (
        "from django.conf import settings as s;"
        "print('corsheaders.middleware.CorsMiddleware' in s.API_MIDDLEWARE, s.CORS_ALLOW_ALL_ORIGINS)"
    )
    environment = {
        **os.environ,
        "CORS_ORIGINS": origins,
        "DJANGO_SETTINGS_MODULE": "registry_project.settings",
    }
    output = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert output.split() == [str(middleware), str(all_origins)]


def test_without_the_setting_options_is_no_method(alice: Persona) -> None:
    response = alice.call("OPTIONS", "/shell-descriptors", Origin=VIEWER, Access_Control_Request_Method="GET")
    assert response.status_code == 405
    assert "Access-Control-Allow-Origin" not in response
