"""A descriptor for people who have never seen its JSON: its members by name, texts in the reader's language."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from django.utils.translation import get_language

from shells.projections import first_key

#: So many submodels and asset ids are shown one by one; all are in the document.
SHOWN = 200


@dataclass(frozen=True)
class EndpointReading:
    interface: str
    href: str
    #: Whether a browser may be sent there: https and http, nothing else.
    is_link: bool
    protocol: str


@dataclass(frozen=True)
class Reading:
    """What a page says of a shell or a submodel. Members that are absent are empty."""

    identifier: str
    id_short: str
    #: Language → text.
    names: dict[str, str]
    descriptions: dict[str, str]
    administration: dict[str, str]
    semantic_id: str
    supplemental_semantic_ids: list[str]
    endpoints: list[EndpointReading]
    asset_kind: str = ""
    asset_type: str = ""
    global_asset_id: str = ""
    asset_ids: list[dict[str, str]] = field(default_factory=list)
    submodels: "list[Reading]" = field(default_factory=list)
    submodel_count: int = 0
    asset_id_count: int = 0

    @property
    def name(self) -> str:
        return in_language(self.names, get_language()) or self.id_short or self.identifier

    @property
    def description(self) -> str:
        return in_language(self.descriptions, get_language())


def read_shell(shell: dict[str, Any]) -> Reading:
    submodels = shell.get("submodelDescriptors", ())
    asset_ids = shell.get("specificAssetIds", ())
    return Reading(
        **_common(shell),
        asset_kind=shell.get("assetKind", ""),
        asset_type=shell.get("assetType", ""),
        global_asset_id=shell.get("globalAssetId", ""),
        asset_ids=[
            {
                "name": item["name"],
                "value": item["value"],
                "subject": ", ".join(keys(item.get("externalSubjectId"))),
            }
            for item in asset_ids[:SHOWN]
        ],
        submodels=[read_submodel(submodel) for submodel in submodels[:SHOWN]],
        submodel_count=len(submodels),
        asset_id_count=len(asset_ids),
    )


def read_submodel(submodel: dict[str, Any]) -> Reading:
    return Reading(**_common(submodel))


def _common(descriptor: dict[str, Any]) -> dict[str, Any]:
    administration = descriptor.get("administration") or {}
    said = {name: administration.get(name) for name in ("version", "revision", "templateId")}
    said["creator"] = first_key(administration.get("creator"))
    supplemental = descriptor.get("supplementalSemanticIds", ())
    return {
        "identifier": descriptor["id"],
        "id_short": descriptor.get("idShort", ""),
        "names": _texts(descriptor.get("displayName", ())),
        "descriptions": _texts(descriptor.get("description", ())),
        "administration": {name: str(value) for name, value in said.items() if value},
        "semantic_id": first_key(descriptor.get("semanticId")) or "",
        "supplemental_semantic_ids": [key for key in map(first_key, supplemental) if key],
        "endpoints": [_endpoint(endpoint) for endpoint in descriptor.get("endpoints", ())[:SHOWN]],
    }


def _endpoint(endpoint: dict[str, Any]) -> EndpointReading:
    information = endpoint.get("protocolInformation") or {}
    href = str(information.get("href") or "")
    protocol = [information.get("endpointProtocol"), *(information.get("endpointProtocolVersion") or ())]
    protocol.append(information.get("subprotocol"))
    return EndpointReading(
        interface=str(endpoint.get("interface") or ""),
        href=href,
        is_link=is_web_address(href),
        protocol=" ".join(str(part) for part in protocol if part),
    )


def is_web_address(href: str) -> bool:
    """Whether a text is an address that a browser may be sent to."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    return href.lower().startswith(("https://", "http://")) and bool(parts.netloc)


def keys(reference: dict[str, Any] | None) -> list[str]:
    """The values of the keys of a reference."""
    return [str(key.get("value", "")) for key in (reference or {}).get("keys", ())]


def in_language(texts: dict[str, str], language: str | None) -> str:
    """The text in the language, or else in its base language, in English, or in any."""
    wanted = (language or "en").lower()
    by_tag = {tag.lower(): text for tag, text in texts.items()}
    for tag in (wanted, wanted.partition("-")[0], "en"):
        for known, text in by_tag.items():
            if known == tag or known.startswith(f"{tag}-"):
                return text
    return next(iter(texts.values()), "")


def _texts(strings: Iterable[dict[str, Any]]) -> dict[str, str]:
    return {str(item.get("language", "")): str(item.get("text", "")) for item in strings}
