"""The smallest agent there is: ask a model, call the tools that it names, tell it what they answered."""

import json
from collections.abc import Callable
from typing import Any, Final

from shellward.core.errors import ShellwardError

MOST_TURNS: Final = 50
_PATIENCE: Final = 120.0


def ask(url: str, model: str, key: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the next message of a model.

    Raises:
        ShellwardError: the endpoint does not answer, or not as endpoints do.
    """
    import urllib.error
    import urllib.request

    body = json.dumps({"model": model, "messages": messages, "tools": tools}).encode()
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    request = urllib.request.Request(f"{url.rstrip('/')}/chat/completions", body, headers)  # noqa: S310  # the user's
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310
            message: dict[str, Any] = json.load(answer)["choices"][0]["message"]
            return message
    except urllib.error.HTTPError as error:
        raise ShellwardError(f"{url} answers {error.code}: {error.read(500).decode(errors='replace')}") from None
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise ShellwardError(f"{url} does not answer as a model's endpoint does: {error}") from None


def run(
    asked: str,
    *,
    task: str,
    ask_model: Callable[[list[dict[str, Any]], list[dict[str, Any]]], dict[str, Any]],
    on_message: Callable[[dict[str, Any]], None],
) -> str:
    """Have a model do a task with the tools of ``coding``.

    Args:
        asked: what the user wants.
        task: whose environment is used.
        ask_model: takes the messages and the definitions of the tools; returns the model's next message.
        on_message: is called with each message, also with what tools answered.

    Returns:
        Its last word.

    Raises:
        ShellwardError: the model does not come to an end.
    """
    from shellward.tools import get_tool_definitions, handle_function_call, to_openai

    tools = to_openai(get_tool_definitions(["coding"]))
    messages: list[dict[str, Any]] = [{"role": "user", "content": asked}]
    for _ in range(MOST_TURNS):
        message = ask_model(messages, tools)
        messages.append(message)
        on_message(message)
        calls = message.get("tool_calls") or ()
        if not calls:
            return str(message.get("content") or "")
        for call in calls:
            function = call["function"]
            answer = handle_function_call(
                function["name"], function["arguments"], task_id=task, user_task=asked, enabled_toolsets=["coding"]
            )
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": answer})
            on_message(messages[-1])
    raise ShellwardError(f"the model did not come to an end in {MOST_TURNS} turns")
