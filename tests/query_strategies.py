"""Random descriptors and queries for `tests/test_query_language.py`."""

from typing import Any

from hypothesis import strategies as st

from tests.bodies import reference

Json = Any
ORDERS = ("$eq", "$ne", "$gt", "$ge", "$lt", "$le")


def field(name: str) -> Json:
    return {"$field": name}


def text(value: str) -> Json:
    return {"$strVal": value}


def number(value: float) -> Json:
    return {"$numVal": value}


#: Texts that are values of several types, or nearly.
NUMERIC = [
    "1",
    "2",
    "11",
    "007",
    "-7",
    "1.0",
    "1e2",
    "1e999",
    "1e1000",
    "-0",
    "+.5",
    "5.",
    "1.",
    ".",
    "1 ",
    "\t1",
]
HEXADECIMAL = ["16#1F", "16#01f", "1f", "16#", "16#G", "FF", "00"]
BOOLEAN = ["true", "false", "TRUE", "true\n"]
PLAIN = [
    "",
    "a",
    "ab",
    "abc",
    "Motor",
    "%",
    "_",
    "\\",
    "'",
    "%s",
    '"',
    "é",
    "\U0001d11e",
    "\uffe6",
    "{}",
    "{0}",
]
DATES = [
    "2024-02-29T00:00:00Z",
    "2024-02-29T01:00:00+01:00",
    "2023-02-29T00:00:00Z",
    "2024-02-28T23:59:59.5",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.9999999999-23:59",
    "0000-01-01T00:00:00Z",
    "2024-13-01T00:00:00Z",
    "1969-12-31T23:59:59.25Z",
    "2024-04-31T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "1969-01-01",
]
TIMES = ["10:00", "10:00:00", "10:00:00.50", "11:00:00+01:00", "24:00:00", "25:61", "09:59:59Z"]
TYPES = ["GlobalReference", "Submodel", "ExternalReference", "ModelReference"]
SOME_TEXTS = [*NUMERIC, *HEXADECIMAL, *BOOLEAN, *PLAIN, *DATES, *TIMES, *TYPES]
ANY_TEXT = st.sampled_from(SOME_TEXTS)
#: Few of them most of the time, so that some are equal.
TEXT = st.sampled_from(["1", "2", "a", "ab", "true", ""]) | ANY_TEXT
PRESENT = TEXT.filter(bool)
NUMBERS = st.sampled_from([0, 1, 2, 11, -7, 100, 0.5, 1.0, -0.0, 1e-7, 1e22, 10**25, 31, 5])
DATE_TIMES = st.sampled_from(
    [
        "2024-02-29T00:00:00Z",
        "2024-02-29T01:00:00+01:00",
        "1969-12-31T23:59:59.250-00:00",
        "0001-01-01T00:00:00Z",
    ]
)
CONSTANTS = st.one_of(
    st.builds(text, TEXT),
    st.builds(number, NUMBERS),
    st.sampled_from(["16#1F", "16#0", "16#00FF"]).map(lambda value: {"$hexVal": value}),
    st.sampled_from(["10:00", "10:00:00", "00:00:01"]).map(lambda value: {"$timeVal": value}),
    st.booleans().map(lambda value: {"$boolean": value}),
    DATE_TIMES.map(lambda value: {"$dateTimeVal": value}),
    st.builds(
        lambda name, value: {name: value},
        st.sampled_from(["$dayOfWeek", "$dayOfMonth", "$month", "$year"]),
        DATE_TIMES,
    ),
)
CAST_NAMES = ["$strCast", "$numCast", "$hexCast", "$boolCast", "$dateTimeCast", "$timeCast"]
INDEX = st.sampled_from(["[]", "[]", "[]", "[0]", "[1]", "[00]", ""])


def members(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({}, optional=optional)


KEY_TYPES = st.sampled_from(["GlobalReference", "Submodel", "FragmentReference"])
REFERENCES = st.one_of(
    TEXT.map(reference),
    members(
        type=st.sampled_from(["ExternalReference", "ModelReference"]),
        keys=st.lists(
            st.one_of(st.builds(lambda t, v: {"type": t, "value": v}, KEY_TYPES, TEXT)), max_size=3
        ),
    ),
    members(
        keys=st.lists(members(type=KEY_TYPES, value=TEXT), max_size=2), type=st.just("ExternalReference")
    ),
)
ENDPOINTS = st.lists(members(interface=TEXT, protocolInformation=members(href=TEXT)), max_size=2)
SUBMODEL = {"idShort": TEXT, "semanticId": REFERENCES, "endpoints": ENDPOINTS}
SUBMODEL_LIST = st.lists(
    st.fixed_dictionaries({"id": PRESENT}, optional=SUBMODEL), max_size=3, unique_by=lambda item: item["id"]
)
ASSET_ID_LIST = st.lists(
    st.fixed_dictionaries({"name": PRESENT, "value": PRESENT}, optional={"externalSubjectId": REFERENCES}),
    max_size=3,
)
SHELL_MEMBERS = {
    "idShort": TEXT,
    "assetKind": st.sampled_from(["Instance", "Type"]),
    "assetType": TEXT,
    "globalAssetId": TEXT,
    "specificAssetIds": ASSET_ID_LIST,
    "endpoints": ENDPOINTS,
    "submodelDescriptors": SUBMODEL_LIST,
}


def descriptors(optional: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[list[Json]]:
    one = st.fixed_dictionaries({"id": PRESENT}, optional=optional)
    return st.lists(one, min_size=1, max_size=3, unique_by=lambda item: item["id"])


def fields_below(prefix: str, *names: str) -> st.SearchStrategy[str]:
    """Fields whose names have * for brackets."""

    @st.composite
    def build(draw: st.DrawFn) -> str:
        path = draw(st.sampled_from(names))
        while "*" in path:
            path = path.replace("*", draw(INDEX), 1)
        return prefix + path

    return build()


def of_reference(name: str) -> list[str]:
    return [name, f"{name}.type", f"{name}.keys*.type", f"{name}.keys*.value"]


OF_ENDPOINT = ["interface", "protocolinformation.href", "protocolInformation.href"]
OF_ENDPOINTS = [f"endpoints*.{name}" for name in OF_ENDPOINT]
OF_SUBMODEL = ["id", "idShort", *of_reference("semanticId"), *OF_ENDPOINTS]
OF_ASSET_ID = ["name", "value", *of_reference("externalSubjectId")]
OF_SHELL = ["id", "idShort", "assetKind", "assetType", "globalAssetId", *OF_ENDPOINTS]
FIELDS = st.one_of(
    fields_below("$aasdesc#", *OF_SHELL),
    fields_below("$aasdesc#", *(f"specificAssetIds*.{name}" for name in OF_ASSET_ID)),
    fields_below("$aasdesc#", *(f"submodelDescriptors*.{name}" for name in OF_SUBMODEL)),
    fields_below("$smdesc#", *OF_SUBMODEL),
    st.sampled_from(["$sm#id", "$aas#submodels[].keys[].value", "$sme.a.b[0]#value", "$cd#id"]),
)
NOTHING_IN_LISTS = fields_below("$sme", "[]#value", ".a[].b#semanticId.keys[].value")
#: Prefixes of fields that may stand in one $match: those of the whole list, and those of a nested one.
_SEMANTIC_KEYS, _SUBJECT_KEYS = "semanticId.keys[].", "externalSubjectId.keys[]."
_SUBMODELS = fields_below("$aasdesc#submodelDescriptors[].", *OF_SUBMODEL) | fields_below(
    "$smdesc#", *OF_SUBMODEL
)
_KEY = ["type", "value"]
MATCHES = [
    [
        fields_below("$aasdesc#specificAssetIds[].", *OF_ASSET_ID),
        fields_below(f"$aasdesc#specificAssetIds[].{_SUBJECT_KEYS}", *_KEY),
    ],
    [
        _SUBMODELS,
        fields_below("$aasdesc#submodelDescriptors[].endpoints[].", *OF_ENDPOINT),
        fields_below(f"$smdesc#{_SEMANTIC_KEYS}", *_KEY),
    ],
    [fields_below("$aasdesc#endpoints[].", *OF_ENDPOINT)],
    [fields_below("$aasdesc#submodelDescriptors[0].endpoints[].", *OF_ENDPOINT)],
    [fields_below(f"$aasdesc#submodelDescriptors[1].{_SEMANTIC_KEYS}", *_KEY)],
    [fields_below(f"$aasdesc#specificAssetIds[0].{_SUBJECT_KEYS}", *_KEY)],
    [fields_below("$smdesc#endpoints[].", *OF_ENDPOINT), fields_below("$smdesc#endpoints[].", "interface")],
    [NOTHING_IN_LISTS],
]
#: The same where submodels are not in shells.
SUBMODEL_MATCHES = [
    [fields_below("$smdesc#endpoints[].", *OF_ENDPOINT)],
    [fields_below(f"$smdesc#{_SEMANTIC_KEYS}", *_KEY)],
    [fields_below("$aasdesc#specificAssetIds[].", "name", "value")],
]


def cast_of(value: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.builds(lambda name, inner: {name: inner}, st.sampled_from(CAST_NAMES), value)


def comparisons(fields: st.SearchStrategy[str], *, only_fields: bool = False) -> st.SearchStrategy[Json]:
    """Comparisons; with `only_fields` at least one side is a field."""
    plain = fields.map(field)
    cast = cast_of(plain) | cast_of(cast_of(plain if only_fields else plain | CONSTANTS))
    left = st.one_of(plain, plain, plain, plain, cast)
    if not only_fields:
        left |= CONSTANTS | cast_of(CONSTANTS)
    right = st.one_of(plain, CONSTANTS, CONSTANTS, CONSTANTS, cast_of(CONSTANTS), cast)
    strings = plain | st.builds(text, TEXT) | (left | right).map(lambda value: {"$strCast": value})
    left_strings = plain | left.map(lambda value: {"$strCast": value}) if only_fields else strings
    patterns = st.sampled_from(["", "^1", "a", "[0-9]+$", "^.b", "(?:1|T)", "\\."]).map(text)

    @st.composite
    def build(draw: st.DrawFn) -> Json:
        kind = draw(st.sampled_from(["order", "order", "order", "equal", "equal", "string", "regex"]))
        if kind == "regex":
            return {"$regex": [draw(left_strings), draw(patterns)]}
        if kind == "string":
            pair = [draw(left_strings), draw(strings)]
            operator = draw(st.sampled_from(["$contains", "$starts-with", "$ends-with"]))
        elif kind == "equal":
            pair = [draw(plain), text(draw(TEXT))]
            operator = "$eq"
        else:
            pair = [draw(left), draw(right)]
            operator = draw(st.sampled_from(ORDERS))
        return {operator: pair[::-1] if draw(st.booleans()) else pair}

    return build()


def matches(prefixes: list[st.SearchStrategy[str]], depth: int = 0) -> st.SearchStrategy[Json]:
    item = comparisons(st.one_of(prefixes), only_fields=True)
    others = [item, item, st.booleans().map(lambda value: {"$boolean": value})]
    if depth < 2:
        others += [matches(prefixes[1:] or prefixes, depth + 1), matches(prefixes, depth + 1)]
    more = st.lists(st.one_of(others), max_size=3)
    return st.builds(lambda first, rest: {"$match": [*rest[:1], first, *rest[1:]]}, item, more)


def conditions(all_matches: list[list[st.SearchStrategy[str]]]) -> st.SearchStrategy[Json]:
    match = st.one_of([matches(prefixes) for prefixes in all_matches])
    leaf = st.one_of(comparisons(FIELDS), match, st.booleans().map(lambda value: {"$boolean": value}))

    def combined(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
        several = st.lists(inner, min_size=2, max_size=3)
        return st.one_of(
            several.map(lambda items: {"$and": items}),
            several.map(lambda items: {"$or": items}),
            inner.map(lambda item: {"$not": item}),
        )

    return st.recursive(leaf, combined, max_leaves=5)
