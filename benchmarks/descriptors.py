"""Realistic descriptors of about 5 KB: 5 submodels with 1 or 2 endpoints each, 4 specific asset ids."""

import json
from typing import Any


def shell_id(number: int) -> str:
    """The id of shell `number`, always of the same length."""
    return f"https://plant.example.com/shells/{number:09d}"


def shell_descriptor(number: int) -> dict[str, Any]:
    return {
        "id": shell_id(number),
        "idShort": f"Motor_{number:09d}",
        "description": [
            {"language": "en", "text": "Three-phase asynchronous motor with encoder and brake, " * 3},
            {"language": "de", "text": "Drehstrom-Asynchronmotor mit Geber und Bremse, " * 3},
        ],
        "displayName": [{"language": "en", "text": f"Motor {number}"}],
        "assetKind": "Instance",
        "assetType": f"https://plant.example.com/types/{number % 50}",
        "globalAssetId": f"https://plant.example.com/assets/{number:09d}",
        "specificAssetIds": [
            _asset_id("serialNumber", f"SN-{number:09d}"),
            _asset_id("manufacturerPartId", f"MPI-{number % 500}"),
            _asset_id("batchId", f"B-{number % 5000}"),
            _asset_id("customerPartId", f"C-{number % 100}"),
        ],
        "submodelDescriptors": [_submodel(number, position) for position in range(5)],
    }


def shell_body(number: int) -> bytes:
    return json.dumps(shell_descriptor(number), separators=(",", ":")).encode()


def _asset_id(name: str, value: str) -> dict[str, Any]:
    return {"name": name, "value": value, "externalSubjectId": _reference("BPNL00000003CRHK")}


def _submodel(number: int, position: int) -> dict[str, Any]:
    name = ("Nameplate", "TechnicalData", "HandoverDocumentation", "CarbonFootprint", "TimeSeries")[position]
    identifier = f"https://plant.example.com/submodels/{number:09d}/{position}"
    return {
        "id": identifier,
        "idShort": name,
        "semanticId": _reference(f"https://admin-shell.io/zvei/{name.lower()}/2/0/Submodel"),
        "description": [{"language": "en", "text": f"{name} of the motor, kept by its manufacturer."}],
        "endpoints": [
            {
                "interface": interface,
                "protocolInformation": {
                    "href": f"https://edc.plant.example.com/api/public/{interface.lower()}/{number:09d}/{position}",
                    "endpointProtocol": "HTTP",
                    "endpointProtocolVersion": ["1.1"],
                    "subprotocol": "DSP",
                    "subprotocolBody": f"id={number};dspEndpoint=https://edc.plant.example.com/api/v1/dsp",
                    "subprotocolBodyEncoding": "plain",
                    "securityAttributes": [{"type": "NONE", "key": "NONE", "value": "NONE"}],
                },
            }
            for interface in ("SUBMODEL-3.1", "SUBMODEL-VALUE-3.1")[: 1 + position % 2]
        ],
    }


def _reference(value: str) -> dict[str, Any]:
    return {"type": "ExternalReference", "keys": [{"type": "GlobalReference", "value": value}]}
