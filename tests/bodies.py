"""Bodies that several tests register."""

from typing import Any

from shells.constraints import IEC61360


def reference(value: str, **members: Any) -> dict[str, Any]:
    return {"type": "ExternalReference", "keys": [{"type": "GlobalReference", "value": value}], **members}


def endpoint(href: str = "https://example.org/submodel", **information: Any) -> dict[str, Any]:
    return {"interface": "SUBMODEL-3.1", "protocolInformation": {"href": href, **information}}


def submodel(identifier: str = "urn:sm:1", **members: Any) -> dict[str, Any]:
    return {"id": identifier, "endpoints": [endpoint()], **members}


#: The example of the contract, with its shapes (contract §2).
CONTRACT_EXAMPLE: dict[str, Any] = {
    "id": "1111-shell",
    "idShort": "1111-short",
    "description": [{"language": "en", "text": "the description"}],
    "displayName": [{"language": "en", "text": "the display name"}],
    "globalAssetId": "1111-global-asset",
    "assetKind": "Instance",
    "assetType": "1111-asset-type",
    "submodelDescriptors": [
        {
            "id": "0d9c3f9c-8a4f-4d3e-9c0b-111111111111",
            "endpoints": [
                {
                    "interface": "AAS-1.0",
                    "protocolInformation": {
                        "href": "https://192.0.2.1:1234/submodels/1",
                        "endpointProtocolVersion": ["1.1"],
                        "securityAttributes": [{"type": "NONE", "key": "NONE", "value": "NONE"}],
                    },
                },
                {
                    "interface": "AAS-1.0",
                    "protocolInformation": {
                        "href": "opc.tcp://192.0.2.1:4840",
                        "endpointProtocolVersion": ["1.1"],
                        "securityAttributes": [{"type": "NONE", "key": "NONE", "value": "NONE"}],
                    },
                },
            ],
        }
    ],
    "specificAssetIds": [
        {"name": "serialNumber", "value": "1111"},
        {"name": "partNumber", "value": "p-1111", "externalSubjectId": reference("urn:partner:1")},
    ],
}

#: Every member of the data model (aas-registry-api.md §2.2), valid in a strict tenant.
EVERYTHING: dict[str, Any] = {
    "id": "urn:everything",
    "idShort": "Everything",
    "description": [{"language": "en", "text": "x" * 1023}, {"language": "sr-Latn-RS", "text": "y"}],
    "displayName": [{"language": "de-DE", "text": "z" * 128}],
    "extensions": [
        {
            "name": "colour",
            "valueType": "xs:string",
            "value": "blue",
            "refersTo": [reference("urn:colour")],
            "semanticId": reference("urn:semantic"),
            "supplementalSemanticIds": [reference("urn:supplemental")],
        }
    ],
    "administration": {
        "version": "1",
        "revision": "0",
        "creator": reference("urn:creator"),
        "templateId": "urn:template",
        "embeddedDataSpecifications": [
            {
                "dataSpecification": reference(IEC61360),
                "dataSpecificationContent": {
                    "modelType": "DataSpecificationIec61360",
                    "preferredName": [{"language": "en", "text": "mass"}],
                    "shortName": [{"language": "en", "text": "m"}],
                    "unit": "kg",
                    "unitId": reference("urn:unit"),
                    "sourceOfDefinition": "ISO",
                    "symbol": "m",
                    "dataType": "REAL_MEASURE",
                    "definition": [{"language": "en", "text": "how heavy it is"}],
                    "valueFormat": "NR2..3.3",
                    "valueList": {"valueReferencePairs": [{"value": "1", "valueId": reference("urn:one")}]},
                    "levelType": {"min": True, "nom": False, "typ": False, "max": True},
                },
            }
        ],
    },
    "assetKind": "Instance",
    "assetType": "urn:type",
    "globalAssetId": "urn:asset",
    "specificAssetIds": [
        {
            "name": "serialNumber",
            "value": "4711",
            "externalSubjectId": reference("BPNL1"),
            "semanticId": reference("urn:serial", referredSemanticId=reference("urn:referred")),
            "supplementalSemanticIds": [reference("urn:supplemental")],
        }
    ],
    "endpoints": [{"interface": "AAS-3.1", "protocolInformation": {"href": "https://example.org/aas"}}],
    "submodelDescriptors": [
        {
            "id": "urn:sm:1",
            "idShort": "Nameplate",
            "description": [{"language": "en", "text": "a nameplate"}],
            "displayName": [{"language": "en", "text": "Nameplate"}],
            "extensions": [{"name": "colour"}],
            "administration": {"version": "2"},
            "semanticId": {
                "type": "ModelReference",
                "keys": [{"type": "Submodel", "value": "urn:np"}, {"type": "File", "value": "picture"}],
            },
            "supplementalSemanticIds": [reference("urn:supplemental")],
            "endpoints": [
                endpoint(
                    "opc.tcp://192.0.2.1:4840",
                    endpointProtocol="OPC UA",
                    endpointProtocolVersion=["1.05"],
                    subprotocol="DSP",
                    subprotocolBody="id=1",
                    subprotocolBodyEncoding="plain",
                    securityAttributes=[{"type": "W3C_DID", "key": "", "value": ""}],
                )
            ],
        }
    ],
}
