"""What others hang before and after every call of a tool: to refuse it, to change its arguments, to see its result.

A hook that fails is not passed over. Before the call it blocks it; after the call it keeps the result back, since it
may have been there to take something out of it (docs/decisions/2026-11-21-tool-hooks.md).
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call, as hooks see it.

    Attributes:
        name: the real tool, also when it came through ``tool_call``.
        args: its arguments, converted and valid.
        toolset: the tool's toolset.
        task_id: whose environment and session it works on.
        user_task: what the user asked for, as far as the host said.
    """

    name: str
    args: Mapping[str, Any]
    toolset: str = ""
    task_id: str | None = None
    user_task: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A pre-hook's refusal.

    Attributes:
        reason: what the model is told; should say what to do instead.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A pre-hook's other arguments for the call; they are checked like the model's own."""

    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to, as post-hooks see it.

    Attributes:
        call: the call, as it was carried out.
        result: JSON.
        duration: seconds in the handler.
        failed: the tool raised, or broke its contract.
    """

    call: ToolCall
    result: str
    duration: float
    failed: bool = field(default=False)


PreHook = Callable[[ToolCall], Block | Rewrite | None]
PostHook = Callable[[Outcome], str | None]


class HookError(Exception):
    """A hook failed, or answered with something that hooks do not say."""


class Hooks:
    """The hooks of one runtime, called in the order in which they were added. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pre: tuple[PreHook, ...] = ()
        self._post: tuple[PostHook, ...] = ()

    def add(self, event: Literal["pre_tool_call", "post_tool_call"], hook: Any) -> Callable[[], None]:
        """Add a hook.

        Args:
            event: when it is called.
            hook: for ``pre_tool_call`` a PreHook: returns None to let the call pass, Block to refuse it, Rewrite to
                change its arguments. For ``post_tool_call`` a PostHook: returns None, or JSON in place of the result.

        Returns:
            A function that takes the hook away again.

        Raises:
            ValueError: there is no such event.
        """
        if event not in {"pre_tool_call", "post_tool_call"}:
            raise ValueError(f"{event}: no such event; there are pre_tool_call and post_tool_call")
        attribute = "_pre" if event == "pre_tool_call" else "_post"
        entry = _own(hook)
        with self._lock:
            setattr(self, attribute, (*getattr(self, attribute), entry))

        def remove() -> None:
            with self._lock:
                setattr(self, attribute, tuple(each for each in getattr(self, attribute) if each is not entry))

        return remove

    def pre(self) -> tuple[PreHook, ...]:
        """Return the hooks before a call."""
        return self._pre

    def after(self, outcome: Outcome) -> str:
        """Call the hooks after a call.

        Returns:
            The result, as the last of them left it.

        Raises:
            HookError: one of them failed.
        """
        for hook in self._post:
            said = _asked(hook, outcome, "post_tool_call")
            if said is None:
                continue
            if not isinstance(said, str):
                raise HookError(f"post_tool_call hook answered with {type(said).__name__}, not with JSON or None")
            outcome = Outcome(outcome.call, said, outcome.duration, outcome.failed)
        return outcome.result


def ask(hook: PreHook, call: ToolCall) -> Block | Rewrite | None:
    """Ask one hook about a call; one that fails, or answers with anything else, blocks it."""
    try:
        said = _asked(hook, call, "pre_tool_call")
    except HookError as problem:
        return Block(f"{problem}; the call was not made")
    if said is None or isinstance(said, Block | Rewrite):
        return said
    return Block(f"pre_tool_call hook answered with {type(said).__name__}; the call was not made")


def _own(hook: Any) -> Any:
    """Return a callable of its own for each addition, so that taking one away leaves its twins."""

    def entry(subject: Any) -> Any:
        return hook(subject)

    entry.__qualname__ = getattr(hook, "__qualname__", repr(hook))
    return entry


def _asked(hook: Callable[[Any], Any], subject: ToolCall | Outcome, event: str) -> Any:
    try:
        return hook(subject)
    except Exception as problem:
        _log.exception("%s hook %s failed", event, getattr(hook, "__qualname__", hook))
        raise HookError(f"{event} hook failed: {type(problem).__name__}: {problem}") from problem
