"""The accept/reject matrix of the official schemas (aas-registry-api.md §2.4), on a strict tenant."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from shells import descriptors
from shells.defects import InvalidDescriptor
from shells.descriptors import check_shell, parse_shell
from tests.bodies import CONTRACT_EXAMPLE, EVERYTHING, endpoint

OFFICIAL = Path(__file__).parent.parent.parent / "shared" / "openapi" / "aas-registry-v3.1.openapi.yaml"


def accepts(shell: dict[str, Any], strict: bool = True) -> bool:
    try:
        check_shell(copy.deepcopy(shell), strict=strict)
    except InvalidDescriptor:
        return False
    return True


@pytest.mark.spec("aas-registry-api", "2.4")
@pytest.mark.parametrize(
    ("shell", "accepted"),
    [
        ({"id": "urn:1"}, True),
        ({}, False),
        ({"id": ""}, False),
        ({"id": "x" * 2048}, True),
        ({"id": "x" * 2049}, False),
        ({**CONTRACT_EXAMPLE, "idShort": "short-1111"}, True),
        (EVERYTHING, True),
        ({"id": "a", "submodelDescriptors": [{"id": "s"}]}, False),
        ({"id": "a", "submodelDescriptors": [{"id": "s", "endpoints": []}]}, False),
        ({"id": "a", "submodelDescriptors": [{"endpoints": [endpoint()]}]}, False),
        ({"id": "a", "endpoints": [{"interface": "AAS-3.1"}]}, False),
        ({"id": "a", "endpoints": [{"protocolInformation": {"href": "x"}}]}, False),
        ({"id": "a", "endpoints": [endpoint("")]}, False),
        ({"id": "a", "endpoints": [endpoint("opc.tcp://192.0.2.1:4840")]}, True),
        ({"id": "a", "endpoints": [endpoint(securityAttributes=[])]}, False),
        ({"id": "a", "endpoints": [endpoint(securityAttributes=[{"type": "NONE", "value": ""}])]}, False),
        (
            {"id": "a", "endpoints": [endpoint(securityAttributes=[{"type": "OAUTH", "key": "", "value": ""}])]},
            False,
        ),
        (
            {"id": "a", "endpoints": [endpoint(securityAttributes=[{"type": "NONE", "key": "", "value": ""}])]},
            True,
        ),
        ({"id": "a", "endpoints": []}, False),
        ({"id": "a", "extensions": []}, False),
        ({"id": "a", "submodelDescriptors": [], "specificAssetIds": [], "description": []}, True),
        ({"id": "a", "idShort": "A"}, False),
        ({"id": "a", "idShort": "a b"}, False),
        ({"id": "a", "idShort": ""}, False),
        ({"id": "a", "idShort": "ab-"}, False),
        ({"id": "a", "idShort": "a-b\n"}, False),
        ({"id": "a", "idShort": "a-b"}, True),
        ({"id": "a", "assetKind": "Role"}, True),
        ({"id": "a", "assetKind": "INSTANCE"}, False),
        ({"id": "a", "description": [{"language": "en_US", "text": "x"}]}, False),
        ({"id": "a", "description": [{"language": "en\n", "text": "x"}]}, False),
        ({"id": "a", "description": [{"language": "en", "text": ""}]}, False),
        ({"id": "a", "description": [{"language": "en", "text": "x" * 1024}]}, False),
        ({"id": "a", "displayName": [{"language": "en", "text": "x" * 129}]}, False),
        ({"id": "a", "administration": {"version": "01"}}, False),
        ({"id": "a", "administration": {"version": "0"}}, True),
        ({"id": "a", "endpoints": [endpoint(endpointProtocolVersion="1.1")]}, False),
        (
            {
                "id": "a",
                "specificAssetIds": [
                    {"name": "n", "value": "v", "semanticId": {"type": "GlobalReference", "keys": []}}
                ],
            },
            False,
        ),
        ({"id": "a", "idShort": None}, False),
        ({"id": "a", "unknown": 1}, False),
    ],
)  # fmt: skip
def test_the_matrix_of_the_official_schemas(shell: dict[str, Any], accepted: bool) -> None:
    assert accepts(shell) is accepted


@pytest.mark.spec("aas-registry-api", "2.1")
@pytest.mark.parametrize("language", ["en", "EN", "de-DE", "sr-Latn-RS", "x-a", "english", "i-klingon"])
def test_language_tags(language: str) -> None:
    assert accepts({"id": "a", "description": [{"language": language, "text": "x"}]})


def resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """`schema` with its reference followed and its `allOf` merged."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    merged: dict[str, Any] = {"properties": {}, "required": [], **schema}
    for part in schema.get("allOf", []):
        part = resolved(part, document)
        merged["properties"] = {**merged["properties"], **part["properties"]}
        merged["required"] = [*merged["required"], *part["required"]]
    return merged


@pytest.mark.spec("IDTA-01002-3", "OpenAPI 3.1.2")
@pytest.mark.parametrize(
    "name",
    [
        "AssetAdministrationShellDescriptor",
        "SubmodelDescriptor",
        "Endpoint",
        "ProtocolInformation",
        "SpecificAssetId",
        "Reference",
        "Key",
        "Extension",
        "AdministrativeInformation",
        "EmbeddedDataSpecification",
        "DataSpecificationIec61360",
        "LevelType",
        "ValueList",
        "ValueReferencePair",
    ],
)
def test_each_class_has_the_members_of_the_official_schema(name: str) -> None:
    document = yaml.safe_load(OFFICIAL.read_text())
    official = resolved({"$ref": f"#/components/schemas/{name}"}, document)
    ours = getattr(descriptors, name)
    assert ours.__required_keys__ | ours.__optional_keys__ == set(official["properties"])
    assert ours.__required_keys__ == set(official["required"])


@pytest.mark.parametrize(
    "name", ["KeyTypes", "DataTypeDefXsd", "DataTypeIec61360", "AssetKind", "ReferenceTypes"]
)
def test_each_enumeration_has_the_values_of_the_official_schema(name: str) -> None:
    document = yaml.safe_load(OFFICIAL.read_text())
    official = document["components"]["schemas"][name]["enum"]
    assert set(getattr(descriptors, name).__args__) == set(official)


def test_numbers_of_unknown_members_survive() -> None:
    body = b'{"id":"a","n":[0,-1,1.5,123456789012345678901234567890,1e-7,true,false]}'
    shell = parse_shell(body, strict=False)
    assert json.loads(shell.text) == json.loads(body)


def test_a_lone_surrogate_that_a_file_reader_let_through() -> None:
    with pytest.raises(InvalidDescriptor) as refusal:
        check_shell({"id": "a", "idShort": "\ud800"}, strict=False)
    assert [defect.pointer for defect in refusal.value.defects] == ["/idShort"]


def test_the_members_that_were_handed_over_stay_as_they_were() -> None:
    members = {"id": "a", "x": None, "submodelDescriptors": [{"id": "s", "supplementalSemanticId": []}]}
    before = copy.deepcopy(members)
    check_shell(members, strict=False)
    assert members == before
