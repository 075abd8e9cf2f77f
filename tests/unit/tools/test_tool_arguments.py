"""Arguments: what is put right, what is refused, and that nothing right is changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellward.tools.arguments import InvalidArgumentsError, InvalidSchemaError, Validator

ITEM = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("schema", "given_", "wanted"),
    [
        ({"type": "integer"}, "5", 5),
        ({"type": "integer"}, " -5 ", -5),
        ({"type": "integer"}, 5.0, 5),
        ({"type": "integer"}, "5.0", 5),
        ({"type": "number"}, "0.5", 0.5),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "False", False),
        ({"type": "boolean"}, 1, True),
        ({"type": "string"}, 5, "5"),
        ({"type": "string"}, True, "true"),
        ({"type": "string"}, "5", "5"),
        ({"type": "array", "items": {"type": "string"}}, '["a", "b"]', ["a", "b"]),
        ({"type": "array", "items": {"type": "integer"}}, ["1", 2], [1, 2]),
        ({"type": "array", "items": {"type": "string"}}, "a", ["a"]),
        ({"type": "array", "items": ITEM}, {"n": "1"}, [{"n": 1}]),
        ({"type": "array", "items": ITEM}, '[{"n": "1"}]', [{"n": 1}]),
        (ITEM, '{"n": "3"}', {"n": 3}),
        ({"type": ["integer", "null"]}, "null", None),
        ({"type": ["string", "null"]}, "null", "null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "7", 7),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "7", "7"),
        ({"oneOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}, ["7"], [7]),
        ({"$ref": "#/$defs/item"}, '{"n": "3"}', {"n": 3}),
        ({"allOf": [{"type": "integer"}, {"minimum": 1}]}, "7", 7),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": "1"}, {"a": 1}),
        ({}, "5", "5"),
        (True, "5", "5"),
    ],
)
def test_what_was_meant_is_put_right(schema, given_, wanted) -> None:
    validator = Validator({"type": "object", "properties": {"a": schema}, "$defs": {"item": ITEM}})
    assert validator.fitted({"a": given_}) == {"a": wanted}
    assert type(validator.fitted({"a": given_})["a"]) is type(wanted)


@pytest.mark.parametrize(
    ("schema", "given_"),
    [
        ({"type": "integer"}, "five"),
        ({"type": "integer"}, 5.5),
        ({"type": "integer"}, "9" * 100),
        ({"type": "integer"}, True),
        ({"type": "number"}, "nan"),
        ({"type": "number"}, "inf"),
        ({"type": "boolean"}, "maybe"),
        ({"type": "boolean"}, 2),
        ({"type": "string"}, ["a"]),
        ({"type": "string", "enum": ["x", "y"]}, "z"),
        ({"type": "array", "items": {"type": "string"}}, '["a"'),
        (ITEM, "{}"),
        ({"type": "integer", "minimum": 3}, "2"),
        ({"type": "string", "maxLength": 2}, "abc"),
    ],
)
def test_what_does_not_fit_names_the_place(schema, given_) -> None:
    validator = Validator({"type": "object", "properties": {"outer": {"type": "array", "items": schema}}})
    with pytest.raises(InvalidArgumentsError, match=r"^outer\[0\]"):
        validator.fitted({"outer": [given_]})


def test_null_for_what_may_be_left_out_is_left_out() -> None:
    properties = {"a": {"type": "string"}, "b": {"type": ["string", "null"]}, "c": {"type": "string"}, "d": {}}
    validator = Validator({"type": "object", "properties": properties, "required": ["c"]})
    assert validator.fitted({"a": None, "b": None, "c": "x", "d": None}) == {"b": None, "c": "x", "d": None}
    with pytest.raises(InvalidArgumentsError, match="c: "):
        validator.fitted({"c": None})


def test_what_is_missing_and_what_is_too_much() -> None:
    validator = Validator({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False})
    with pytest.raises(InvalidArgumentsError, match="required"):
        validator.fitted({})
    with pytest.raises(InvalidArgumentsError, match="unexpected"):
        validator.fitted({"a": 1, "b": 2})


@pytest.mark.parametrize(("text", "wanted"), [("", {}), ("  ", {}), ("{}", {}), ('{"a": 1}', {"a": 1}), (None, {})])
def test_arguments_may_be_text(text, wanted) -> None:
    assert Validator({"type": "object"}).fitted(text) == wanted


@pytest.mark.parametrize("text", ["{", "[1]", "5", "null", "[" * 100_000, "\ud800"])
def test_text_that_is_no_object_is_refused(text) -> None:
    with pytest.raises(InvalidArgumentsError):
        Validator({"type": "object"}).fitted(text)


def test_many_problems_are_few_lines() -> None:
    properties = {f"p{number}": {"enum": ["x" * 5000]} for number in range(100)}
    with pytest.raises(InvalidArgumentsError) as error:
        Validator({"type": "object", "properties": properties}).fitted(dict.fromkeys(properties, "y"))
    assert len(error.value.problems) == 6
    assert len(str(error.value)) < 2500


def test_a_pattern_that_never_ends_does() -> None:
    validator = Validator({"type": "object", "properties": {"a": {"type": "string", "pattern": r"^(?=a)(a+)+$"}}})
    with pytest.raises(InvalidArgumentsError):
        validator.fitted({"a": "a" * 60 + "!"})


def test_patterns_with_look_ahead_as_servers_write_them() -> None:
    validator = Validator({"properties": {"mail": {"type": "string", "pattern": r"^(?!\.)(?!.*\.\.)[^@\s]+@[^@\s]+$"}}})
    assert validator.fitted({"mail": "a@b"}) == {"mail": "a@b"}
    with pytest.raises(InvalidArgumentsError):
        validator.fitted({"mail": ".a@b"})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"properties": 5},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "file:///etc/hostname"},
        {"$schema": "http://127.0.0.1:9/meta"},
        {"properties": {"a": {"pattern": "("}}},
    ],
)
def test_what_is_no_schema_is_refused_and_nothing_is_fetched(schema) -> None:
    with pytest.raises(InvalidSchemaError):
        Validator(schema)


def test_schemas_that_refer_to_themselves_end() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}
    validator = Validator({"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}})
    assert validator.fitted({"a": {"next": {"next": {"n": "1"}}}}) == {"a": {"next": {"next": {"n": 1}}}}
    circle = Validator({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}})
    deep: dict = {}
    for _ in range(500):
        deep = {"next": deep}
    assert validator.fitted({"a": deep}) == {"a": deep}
    del circle


@pytest.mark.parametrize(
    "draft", ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]
)
def test_the_drafts_that_servers_name(draft) -> None:
    assert Validator({"$schema": draft, "type": "object"}).fitted({"a": 1}) == {"a": 1}


VALUES = {
    "string": st.text("a5 tnul[]{}", max_size=6),
    "integer": st.integers(-(2**60), 2**60),
    "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**50), 2**50),
    "boolean": st.booleans(),
    "null": st.none(),
}
SCHEMAS = st.recursive(
    st.sampled_from(sorted(VALUES)).map(lambda kind: ({"type": kind}, VALUES[kind])),
    lambda inner: (
        inner.map(lambda pair: ({"type": "array", "items": pair[0]}, st.lists(pair[1], max_size=3)))
        | st.lists(inner, min_size=1, max_size=3).map(
            lambda pairs: (
                {
                    "type": "object",
                    "properties": {f"p{i}": pair[0] for i, pair in enumerate(pairs)},
                    "required": [f"p{i}" for i in range(len(pairs))],
                },
                st.fixed_dictionaries({f"p{i}": pair[1] for i, pair in enumerate(pairs)}),
            )
        )
        | st.lists(inner, min_size=1, max_size=3).map(
            lambda pairs: ({"anyOf": [pair[0] for pair in pairs]}, st.one_of([pair[1] for pair in pairs]))
        )
    ),
    max_leaves=6,
)


def test_what_fits_another_branch_is_not_changed() -> None:
    lists = {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}
    either = {"anyOf": [lists, {"type": "array", "items": {"type": "boolean"}}]}
    validator = Validator({"type": "object", "properties": {"a": either, "b": {"type": "integer"}}})
    assert validator.fitted({"a": [False]}) == {"a": [False]}
    fitted = validator.fitted({"a": [[False]], "b": 2.0})
    assert (fitted, type(fitted["b"])) == ({"a": [[False]], "b": 2}, int)


@given(st.data())
def test_what_fits_is_not_changed(data) -> None:
    schema, values = data.draw(SCHEMAS)
    value = data.draw(values)
    validator = Validator({"type": "object", "properties": {"a": schema}, "required": ["a"]})
    assert validator.fitted({"a": value}) == {"a": value}
