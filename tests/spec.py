"""`make spec` and `pytest -m spec`: which paragraph of which document is enforced by which tests (the marker `spec`).

Arguments are the beginnings of names of documents: `python -m tests.spec "RFC 9068" check`.
"""

import contextlib
import io
import re
import sys
from collections import defaultdict

import pytest

Covered = dict[str, dict[str, set[str]]]

#: The document whose paragraphs are numbered from 1 without gaps.
CHECK = "check"


class Collector:
    """A pytest plugin that notes what the collected tests are marked with."""

    def __init__(self) -> None:
        self.covered: Covered = defaultdict(lambda: defaultdict(set))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            test = item.nodeid.partition("[")[0]
            for mark in item.iter_markers("spec"):
                document, paragraph = mark.args
                self.covered[document][paragraph].add(test)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """What `pytest -m spec` says at the end."""
        terminalreporter.section("paragraphs")
        for line in listed(self.covered, []):
            terminalreporter.write_line(line)


def covered() -> Covered:
    """Document → paragraph → tests. Raises SystemExit if the tests cannot be collected."""
    collector = Collector()
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = pytest.main(["--collect-only", "-qq", "-n", "0", "tests"], plugins=[collector])
    if status != pytest.ExitCode.OK:
        sys.exit(said.getvalue())
    return collector.covered


def listed(found: Covered, documents: list[str]) -> list[str]:
    """The lines of the list."""
    lines = []
    for document in sorted(found):
        if documents and not document.startswith(tuple(documents)):
            continue
        lines.append(document)
        for paragraph in sorted(found[document], key=_by_number):
            lines += [
                f"  {paragraph if number == 0 else '':<24} {test}"
                for number, test in enumerate(sorted(found[document][paragraph]))
            ]
        missing = _missing(found[document]) if document == CHECK else []
        if missing:
            lines.append(f"  without a test of its own: {', '.join(map(str, missing))}")
    return lines


def _by_number(paragraph: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdigit() else 0, part) for part in re.findall(r"\d+|\D+", paragraph)]


def _missing(paragraphs: dict[str, set[str]]) -> list[int]:
    numbers = {int(paragraph) for paragraph in paragraphs if paragraph.isdigit()}
    return sorted(set(range(1, max(numbers, default=0) + 1)) - numbers)


if __name__ == "__main__":
    print("\n".join(listed(covered(), sys.argv[1:])))
