"""Realistic descriptors of about 5 KB, to try things with: 5 submodels with 1 or 2 endpoints each, 4 specific
asset ids. The same seed and number always give the same descriptor.
"""

import json
from random import Random
from typing import Any

SUBMODELS = ("Nameplate", "TechnicalData", "HandoverDocumentation", "CarbonFootprint", "TimeSeries")
PRODUCTS = (
    (
        "Motor",
        "Three-phase asynchronous motor with encoder and brake, ",
        "Drehstrom-Asynchronmotor mit Geber, ",
    ),
    (
        "Pump",
        "Self-priming centrifugal pump with a stainless casing, ",
        "Selbstansaugende Kreiselpumpe, rostfrei, ",
    ),
    (
        "Drive",
        "Frequency converter with braking chopper and filter, ",
        "Frequenzumrichter mit Bremschopper, ",
    ),
    (
        "Valve",
        "Proportional directional valve with position control, ",
        "Proportional-Wegeventil, lagegeregelt, ",
    ),
)


def shell_id(number: int, seed: int = 0) -> str:
    """The id of shell `number`; of one seed, all have the same length."""
    return f"{_plant(seed)}/shells/{number:09d}"


def shell_descriptor(number: int, seed: int = 0) -> dict[str, Any]:
    random = Random(seed * 1_000_000_007 + number)  # noqa: S311  (nothing here is a secret)
    name, english, german = random.choice(PRODUCTS)
    plant = _plant(seed)
    with_two_endpoints = random.sample(range(len(SUBMODELS)), 2)
    return {
        "id": shell_id(number, seed),
        "idShort": f"{name}_{number:09d}",
        "description": [
            {"language": "en", "text": english * 3},
            {"language": "de", "text": german * 3},
        ],
        "displayName": [{"language": "en", "text": f"{name} {number}"}],
        "assetKind": "Instance",
        "assetType": f"{plant}/types/{name.lower()}-{random.randrange(50)}",
        "globalAssetId": f"{plant}/assets/{number:09d}",
        "specificAssetIds": [
            _asset_id("serialNumber", f"SN-{number:09d}"),
            _asset_id("manufacturerPartId", f"MPI-{random.randrange(500)}"),
            _asset_id("batchId", f"B-{random.randrange(5000)}"),
            _asset_id("customerPartId", f"C-{random.randrange(100)}"),
        ],
        "submodelDescriptors": [
            _submodel(plant, number, position, 2 if position in with_two_endpoints else 1)
            for position in range(len(SUBMODELS))
        ],
    }


def shell_body(number: int, seed: int = 0) -> bytes:
    """The descriptor of shell `number` as compact JSON."""
    return json.dumps(shell_descriptor(number, seed), separators=(",", ":")).encode()


def _plant(seed: int) -> str:
    return f"https://plant{f'-{seed}' if seed else ''}.example.com"


def _asset_id(name: str, value: str) -> dict[str, Any]:
    return {"name": name, "value": value, "externalSubjectId": _reference("BPNL00000003CRHK")}


def _submodel(plant: str, number: int, position: int, endpoints: int) -> dict[str, Any]:
    name = SUBMODELS[position]
    host = plant.replace("https://", "https://edc.")
    return {
        "id": f"{plant}/submodels/{number:09d}/{position}",
        "idShort": name,
        "semanticId": _reference(f"https://admin-shell.io/zvei/{name.lower()}/2/0/Submodel"),
        "description": [{"language": "en", "text": f"{name} of the product, kept by its manufacturer."}],
        "endpoints": [
            {
                "interface": interface,
                "protocolInformation": {
                    "href": f"{host}/api/public/{interface.lower()}/{number:09d}/{position}",
                    "endpointProtocol": "HTTP",
                    "endpointProtocolVersion": ["1.1"],
                    "subprotocol": "DSP",
                    "subprotocolBody": f"id={number};dspEndpoint={host}/api/v1/dsp",
                    "subprotocolBodyEncoding": "plain",
                    "securityAttributes": [{"type": "NONE", "key": "NONE", "value": "NONE"}],
                },
            }
            for interface in ("SUBMODEL-3.1", "SUBMODEL-VALUE-3.1")[:endpoints]
        ],
    }


def _reference(value: str) -> dict[str, Any]:
    return {"type": "ExternalReference", "keys": [{"type": "GlobalReference", "value": value}]}
