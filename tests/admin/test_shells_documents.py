"""Where a JSON pointer is in a text, and what two documents differ in."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shells.admin.documents import difference, indented, line_of, lines_of_pointers, tree
from shells.defects import Defect

TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def pointers(value: Any, pointer: str = "") -> Any:
    yield pointer, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in items:
        yield from pointers(member, f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}")


@given(VALUES)
def test_each_value_is_found_where_it_is(value: Any) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    lines = lines_of_pointers(text)
    assert set(lines) == {pointer for pointer, _ in pointers(value)}
    for pointer, member in pointers(value):
        line = text.split("\n")[lines[pointer] - 1]
        begin = json.dumps(member, indent=1, ensure_ascii=False).split("\n")[0]
        assert line.rstrip(",").endswith(begin)


@given(st.text(max_size=60))
def test_of_any_text_something_is_found(text: str) -> None:
    assert lines_of_pointers(text)[""] == 1


def test_what_is_missing_is_where_it_is_missing_in() -> None:
    lines = lines_of_pointers('{\n "a": {\n  "b": 1\n }\n}')
    assert line_of(lines, Defect("/a/c/d", "is required")) == 2
    assert line_of(lines, Defect("", "is no JSON: expected value at line 4 column 1")) == 4


def test_the_same_documents_have_no_difference() -> None:
    assert difference('{"a":1}', '{"a":1}') == []


def test_a_difference_too_long_is_none() -> None:
    many = json.dumps(list(range(20_002)))
    assert difference(many, None) is None
    assert tree(many) == ""


@given(VALUES)
def test_a_tree_says_what_the_document_says(value: Any) -> None:
    assert tree(json.dumps(value))


def test_numbers_are_shown_as_they_are_stored() -> None:
    assert indented('{"a":1.0,"b":123456789012345678901234567890}').split("\n")[1:3] == [
        '  "a": 1.0,',
        '  "b": 123456789012345678901234567890',
    ]


def test_a_string_without_an_end_is_read_once() -> None:
    assert lines_of_pointers('"' + '\\"' * 500_000) == {"": 1}
