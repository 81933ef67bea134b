"""manage.py generate_shells: realistic descriptors, always the same."""

import json

from shells.descriptors import parse_shell
from shells.generating import shell_body, shell_descriptor, shell_id


def test_they_are_realistic() -> None:
    for number in range(50):
        body = shell_body(number)
        assert 5_000 < len(body) < 6_500
        shell = parse_shell(body, strict=True).members
        assert len(shell["submodelDescriptors"]) == 5
        assert len(shell["specificAssetIds"]) == 4
        assert {len(item["endpoints"]) for item in shell["submodelDescriptors"]} == {1, 2}


def test_the_seed_decides() -> None:
    assert shell_descriptor(5, 1) == shell_descriptor(5, 1)
    assert shell_descriptor(5, 1) != shell_descriptor(5, 2)
    assert json.loads(shell_body(5, 1))["id"] == shell_id(5, 1) != shell_id(5, 2)
    assert len({shell_id(number, seed) for number in range(10) for seed in range(10)}) == 100
