"""AAS environments of metamodel 3.0 and 3.1, in JSON and XML → descriptors of their shells.

A descriptor needs little of an environment: ids, names, asset information, and of each submodel that a shell
refers to its semantic ids. All else is passed over, whatever it is, and never held in memory.
"""

from collections.abc import Callable, Iterator
from typing import Any
from xml.etree.ElementTree import Element, ParseError

import defusedxml
from defusedxml.ElementTree import XMLParser
from pydantic_core import PydanticSerializationError, to_json

from shells.identifiers import encode
from shells.sources.items import Item, Stream, Unreadable
from shells.sources.json_text import Text

#: The members of an environment in JSON.
MEMBERS = {b"assetAdministrationShells", b"submodels", b"conceptDescriptions", b"assets"}
#: The longest JSON text of one shell or submodel, with all that it contains.
MAX_JSON_BYTES = 32 * 1024 * 1024
#: A file with more shells and submodels than this would take too much memory: its submodels may stand last.
MAX_IDENTIFIABLES = 100_000
#: The longest text that is taken out of XML.
MAX_TEXT = 64 * 1024
CHUNK_BYTES = 256 * 1024

_OF_BOTH = ("id", "idShort", "displayName", "description", "administration")
_OF_SHELL = (*_OF_BOTH, "assetInformation", "submodels")
_OF_SUBMODEL = (*_OF_BOTH, "semanticId", "supplementalSemanticIds")
_OF_ADMINISTRATION = ("version", "revision", "creator", "templateId")
_NAMESPACE = "https://admin-shell.io/aas/3/"
_OLD_NAMESPACE = "http://www.admin-shell.io/aas/"

#: A part of an environment, by the names of JSON; a shell with the line where it stands.
Members = dict[str, Any]


class Environment:
    """The shells and submodels of one environment, as far as descriptors need them."""

    def __init__(self) -> None:
        self.shells: list[tuple[int, Members]] = []
        self.submodels: dict[str, Members] = {}

    def add_shell(self, line: int, shell: Members) -> None:
        self._bound(line)
        self.shells.append((line, shell))

    def add_submodel(self, line: int, submodel: Members) -> None:
        self._bound(line)
        identifier = submodel.get("id")
        if isinstance(identifier, str):
            self.submodels.setdefault(identifier, submodel)

    def items(self, endpoint_base: str | None) -> Iterator[Item]:
        if not self.shells:
            raise Unreadable("is an AAS environment without any shell")
        for line, shell in self.shells:
            try:
                yield Item(line, to_json(self._descriptor(shell, endpoint_base)))
            except (PydanticSerializationError, UnicodeEncodeError):
                yield Item(line, b"", "contains a lone surrogate, which is no character")

    def _bound(self, line: int) -> None:
        if len(self.shells) + len(self.submodels) >= MAX_IDENTIFIABLES:
            raise Unreadable(f"has more than {MAX_IDENTIFIABLES} shells and submodels: split it", line)

    def _descriptor(self, shell: Members, base: str | None) -> Members:
        asset = shell.get("assetInformation") or {}
        return _present(
            {
                **{name: shell.get(name) for name in _OF_BOTH},
                **{name: asset.get(name) for name in ("assetKind", "assetType", "globalAssetId")},
                "specificAssetIds": asset.get("specificAssetIds"),
                "endpoints": _endpoints("AAS-3.1", base, "shells", shell.get("id")),
                "submodelDescriptors": [
                    self._submodel(identifier, base) for identifier in _referred(shell.get("submodels"))
                ],
            }
        )

    def _submodel(self, identifier: str, base: str | None) -> Members:
        found = self.submodels.get(identifier, {})
        return _present(
            {
                **{name: found.get(name) for name in _OF_BOTH},
                "id": identifier,
                "semanticId": found.get("semanticId"),
                "supplementalSemanticIds": found.get("supplementalSemanticIds"),
                "endpoints": _endpoints("SUBMODEL-3.1", base, "submodels", identifier),
            }
        )


def _endpoints(interface: str, base: str | None, collection: str, identifier: Any) -> list[Members]:
    """Where a repository below `base` serves it (IDTA-01002-3, repository interfaces)."""
    if base is None or not isinstance(identifier, str):
        return []
    href = f"{base.rstrip('/')}/{collection}/{encode(identifier)}"
    protocol = base.partition(":")[0].upper()
    return [
        {"interface": interface, "protocolInformation": {"href": href, "endpointProtocol": protocol}},
    ]


def _referred(references: Any) -> list[str]:
    """The ids that model references name, each once."""
    found: dict[str, None] = {}
    for reference in references if isinstance(references, list) else []:
        keys = reference.get("keys") if isinstance(reference, dict) else None
        first = keys[0] if isinstance(keys, list) and keys else None
        if isinstance(first, dict) and isinstance(first.get("value"), str):
            found[first["value"]] = None
    return list(found)


def _present(members: Members) -> Members:
    return {name: member for name, member in members.items() if member not in (None, [], {})}


# --- JSON ---------------------------------------------------------------------------------------------


def json_items(stream: Stream, endpoint_base: str | None) -> Iterator[Item]:
    """The shells of an environment in JSON as descriptors. Raises Unreadable."""
    environment = Environment()
    text = Text(stream, MAX_JSON_BYTES)
    for name in text.members():
        if name == "assets":
            raise Unreadable("is metamodel 2.0 or older (it has assets of their own); 3.0 and 3.1 are read")
        if name not in ("assetAdministrationShells", "submodels") or text.peek() != "[":
            text.value()
            continue
        for line, _, value in text.array():
            if not isinstance(value, dict):
                raise Unreadable("a JSON object is expected here", line)
            if "identification" in value and "id" not in value:
                raise Unreadable("is metamodel 2.0 or older (identification); 3.0 and 3.1 are read", line)
            if name == "submodels":
                environment.add_submodel(line, _from_json(value, _OF_SUBMODEL))
            else:
                environment.add_shell(line, _from_json(value, _OF_SHELL))
    if text.peek():
        raise Unreadable("goes on after its end")
    yield from environment.items(endpoint_base)


def _from_json(value: Members, names: tuple[str, ...]) -> Members:
    found = {name: value[name] for name in names if name in value}
    administration = found.get("administration")
    if isinstance(administration, dict):
        found["administration"] = {name: administration.get(name) for name in _OF_ADMINISTRATION}
        found["administration"] = _present(found["administration"])
    if not isinstance(found.get("assetInformation"), dict):
        found.pop("assetInformation", None)
    return found


# --- XML ----------------------------------------------------------------------------------------------


def xml_items(stream: Stream, endpoint_base: str | None) -> Iterator[Item]:
    """The shells of an environment in XML as descriptors. Raises Unreadable.

    Document types and entities are refused: no environment has them, and a few of them fill any memory.
    """
    target = _Target()
    parser = XMLParser(target=target, forbid_dtd=True)
    target.line = lambda: int(parser.parser.CurrentLineNumber)
    try:
        while chunk := stream.read(CHUNK_BYTES):
            parser.feed(chunk)
        parser.close()
    except defusedxml.DefusedXmlException:
        raise Unreadable(
            "declares a document type or entities, which is not allowed", target.line()
        ) from None
    except ParseError as error:
        raise Unreadable(f"no well-formed XML: {error}", error.position[0]) from None
    except (LookupError, ValueError) as error:
        raise Unreadable(f"no XML that can be read: {error}") from None
    yield from target.environment.items(endpoint_base)


class _Target:
    """Takes what the parser finds, and keeps what a descriptor needs."""

    def __init__(self) -> None:
        self.environment = Environment()
        self.line: Callable[[], int] = lambda: 0
        self._names: list[str] = []
        #: The elements that are kept, from the shell or submodel down to the current one.
        self._kept: list[Element] = []
        self._started = 0
        self._text: list[str] = []
        self._length = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        namespace, _, name = tag.rpartition("}")
        if not self._names:
            _check_root(namespace.lstrip("{"), name)
        self._names.append(name)
        if self._is_wanted(name):
            element = Element(name)
            if self._kept:
                self._kept[-1].append(element)
            else:
                self._started = self.line()
            self._kept.append(element)
        self._text.clear()
        self._length = 0

    def data(self, text: str) -> None:
        if self._kept and len(self._names) - 2 == len(self._kept):
            self._length += len(text)
            if self._length <= MAX_TEXT:
                self._text.append(text)

    def end(self, tag: str) -> None:
        self._names.pop()
        if not self._kept or len(self._names) - 1 != len(self._kept):  # the element was not kept
            return
        element = self._kept.pop()
        if not len(element):
            element.text = "".join(self._text)
        self._text.clear()
        if not self._kept:
            if self._names[-1] == "submodels":
                self.environment.add_submodel(self._started, _submodel_of(element))
            else:
                self.environment.add_shell(self._started, _shell_of(element))

    def close(self) -> None: ...

    def _is_wanted(self, name: str) -> bool:
        """Whether the element that begins now is kept: a shell, a submodel, or a wanted part of one."""
        depth = len(self._names)
        if depth == 3:
            return self._names[1] in ("assetAdministrationShells", "submodels")
        if depth < 3 or len(self._kept) != depth - 3:
            return False
        if depth == 4:
            return name in (_OF_SUBMODEL if self._names[1] == "submodels" else _OF_SHELL)
        if depth == 5 and self._names[3] == "administration":
            return name in _OF_ADMINISTRATION
        return True


def _check_root(namespace: str, name: str) -> None:
    if namespace.startswith(_OLD_NAMESPACE):
        version = namespace.removeprefix(_OLD_NAMESPACE).replace("/", ".")
        raise Unreadable(f"is an AAS environment of metamodel {version}; 3.0 and 3.1 are read")
    if name != "environment" or not namespace.startswith(_NAMESPACE):
        raise Unreadable(f"is XML, but no AAS environment: its root is {name!r} of {namespace!r}")


def _shell_of(element: Element) -> Members:
    shell = _identifiable(element)
    asset = element.find("assetInformation")
    if asset is not None:
        shell["assetInformation"] = {
            **{name: _text(asset, name) for name in ("assetKind", "assetType", "globalAssetId")},
            "specificAssetIds": [
                _present(
                    {
                        "name": _text(item, "name"),
                        "value": _text(item, "value"),
                        "externalSubjectId": _reference(item.find("externalSubjectId")),
                        **_semantics(item),
                    }
                )
                for item in asset.findall("specificAssetIds/*")
            ],
        }
    shell["submodels"] = [_reference(item) for item in element.findall("submodels/*")]
    return shell


def _submodel_of(element: Element) -> Members:
    return {**_identifiable(element), **_semantics(element)}


def _identifiable(element: Element) -> Members:
    administration = element.find("administration")
    return {
        "id": _text(element, "id"),
        "idShort": _text(element, "idShort"),
        "displayName": _texts(element, "displayName"),
        "description": _texts(element, "description"),
        "administration": None
        if administration is None
        else _present(
            {
                "version": _text(administration, "version"),
                "revision": _text(administration, "revision"),
                "creator": _reference(administration.find("creator")),
                "templateId": _text(administration, "templateId"),
            }
        ),
    }


def _semantics(element: Element) -> Members:
    return {
        "semanticId": _reference(element.find("semanticId")),
        "supplementalSemanticIds": [
            _reference(item) for item in element.findall("supplementalSemanticIds/*")
        ],
    }


def _texts(element: Element, name: str) -> list[Members]:
    return [
        _present({"language": _text(item, "language"), "text": _text(item, "text")})
        for item in element.findall(f"{name}/*")
    ]


def _reference(element: Element | None) -> Members | None:
    if element is None:
        return None
    return _present(
        {
            "type": _text(element, "type"),
            "referredSemanticId": _reference(element.find("referredSemanticId")),
            "keys": [
                _present({"type": _text(key, "type"), "value": _text(key, "value")})
                for key in element.findall("keys/*")
            ],
        }
    )


def _text(element: Element, name: str) -> str | None:
    """The text of a child without the white space around it; None without any."""
    child = element.find(name)
    return None if child is None else (child.text or "").strip() or None
