"""`pytest -m spec` says which paragraphs the tests enforce."""

import subprocess
import sys

from tests.server import ROOT


def test_the_paragraphs_are_printed() -> None:
    command = [sys.executable, "-m", "pytest", "-m", "spec", "-n", "0", "--collect-only", "-qq"]
    done = subprocess.run(
        [*command, "tests/test_token_endpoint.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    listed = done.stdout.partition("paragraphs")[2]
    assert "RFC 6749" in listed
    assert "tests/test_token_endpoint.py::" in listed
