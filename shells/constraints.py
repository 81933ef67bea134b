"""The constraints of the metamodel that no type expresses: AASd-… and AASc-… of IDTA-01001 and IDTA-01003-a.

A rule is about one object. Where the object is malformed the rule says nothing: its structure is reported
already, and what follows from the rest of the document is reported with it.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from shells.defects import Defect
from shells.identifiers import is_global_asset_id

Members = dict[str, Any]
Rule = Callable[[str, Members], Iterator[Defect]]

IEC61360 = "https://admin-shell.io/DataSpecificationTemplates/DataSpecificationIec61360/3"
MEASURED_TYPES = {
    "INTEGER_MEASURE", "REAL_MEASURE", "RATIONAL_MEASURE", "INTEGER_CURRENCY", "REAL_CURRENCY",
}  # fmt: skip
AAS_IDENTIFIABLES = {"AssetAdministrationShell", "ConceptDescription", "Identifiable", "Submodel"}
SUBMODEL_ELEMENTS = {
    "AnnotatedRelationshipElement", "BasicEventElement", "Blob", "Capability", "DataElement", "Entity",
    "EventElement", "File", "MultiLanguageProperty", "Operation", "Property", "Range", "ReferenceElement",
    "RelationshipElement", "SubmodelElement", "SubmodelElementCollection", "SubmodelElementList",
}  # fmt: skip


def always(shell: Members) -> Iterator[Defect]:
    """What every tenant checks: names of extensions and ids of submodels are unique."""
    yield from _apply(_submodels_are_unique, "", shell)
    yield from _apply(_extensions_are_unique, "", shell)
    submodels = shell.get("submodelDescriptors")
    for position, submodel in enumerate(submodels if isinstance(submodels, list) else []):
        yield from _apply(_extensions_are_unique, f"/submodelDescriptors/{position}", submodel)


def strict(shell: Members) -> Iterator[Defect]:
    """What a strict tenant checks as well: every rule, on every object that it is about."""
    return _walk("", shell)


def asset_links(links: list[Members], strict_: bool) -> Iterator[Defect]:
    """What makes an array of asset links acceptable to discovery (aas-registry-api.md §1.5).

    The global asset id is one of them, once at most, and for everybody.
    """
    seen = False
    for position, link in enumerate(links):
        if isinstance(link, dict) and is_global_asset_id(str(link.get("name"))):
            if link.get("externalSubjectId") is not None:
                yield Defect(f"/{position}/externalSubjectId", "a global asset id has none")
            if seen:
                yield Defect(f"/{position}/name", "there is a global asset id already")
            seen = True
    if strict_:
        yield from _walk("", links)


def _walk(pointer: str, value: Any) -> Iterator[Defect]:
    if isinstance(value, dict):
        for member, rule in RULES.items():
            if member in value:
                yield from _apply(rule, pointer, value)
        for name, member_value in value.items():
            yield from _walk(f"{pointer}/{name}", member_value)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _walk(f"{pointer}/{position}", item)


def _apply(rule: Rule, pointer: str, value: Any) -> list[Defect]:
    try:
        return list(rule(pointer, value))
    except (AttributeError, IndexError, KeyError, TypeError):  # malformed: reported as such
        return []


def _submodels_are_unique(pointer: str, shell: Members) -> Iterator[Defect]:
    submodels = shell.get("submodelDescriptors", [])
    return _unique("/submodelDescriptors", submodels, "id", "another submodel descriptor has this id")


def _extensions_are_unique(pointer: str, descriptor: Members) -> Iterator[Defect]:
    extensions = descriptor.get("extensions", [])
    return _unique(f"{pointer}/extensions", extensions, "name", "another extension has this name (AASd-077)")


def _names_are_not_reserved(pointer: str, shell: Members) -> Iterator[Defect]:
    for position, asset_id in enumerate(shell["specificAssetIds"]):
        if is_global_asset_id(asset_id["name"]):
            yield Defect(
                f"{pointer}/specificAssetIds/{position}/name",
                "is a reserved name; use the member globalAssetId (AASd-116)",
            )


def _supplemental_needs_main(pointer: str, members: Members) -> Iterator[Defect]:
    if "semanticId" not in members:
        yield Defect(f"{pointer}/supplementalSemanticIds", "needs a semanticId (AASd-118)")


def _revision_needs_version(pointer: str, administration: Members) -> Iterator[Defect]:
    if "version" not in administration:
        yield Defect(f"{pointer}/revision", "needs a version (AASd-005)")


def _subject_is_external(pointer: str, asset_id: Members) -> Iterator[Defect]:
    if asset_id["externalSubjectId"]["type"] != "ExternalReference":
        yield Defect(f"{pointer}/externalSubjectId/type", "must be 'ExternalReference' (AASd-133)")


def _keys_fit(pointer: str, reference: Members) -> Iterator[Defect]:
    types = [key["type"] for key in reference["keys"]]
    at = f"{pointer}/keys"
    if reference["type"] == "ExternalReference":
        if types[0] != "GlobalReference":
            yield Defect(f"{at}/0/type", "must be 'GlobalReference' in an external reference (AASd-122)")
        if types[-1] not in ("GlobalReference", "FragmentReference"):
            yield Defect(
                f"{at}/{len(types) - 1}/type",
                "must be 'GlobalReference' or 'FragmentReference' in an external reference (AASd-124)",
            )
        return
    if types[0] not in AAS_IDENTIFIABLES:
        yield Defect(f"{at}/0/type", "must be an identifiable in a model reference (AASd-123)")
    for position, type_ in enumerate(types[1:], start=1):
        if type_ not in SUBMODEL_ELEMENTS and type_ != "FragmentReference":
            yield Defect(f"{at}/{position}/type", "must be a submodel element or fragment (AASd-125)")
    if "FragmentReference" in types[:-1]:
        yield Defect(f"{at}/{types.index('FragmentReference')}/type", "must be the last key (AASd-126)")
    for position, (before, after) in enumerate(pairwise(reference["keys"]), start=1):
        if after["type"] == "FragmentReference" and before["type"] not in ("File", "Blob"):
            yield Defect(f"{at}/{position}/type", "may only follow a File or Blob (AASd-127)")
        if before["type"] == "SubmodelElementList" and not _is_position(after["value"]):
            yield Defect(f"{at}/{position}/value", "must be a position in the list before it (AASd-128)")


def _data_specification_is_iec61360(pointer: str, embedded: Members) -> Iterator[Defect]:
    reference = embedded["dataSpecification"]
    key = reference["keys"][0]
    if reference["type"] != "ExternalReference" or key["value"] != IEC61360:
        yield Defect(f"{pointer}/dataSpecification", f"must refer to {IEC61360} (AASc-3a-050)")


def _iec61360_is_complete(pointer: str, content: Members) -> Iterator[Defect]:
    languages = {name["language"].lower().split("-")[0] for name in content["preferredName"]}
    if "en" not in languages:
        yield Defect(f"{pointer}/preferredName", "must have an English name (AASc-3a-002)")
    if content.get("dataType") in MEASURED_TYPES and "unit" not in content and "unitId" not in content:
        yield Defect(f"{pointer}/dataType", "needs a unit or unitId (AASc-3a-009)")
    if "value" in content and "valueList" in content:
        yield Defect(f"{pointer}/value", "and valueList exclude each other (AASc-3a-010)")


#: The member by which an object is known → the rule about it.
RULES: dict[str, Rule] = {
    "specificAssetIds": _names_are_not_reserved,
    "supplementalSemanticIds": _supplemental_needs_main,
    "revision": _revision_needs_version,
    "externalSubjectId": _subject_is_external,
    "keys": _keys_fit,
    "dataSpecificationContent": _data_specification_is_iec61360,
    "preferredName": _iec61360_is_complete,
}


def _unique(pointer: str, items: list[Members], member: str, text: str) -> Iterator[Defect]:
    seen = set()
    for position, item in enumerate(items):
        value = item.get(member)
        if value in seen:
            yield Defect(f"{pointer}/{position}/{member}", text)
        elif value is not None:
            seen.add(value)


def _is_position(text: str) -> bool:
    return text.isascii() and text.isdigit()
