"""The data model of descriptors, and what makes one acceptable (aas-registry-api.md §2). No Django, no DRF.

The classes say what IDTA-01002-3 and IDTA-01001 say, in their order and their names. They are dictionaries
with known members, not objects: twice as fast to check, and nothing but the check is wanted. A *strict* tenant
takes exactly that. A *lenient* tenant (the default) takes what the contract asks for as well: the same
check runs, and the defects that §2.5 lets pass are forgiven. What is stored is always the client's own
document: its members in its order, less `null` members and empty arrays, which count as absent.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, Strict, TypeAdapter, ValidationError, with_config
from pydantic_core import ErrorDetails, PydanticSerializationError, from_json, to_json
from typing_extensions import TypedDict

from shells import constraints
from shells.defects import Defect, InvalidDescriptor
from shells.identifiers import MAX_IDENTIFIER_LENGTH, NOT_XML_CHARACTER

#: More values than this in one body are refused; each of them could be a defect to report.
MAX_VALUES = 200_000
MAX_REFERENCE_DEPTH = 8
#: More asset links than this in one lookup are refused; each is a condition of one statement.
MAX_LOOKUP = 100

# --- Primitive types (§2.1) and enumerations (§2.3) ---------------------------------------------------

LANGUAGE_TAG = (  # BCP 47
    r"^(([a-zA-Z]{2,3}(-[a-zA-Z]{3}(-[a-zA-Z]{3}){0,2})?|[a-zA-Z]{4}|[a-zA-Z]{5,8})(-[a-zA-Z]{4})?"
    r"(-([a-zA-Z]{2}|[0-9]{3}))?(-(([a-zA-Z0-9]){5,8}|[0-9]([a-zA-Z0-9]){3}))*"
    r"(-[0-9A-WY-Za-wy-z](-([a-zA-Z0-9]){2,8})+)*(-[xX](-([a-zA-Z0-9]){1,8})+)?|[xX](-([a-zA-Z0-9]){1,8})+|"
    r"((en-GB-oed|i-ami|i-bnn|i-default|i-enochian|i-hak|i-klingon|i-lux|i-mingo|i-navajo|i-pwn|i-tao|i-tay|"
    r"i-tsu|sgn-BE-FR|sgn-BE-NL|sgn-CH-DE)|(art-lojban|cel-gaulish|no-bok|no-nyn|zh-guoyu|zh-hakka|zh-min|"
    r"zh-min-nan|zh-xiang)))$"
)

Identifier = Annotated[str, Field(min_length=1, max_length=MAX_IDENTIFIER_LENGTH)]
IdShort = Annotated[
    str, Field(min_length=1, max_length=128, pattern=r"^[a-zA-Z][a-zA-Z0-9_-]*[a-zA-Z0-9_]+$")
]
NameType = Annotated[str, Field(min_length=1, max_length=128)]
LabelType = Annotated[str, Field(min_length=1, max_length=64)]
LocatorType = Annotated[str, Field(min_length=1, max_length=2048)]
ShortText = Annotated[str, Field(max_length=128)]
VersionType = Annotated[str, Field(min_length=1, max_length=4, pattern=r"^(0|[1-9][0-9]*)$")]
NonEmptyString = Annotated[str, Field(min_length=1)]
LanguageTag = Annotated[str, Field(pattern=LANGUAGE_TAG)]

AssetKind = Literal["Instance", "NotApplicable", "Role", "Type"]
ReferenceTypes = Literal["ExternalReference", "ModelReference"]
SecurityType = Literal["NONE", "RFC_TLSA", "W3C_DID"]
KeyTypes = Literal[
    "AnnotatedRelationshipElement", "AssetAdministrationShell", "BasicEventElement", "Blob", "Capability",
    "ConceptDescription", "DataElement", "Entity", "EventElement", "File", "FragmentReference",
    "GlobalReference", "Identifiable", "MultiLanguageProperty", "Operation", "Property", "Range", "Referable",
    "ReferenceElement", "RelationshipElement", "Submodel", "SubmodelElement", "SubmodelElementCollection",
    "SubmodelElementList",
]  # fmt: skip
DataTypeDefXsd = Literal[
    "xs:anyURI", "xs:base64Binary", "xs:boolean", "xs:byte", "xs:date", "xs:dateTime", "xs:decimal",
    "xs:double", "xs:duration", "xs:float", "xs:gDay", "xs:gMonth", "xs:gMonthDay", "xs:gYear", "xs:gYearMonth",
    "xs:hexBinary", "xs:int", "xs:integer", "xs:long", "xs:negativeInteger", "xs:nonNegativeInteger",
    "xs:nonPositiveInteger", "xs:positiveInteger", "xs:short", "xs:string", "xs:time", "xs:unsignedByte",
    "xs:unsignedInt", "xs:unsignedLong", "xs:unsignedShort",
]  # fmt: skip
DataTypeIec61360 = Literal[
    "BLOB", "BOOLEAN", "DATE", "FILE", "HTML", "INTEGER_COUNT", "INTEGER_CURRENCY", "INTEGER_MEASURE", "IRDI",
    "IRI", "RATIONAL", "RATIONAL_MEASURE", "REAL_COUNT", "REAL_CURRENCY", "REAL_MEASURE", "STRING",
    "STRING_TRANSLATABLE", "TIME", "TIMESTAMP",
]  # fmt: skip

# --- Classes (§2.2) -----------------------------------------------------------------------------------

# For all that a class contains: nothing is converted, nothing unknown is taken.
_AS_IT_IS = ConfigDict(strict=True, extra="forbid")


class Key(TypedDict):
    type: KeyTypes
    value: Identifier


class Reference(TypedDict):
    type: ReferenceTypes
    keys: Annotated[list[Key], Field(min_length=1)]
    referredSemanticId: NotRequired["Reference"]


References = Annotated[list[Reference], Field(min_length=1)]


class LangString(TypedDict):
    """AbstractLangString; the length of `text` depends on where it stands."""

    language: LanguageTag


class LangStringTextType(LangString):
    text: Annotated[str, Field(min_length=1, max_length=1023)]


class LangStringNameType(LangString):
    text: Annotated[str, Field(min_length=1, max_length=128)]


class LangStringPreferredNameTypeIec61360(LangString):
    text: Annotated[str, Field(min_length=1, max_length=255)]


class LangStringShortNameTypeIec61360(LangString):
    text: Annotated[str, Field(min_length=1, max_length=18)]


class LangStringDefinitionTypeIec61360(LangString):
    text: Annotated[str, Field(min_length=1, max_length=1023)]


class HasSemantics(TypedDict):
    semanticId: NotRequired[Reference]
    supplementalSemanticIds: NotRequired[References]


class Extension(HasSemantics):
    name: NameType
    valueType: NotRequired[DataTypeDefXsd]
    value: NotRequired[str]
    refersTo: NotRequired[References]


@with_config(_AS_IT_IS)
class SpecificAssetId(HasSemantics):
    name: LabelType
    value: Identifier
    externalSubjectId: NotRequired[Reference]


class LevelType(TypedDict):
    min: bool
    nom: bool
    typ: bool
    max: bool


class ValueReferencePair(TypedDict):
    value: Identifier
    valueId: NotRequired[Reference]


class ValueList(TypedDict):
    valueReferencePairs: Annotated[list[ValueReferencePair], Field(min_length=1)]


class DataSpecificationIec61360(TypedDict):
    modelType: Literal["DataSpecificationIec61360"]
    preferredName: Annotated[list[LangStringPreferredNameTypeIec61360], Field(min_length=1)]
    shortName: NotRequired[Annotated[list[LangStringShortNameTypeIec61360], Field(min_length=1)]]
    unit: NotRequired[NonEmptyString]
    unitId: NotRequired[Reference]
    sourceOfDefinition: NotRequired[NonEmptyString]
    symbol: NotRequired[NonEmptyString]
    dataType: NotRequired[DataTypeIec61360]
    definition: NotRequired[Annotated[list[LangStringDefinitionTypeIec61360], Field(min_length=1)]]
    valueFormat: NotRequired[NonEmptyString]
    valueList: NotRequired[ValueList]
    value: NotRequired[Identifier]
    levelType: NotRequired[LevelType]


class EmbeddedDataSpecification(TypedDict):
    dataSpecification: Reference
    dataSpecificationContent: DataSpecificationIec61360


class AdministrativeInformation(TypedDict):
    version: NotRequired[VersionType]
    revision: NotRequired[VersionType]
    creator: NotRequired[Reference]
    templateId: NotRequired[Identifier]
    embeddedDataSpecifications: NotRequired[Annotated[list[EmbeddedDataSpecification], Field(min_length=1)]]


class SecurityAttributeObject(TypedDict):
    type: SecurityType
    key: str
    value: str


class ProtocolInformation(TypedDict):
    href: LocatorType
    endpointProtocol: NotRequired[ShortText]
    endpointProtocolVersion: NotRequired[list[ShortText]]
    subprotocol: NotRequired[ShortText]
    subprotocolBody: NotRequired[Annotated[str, Field(max_length=2048)]]
    subprotocolBodyEncoding: NotRequired[ShortText]
    securityAttributes: NotRequired[Annotated[list[SecurityAttributeObject], Field(min_length=1)]]


class Endpoint(TypedDict):
    interface: NameType
    protocolInformation: ProtocolInformation


class Descriptor(TypedDict):
    id: Identifier
    idShort: NotRequired[IdShort]
    description: NotRequired[list[LangStringTextType]]
    displayName: NotRequired[list[LangStringNameType]]
    extensions: NotRequired[Annotated[list[Extension], Field(min_length=1)]]
    administration: NotRequired[AdministrativeInformation]


@with_config(_AS_IT_IS)
class SubmodelDescriptor(Descriptor):
    endpoints: Annotated[list[Endpoint], Field(min_length=1)]
    semanticId: NotRequired[Reference]
    supplementalSemanticIds: NotRequired[References]


@with_config(_AS_IT_IS)
class AssetAdministrationShellDescriptor(Descriptor):
    assetKind: NotRequired[AssetKind]
    assetType: NotRequired[Identifier]
    globalAssetId: NotRequired[Identifier]
    specificAssetIds: NotRequired[list[SpecificAssetId]]
    endpoints: NotRequired[Annotated[list[Endpoint], Field(min_length=1)]]
    submodelDescriptors: NotRequired[list[SubmodelDescriptor]]


@with_config(ConfigDict(strict=True, extra="ignore"))
class AssetLink(TypedDict):
    """What a shell is looked up by."""

    name: LabelType
    value: Identifier


SHELL = TypeAdapter(AssetAdministrationShellDescriptor)
SUBMODEL = TypeAdapter(SubmodelDescriptor)
SPECIFIC_ASSET_IDS = TypeAdapter(list[SpecificAssetId])
ASSET_LINKS = TypeAdapter(list[AssetLink])
IDENTIFIERS = TypeAdapter(list[Annotated[Identifier, Strict()]])

# --- Checking a document ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Document:
    """A descriptor that was checked: its members as the client sent them, and as compact JSON."""

    members: dict[str, Any]
    text: str

    @property
    def id(self) -> str:
        return str(self.members["id"])


def read_json(body: bytes) -> Any:
    """The value of JSON text in UTF-8. Raises InvalidDescriptor if it is none."""
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidDescriptor([Defect("", f"the body is not JSON: {error}")]) from None


def check_shell(value: Any, *, strict: bool) -> Document:
    """Check a shell descriptor that was read already. Raises InvalidDescriptor with all its defects."""
    if not isinstance(value, dict):
        raise InvalidDescriptor([Defect("", "the body must be a JSON object, a shell descriptor")])
    return _check(SHELL, value, _with_new_names_below(value, strict), strict)


def check_submodel(value: Any, *, strict: bool) -> Document:
    """Check a submodel descriptor that was read already. Raises InvalidDescriptor with all its defects."""
    if not isinstance(value, dict):
        raise InvalidDescriptor([Defect("", "the body must be a JSON object, a submodel descriptor")])
    return _check(SUBMODEL, value, _with_new_name(value, strict), strict)


def check_asset_links(value: Any, *, strict: bool) -> list[dict[str, Any]]:
    """Check what discovery is asked to store: an array of specific asset ids (aas-registry-api.md §1.5).

    Raises InvalidDescriptor with all its defects.
    """
    _text(_array(value, "specific asset ids"))
    defects = list(_structure(SPECIFIC_ASSET_IDS, value, strict))
    defects.extend(constraints.asset_links(value, strict))
    if defects:
        raise InvalidDescriptor(defects)
    links: list[dict[str, Any]] = _without_absent(value)
    return links


def check_lookup(value: Any) -> list[tuple[str, str]]:
    """Check what is looked for: an array of asset links. Returns name and value of each.

    Other members, such as those of a SpecificAssetId, are not looked at. Raises InvalidDescriptor.
    """
    _text(_array(value, "asset links"))
    if len(value) > MAX_LOOKUP:
        raise InvalidDescriptor([Defect("", f"more than {MAX_LOOKUP} asset links at once")])
    defects = list(_structure(ASSET_LINKS, value, strict=True))
    if defects:
        raise InvalidDescriptor(defects)
    return [(link["name"], link["value"]) for link in value]


def check_identifiers(values: list[Any]) -> None:
    """Check an array of identifiers. Raises InvalidDescriptor with all its defects."""
    _text(values)
    defects = list(_structure(IDENTIFIERS, values, strict=True))
    if defects:
        raise InvalidDescriptor(defects)


def _array(value: Any, of: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidDescriptor([Defect("", f"the body must be a JSON array of {of}")])
    return value


def parse_shell(body: bytes, *, strict: bool) -> Document:
    """Read a shell descriptor from JSON text in UTF-8. Raises InvalidDescriptor with all its defects."""
    return check_shell(read_json(body), strict=strict)


def _check(model: TypeAdapter[Any], value: dict[str, Any], renamed: dict[str, Any], strict: bool) -> Document:
    text = _text(value)
    if renamed is not value:
        value, text = renamed, to_json(renamed)
    defects = [*_structure(model, value, strict), *constraints.always(value)]
    if strict:
        defects.extend(constraints.strict(value))
    if defects:
        raise InvalidDescriptor(defects)
    if b"null" in text or b"[]" in text:  # or a string that says so
        value = _without_absent(value)
        text = to_json(value)
    return Document(value, text.decode())


def _text(value: Any) -> bytes:
    """`value` as compact JSON. Raises InvalidDescriptor for what no document may hold, at any place (V3)."""
    try:
        text = to_json(value)
    except (PydanticSerializationError, UnicodeEncodeError):  # a lone surrogate
        raise InvalidDescriptor(list(_bad_values("", value))) from None
    if text.count(b",") > MAX_VALUES and _count(value) > MAX_VALUES:
        raise InvalidDescriptor([Defect("", f"the body has more than {MAX_VALUES} values")])
    if _may_have_bad_values(text):
        defects = list(_bad_values("", value))
        if defects:
            raise InvalidDescriptor(defects)
    return text


def _count(value: Any) -> int:
    """How many values `value` is made of."""
    if isinstance(value, dict):
        return 1 + sum(map(_count, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(_count, value))
    return 1


def _may_have_bad_values(text: bytes) -> bool:
    """Whether `text` has a trace of what `_bad_values` finds; looking at each value takes ten times longer."""
    return (
        (b"\\" in text and any(escape in text for escape in (b"\\u00", b"\\b", b"\\f")))
        or (not text.isascii() and (b"\xef\xbf\xbe" in text or b"\xef\xbf\xbf" in text))
        or b"Infinity" in text
        or b"NaN" in text
        or b"referredSemanticId" in text
    )


def _bad_values(pointer: str, value: Any, reference_depth: int = 0) -> Iterator[Defect]:
    if isinstance(value, str):
        if NOT_XML_CHARACTER.search(value):
            yield Defect(pointer, "contains a character that is not allowed (control character or surrogate)")
    elif isinstance(value, float):
        if value - value != 0:  # not finite
            yield Defect(pointer, "is a number out of range")
    elif isinstance(value, dict):
        if reference_depth > MAX_REFERENCE_DEPTH:
            yield Defect(pointer, f"references are nested more than {MAX_REFERENCE_DEPTH} deep")
            return
        for name, member in value.items():
            if NOT_XML_CHARACTER.search(name):
                yield Defect(pointer, "has a member whose name contains a character that is not allowed")
            else:
                depth = reference_depth + 1 if name == "referredSemanticId" else reference_depth
                yield from _bad_values(f"{pointer}/{_escaped(name)}", member, depth)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _bad_values(f"{pointer}/{position}", item, reference_depth)


def _without_absent(value: Any) -> Any:
    """`value` less its `null` members and empty arrays, which count as absent (V8, V9)."""
    if isinstance(value, dict):
        return {
            name: _without_absent(member)
            for name, member in value.items()
            if member is not None and member != []
        }
    if isinstance(value, list):
        return [_without_absent(item) for item in value]
    return value


_OLD_NAME, _NEW_NAME = "supplementalSemanticId", "supplementalSemanticIds"


def _with_new_names_below(shell: dict[str, Any], strict: bool) -> dict[str, Any]:
    """`shell`, with `supplementalSemanticId` of its submodels named as since 3.1.2 (V12)."""
    submodels = shell.get("submodelDescriptors")
    if not isinstance(submodels, list) or not any(
        isinstance(item, dict) and _OLD_NAME in item for item in submodels
    ):
        return shell
    renamed = [_with_new_name(item, strict) if isinstance(item, dict) else item for item in submodels]
    return {**shell, "submodelDescriptors": renamed}


def _with_new_name(submodel: dict[str, Any], strict: bool) -> dict[str, Any]:
    """`submodel`, with `supplementalSemanticId` under its new name.

    The member keeps its place; where both names are there, the new one wins, unless it counts as absent.
    """
    if _OLD_NAME not in submodel:
        return submodel
    if _NEW_NAME in submodel and (strict or submodel[_NEW_NAME] not in (None, [])):
        return {name: member for name, member in submodel.items() if name != _OLD_NAME}
    return {
        (_NEW_NAME if name == _OLD_NAME else name): member
        for name, member in submodel.items()
        if name != _NEW_NAME
    }


# --- Defects ------------------------------------------------------------------------------------------


def _structure(model: TypeAdapter[Any], value: Any, strict: bool) -> Iterator[Defect]:
    """What the classes above find wrong; in a lenient tenant less what is forgiven."""
    try:
        model.validator.validate_python(value)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            if strict or not _is_forgiven(details):
                pointer = "".join(f"/{_escaped(str(part))}" for part in details["loc"])
                yield Defect(pointer, _explanation(details, strict))


def _is_forgiven(details: ErrorDetails) -> bool:
    """Whether a lenient tenant lets this defect pass (rules V4 to V10 of aas-registry-api.md §2.5)."""
    member = details["loc"][-1]
    absent = details["input"] is None and isinstance(member, str)  # V9
    match "missing" if absent else details["type"]:
        case "too_short":  # V8
            return True
        case "missing" | "string_too_short":  # V5; V2 and V4 stay
            return member != "id" and not _is_name_or_value_of_asset_id(details["loc"])
        case "string_pattern_mismatch" | "extra_forbidden":  # V7, V10
            return True
        case "literal_error":  # V6; two values of 3.2
            return (member, details["input"]) in (
                ("assetKind", "Batch"),
                ("modelType", "DataSpecificationUom"),
            )
    return False


def _is_name_or_value_of_asset_id(location: tuple[int | str, ...]) -> bool:
    match location:
        case ("specificAssetIds", int(), "name" | "value") | (int(), "name" | "value"):
            return True
    return False


def _explanation(details: ErrorDetails, strict: bool) -> str:
    if details["input"] is None:
        return "must not be null" if strict else "this member is required"
    limits = details.get("ctx", {})
    match details["type"]:
        case "missing":
            return "this member is required"
        case "extra_forbidden":
            return "there is no such member"
        case "string_type":
            return "must be a string"
        case "list_type":
            return "must be an array"
        case "bool_type":
            return "must be true or false"
        case "dict_type":
            return "must be an object"
        case "string_too_short" | "too_short":
            return "must not be empty"
        case "string_too_long":
            return f"has more than {limits['max_length']} characters"
        case "literal_error":
            return f"must be {limits['expected']}"
        case "string_pattern_mismatch" if details["loc"][-1] == "language":
            return "is not a BCP 47 language tag, such as 'en' or 'de-DE'"
        case "string_pattern_mismatch" if details["loc"][-1] == "idShort":
            return (
                "must have two or more letters, digits, '_' or '-', start with a letter and not end with '-'"
            )
        case "string_pattern_mismatch":
            return "must be a number without leading zeros"
    return details["msg"]


def _escaped(part: str) -> str:
    """A reference token of a JSON pointer (RFC 6901 §3)."""
    return part.replace("~", "~0").replace("/", "~1")
