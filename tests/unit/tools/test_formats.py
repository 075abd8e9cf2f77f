"""The providers' forms of the same definitions, and calls and answers in each."""

import json

from shellward.tools import formats


def test_the_same_definitions_in_every_form(runtime, add) -> None:
    add("t")
    definitions = runtime.get_tool_definitions()
    parameters = {"type": "object", "properties": {"n": {"type": "integer"}, "text": {"type": "string"}}}
    function = {"name": "t", "description": "Does t", "parameters": parameters}
    assert formats.to_openai(definitions) == [{"type": "function", "function": function}]
    assert formats.to_openai_responses(definitions) == [{"type": "function", **function, "strict": False}]
    assert formats.to_anthropic(definitions) == [{"name": "t", "description": "Does t", "input_schema": parameters}]


def test_they_are_ones_own_to_change(runtime, add) -> None:
    add("t")
    for form in (formats.to_openai, formats.to_openai_responses, formats.to_anthropic):
        (own,) = form(runtime.get_tool_definitions())
        own["cache_control"] = {"type": "ephemeral"}
        own.get("input_schema", own.get("parameters", own.get("function")))["x"] = []
        assert form(runtime.get_tool_definitions()) != [own]


def test_a_turn_of_openai(runtime, add) -> None:
    add("t")
    message = {
        "role": "assistant",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "t", "arguments": '{"n": "1"}'}},
            {"id": "c2", "type": "function", "function": {"name": "t", "arguments": "{broken"}},
            {"id": "c3", "type": "custom", "custom": {}},
        ],
    }
    calls = formats.calls_of_openai(message)
    answers = formats.openai_answers(calls, runtime.handle_function_call)
    assert [(each["role"], each["tool_call_id"]) for each in answers] == [("tool", "c1"), ("tool", "c2")]
    assert json.loads(answers[0]["content"])["args"] == {"n": 1}
    assert "not JSON" in json.loads(answers[1]["content"])["error"]
    assert formats.calls_of_openai({"role": "assistant", "content": "hello", "tool_calls": None}) == []


def test_a_turn_of_anthropic(runtime, add) -> None:
    add("t")
    content = [
        {"type": "text", "text": "I look"},
        {"type": "tool_use", "id": "u1", "name": "t", "input": {"n": 1}},
        {"type": "tool_use", "id": "u2", "name": "nothing", "input": {}},
    ]
    answer = formats.anthropic_answers(formats.calls_of_anthropic({"content": content}), runtime.handle_function_call)
    assert answer["role"] == "user"
    first, second = answer["content"]
    assert (first["type"], first["tool_use_id"], "is_error" in first) == ("tool_result", "u1", False)
    assert second["is_error"] is True
    assert formats.calls_of_anthropic({"content": "hello"}) == []


def test_what_counts_as_an_error() -> None:
    assert formats.is_error('{"error": "x"}')
    for fine in ('{"error": null}', '{"error": ""}', "{}", "[]", '"error"', '{"errors": "x"}'):
        assert not formats.is_error(fine)
