"""POST /shell-descriptors: contract §4.1, operation O2, checks 1 to 8, 13, 22 to 26."""

import json
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from shells.models import AssetId, Endpoint, Shell, Submodel
from tests.bodies import CONTRACT_EXAMPLE, EVERYTHING, endpoint, reference, submodel
from tests.conftest import Persona, texts

PATH = "/shell-descriptors"


@pytest.mark.spec("check", "1")
@pytest.mark.spec("contract", "4.1")
def test_it_works(alice: Persona) -> None:
    response = alice.register({"id": "urn:example:aas:1"})
    assert response.status_code == 201
    assert response["Content-Type"] == "application/json"
    assert response["Location"] == (
        "http://testserver/aas-api/v3/tenant-a/shell-descriptors/dXJuOmV4YW1wbGU6YWFzOjE"
    )
    assert response.content == b'{"id":"urn:example:aas:1"}'


@pytest.mark.spec("check", "4")
@pytest.mark.spec("contract", "4.1")
def test_the_contracts_example_comes_back_deep_equal(alice: Persona) -> None:
    response = alice.register(CONTRACT_EXAMPLE)
    assert response.status_code == 201
    assert response.json() == CONTRACT_EXAMPLE
    assert alice.fetch("1111-shell").json() == CONTRACT_EXAMPLE


def test_every_member_of_the_data_model_comes_back_in_its_order(
    alice: Persona, strict_alice: Persona
) -> None:
    compact = json.dumps(EVERYTHING, separators=(",", ":"))
    for someone in (alice, strict_alice):
        response = someone.post(PATH, json.dumps(EVERYTHING, indent=4))
        assert response.status_code == 201
        assert response.content.decode() == compact
        assert someone.fetch("urn:everything").content.decode() == compact


def test_members_keep_the_order_of_the_client(alice: Persona) -> None:
    body = b'{"submodelDescriptors":[{"endpoints":[],"zz":1,"id":"b"},{"id":"a"}],"x":{"b":1,"a":2},"id":"i"}'
    assert alice.post(PATH, body).content == body.replace(b'"endpoints":[],', b"")


@pytest.mark.spec("check", "5")
@pytest.mark.spec("contract", "4.1")
def test_an_id_that_is_registered_already(alice: Persona) -> None:
    alice.register({"id": "urn:1", "idShort": "First"})
    response = alice.register({"id": "urn:1", "idShort": "Second"})
    assert response.status_code == 409
    assert texts(response) == ["/id: a shell with this id is registered already"]
    assert alice.fetch("urn:1").json()["idShort"] == "First"


@pytest.mark.spec("check", "6")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"{}", "/id: this member is required"),
        (b'{"id":""}', "/id: must not be empty"),
        (b'{"id":null}', "/id: this member is required"),
        (b"[]", "the body must be a JSON object, a shell descriptor"),
        (b"null", "the body must be a JSON object, a shell descriptor"),
        (b'"urn:1"', "the body must be a JSON object, a shell descriptor"),
        (b'{"id":', "the body is not JSON: EOF while parsing a value at line 1 column 6"),
        (b"", "the request has no body; JSON is expected"),
        (b" \n", "the request has no body; JSON is expected"),
        (b'{"id":"\xff"}', "the body is not JSON: invalid unicode code point at line 1 column 8"),
        (b'{"id":"a","x":NaN}', "the body is not JSON: expected value at line 1 column 15"),
        (b'\xef\xbb\xbf{"id":"a"}', "the body is not JSON: expected value at line 1 column 1"),
        (b'{"id":"a","x":1e999}', "/x: is a number out of range"),
    ],
)
def test_a_body_that_is_no_descriptor(alice: Persona, body: bytes, text: str) -> None:
    response = alice.post(PATH, body)
    assert response.status_code == 400
    assert texts(response) == [text]
    assert not Shell.objects.exists()


def test_json_that_is_nested_10_000_deep(alice: Persona) -> None:
    response = alice.post(PATH, b'{"id":"a","x":' + b"[" * 10_000 + b"]" * 10_000 + b"}")
    assert response.status_code == 400
    assert "recursion limit" in texts(response)[0]


@pytest.mark.spec("check", "7")
def test_the_length_of_an_id(alice: Persona) -> None:
    """In characters, not bytes: an index entry could not hold 8 KiB."""
    longest = "\U0001f600" * 2048
    assert alice.register({"id": longest}).status_code == 201
    assert alice.fetch(longest).json() == {"id": longest}
    response = alice.register({"id": longest + "x"})
    assert response.status_code == 400
    assert texts(response) == ["/id: has more than 2048 characters"]


@pytest.mark.spec("check", "8")
@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/xml", "application/x-www-form-urlencoded"]
)
def test_another_content_type(alice: Persona, content_type: str) -> None:
    response = alice.post(PATH, b'{"id":"urn:1"}', content_type=content_type)
    assert response.status_code == 415
    assert content_type in texts(response)[0]
    assert not Shell.objects.exists()


def test_a_charset_in_the_content_type(alice: Persona) -> None:
    assert alice.post(PATH, b'{"id":"a"}', content_type="application/json; charset=UTF-8").status_code == 201


@pytest.mark.spec("check", "8")
@pytest.mark.parametrize("method", ["PATCH", "OPTIONS", "TRACE", "FOO"])
def test_another_method(alice: Persona, method: str) -> None:
    response = alice.call(method, PATH)
    assert response.status_code == 405
    assert "POST" in response["Allow"].split(", ")
    assert texts(response)


@pytest.mark.spec("check", "13")
@pytest.mark.parametrize(
    "body",
    [
        rb'{"id":"a\u0000"}',
        rb'{"id":"a\ud800"}',
        rb'{"id":"a","idShort":"\u0001"}',
        rb'{"id":"a","description":[{"language":"en","text":"\u0000"}]}',
        rb'{"id":"a","description":[{"language":"en","text":"\ud800x"}]}',
        rb'{"id":"a","description":[{"language":"en","text":"\b"}]}',
        rb'{"id":"a","unknown":["\uffff"]}',
        rb'{"id":"a","unknown\u0000":1}',
        b'{"id":"a","x":"\xef\xbf\xbe"}',
    ],
)
def test_characters_that_no_string_may_contain(alice: Persona, body: bytes) -> None:
    response = alice.post(PATH, body)
    assert response.status_code == 400
    assert texts(response)
    assert not Shell.objects.exists()


def test_a_bad_character_is_named_with_its_place(alice: Persona) -> None:
    body = rb'{"id":"\\bogus \/","displayName":[{"language":"en","text":"a\u0002b"}],"a~/b":"\f"}'
    text = "contains a character that is not allowed (control character or surrogate)"
    assert texts(alice.post(PATH, body)) == [f"/displayName/0/text: {text}", f"/a~0~1b: {text}"]


def test_white_space_escapes_are_fine(alice: Persona) -> None:
    assert alice.post(PATH, rb'{"id":"a\u000a\t\r\\b"}').json() == {"id": "a\n\t\r\\b"}


@pytest.mark.spec("check", "22")
class TestSubmodelWithoutEndpoints:
    BODY = {"id": "a", "submodelDescriptors": [{"id": "x"}]}

    def test_lenient(self, alice: Persona) -> None:
        response = alice.register(self.BODY)
        assert response.status_code == 201
        assert response.json() == self.BODY

    def test_strict(self, strict_alice: Persona) -> None:
        response = strict_alice.register(self.BODY)
        assert response.status_code == 400
        assert texts(response) == ["/submodelDescriptors/0/endpoints: this member is required"]


NESTED_DEFECTS: list[tuple[dict[str, Any], str]] = [
    (
        {"endpoints": [{"protocolInformation": {"href": "x"}}]},
        "/endpoints/0/interface: this member is required",
    ),
    ({"endpoints": [{"interface": "AAS-3.1"}]}, "/endpoints/0/protocolInformation: this member is required"),
    (
        {"endpoints": [{"interface": "AAS-3.1", "protocolInformation": {"endpointProtocol": "HTTP"}}]},
        "/endpoints/0/protocolInformation/href: this member is required",
    ),
    (
        {"endpoints": [endpoint(securityAttributes=[{"type": "NONE", "key": ""}])]},
        "/endpoints/0/protocolInformation/securityAttributes/0/value: this member is required",
    ),
    (
        {"idShort": "A"},
        "/idShort: must have two or more letters, digits, '_' or '-', start with a letter and not end with '-'",
    ),
    (
        {"description": [{"language": "en_US", "text": "x"}]},
        "/description/0/language: is not a BCP 47 language tag, such as 'en' or 'de-DE'",
    ),
    ({"description": [{"text": "x"}]}, "/description/0/language: this member is required"),
    (
        {"administration": {"version": "01"}},
        "/administration/version: must be a number without leading zeros",
    ),
    ({"extensions": [{"value": "x"}]}, "/extensions/0/name: this member is required"),
    (
        {"specificAssetIds": [{"name": "a", "value": "b", "semanticId": {"type": "ExternalReference"}}]},
        "/specificAssetIds/0/semanticId/keys: this member is required",
    ),
    ({"foo": 1}, "/foo: there is no such member"),
]


@pytest.mark.spec("check", "23")
@pytest.mark.spec("aas-registry-api", "2.5 V5, V7, V10")
@pytest.mark.parametrize(("members", "text"), NESTED_DEFECTS)
class TestNestedDefects:
    def test_lenient(self, alice: Persona, members: dict[str, Any], text: str) -> None:
        body = {"id": "a", **members}
        response = alice.register(body)
        assert response.status_code == 201, response.content
        assert response.json() == body

    def test_strict(self, strict_alice: Persona, members: dict[str, Any], text: str) -> None:
        response = strict_alice.register({"id": "a", **members})
        assert response.status_code == 400
        assert texts(response) == [text]


@pytest.mark.spec("check", "24")
@pytest.mark.spec("aas-registry-api", "2.5 V1 to V4, V6")
@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"assetKind": "INSTANCE"}, "/assetKind: must be 'Instance', 'NotApplicable', 'Role' or 'Type'"),
        (
            {"endpoints": [endpoint(endpointProtocolVersion="1.1")]},
            "/endpoints/0/protocolInformation/endpointProtocolVersion: must be an array",
        ),
        ({"idShort": 5}, "/idShort: must be a string"),
        ({"idShort": "x" * 129}, "/idShort: has more than 128 characters"),
        ({"endpoints": {}}, "/endpoints: must be an array"),
        ({"endpoints": ["x"]}, "/endpoints/0: must be an object"),
        ({"administration": "1"}, "/administration: must be an object"),
        ({"specificAssetIds": [{"name": "a"}]}, "/specificAssetIds/0/value: this member is required"),
        ({"specificAssetIds": [{"value": "a"}]}, "/specificAssetIds/0/name: this member is required"),
        ({"specificAssetIds": [{"name": "", "value": "a"}]}, "/specificAssetIds/0/name: must not be empty"),
        ({"submodelDescriptors": [submodel("")]}, "/submodelDescriptors/0/id: must not be empty"),
        (
            {"submodelDescriptors": [submodel("a"), submodel("b"), submodel("a")]},
            "/submodelDescriptors/2/id: another submodel descriptor has this id",
        ),
        (
            {"extensions": [{"name": "a"}, {"name": "a"}]},
            "/extensions/1/name: another extension has this name (AASd-077)",
        ),
        (
            {"submodelDescriptors": [submodel(extensions=[{"name": "a"}, {"name": "a"}])]},
            "/submodelDescriptors/0/extensions/1/name: another extension has this name (AASd-077)",
        ),
        (
            {"description": [{"language": "en", "text": "x" * 1024}]},
            "/description/0/text: has more than 1023 characters",
        ),
        (
            {
                "specificAssetIds": [
                    {"name": "a", "value": "b", "externalSubjectId": {"type": "GlobalReference"}}
                ]
            },
            "/specificAssetIds/0/externalSubjectId/type: must be 'ExternalReference' or 'ModelReference'",
        ),
    ],
)
def test_defects_in_both_levels(
    alice: Persona, strict_alice: Persona, members: dict[str, Any], text: str
) -> None:
    for someone in (alice, strict_alice):
        response = someone.register({"id": "a", **members})
        assert response.status_code == 400
        assert text in texts(response)
    assert not Shell.objects.exists()


@pytest.mark.spec("aas-registry-api", "2.5 V6")
def test_values_of_3_2_are_taken_in_a_lenient_tenant(alice: Persona, strict_alice: Persona) -> None:
    assert alice.register({"id": "a", "assetKind": "Batch"}).status_code == 201
    assert strict_alice.register({"id": "a", "assetKind": "Batch"}).status_code == 400


@pytest.mark.spec("check", "25")
@pytest.mark.parametrize("level", ["alice", "strict_alice"])
def test_the_old_name_of_supplemental_semantic_ids(level: str, request: pytest.FixtureRequest) -> None:
    someone: Persona = request.getfixturevalue(level)
    old = submodel(semanticId=reference("urn:a"), supplementalSemanticId=[reference("urn:b")], idShort="Xy")
    response = someone.register({"id": "a", "submodelDescriptors": [old]})
    assert response.status_code == 201
    (stored,) = someone.fetch("a").json()["submodelDescriptors"]
    assert stored == submodel(
        semanticId=reference("urn:a"), supplementalSemanticIds=[reference("urn:b")], idShort="Xy"
    )
    assert list(stored) == ["id", "endpoints", "semanticId", "supplementalSemanticIds", "idShort"]


@pytest.mark.parametrize("absent", [None, []])
def test_a_new_name_that_counts_as_absent_does_not_win(alice: Persona, absent: list[str] | None) -> None:
    both = submodel(supplementalSemanticIds=absent, supplementalSemanticId=[reference("old")])
    (stored,) = alice.register({"id": "a", "submodelDescriptors": [both]}).json()["submodelDescriptors"]
    assert stored == submodel(supplementalSemanticIds=[reference("old")])


def test_where_both_names_are_there_the_new_one_wins(alice: Persona) -> None:
    both = submodel(supplementalSemanticId=[reference("old")], supplementalSemanticIds=[reference("new")])
    (stored,) = alice.register({"id": "a", "submodelDescriptors": [both]}).json()["submodelDescriptors"]
    assert stored == submodel(supplementalSemanticIds=[reference("new")])


@pytest.mark.spec("check", "26")
@pytest.mark.spec("aas-registry-api", "2.5 V8, V9, V10")
class TestUnknownNullAndEmpty:
    def test_lenient(self, alice: Persona) -> None:
        body = {
            "id": "a",
            "foo": 1,
            "idShort": None,
            "endpoints": [],
            "x": {"y": None, "z": [], "kept": [None, {}, "null", "[]"]},
        }
        response = alice.register(body)
        assert response.status_code == 201
        expected = {"id": "a", "foo": 1, "x": {"kept": [None, {}, "null", "[]"]}}
        assert response.json() == alice.fetch("a").json() == expected

    @pytest.mark.parametrize("member", ["idShort", "administration", "globalAssetId"])
    def test_an_empty_array_where_no_array_is_expected(self, alice: Persona, member: str) -> None:
        response = alice.register({"id": "a", member: []})
        assert response.status_code == 400
        assert texts(response)[0].startswith(f"/{member}: must be a")

    def test_null_where_something_is_required(self, alice: Persona) -> None:
        body = {
            "id": "a",
            "endpoints": [{"interface": None, "protocolInformation": {"href": None, "subprotocol": None}}],
            "extensions": None,
            "submodelDescriptors": None,
        }
        assert alice.register(body).json() == {"id": "a", "endpoints": [{"protocolInformation": {}}]}

    @pytest.mark.parametrize("items", ["description", "specificAssetIds", "endpoints"])
    def test_null_in_an_array(self, alice: Persona, items: str) -> None:
        assert alice.register({"id": "a", items: [None]}).status_code == 400

    @pytest.mark.parametrize(
        ("members", "text"),
        [
            ({"foo": 1}, "/foo: there is no such member"),
            ({"a~/b": 1}, "/a~0~1b: there is no such member"),
            ({"idShort": None}, "/idShort: must not be null"),
            ({"endpoints": []}, "/endpoints: must not be empty"),
        ],
    )
    def test_strict(self, strict_alice: Persona, members: dict[str, Any], text: str) -> None:
        response = strict_alice.register({"id": "a", **members})
        assert response.status_code == 400
        assert texts(response) == [text]

    def test_strict_takes_an_empty_array_where_the_schema_does(self, strict_alice: Persona) -> None:
        body = {"id": "a", "submodelDescriptors": [], "description": [], "specificAssetIds": []}
        assert strict_alice.register(body).json() == {"id": "a"}


def test_all_defects_are_reported_at_once_each_with_its_place(alice: Persona) -> None:
    response = alice.register(
        {
            "idShort": 5,
            "description": [{"language": "en", "text": "x" * 2000}, "y"],
            "specificAssetIds": [{"name": "a"}],
            "submodelDescriptors": [{"id": "s"}, {"id": "s", "endpoints": 1}],
        }
    )
    assert response.status_code == 400
    assert sorted(texts(response)) == [
        "/description/0/text: has more than 1023 characters",
        "/description/1: must be an object",
        "/id: this member is required",
        "/idShort: must be a string",
        "/specificAssetIds/0/value: this member is required",
        "/submodelDescriptors/1/endpoints: must be an array",
        "/submodelDescriptors/1/id: another submodel descriptor has this id",
    ]


def test_a_body_with_more_defects_than_anybody_reads(alice: Persona) -> None:
    response = alice.register({"id": "a", "specificAssetIds": [1] * 100_000})
    assert response.status_code == 400
    assert len(texts(response)) == 101
    assert texts(response)[-1] == "and 99900 more"


def test_a_body_with_more_values_than_anybody_needs(alice: Persona) -> None:
    response = alice.register({"id": "a", "specificAssetIds": [1] * 250_000})
    assert response.status_code == 400
    assert texts(response) == ["the body has more than 200000 values"]


def test_commas_in_a_text_are_no_values(alice: Persona) -> None:
    assert alice.register({"id": "a", "x": "," * 250_000}).status_code == 201


def test_references_that_are_nested_too_deep(alice: Persona, strict_alice: Persona) -> None:
    def nested(depth: int) -> dict[str, Any]:
        return reference("r", referredSemanticId=nested(depth - 1)) if depth else reference("r")

    for someone in (alice, strict_alice):
        body = {"id": "a", "specificAssetIds": [{"name": "n", "value": "v", "semanticId": nested(8)}]}
        assert someone.register(body).status_code == 201
        body = {"id": "b", "specificAssetIds": [{"name": "n", "value": "v", "semanticId": nested(9)}]}
        assert "more than 8 deep" in texts(someone.register(body))[0]


def test_a_body_over_the_limit(alice: Persona, settings: Settings) -> None:
    body = json.dumps({"id": "a", "idShort": "x" * 2000})
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    response = alice.post(PATH, body)
    assert response.status_code == 413
    assert texts(response) == ["the body is larger than this registry takes"]


def test_the_projections_are_written_with_the_document(alice: Persona) -> None:
    alice.register({**CONTRACT_EXAMPLE, "endpoints": [endpoint("https://example.org/aas")]})
    shell = Shell.objects.get()
    assert (shell.identifier, shell.id_short, shell.asset_kind) == ("1111-shell", "1111-short", "Instance")
    assert (shell.asset_type, shell.global_asset_id) == ("1111-asset-type", "1111-global-asset")
    assert shell.created_at == shell.updated_at
    (row,) = Submodel.objects.all()
    assert (row.shell_id, row.position, row.identifier) == (
        shell.pk,
        0,
        "0d9c3f9c-8a4f-4d3e-9c0b-111111111111",
    )
    columns = ("submodel_position", "position", "href")
    assert sorted(Endpoint.objects.values_list(*columns), key=str) == [
        (0, 0, "https://192.0.2.1:1234/submodels/1"),
        (0, 1, "opc.tcp://192.0.2.1:4840"),
        (None, 0, "https://example.org/aas"),
    ]
    assert list(AssetId.objects.order_by("position").values_list("name", "value", "external_subject_id")) == [
        ("serialNumber", "1111", None),
        ("partNumber", "p-1111", "urn:partner:1"),
    ]
    for model in (Submodel, Endpoint, AssetId):
        assert set(model.objects.values_list("tenant", flat=True)) == {alice.tenant.pk}


def test_a_refused_host_stores_nothing(alice: Persona, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["registry.example"]
    response = alice.register({"id": "a"})
    assert response.status_code == 400
    assert not Shell.objects.exists()


def test_location_is_built_from_the_configured_address(alice: Persona, settings: Settings) -> None:
    settings.BASE_URL = "https://registry.example/twins"
    location = alice.register({"id": "urn:1"})["Location"]
    assert location == "https://registry.example/twins/aas-api/v3/tenant-a/shell-descriptors/dXJuOjE"


def test_the_same_id_in_two_tenants_is_two_shells(alice: Persona, charlie: Persona) -> None:
    assert alice.register({"id": "a", "idShort": "Aa"}).status_code == 201
    assert charlie.register({"id": "a", "idShort": "Bb"}).status_code == 201
    assert alice.fetch("a").json()["idShort"] == "Aa"
    assert charlie.fetch("a").json()["idShort"] == "Bb"


def test_quotes_and_wildcards_are_text(alice: Persona) -> None:
    identifier = "'; DROP TABLE shells_shell; -- %s $1 \\ \" % _"
    assert alice.register({"id": identifier, "idShort": "%(x)s"}).status_code == 201
    assert alice.fetch(identifier).json() == {"id": identifier, "idShort": "%(x)s"}
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM shells_shell")
        assert cursor.fetchone() == (1,)


FORWARDED = {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "registry.example"}


def test_a_location_behind_a_proxy_that_is_trusted(alice: Persona, settings: Settings) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.USE_X_FORWARDED_HOST = True
    settings.ALLOWED_HOSTS = ["registry.example"]
    response = alice.post(PATH, {"id": "a"}, **FORWARDED)
    assert response["Location"] == "https://registry.example/aas-api/v3/tenant-a/shell-descriptors/YQ"
    elsewhere = alice.post(PATH, {"id": "b"}, **{**FORWARDED, "X_Forwarded_Host": "evil.example"})
    assert elsewhere.status_code == 400
    assert Shell.objects.count() == 1


def test_what_a_client_says_of_a_proxy_does_not_count(alice: Persona) -> None:
    response = alice.post(PATH, {"id": "a"}, **FORWARDED)
    assert response["Location"] == "http://testserver/aas-api/v3/tenant-a/shell-descriptors/YQ"
