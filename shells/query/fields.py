"""Field identifiers (aas-registry-api.md §7.2)."""

import re
from typing import Any

from shells.collections import SHELLS, Collection
from shells.query.conditions import Field, Nothing, Step

MAX_INDEX = 2**31 - 1

# --- Fields: an object has members, a list one kind of item, None is text -------------------------------

_REFERENCE = {"type": None, "keys": [{"type": None, "value": None}]}
_ENDPOINTS = [{"interface": None, "protocolinformation": {"href": None}}]
_SUBMODEL = {"id": None, "idShort": None, "semanticId": _REFERENCE, "endpoints": _ENDPOINTS}
_SHELL = {
    "id": None,
    "idShort": None,
    "assetKind": None,
    "assetType": None,
    "globalAssetId": None,
    "specificAssetIds": [{"name": None, "value": None, "externalSubjectId": _REFERENCE}],
    "endpoints": _ENDPOINTS,
    "submodelDescriptors": [_SUBMODEL],
}
_ROOTS: dict[str, Any] = {"$aasdesc": _SHELL, "$smdesc": _SUBMODEL}
_OTHER_ROOTS = re.compile(r"\$(?:aas|sm|sme[^#]*|cd)#.+")
_PART = re.compile(r"([A-Za-z]+)(?:\[([0-9]*)\])?")


def parse_field(text: str, collection: Collection) -> Field | Nothing:
    """The member that a field identifier names. Raises ValueError; the message says why."""
    if _OTHER_ROOTS.fullmatch(text):
        return Nothing(in_list="[]" in text)
    root, _, path = text.partition("#")
    if root not in _ROOTS:
        raise ValueError("is not a field identifier")
    lists, names, here = [], [], _ROOTS[root]
    for part in path.replace("protocolInformation", "protocolinformation").split("."):
        found = _PART.fullmatch(part)
        if not found or not isinstance(here, dict) or found[1] not in here:
            raise ValueError(f"is not a field of {root}")
        name, index = found.groups()
        here = here[name]
        names.append(name)
        if isinstance(here, list):  # a list without brackets is meant as one with []
            lists.append(Step(".".join(names), int(index) if index else None))
            names, here = [], here[0]
        elif index is not None:
            raise ValueError(f"{name} is not a list")
    if here is not None and here is not _REFERENCE:
        raise ValueError("does not name a text")
    if any(step.index is not None and step.index > MAX_INDEX for step in lists):
        raise ValueError(f"has an index greater than {MAX_INDEX}")
    if root == "$smdesc" and collection is SHELLS:
        lists.insert(0, Step("submodelDescriptors", None))
    elif root == "$aasdesc" and collection is not SHELLS:
        return Nothing(in_list=any(step.index is None for step in lists))
    if names == ["value"] and lists[-1].name.endswith(".keys") and lists[-1].index == 0:
        names = [lists.pop().name.removesuffix(".keys")]
    return Field(tuple(lists), ".".join(names))
