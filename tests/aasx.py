"""A small reader of AAS environments, for tests: shells and submodels of a JSON file or an AASX package.

It gives what a descriptor needs: ids, idShort, asset information, semantic ids. Metamodel 3.0 and 3.1.
"""

import json
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import defusedxml.ElementTree
from pyecma376_2.zip_package import ZipPackageReader

ORIGIN = "http://admin-shell.io/aasx/relationships/aasx-origin"
SPECIFICATION = "http://admin-shell.io/aasx/relationships/aas-spec"


def shell_descriptors(path: Path, endpoint_base: str) -> list[dict[str, Any]]:
    """One descriptor a shell of the file, with one submodel descriptor a submodel it refers to."""
    environment = _json_environment(path) if path.suffix == ".json" else _package_environment(path)
    submodels = {submodel["id"]: submodel for submodel in environment.get("submodels", [])}
    descriptors = []
    for shell in environment["assetAdministrationShells"]:
        asset = shell["assetInformation"]
        referred = [reference["keys"][0]["value"] for reference in shell.get("submodels", [])]
        descriptor = {
            "id": shell["id"],
            "idShort": shell.get("idShort"),
            "assetKind": asset.get("assetKind"),
            "globalAssetId": asset.get("globalAssetId"),
            "specificAssetIds": asset.get("specificAssetIds"),
            "submodelDescriptors": [
                {
                    "id": identifier,
                    "idShort": submodels.get(identifier, {}).get("idShort"),
                    "semanticId": submodels.get(identifier, {}).get("semanticId"),
                    "endpoints": [
                        {
                            "interface": "SUBMODEL-3.1",
                            "protocolInformation": {"href": f"{endpoint_base}/{number}"},
                        }
                    ],
                }
                for number, identifier in enumerate(referred)
            ],
        }
        descriptors.append(_without_none(descriptor))
    return descriptors


def _json_environment(path: Path) -> dict[str, Any]:
    environment: dict[str, Any] = json.loads(path.read_text())
    return environment


def _package_environment(path: Path) -> dict[str, Any]:
    with ZipPackageReader(str(path)) as package:
        (origin,) = package.get_related_parts_by_type()[ORIGIN]
        (part,) = package.get_related_parts_by_type(origin)[SPECIFICATION]
        with package.open_part(part) as stream:
            content = stream.read()
    if part.endswith(".json"):
        return dict(json.loads(content))
    return _from_xml(defusedxml.ElementTree.fromstring(content))


def _from_xml(root: Element) -> dict[str, Any]:
    return {
        "assetAdministrationShells": [_shell(element) for element in _all(root, "assetAdministrationShells")],
        "submodels": [
            {
                "id": _text(element, "id"),
                "idShort": _text(element, "idShort"),
                "semanticId": _reference(_child(element, "semanticId")),
            }
            for element in _all(root, "submodels")
        ],
    }


def _shell(element: Element) -> dict[str, Any]:
    asset = _child(element, "assetInformation")
    assert asset is not None
    return {
        "id": _text(element, "id"),
        "idShort": _text(element, "idShort"),
        "assetInformation": {
            "assetKind": _text(asset, "assetKind"),
            "globalAssetId": _text(asset, "globalAssetId"),
            "specificAssetIds": [
                {"name": _text(item, "name"), "value": _text(item, "value")}
                for item in _all(asset, "specificAssetIds")
            ],
        },
        "submodels": [_reference(reference) for reference in _all(element, "submodels")],
    }


def _reference(element: Element | None) -> dict[str, Any] | None:
    if element is None:
        return None
    return {
        "type": _text(element, "type"),
        "keys": [{"type": _text(key, "type"), "value": _text(key, "value")} for key in _all(element, "keys")],
    }


def _child(element: Element, name: str) -> Element | None:
    return element.find(f"{{*}}{name}")


def _all(element: Element, name: str) -> list[Element]:
    child = _child(element, name)
    return [] if child is None else list(child)


def _text(element: Element, name: str) -> str | None:
    child = _child(element, name)
    return None if child is None else child.text


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_none(member) for name, member in value.items() if member not in (None, [])}
    if isinstance(value, list):
        return [_without_none(item) for item in value]
    return value
