"""What the operations say of themselves in the OpenAPI document, with drf-spectacular.

Names, operation ids and tags are those of IDTA-01002-3 (aas-registry-api.md §1); tests compare them with the
official documents. The data model comes from the classes of `shells/descriptors.py`.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from shells.api.filters import ASSET_KINDS
from shells.api.pagination import DEFAULT_LIMIT, MAX_LIMIT
from shells.descriptors import ASSET_LINKS, MAX_LOOKUP, SHELL, SPECIFIC_ASSET_IDS, SUBMODEL
from shells.identifiers import MAX_IDENTIFIER_LENGTH

Schema = dict[str, Any]
Decorator = Callable[[Any], Any]

REGISTRY = "Asset Administration Shell Registry API"
DISCOVERY = "Asset Administration Shell Basic Discovery API"
SUBMODEL_REGISTRY = "Submodel Registry API"
BULK = "Async Bulk Asset Administration Shell Registry API"
SUBMODEL_BULK = "Async Bulk Submodel Registry API"
BULK_STATUS = "Async Bulk Status API"
BULK_RESULT = "Async Bulk Result API"
DESCRIPTION = "Description API"

# --- Schemas ------------------------------------------------------------------------------------------


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _array(of: Schema, minimum: int = 0) -> Schema:
    return {"type": "array", "items": of, **({"minItems": minimum} if minimum else {})}


def _page(of: Schema, *result_types: str) -> Schema:
    metadata: Schema = {"cursor": {"type": "string", "minLength": 1}}
    if result_types:
        metadata["resultType"] = {"type": "string", "enum": list(result_types)}
    return {
        "type": "object",
        "required": ["paging_metadata", "result"],
        "properties": {
            "paging_metadata": {"type": "object", "properties": metadata},
            "result": _array(of),
        },
    }


IDENTIFIER = {"type": "string", "minLength": 1, "maxLength": MAX_IDENTIFIER_LENGTH}
SHELL_DESCRIPTOR = _ref("AssetAdministrationShellDescriptor")
SUBMODEL_DESCRIPTOR = _ref("SubmodelDescriptor")
RESULT = {
    "type": "object",
    "required": ["messages"],
    "properties": {
        "messages": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["messageType", "text"],
                "properties": {
                    "messageType": {"type": "string", "enum": ["Info", "Warning", "Error", "Exception"]},
                    "text": {"type": "string"},
                    "code": {"type": "string", "minLength": 1, "maxLength": 32},
                    "correlationId": {"type": "string", "minLength": 1, "maxLength": 128},
                    "timestamp": {"type": "string", "format": "date-time"},
                },
            },
        }
    },
}
SERVICE_DESCRIPTION = {
    "type": "object",
    "required": ["profiles"],
    "properties": {"profiles": _array({"type": "string"}, 1)},
}
OPERATION_STATE = {
    "type": "object",
    "required": ["executionState"],
    "properties": {
        "executionState": {
            "type": "string",
            "enum": ["Initiated", "Running", "Completed", "Canceled", "Failed", "Timeout"],
        }
    },
}


def _choice(**members: Schema) -> Schema:
    """An object with exactly one of these members."""
    return {
        "type": "object",
        "properties": members,
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    }


def _query_language() -> dict[str, Schema]:
    """The grammar of aas-registry-api.md §7.1."""
    text = {"type": "string", "maxLength": 2048, "pattern": r"^(?!\$)"}
    moment = {"type": "string", "format": "date-time"}
    value = _ref("Value")
    strings: Schema = {
        "$field": {"type": "string", "pattern": r"^\$(aasdesc|smdesc|aas|sm|sme|cd)[^#]*#"},
        "$strVal": text,
        "$strCast": value,
    }
    comparisons: Schema = {
        **{f"${name}": {**_array(value, 2), "maxItems": 2} for name in ("eq", "ne", "gt", "ge", "lt", "le")},
        **{
            f"${name}": {**_array(_ref("stringValue"), 2), "maxItems": 2}
            for name in ("contains", "starts-with", "ends-with", "regex")
        },
        "$boolean": {"type": "boolean"},
        "$match": _array(_ref("matchExpression"), 1),
    }
    expression = _ref("logicalExpression")
    return {
        "Query": {
            "type": "object",
            "required": ["$condition"],
            "properties": {"$condition": expression, "$select": {"type": "string", "enum": ["id"]}},
            "additionalProperties": False,
        },
        "logicalExpression": _choice(
            **{"$and": _array(expression, 2), "$or": _array(expression, 2), "$not": expression, **comparisons}
        ),
        "matchExpression": _choice(**comparisons),
        "stringValue": _choice(**strings),
        "Value": _choice(
            **strings,
            **{
                "$numVal": {"type": "number"},
                "$hexVal": {"type": "string", "pattern": "^16#[0-9A-F]+$"},
                "$dateTimeVal": moment,
                "$timeVal": {"type": "string", "pattern": "^[0-9][0-9]:[0-9][0-9](:[0-9][0-9])?$"},
                "$boolean": {"type": "boolean"},
            },
            **{f"${name}Cast": value for name in ("num", "hex", "bool", "dateTime", "time")},
            **{f"${name}": moment for name in ("dayOfWeek", "dayOfMonth", "month", "year")},
        ),
    }


def add_schemas(result: Schema, **kwargs: Any) -> Schema:
    """A hook of drf-spectacular: the data model of `shells/descriptors.py` and the query language."""
    components = result["components"].setdefault("schemas", {})
    for name, adapter in (("AssetAdministrationShellDescriptor", SHELL), ("SubmodelDescriptor", SUBMODEL)):
        schema = adapter.json_schema(ref_template="#/components/schemas/{model}")
        components.update(schema.pop("$defs"))
        components[name] = schema
    for lists in (SPECIFIC_ASSET_IDS, ASSET_LINKS):
        components.update(lists.json_schema(ref_template="#/components/schemas/{model}")["$defs"])
    components.update(_query_language())
    return result


# --- Parameters ---------------------------------------------------------------------------------------


def _path(name: str, description: str, schema: Any = str) -> OpenApiParameter:
    return OpenApiParameter(name, schema, OpenApiParameter.PATH, description=description)


def _header(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(name, str, OpenApiParameter.HEADER, description=description)


ENCODED = {"type": "string", "pattern": "^[A-Za-z0-9_-]+={0,2}$"}
TENANT = _path("tenantId", "The tenant.")
AAS_IDENTIFIER = _path("aasIdentifier", "The id of the shell, UTF-8 in base64url.", ENCODED)
SUBMODEL_IDENTIFIER = _path("submodelIdentifier", "The id of the submodel, UTF-8 in base64url.", ENCODED)
HANDLE = _path("handleId", "The handle, from the Location of the answer before.")
LIMIT = OpenApiParameter(
    "limit",
    {"type": "integer", "minimum": 1, "default": DEFAULT_LIMIT},
    description=f"How many items at most; more than {MAX_LIMIT} are never returned.",
)
CURSOR = OpenApiParameter(
    "cursor", {"type": "string", "minLength": 1}, description="Where to go on: the cursor of the page before."
)
ASSET_KIND = OpenApiParameter("assetKind", {"type": "string", "enum": list(ASSET_KINDS)})
ASSET_TYPE = OpenApiParameter("assetType", ENCODED, description="The asset type, UTF-8 in base64url.")
ASSET_IDS = OpenApiParameter(
    "assetIds",
    str,
    many=True,
    description="Name and value of an asset id as a JSON object, in base64url; all of them must be there.",
)
CREATED_FROM = OpenApiParameter(
    "createdFrom", {"type": "string", "format": "date-time"}, description="Registered then or later."
)
UPDATED_FROM = OpenApiParameter(
    "updatedFrom",
    {"type": "string", "format": "date-time"},
    description="Registered or changed then or later.",
)
PAGING = [LIMIT, CURSOR]
IF_MATCH = _header("If-Match", "Only if the descriptor has one of these entity tags.")
IF_NONE_MATCH = _header("If-None-Match", "Only if the descriptor has none of these entity tags.")

# --- Answers ------------------------------------------------------------------------------------------

REFUSALS = {
    400: "Bad request",
    401: "No acceptable token",
    403: "Not this tenant, or a right is missing",
    404: "Not found",
    409: "It exists already",
    412: "It is not in the state that the request expects",
    413: "The body is too large",
    415: "The body is not JSON",
    503: "Busy, or it would take too long; try again later",
}
#: What any request may be answered, and what any request with a body may be.
ANY, WITH_BODY = (401, 403, 503), (400, 413, 415)


def _answers(success: dict[int, tuple[Schema | None, str]], refusals: tuple[int, ...]) -> dict[int, Any]:
    return {
        **{status: OpenApiResponse(schema, description=text) for status, (schema, text) in success.items()},
        **{code: OpenApiResponse(RESULT, description=REFUSALS[code]) for code in sorted({*refusals, *ANY})},
    }


def _operation(
    operation_id: str,
    summary: str,
    tag: str,
    *,
    success: dict[int, tuple[Schema | None, str]],
    refusals: tuple[int, ...] = (),
    address: tuple[OpenApiParameter, ...] = (),
    parameters: tuple[OpenApiParameter, ...] = (),
    body: Schema | None = None,
    deprecated: bool = False,
) -> Any:
    located = [
        OpenApiParameter(
            "Location", str, OpenApiParameter.HEADER, response=[status], description="Where it is."
        )
        for status, (_, text) in success.items()
        if text in (_CREATED, _ACCEPTED, _DONE)
    ]
    return extend_schema(
        operation_id=operation_id,
        summary=summary,
        tags=[tag],
        parameters=[TENANT, *address, *parameters, *located],
        request=None if body is None else {"application/json": body},
        responses=_answers(success, (*refusals, *(WITH_BODY if body is not None else ()))),
        deprecated=deprecated or None,
    )


def _describe(**operations: Any) -> Decorator:
    """Describe the methods of a view; as extend_schema_view, for methods of any name."""

    def describe(view: Any) -> Any:
        for name, operation in operations.items():
            inherited = getattr(view, name)

            @wraps(inherited)
            def own(self: Any, *args: Any, _method: Any = inherited, **kwargs: Any) -> Any:
                return _method(self, *args, **kwargs)

            setattr(view, name, operation(own))
        return view

    return describe


_CREATED = "Registered: the descriptor as it is stored"
_ACCEPTED = "Accepted: ask at Location what has become of it"
_DONE = "Finished: the outcome is at Location"
_REPLACED = {204: (None, "Replaced")}
_REMOVED = {204: (None, "Removed")}


def _collection(tag: str, noun: str, document: Schema, names: dict[str, str], **address: Any) -> Decorator:
    """The operations of a collection of descriptors; `names` are their operation ids."""
    collection, member = address["collection"], address["member"]
    parent = (404,) if collection else ()
    return _describe(
        list=_operation(
            names["list"],
            f"Returns the {noun} descriptors, page by page",
            tag,
            address=collection,
            parameters=(*PAGING, *address["filters"]),
            success={200: (_page(document), "A page")},
            refusals=(400, *parent),
        ),
        create=_operation(
            names["create"],
            f"Registers a {noun} descriptor",
            tag,
            address=collection,
            body=document,
            success={201: (document, _CREATED)},
            refusals=(409, *parent),
        ),
        retrieve=_operation(
            names["retrieve"],
            f"Returns a {noun} descriptor",
            tag,
            address=member,
            parameters=(IF_NONE_MATCH,),
            success={200: (document, "The descriptor"), 304: (None, "It is as the client has it")},
            refusals=(400, 404, 412),
        ),
        update=_operation(
            names["update"],
            f"Registers or replaces a {noun} descriptor",
            tag,
            address=member,
            parameters=(IF_MATCH, IF_NONE_MATCH),
            body=document,
            success={201: (document, _CREATED), **_REPLACED},
            refusals=(412, *parent),
        ),
        destroy=_operation(
            names["destroy"],
            f"Removes a {noun} descriptor",
            tag,
            address=member,
            parameters=(IF_MATCH, IF_NONE_MATCH),
            success=dict(_REMOVED),
            refusals=(400, 404, 412),
        ),
    )


shell_descriptors = _collection(
    REGISTRY,
    "shell",
    SHELL_DESCRIPTOR,
    {
        "list": "GetAllAssetAdministrationShellDescriptors",
        "create": "PostAssetAdministrationShellDescriptor",
        "retrieve": "GetAssetAdministrationShellDescriptorById",
        "update": "PutAssetAdministrationShellDescriptorById",
        "destroy": "DeleteAssetAdministrationShellDescriptorById",
    },
    collection=(),
    member=(AAS_IDENTIFIER,),
    filters=(ASSET_KIND, ASSET_TYPE, ASSET_IDS, CREATED_FROM, UPDATED_FROM),
)
superpath = _collection(
    REGISTRY,
    "submodel",
    SUBMODEL_DESCRIPTOR,
    {
        "list": "GetAllSubmodelDescriptorsThroughSuperpath",
        "create": "PostSubmodelDescriptor-ThroughSuperpath",
        "retrieve": "GetSubmodelDescriptorByIdThroughSuperpath",
        "update": "PutSubmodelDescriptorByIdThroughSuperpath",
        "destroy": "DeleteSubmodelDescriptorByIdThroughSuperpath",
    },
    collection=(AAS_IDENTIFIER,),
    member=(AAS_IDENTIFIER, SUBMODEL_IDENTIFIER),
    filters=(),
)
submodel_descriptors = _collection(
    SUBMODEL_REGISTRY,
    "submodel",
    SUBMODEL_DESCRIPTOR,
    {
        "list": "GetAllSubmodelDescriptors",
        "create": "PostSubmodelDescriptor",
        "retrieve": "GetSubmodelDescriptorById",
        "update": "PutSubmodelDescriptorById",
        "destroy": "DeleteSubmodelDescriptorById",
    },
    collection=(),
    member=(SUBMODEL_IDENTIFIER,),
    filters=(CREATED_FROM, UPDATED_FROM),
)


def _bulk(tag: str, noun: str, document: Schema, create: str, update: str, destroy: str) -> Decorator:
    def operation(operation_id: str, what: str, item: Schema) -> Any:
        return _operation(
            operation_id,
            f"{what} many {noun} descriptors, all or none",
            tag,
            body=_array(item, 1),
            success={202: (None, _ACCEPTED)},
        )

    return _describe(
        create=operation(create, "Registers", document),
        update=operation(update, "Registers or replaces", document),
        destroy=operation(destroy, "Removes", IDENTIFIER),
    )


bulk_shell_descriptors = _bulk(
    BULK,
    "shell",
    SHELL_DESCRIPTOR,
    "CreateBulkAssetAdministrationShellDescriptors",
    "PutBulkAssetAdministrationShellDescriptorsById",
    "DeleteBulkAssetAdministrationShellDescriptorsById",
)
bulk_submodel_descriptors = _bulk(
    SUBMODEL_BULK,
    "submodel",
    SUBMODEL_DESCRIPTOR,
    "CreateBulkSubmodelDescriptors",
    "PutBulkSubmodelDescriptorsById",
    "DeleteBulkSubmodelDescriptorsById",
)
bulk_outcome = _describe(
    status=_operation(
        "GetAsyncBulkStatus",
        "Returns how far a bulk operation is",
        BULK_STATUS,
        address=(HANDLE,),
        success={200: (OPERATION_STATE, "It waits or runs"), 302: (None, _DONE)},
        refusals=(404,),
    ),
    result=_operation(
        "GetBulkAsyncResult",
        "Returns what came of a bulk operation",
        BULK_RESULT,
        address=(HANDLE,),
        success={204: (None, "All of it was done")},
        refusals=(400, 404),
    ),
)


def _query(tag: str, operation_id: str, noun: str, document: Schema, result_type: str) -> Decorator:
    return _describe(
        search=_operation(
            operation_id,
            f"Returns the {noun} descriptors that meet a condition, or their ids",
            tag,
            parameters=(LIMIT, CURSOR),
            body=_ref("Query"),
            success={200: (_page({"anyOf": [document, IDENTIFIER]}, result_type, "Identifier"), "A page")},
        )
    )


query_shell_descriptors = _query(
    REGISTRY,
    "QueryAssetAdministrationShellDescriptors",
    "shell",
    SHELL_DESCRIPTOR,
    "AssetAdministrationShellDescriptor",
)
query_submodel_descriptors = _query(
    SUBMODEL_REGISTRY, "QuerySubmodelDescriptors", "submodel", SUBMODEL_DESCRIPTOR, "SubmodelDescriptor"
)
lookup = _describe(
    list=_operation(
        "GetAllAssetAdministrationShellIdsByAssetLink",
        "Returns the ids of the shells that have all the asset ids",
        DISCOVERY,
        parameters=(ASSET_IDS, *PAGING),
        success={200: (_page(IDENTIFIER), "A page")},
        refusals=(400,),
        deprecated=True,
    ),
    search=_operation(
        "SearchAllAssetAdministrationShellIdsByAssetLink",
        "Returns the ids of the shells that have all the asset links",
        DISCOVERY,
        parameters=(LIMIT, CURSOR),
        body={**_array(_ref("AssetLink")), "maxItems": MAX_LOOKUP},
        success={200: (_page(IDENTIFIER), "A page")},
    ),
)
_LINKS = _array(_ref("SpecificAssetId"))
asset_links = _describe(
    retrieve=_operation(
        "GetAllAssetLinksById",
        "Returns the asset links of a shell",
        DISCOVERY,
        address=(AAS_IDENTIFIER,),
        success={200: (_LINKS, "The asset links, the global asset id among them")},
        refusals=(400, 404),
    ),
    create=_operation(
        "PostAllAssetLinksById",
        "Sets the asset links of a shell, registered or not",
        DISCOVERY,
        address=(AAS_IDENTIFIER,),
        body=_LINKS,
        success={201: (_LINKS, "The asset links as they are stored")},
    ),
    destroy=_operation(
        "DeleteAllAssetLinksById",
        "Deletes the asset links of a shell",
        DISCOVERY,
        address=(AAS_IDENTIFIER,),
        success=dict(_REMOVED),
        refusals=(400, 404),
    ),
)
description = _describe(
    retrieve=_operation(
        "GetSelfDescription",
        "Returns the profiles that this registry offers",
        DESCRIPTION,
        success={200: (SERVICE_DESCRIPTION, "The profiles")},
    )
)


class RegistrySchema(AutoSchema):
    """DRF's DEFAULT_SCHEMA_CLASS: a list is an envelope, which says so itself."""

    def _is_list_view(self, serializer: Any = None) -> bool:
        return False


class BearerTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The access token of contract §5.5."""

    target_class = "tenants.authentication.BearerAuthentication"
    name = "accessToken"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
