"""Statements per operation, against `query_counts.json`."""

import uuid

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from pytest_django import Settings

from shells import services
from shells.identifiers import encode
from shells.models import Change, Shell, StandaloneSubmodel, Upload
from tenants.models import Membership, Module, Role
from tests.admin.conftest import member
from tests.bodies import submodel
from tests.conftest import Persona, post_form, shell_path
from tests.query_counts import expected_query_count


@pytest.fixture(autouse=True)
def _believe_tokens_for_long(settings: Settings) -> None:
    settings.TOKEN_CACHE_SECONDS = 1_000_000


@pytest.mark.parametrize("submodels", [0, 1, 10, 100])
def test_post_does_not_depend_on_the_number_of_submodels(alice: Persona, submodels: int) -> None:
    alice.fetch("warm-up")
    body = {"id": "a", "submodelDescriptors": [submodel(f"urn:{number}") for number in range(submodels)]}
    with expected_query_count("POST shell-descriptors"):
        assert alice.register(body).status_code == 201


def test_get(alice: Persona) -> None:
    alice.register({"id": "a"})
    with expected_query_count("GET shell-descriptors/{aasIdentifier}"):
        assert alice.fetch("a").status_code == 200


def test_get_with_a_token_that_was_not_seen_yet(alice: Persona) -> None:
    alice.register({"id": "a"})
    alice.token = alice.new_token()
    with expected_query_count("GET shell-descriptors/{aasIdentifier}, new token"):
        assert alice.fetch("a").status_code == 200


def test_a_refused_tenant_costs_no_statement(alice: Persona, charlie: Persona) -> None:
    charlie.fetch("warm-up")
    with expected_query_count("GET of another tenant"):
        charlie.client.get(f"{alice.base}/x", headers={"Authorization": f"Bearer {charlie.token}"})


def test_token(alice: Persona) -> None:
    with expected_query_count("POST token"):
        assert post_form(alice.client, alice.token_url, alice.form()).status_code == 200


def test_the_first_use_of_a_module_in_a_minute_is_one_statement_more(alice: Persona) -> None:
    Module.objects.update(last_used_at=None)
    with expected_query_count("POST token, first of a minute"):
        assert post_form(alice.client, alice.token_url, alice.form()).status_code == 200
    alice.token = alice.new_token()
    Module.objects.update(last_used_at=None)
    with expected_query_count("GET shell-descriptors/{aasIdentifier}, new token, first of a minute"):
        assert alice.fetch("a").status_code == 404


@pytest.mark.parametrize("shells", [1, 10, 50])
@pytest.mark.parametrize("model", ["shell", "submodel", "endpoint", "assetid"])
def test_admin_lists_do_not_depend_on_the_number_of_rows(
    admin_client: Client, alice: Persona, model: str, shells: int
) -> None:
    for number in range(shells):
        body = {
            "id": f"urn:{number}",
            "submodelDescriptors": [submodel()],
            "specificAssetIds": [{"name": "n", "value": "v"}],
        }
        alice.register(body)
    assert Shell.objects.count() == shells
    with expected_query_count(f"admin list of {model}"):
        assert admin_client.get(f"/admin/shells/{model}/").status_code == 200


def registered(someone: Persona, shells: int = 1) -> str:
    """Register shells with three submodels and an asset id each; return the id of the last."""
    for number in range(shells):
        body = {
            "id": f"urn:{number}",
            "specificAssetIds": [{"name": "n", "value": "v"}],
            "submodelDescriptors": [submodel(f"urn:sm:{position}") for position in range(3)],
        }
        assert someone.register(body).status_code == 201
        assert someone.post("/submodel-descriptors", submodel(f"urn:{number}")).status_code == 201
    return f"urn:{shells - 1}"


LISTS = {
    "shell-descriptors": (
        None,
        ["", "?assetKind=Instance&assetType=YQ", "?updatedFrom=2020-01-01T00:00:00Z"],
    ),
    "submodel-descriptors": (None, ["", "?createdFrom=2020-01-01T00:00:00Z"]),
    "lookup/shellsByAssetLink": ([{"name": "n", "value": "v"}], [""]),
    "query/shell-descriptors": ({"$condition": {"$boolean": True}}, [""]),
    "query/submodel-descriptors": ({"$condition": {"$boolean": True}}, [""]),
}


@pytest.mark.parametrize("shells", [1, 10, 100])
@pytest.mark.parametrize("path", LISTS)
def test_a_page_takes_one_statement(alice: Persona, path: str, shells: int) -> None:
    registered(alice, shells)
    body, queries = LISTS[path]
    for query in queries:
        with expected_query_count(f"{'GET' if body is None else 'POST'} {path}"):
            response = alice.get(f"/{path}{query}") if body is None else alice.post(f"/{path}{query}", body)
        assert response.status_code == 200
        assert query or len(response.json()["result"]) == shells


@pytest.mark.parametrize("submodels", [0, 1, 100])
@pytest.mark.parametrize("collection", ["shell-descriptors", "submodel-descriptors"])
def test_put_and_delete(alice: Persona, collection: str, submodels: int) -> None:
    alice.fetch("warm-up")
    path = f"/{collection}/{encode('a')}"
    body: dict[str, object] = {"id": "a"}
    if collection == "shell-descriptors":
        body["submodelDescriptors"] = [submodel(f"urn:{number}") for number in range(submodels)]
    for what, headers in (("new", {}), ("known", {}), ("known, If-Match", {"If_Match": "*"})):
        with expected_query_count(f"PUT {collection}, {what}"):
            assert alice.put(path, body, **headers).status_code in (201, 204)
    with expected_query_count(f"DELETE {collection}"):
        assert alice.delete(path).status_code == 204


def test_superpath(alice: Persona) -> None:
    shell = f"{shell_path(registered(alice))}/submodel-descriptors"
    for method, path, body in (
        ("GET", shell, b""),
        ("GET", f"{shell}/{encode('urn:sm:1')}", b""),
        ("POST", shell, submodel("urn:new")),
        ("PUT", f"{shell}/{encode('urn:sm:1')}", submodel("urn:sm:1")),
        ("DELETE", f"{shell}/{encode('urn:sm:1')}", b""),
    ):
        with expected_query_count(f"{method} submodel-descriptors through superpath"):
            assert alice.call(method, path, body).status_code < 300


def test_discovery_and_description(alice: Persona) -> None:
    path = f"/lookup/shells/{encode(registered(alice))}"
    for method in ("GET", "POST", "DELETE"):
        with expected_query_count(f"{method} lookup/shells/{{aasIdentifier}}"):
            assert alice.call(method, path, [{"name": "n", "value": "v"}] * 10).status_code < 300
    with expected_query_count("GET description"):
        assert alice.get("/description").status_code == 200


@pytest.mark.parametrize("model", ["tenant", "module"])
def test_admin_lists_of_tenants_and_modules(
    admin_client: Client, alice: Persona, bob: Persona, charlie: Persona, model: str
) -> None:
    with expected_query_count(f"admin list of {model}"):
        assert admin_client.get(f"/admin/tenants/{model}/").status_code == 200


#: Narrowed down, or searched, a list takes at most five statements, whoever asks (session and person among them).
NARROWED = {
    "search for a shell": "shell/?q=v",
    "search for an asset id": "shell/?q=n=v",
    "shells by idShort": "shell/?q=M*",
    "shells of a kind": "shell/?asset_kind=Type",
    "shells with a semantic id": "shell/?semantic_id=urn:plate",
    "shells created since": "shell/?created_at_from=2020-01-01",
    "endpoints at a host": "endpoint/?q=example.org",
    "search for a submodel": "submodel/?q=urn:1",
    "asset ids by value": "assetid/?q=v",
    "changes by an author": "change/?author=alice",
}


@pytest.mark.parametrize("shells", [1, 10])
def test_admin_lists_that_are_narrowed_down(admin_client: Client, alice: Persona, shells: int) -> None:
    registered(alice, shells)
    reader = member(alice.tenant, Role.READER)
    for name, address in NARROWED.items():
        for whose, client in (("", admin_client), (" of a member", reader)):
            with expected_query_count(f"admin {name}{whose}") as statements:
                assert client.get(f"/admin/shells/{address}").status_code == 200
            assert len(statements) <= 5


@pytest.mark.parametrize("shells", [1, 10])
def test_admin_pages_of_shells(admin_client: Client, alice: Persona, shells: int) -> None:
    last = registered(alice, shells)
    alice.put(shell_path(last), {"id": last})
    shell, change = Shell.objects.get(identifier=last).pk, Change.objects.latest("pk").pk
    for name, address in {
        "page of a shell": f"shell/{shell}/change/",
        "editor of a shell": f"shell/{shell}/change/?edit=1",
        "history of a shell": f"shell/{shell}/history/",
        "deletion of a shell": f"shell/{shell}/delete/",
        "list of changes": "change/",
        "page of a change": f"change/{change}/change/",
    }.items():
        with expected_query_count(f"admin {name}"):
            assert admin_client.get(f"/admin/shells/{address}").status_code == 200


def test_admin_edit(admin_client: Client, alice: Persona) -> None:
    alice.register({"id": "urn:1"})
    shell = Shell.objects.get()
    address = f"/admin/shells/shell/{shell.pk}/change/"
    form = admin_client.get(f"{address}?edit=1").context["form"]
    data = {name: form[name].value() for name in ("tenant", "identifier", "version")}
    with expected_query_count("admin edit of a shell"):
        response = admin_client.post(address, {**data, "document": '{"id": "urn:1", "idShort": "Ab"}'})
    assert response.status_code == 302


OTHER_PAGES = {
    "list of asset links": "shells/assetlinks/",
    "list of bulk operations": "shells/bulkoperation/",
    "list of import runs": "shells/importrun/",
    "list of imports": "shells/upload/",
    "list of people": "auth/user/",
    "list of standalone endpoints": "shells/standaloneendpoint/",
    "list of standalone submodels": "shells/standalonesubmodel/",
    "page of an import": "shells/upload/{upload}/change/",
    "page of a module": "tenants/module/{module}/change/",
    "page of a person": "auth/user/{person}/change/",
    "page of a standalone submodel": "shells/standalonesubmodel/{submodel}/change/",
    "sending of a file": "shells/upload/add/",
}


@pytest.mark.parametrize("rows", [1, 10])
def test_admin_pages_of_everything_else(
    admin_client: Client, admin_user: User, alice: Persona, rows: int
) -> None:
    registered(alice, rows)
    for number in range(rows):
        services.set_asset_links(alice.tenant.pk, f"urn:{number}", [{"name": "n", "value": "v"}])
        services.begin_run(alice.tenant.pk, str(uuid.uuid4()), ["a"], "")
        alice.delete("/bulk/shell-descriptors", [f"urn:{number}"])
        upload = Upload.objects.create(tenant=alice.tenant, name="a.json", file="a.json")
        person = User.objects.create_user(f"person-{number}")
        Membership.objects.create(person=person, tenant=alice.tenant)
    keys = {
        "upload": upload.pk,
        "module": alice.module.pk,
        "person": admin_user.pk,
        "submodel": StandaloneSubmodel.objects.latest("pk").pk,
    }
    ContentType.objects.get_for_models(*apps.get_models())  # a process remembers them
    for name, address in OTHER_PAGES.items():
        with expected_query_count(f"admin {name}"):
            assert admin_client.get(f"/admin/{address.format(**keys)}").status_code == 200
