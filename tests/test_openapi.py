"""The OpenAPI document: the committed one is what the code says, and says what the official ones say."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.test import Client

ROOT = Path(__file__).parent.parent
OFFICIAL = ROOT.parent / "shared" / "openapi"
COMMITTED = ROOT / "docs" / "openapi.yaml"
TENANT = "/aas-api/v3/{tenantId}"

Operation = tuple[str, str]

#: Where the two official documents differ from each other, one of them must be left.
DIFFERENT_ID = {("get", "/bulk/status/{handleId}"): {"GetAsyncBulkStatus", "GetBulkAsyncStatus"}}
#: Answers of the official documents that do not occur here, and why.
WITHOUT_ANSWER = {
    ("post", "/lookup/shells/{aasIdentifier}"): {
        "404": "links of unknown shells are created (removed from the text in 3.2)",
        "409": "links are replaced (removed from the text in 3.2)",
    },
    ("get", "/submodel-descriptors"): {"404": "there is no parent that could be unknown"},
    ("delete", "/bulk/shell-descriptors"): {"404": "unknown ids are told in the result, as other defects"},
}
#: Parameters that the official documents do not have (3.2 has them, RFC 9110 §13).
MORE_PARAMETERS = {"assetIds", "createdFrom", "updatedFrom", "If-Match", "If-None-Match", "tenantId"}


def operations(document: dict[str, Any]) -> Iterator[tuple[Operation, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in ("get", "put", "post", "delete"):
                yield (method, path.replace(TENANT, "")), operation


def load(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(path.read_text())
    return document


def official() -> list[tuple[Operation, dict[str, Any]]]:
    found = []
    for name in ("aas-registry-v3.1.openapi.yaml", "submodel-registry-v3.1.openapi.yaml"):
        document = load(OFFICIAL / name)
        for key, operation in operations(document):
            operation["parameters"] = {
                _resolved(document, parameter)["name"]
                for parameter in [
                    *operation.get("parameters", []),
                    *document["paths"][key[1]].get("parameters", []),
                ]
            }
            found.append((key, operation))
    return found


def _resolved(document: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in node:
        return node
    for name in node["$ref"].removeprefix("#/").split("/"):
        document = document[name]
    return document


OURS = dict(operations(load(COMMITTED)))


def test_the_committed_document_is_what_the_code_says() -> None:
    """`make openapi` writes it."""
    output = StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=output)
    assert COMMITTED.read_text() == output.getvalue()


def test_the_operations_are_those_of_the_official_documents() -> None:
    assert set(OURS) == {key for key, _ in official()}


@pytest.mark.parametrize(("key", "operation"), official(), ids=lambda value: str(value)[:60])
def test_an_operation(key: Operation, operation: dict[str, Any]) -> None:
    ours = OURS[key]
    assert ours["operationId"] in DIFFERENT_ID.get(key, {operation["operationId"]})
    assert operation["tags"] == ours["tags"]
    named = {parameter["name"] for parameter in ours["parameters"]}
    assert named - MORE_PARAMETERS == operation["parameters"] - MORE_PARAMETERS
    assert operation["parameters"] <= named
    general = {"default", "500"}  # any operation can fail
    expected = set(operation["responses"]) - general - set(WITHOUT_ANSWER.get(key, {}))
    assert expected <= set(ours["responses"])
    success = {status for status in ours["responses"] if status < "400"}
    assert success - {"304"} == {status for status in operation["responses"] if status < "400"}


def test_a_list_is_an_envelope() -> None:
    lists = [operation for operation in OURS.values() if operation["operationId"].startswith("GetAll")]
    assert len(lists) == 5
    for operation in lists:
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        expected = "array" if operation["operationId"] == "GetAllAssetLinksById" else "object"
        assert schema["type"] == expected, operation["operationId"]


def test_each_operation_needs_the_token() -> None:
    for key, operation in OURS.items():
        assert operation["security"] == [{"accessToken": []}], key


def test_swagger_ui_comes_from_here_alone(client: Client, db: None) -> None:
    page = client.get("/docs").content.decode()
    assert "swagger-ui-bundle.js" in page
    assert "https://" not in page.replace("https://github.com", "")
    document = client.get("/openapi.json")
    assert document.status_code == 200
    assert "accessToken" in document.json()["components"]["securitySchemes"]
