"""The constraints of the metamodel, on strict tenants (aas-registry-api.md §2.2, V11)."""

import copy
from typing import Any

import pytest

from shells.constraints import IEC61360
from shells.defects import InvalidDescriptor
from shells.descriptors import check_shell
from tests.bodies import EVERYTHING, reference, submodel


def defects(shell: dict[str, Any], strict: bool = True) -> list[str]:
    try:
        check_shell(shell, strict=strict)
    except InvalidDescriptor as error:
        return [str(defect) for defect in error.defects]
    return []


def semantic(reference: dict[str, Any]) -> dict[str, Any]:
    return {"id": "a", "submodelDescriptors": [submodel(semanticId=reference)]}


def model(*keys: tuple[str, str]) -> dict[str, Any]:
    return {"type": "ModelReference", "keys": [{"type": type_, "value": value} for type_, value in keys]}


def external(*types: str) -> dict[str, Any]:
    return {"type": "ExternalReference", "keys": [{"type": type_, "value": "v"} for type_ in types]}


def content(**changes: Any) -> dict[str, Any]:
    specification = {
        "modelType": "DataSpecificationIec61360",
        "preferredName": [{"language": "en", "text": "mass"}],
        **changes,
    }
    embedded = {"dataSpecification": reference(IEC61360), "dataSpecificationContent": specification}
    return {"id": "a", "administration": {"embeddedDataSpecifications": [embedded]}}


AT_SEMANTIC_ID = "/submodelDescriptors/0/semanticId/keys"
AT_CONTENT = "/administration/embeddedDataSpecifications/0"

CASES = [
    ("AASd-005", {"id": "a", "administration": {"revision": "1"}}, "/administration/revision"),
    (
        "AASd-116",
        {"id": "a", "specificAssetIds": [{"name": "GlobalAssetID", "value": "x"}]},
        "/specificAssetIds/0/name",
    ),
    (
        "AASd-118",
        {"id": "a", "submodelDescriptors": [submodel(supplementalSemanticIds=[reference("x")])]},
        "/submodelDescriptors/0/supplementalSemanticIds",
    ),
    ("AASd-122", semantic(external("Submodel", "GlobalReference")), f"{AT_SEMANTIC_ID}/0/type"),
    ("AASd-123", semantic(model(("Property", "p"))), f"{AT_SEMANTIC_ID}/0/type"),
    ("AASd-124", semantic(external("GlobalReference", "Submodel")), f"{AT_SEMANTIC_ID}/1/type"),
    ("AASd-125", semantic(model(("Submodel", "s"), ("Submodel", "t"))), f"{AT_SEMANTIC_ID}/1/type"),
    (
        "AASd-126",
        semantic(model(("Submodel", "s"), ("File", "f"), ("FragmentReference", "x"), ("Property", "p"))),
        f"{AT_SEMANTIC_ID}/2/type",
    ),
    ("AASd-127", semantic(model(("Submodel", "s"), ("FragmentReference", "x"))), f"{AT_SEMANTIC_ID}/1/type"),
    (
        "AASd-128",
        semantic(model(("Submodel", "s"), ("SubmodelElementList", "l"), ("Property", "p"))),
        f"{AT_SEMANTIC_ID}/2/value",
    ),
    (
        "AASd-133",
        {
            "id": "a",
            "specificAssetIds": [{"name": "n", "value": "v", "externalSubjectId": model(("Submodel", "s"))}],
        },
        "/specificAssetIds/0/externalSubjectId/type",
    ),
    (
        "AASc-3a-002",
        content(preferredName=[{"language": "de", "text": "Masse"}]),
        f"{AT_CONTENT}/dataSpecificationContent/preferredName",
    ),
    ("AASc-3a-009", content(dataType="REAL_MEASURE"), f"{AT_CONTENT}/dataSpecificationContent/dataType"),
    (
        "AASc-3a-010",
        content(value="1", valueList={"valueReferencePairs": [{"value": "1"}]}),
        f"{AT_CONTENT}/dataSpecificationContent/value",
    ),
]


@pytest.mark.spec("IDTA-01001", "constraints")
@pytest.mark.parametrize(("constraint", "shell", "pointer"), CASES, ids=[case[0] for case in CASES])
def test_a_strict_tenant_checks_the_constraint(constraint: str, shell: dict[str, Any], pointer: str) -> None:
    (defect,) = defects(copy.deepcopy(shell))
    assert defect.startswith(f"{pointer}: ")
    assert f"({constraint})" in defect
    assert defects(copy.deepcopy(shell), strict=False) == []


@pytest.mark.spec("IDTA-01003-a", "AASc-3a-050")
def test_the_data_specification_must_be_the_one_of_iec_61360() -> None:
    shell = content()
    shell["administration"]["embeddedDataSpecifications"][0]["dataSpecification"] = reference("urn:other")
    (defect,) = defects(shell)
    assert "(AASc-3a-050)" in defect


def test_what_keeps_every_constraint_has_no_defect() -> None:
    assert defects(copy.deepcopy(EVERYTHING)) == []
    assert defects(semantic(external("GlobalReference", "FragmentReference"))) == []
    assert defects(semantic(model(("Submodel", "s"), ("SubmodelElementList", "l"), ("Property", "0")))) == []
    assert defects(semantic(model(("Submodel", "s"), ("Blob", "b"), ("FragmentReference", "x")))) == []
    assert defects(content(dataType="REAL_MEASURE", unit="kg")) == []


def test_a_malformed_object_is_reported_as_such_and_the_rest_is_still_checked() -> None:
    shell = {
        "id": "a",
        "administration": {"revision": "1"},
        "specificAssetIds": [5],
        "submodelDescriptors": [submodel(semanticId={"type": "ModelReference", "keys": "x"}), 7],
    }
    assert sorted(defects(shell)) == [
        "/administration/revision: needs a version (AASd-005)",
        "/specificAssetIds/0: must be an object",
        "/submodelDescriptors/0/semanticId/keys: must be an array",
        "/submodelDescriptors/1: must be an object",
    ]
