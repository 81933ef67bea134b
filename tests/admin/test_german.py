"""The admin in German: each text has its translation, each page is German throughout, and the API stays English."""

import ast
import html
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import polib
import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from django.utils.translation.template import templatize
from playwright.sync_api import Page, expect

from shells.models import Change, Shell, Upload
from tenants import services
from tenants.models import Module, Tenant, TrustedIssuer
from tenants.secrets import DEMO_CLIENT_ID, DEMO_SECRET
from tests.admin.conftest import screenshot
from tests.bodies import CONTRACT_EXAMPLE
from tests.conftest import AUDIENCE, Persona, shell_path, texts, token_url
from tests.server import ROOT, Server

LOCALE = ROOT / "locale" / "de" / "LC_MESSAGES"
GERMAN = {"Accept-Language": "de-DE,de;q=0.9,en;q=0.8"}
MARKED = {"_", "gettext", "gettext_lazy", "ngettext"}


@pytest.fixture(scope="module")
def catalogue() -> polib.POFile:
    return polib.pofile(str(LOCALE / "django.po"))


# --- The catalogue ------------------------------------------------------------------------------------


def in_python(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MARKED:
            yield from (str(text.value) for text in node.args[:2] if isinstance(text, ast.Constant))


def in_template(source: str) -> Iterator[str]:
    """Django turns a template into calls for xgettext; between them is no Python."""
    text = r"""(u?'(?:[^'\\]|\\.)*'|u?"(?:[^"\\]|\\.)*")"""
    for texts_ in re.findall(rf"\bn?(?:gettext|_)\(\s*{text}(?:,\s*{text})?", templatize(source)):
        yield from (ast.literal_eval(text) for text in texts_ if text)


def marked(path: Path) -> Iterator[str]:
    source = path.read_text()
    return in_python(source) if path.suffix == ".py" else in_template(source)


class TestCatalogue:
    def test_each_text_of_the_source_is_in_it(self, catalogue: polib.POFile) -> None:
        """If this fails: make messages."""
        known = {text for entry in catalogue for text in (entry.msgid, entry.msgid_plural) if text}
        sources = [
            path for name in ("registry_project", "tenants", "shells") for path in (ROOT / name).rglob("*")
        ]
        found = {text for path in sources if path.suffix in (".py", ".html") for text in marked(path)}
        assert found == known

    def test_each_text_is_translated(self, catalogue: polib.POFile) -> None:
        assert len(catalogue) > 400
        assert catalogue.untranslated_entries() == []
        assert catalogue.fuzzy_entries() == []
        assert catalogue.obsolete_entries() == []

    def test_placeholders_are_the_same(self, catalogue: polib.POFile) -> None:
        def placeholders(text: str) -> list[str]:
            return sorted(re.findall(r"%\(\w+\)[sd]|%[sd]|\{[^}]*\}|<[^>]+>", text))

        for entry in catalogue:
            for place, said in (entry.msgstr_plural or {0: entry.msgstr}).items():
                source = entry.msgid_plural if place else entry.msgid
                assert placeholders(said) == placeholders(source), source

    def test_what_is_compiled_is_what_is_written(self, catalogue: polib.POFile) -> None:
        """If this fails: make messages."""

        def said(file: polib.POFile | polib.MOFile) -> dict[str, object]:
            return {entry.msgid: entry.msgstr_plural or entry.msgstr for entry in file}

        assert said(polib.mofile(str(LOCALE / "django.mo"))) == said(catalogue)


# --- Pages --------------------------------------------------------------------------------------------


@pytest.fixture
def german(admin_client: Client) -> Client:
    admin_client.defaults["HTTP_ACCEPT_LANGUAGE"] = GERMAN["Accept-Language"]
    return admin_client


@pytest.fixture
def keys(alice: Persona, tenant_a: Tenant) -> dict[str, int]:
    """Something for each kind of page, by its key."""
    assert alice.register(CONTRACT_EXAMPLE).status_code == 201
    services.trust_issuer("tenant-a", "https://login.example.com", audiences=["registry"])
    upload = Upload.objects.create(
        tenant=tenant_a, name="line-7.json", file="imports/line-7.json", state="checked", finished_at=timezone.now(),
        counts={"created": 1234, "rejected": 1},
    )  # fmt: skip
    return {
        "tenant": tenant_a.pk,
        "module": Module.objects.get().pk,
        "issuer": TrustedIssuer.objects.get().pk,
        "shell": Shell.objects.get().pk,
        "change": Change.objects.get().pk,
        "upload": upload.pk,
    }


def read(client: Client, address: str, status: int = 200) -> str:
    """What a person reads on a page: no scripts, no names of icons, but hints and labels."""
    response = client.get(address)
    assert response.status_code == status, address
    page = response.content.decode()
    assert '<html lang="de"' in page
    page = re.sub(r"<(script|style|code|pre|textarea)\b.*?</\1>", " ", page, flags=re.DOTALL)
    page = re.sub(r'<span class="material-symbols[^>]*>[^<]*</span>', " ", page)
    page = re.sub(r'<[^>]*?\b(?:title|placeholder|aria-label)="([^"]*)"', r"\1 <", page)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


#: Address → German words that are there, and English ones that are not.
PAGES = {
    "": ("Übersicht, Häufigste semantische IDs, Mandanten", "Dashboard, Figures, Requests"),
    "shells/shell/": ("Verwaltungsschalen, Asset-Art, Letzte Änderung, Die Suche findet", "Shells, Submodels, Tenant"),
    "shells/shell/?q=nothing": ("Keine, Filter zurücksetzen, Asset-Typ, Von, Bis", "Filters, Search, From, Reset"),
    "shells/shell/{shell}/change/": ("Teilmodelle (1), Asset-IDs (2), Kopieren", "Endpoints, Registered, Copy, Edit"),
    "shells/shell/{shell}/change/?edit=1": ("Dokument, Speichern, Abbrechen", "Document, Save, Cancel"),
    "shells/shell/{shell}/history/": ("Verlauf, registriert, Was sich änderte", "History, registered"),
    "shells/shell/{shell}/delete/": ("Sind Sie sicher, Endpunkte", "Are you sure, endpoints"),
    "shells/shell/add/": ("Neu registrieren: Verwaltungsschale, Mandant", "Register, Tenant"),
    "shells/submodel/": ("Semantische ID, Verwaltungsschale", "Semantic id, Shell"),
    "shells/endpoint/": ("Adresse, Schnittstelle", "Address, Interface"),
    "shells/assetid/": ("Wert, Für", "Value, For"),
    "shells/assetlinks/": ("Asset-Links", "Asset links"),
    "shells/standalonesubmodel/": ("Teilmodell-Deskriptoren", "Standalone"),
    "shells/change/": ("Aktion, registriert, Urheber, Korrelations-ID", "Action, registered, Author"),
    "shells/change/{change}/change/": ("Deskriptor, Anfrage, Was sich änderte", "Descriptor, Request"),
    "shells/bulkoperation/": ("Bulk-Vorgänge, Nach Zustand", "Bulk operations"),
    "shells/importrun/": ("Importläufe", "Import runs"),
    "shells/upload/": ("geprüft; es wurde noch nichts geschrieben, 1.234 angelegt, 1 abgewiesen", "checked, created"),
    "shells/upload/add/": ("Senden und prüfen, Datei auswählen, Alles oder nichts", "Send, Choose, File, All or"),
    "shells/upload/{upload}/change/": ("1.234, Alles importieren was nicht, Datei löschen", "Import all, sent, by"),
    "tenants/tenant/": ("Mandanten-ID, Prüfung, tolerant", "Tenants, Validation, lenient"),
    "tenants/tenant/{tenant}/change/": ("Token-Endpunkt, Bearbeiter, aktiv, Wie er erreicht", "Role, live, editor"),
    "tenants/module/": ("Rolle, Bearbeiter, aktiv, Gültig bis", "Role, editor, live, Expires"),
    "tenants/module/add/": ("Leser: abrufen, Subjekt, Zeit", "reader, Subject, Time, Date"),
    "tenants/module/{module}/change/": ("Secret erneuern, Deaktivieren", "Rotate, Disable, Enabled"),
    "tenants/module/{module}/rotate/": ("Das alte Secret gilt noch, einen Tag", "a day, Cancel"),
    "tenants/trustedissuer/": ("Aussteller, Rollen-Claim, vertrauenswürdig", "Issuer, trusted"),
    "tenants/trustedissuer/{issuer}/change/": ("Zuordnung der Rollen, Schlüssel prüfen", "Role map, Check"),
    "auth/user/": ("Personen, arbeitet für, alle Mandanten", "People, works for, all tenants"),
    "auth/user/add/": ("Mandanten für die die Person arbeitet", "Rights, role, Role"),
    "try-it/": ("Ihr Browser holt ein Token, (Bearbeiter), Ausführen", "Your, Run, Module secret, editor"),
}  # fmt: skip


@pytest.mark.parametrize("address", PAGES)
def test_a_page_is_german(
    german: Client, keys: dict[str, int], catalogue: polib.POFile, address: str
) -> None:
    text = read(german, "/admin/" + address.format(**keys))
    there, gone = (words.split(", ") for words in PAGES[address])
    plain = text.replace(",", "")
    assert [words for words in there if not re.search(rf"{re.escape(words)}", plain, re.IGNORECASE)] == []
    assert [words for words in gone if re.search(rf"\b{re.escape(words)}\b", plain)] == []
    sentences = [
        entry.msgid for entry in catalogue if entry.msgid.count(" ") > 1 and entry.msgid != entry.msgstr
    ]
    assert len(sentences) > 200
    assert [sentence for sentence in sentences if sentence in text] == []


def test_signing_in(db: None) -> None:
    text = read(Client(headers=GERMAN), "/admin/login/")
    for words in ("Willkommen bei", "AAS-Registry", "Benutzername", "Anmelden"):
        assert words in text
    assert not re.search("Welcome|Shell registry|Username|Log in", text)


class TestErrors:
    def test_what_a_service_refuses(self, german: Client, alice: Persona) -> None:
        form = {"overlap": "24", "seen": "another secret"}
        page = german.post(f"/admin/tenants/module/{alice.module.pk}/rotate/", form).content.decode()
        assert "das Secret wurde inzwischen erneuert" in page

    def test_what_a_field_refuses(self, german: Client) -> None:
        form = {"identifier": "-", "validation": "lenient"}
        page = german.post("/admin/tenants/tenant/add/", form).content.decode()
        assert "Eine Mandanten-ID hat 1 bis 64 Buchstaben" in page

    def test_the_language_of_a_page_is_gone_with_it(self, german: Client, tenant_a: Tenant) -> None:
        german.get("/admin/")
        with pytest.raises(services.TenantError, match=r"^tenant 'tenant-a' exists already$"):
            services.create_tenant("tenant-a")


# --- The API ------------------------------------------------------------------------------------------


class TestApi:
    def test_it_answers_in_english(self, alice: Persona) -> None:
        refused = alice.call("PATCH", "/shell-descriptors", Accept_Language="de")
        assert texts(refused) == ['Method "PATCH" not allowed.']
        assert "Content-Language" not in refused
        missing = alice.get(shell_path("urn:nowhere"), Accept_Language="de")
        assert texts(missing) == texts(alice.get(shell_path("urn:nowhere")))

    def test_a_german_page_before_it_changes_nothing(self, server: Server) -> None:
        """A thread of the server serves a page, and then the API: with 4 threads, 12 pages meet each of them."""
        form = {
            "grant_type": "client_credentials", "client_id": DEMO_CLIENT_ID, "client_secret": DEMO_SECRET,
            "scope": f"aud:{AUDIENCE} openid",
        }  # fmt: skip
        with httpx2.Client(base_url=server.url, headers=GERMAN) as client:
            token = client.post(token_url("demo"), data=form).json()["access_token"]
            bearer = {"Authorization": f"Bearer {token}"}
            for _ in range(12):
                assert "Willkommen" in client.get("/admin/login/").text
                answer = client.patch("/aas-api/v3/demo/shell-descriptors", headers=bearer)
                assert answer.json()["messages"][0]["text"] == 'Method "PATCH" not allowed.'


# --- Choosing -----------------------------------------------------------------------------------------


#: Where the German words are so much longer that they could be wider than a phone.
WIDEST = [
    "/admin/",
    "/admin/tenants/tenant/add/",
    "/admin/tenants/module/add/",
    "/admin/tenants/trustedissuer/add/",
]


def test_choosing_a_language(page: Page) -> None:
    page.goto("/admin/shells/shell/")
    page.get_by_text("admin", exact=True).click()
    page.get_by_role("button", name="Deutsch").click()
    expect(page).to_have_url(re.compile("/admin/shells/shell/"))
    expect(page.get_by_role("link", name="Verwaltungsschalen").first).to_be_visible()
    (cookie,) = (
        cookie for cookie in page.context.cookies() if cookie["name"] == settings.LANGUAGE_COOKIE_NAME
    )
    assert (
        cookie["expires"] > timezone.now().timestamp() + 300 * 24 * 3600
    )  # the browser keeps it when it is closed
    page.goto("/admin/tenants/module/")
    expect(page.get_by_role("link", name="Module").first).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    screenshot(page, "german")
    page.set_viewport_size({"width": 390, "height": 800})
    for address in WIDEST:
        page.goto(address)
        assert not page.evaluate("document.documentElement.scrollWidth > window.innerWidth"), address
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_text("admin", exact=True).click()
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("link", name="Modules").first).to_be_visible()
