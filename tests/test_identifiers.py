"""base64url of identifiers (aas-registry-api.md §0.2) and the digests under which they are found."""

import pytest

from shells.identifiers import InvalidIdentifier, decode, digest, encode, pair_hash

TABLE = [
    ("urn:example:aas:1", "dXJuOmV4YW1wbGU6YWFzOjE", "dXJuOmV4YW1wbGU6YWFzOjE="),
    ("urn:example:aas:10", "dXJuOmV4YW1wbGU6YWFzOjEw", "dXJuOmV4YW1wbGU6YWFzOjEw"),
    ("urn:example:aas:100", "dXJuOmV4YW1wbGU6YWFzOjEwMA", "dXJuOmV4YW1wbGU6YWFzOjEwMA=="),
    ("urn:example:aas:??>", "dXJuOmV4YW1wbGU6YWFzOj8_Pg", "dXJuOmV4YW1wbGU6YWFzOj8_Pg=="),
    (
        "https://example.org/aas/motor",
        "aHR0cHM6Ly9leGFtcGxlLm9yZy9hYXMvbW90b3I",
        "aHR0cHM6Ly9leGFtcGxlLm9yZy9hYXMvbW90b3I=",
    ),
]


@pytest.mark.spec("aas-registry-api", "0.2")
@pytest.mark.parametrize(("identifier", "unpadded", "padded"), TABLE)
def test_the_table(identifier: str, unpadded: str, padded: str) -> None:
    assert encode(identifier) == unpadded
    assert decode(unpadded) == decode(padded) == identifier


def test_padding_of_the_wrong_length_is_accepted() -> None:
    assert decode("dXJuOmV4YW1wbGU6YWFzOjE==") == "urn:example:aas:1"


@pytest.mark.parametrize(
    "encoded", ["", "=", "==", "A", "YW Jj", "YQ\n", "a.b", "a+b", "a/b", "é", "YQ=Q", "__4"]
)
def test_what_is_not_encoded(encoded: str) -> None:
    with pytest.raises(InvalidIdentifier):
        decode(encoded)


def test_digests_are_stable() -> None:
    """They are stored: another value would lose every shell."""
    assert digest("urn:example:aas:1") == "3f0167256ed417047f02067efb05344e"
    assert pair_hash(1, "serialNumber", "4711") == 6117632431979037987


def test_a_pair_is_hashed_with_its_tenant_and_its_boundary() -> None:
    hashes = {pair_hash(1, "a", "b"), pair_hash(2, "a", "b"), pair_hash(1, "b", "a"), pair_hash(1, "ab", "")}
    assert len(hashes) == 4
    assert all(-(2**63) <= value < 2**63 for value in hashes)
