"""The same definitions in the forms of the model providers, and calls and answers between them and the runtime."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from shellward.tools.frozen import thaw

Handle = Callable[[str, Any], str]
"""Calls a tool: name and arguments to JSON, such as ``handle_function_call`` bound to a session."""


@dataclass(frozen=True, slots=True)
class Called:
    """One call that a model made.

    Attributes:
        id: the provider's id of the call; the answer carries it.
        name: the tool.
        args: its arguments: a mapping, or JSON text as the model wrote it.
    """

    id: str
    name: str
    args: Any


def to_openai(definitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return definitions for OpenAI's Chat Completions: plain copies, yours to change."""
    return [thaw(each) for each in definitions]


def to_openai_responses(definitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return definitions for OpenAI's Responses API, where a function has no level of its own."""
    return [{"type": "function", **thaw(each["function"]), "strict": False} for each in definitions]


def to_anthropic(definitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return definitions for Anthropic's Messages API."""
    return [
        {
            "name": each["function"]["name"],
            "description": each["function"]["description"],
            "input_schema": thaw(each["function"]["parameters"]),
        }
        for each in definitions
    ]


def calls_of_openai(message: Mapping[str, Any]) -> list[Called]:
    """Return the calls of an assistant's message (Chat Completions), as a mapping."""
    return [
        Called(str(each["id"]), str(each["function"]["name"]), each["function"].get("arguments"))
        for each in message.get("tool_calls") or ()
        if each.get("type", "function") == "function"
    ]


def calls_of_anthropic(message: Mapping[str, Any]) -> list[Called]:
    """Return the calls of an assistant's message (Messages API), as a mapping."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else ()
    return [
        Called(str(each["id"]), str(each["name"]), each.get("input"))
        for each in blocks
        if each.get("type") == "tool_use"
    ]


def openai_answers(calls: Iterable[Called], handle: Handle) -> list[dict[str, Any]]:
    """Make the calls, one after the other, and return the messages that answer them (Chat Completions)."""
    return [{"role": "tool", "tool_call_id": each.id, "content": handle(each.name, each.args)} for each in calls]


def anthropic_answers(calls: Iterable[Called], handle: Handle) -> dict[str, Any]:
    """Make the calls, one after the other, and return the one message that answers them (Messages API)."""
    blocks = []
    for each in calls:
        result = handle(each.name, each.args)
        block = {"type": "tool_result", "tool_use_id": each.id, "content": result}
        blocks.append(block | {"is_error": True} if is_error(result) else block)
    return {"role": "user", "content": blocks}


def is_error(result: str) -> bool:
    """Say whether a result reports that the call did not work: an object with a text under ``error``."""
    value = msgspec.json.decode(result)
    return isinstance(value, dict) and isinstance(value.get("error"), str) and bool(value["error"])
