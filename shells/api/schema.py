"""What the viewsets say of themselves in the OpenAPI document, with drf-spectacular."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view

from shells.descriptors import SHELL

TENANT = OpenApiParameter("tenant_id", str, OpenApiParameter.PATH, description="The tenant.")
AAS_IDENTIFIER = OpenApiParameter(
    "aas_identifier", str, OpenApiParameter.PATH, description="The id of the shell, UTF-8 in base64url."
)
RESULT = {
    "type": "object",
    "properties": {
        "messages": {
            "type": "array",
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


DESCRIPTOR = {"$ref": "#/components/schemas/AssetAdministrationShellDescriptor"}


def add_descriptor_schemas(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """A hook of drf-spectacular: the data model of `shells/descriptors.py` as components."""
    schema = SHELL.json_schema(ref_template="#/components/schemas/{model}")
    components = result["components"].setdefault("schemas", {})
    components.update(schema.pop("$defs"))
    components["AssetAdministrationShellDescriptor"] = schema
    return result


def refusals(*codes: int) -> dict[int, OpenApiResponse]:
    names = {
        400: "Bad request",
        401: "No acceptable token",
        403: "Not this tenant, or a right is missing",
        404: "Not found",
        409: "It exists already",
        413: "The body is too large",
        415: "The body is not JSON",
    }
    return {code: OpenApiResponse(RESULT, description=names[code]) for code in codes}


shell_descriptors = extend_schema_view(
    create=extend_schema(
        operation_id="PostAssetAdministrationShellDescriptor",
        summary="Registers a shell descriptor",
        parameters=[TENANT],
        request={"application/json": DESCRIPTOR},
        responses={
            201: OpenApiResponse(DESCRIPTOR, description="The descriptor as it is stored"),
            **refusals(400, 401, 403, 409, 413, 415),
        },
    ),
    retrieve=extend_schema(
        operation_id="GetAssetAdministrationShellDescriptorById",
        summary="Returns a shell descriptor",
        parameters=[TENANT, AAS_IDENTIFIER],
        responses={
            200: OpenApiResponse(DESCRIPTOR, description="The descriptor"),
            **refusals(400, 401, 403, 404),
        },
    ),
)


class BearerTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The access token of contract §5.5."""

    target_class = "tenants.authentication.BearerAuthentication"
    name = "accessToken"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
