"""The two calls that an agent makes: what tools are there, and do this one. All else of this room serves them."""

import logging
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shellward.config.schema import ToolsSection
from shellward.tools import answers, bridge, deferred
from shellward.tools.agent_loop import AGENT_LOOP, stub
from shellward.tools.arguments import InvalidArgumentsError
from shellward.tools.frozen import freeze, thaw
from shellward.tools.hooks import Block, HookError, Hooks, Outcome, Rewrite, ToolCall, ask
from shellward.tools.registry import Registry
from shellward.tools.results import READER, ResultStore
from shellward.tools.selection import Listed, Scope, Selection, Selections, definitions_of
from shellward.tools.tool import BRIDGES, Session, Tool
from shellward.tools.toolsets import Toolsets

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ToolStatus:
    """One tool, as people see it.

    Attributes:
        name: the tool.
        toolset: its toolset.
        available: whether it can be used now.
        reason: why not.
        requires_env: the variables it needs.
        missing_env: those of them that are not set.
        emoji: its sign.
        origin: core, plugin or mcp.
    """

    name: str
    toolset: str
    available: bool
    reason: str
    requires_env: tuple[str, ...]
    missing_env: tuple[str, ...]
    emoji: str
    origin: str


@dataclass(frozen=True, slots=True)
class _Request:
    """One call on its way: whose it is, and in which scope."""

    selection: Selection
    task_id: str | None
    user_task: str | None


class ToolRuntime:
    """Tools, toolsets, hooks and settings that belong together. Safe to share between threads.

    Args:
        registry: the tools.
        toolsets: the toolsets.
        settings: the section ``tools`` of the settings.
        results: where long results go.
        async_limit: seconds that an asynchronous handler may take.
    """

    def __init__(
        self,
        registry: Registry,
        toolsets: Toolsets | None = None,
        settings: ToolsSection | None = None,
        *,
        results: ResultStore | None = None,
        async_limit: float = bridge.LIMIT,
    ) -> None:
        self.registry = registry
        self.toolsets = toolsets or Toolsets()
        self.hooks = Hooks()
        self.results = results or ResultStore()
        self.settings = settings or ToolsSection()
        self._async_limit = async_limit
        self._selections = Selections(self.registry, self.toolsets, lambda: self.settings.tool_search)

    def get_tool_definitions(
        self,
        enabled_toolsets: Iterable[str] | None = None,
        disabled_toolsets: Iterable[str] | None = None,
        quiet_mode: bool = False,
    ) -> list[dict[str, Any]]:
        """Return the definitions of the tools that can be used now, in OpenAI's form, ordered by name.

        Args:
            enabled_toolsets: only these; stronger than ``disabled_toolsets``.
            disabled_toolsets: all but these. With neither, all.
            quiet_mode: do not log toolsets that are not there and tools that are not available.

        Returns:
            A list of your own; the definitions in it are shared and read-only (``copy.deepcopy`` gives plain ones).
        """
        selection = self._select(enabled_toolsets, disabled_toolsets)
        if not quiet_mode:
            for name in selection.unknown:
                _log.warning("there is no toolset %s", name)
            for name, reason in selection.unavailable.items():
                _log.info("%s is not available: %s", name, reason)
        return definitions_of(selection)

    def handle_function_call(
        self,
        name: str,
        args: object = None,
        *,
        task_id: str | None = None,
        user_task: str | None = None,
        enabled_toolsets: Iterable[str] | None = None,
        disabled_toolsets: Iterable[str] | None = None,
    ) -> str:
        """Call a tool for a model.

        Args:
            name: the tool; must be one of the session's toolsets.
            args: its arguments, as a mapping or as JSON text; converted where what was meant is plain.
            task_id: whose environment and session it works on.
            user_task: what the user asked for.
            enabled_toolsets: the session's, as for ``get_tool_definitions``.
            disabled_toolsets: likewise.

        Returns:
            Always one well-formed JSON value; what went wrong is under ``error``.
        """
        try:
            selection = self._select(enabled_toolsets, disabled_toolsets)
            return self._handle(str(name), args, _Request(selection, task_id, user_task))
        except Exception as problem:  # noqa: BLE001  # see below
            # The second net: whatever fails in this room itself must not reach a model as a traceback.
            _log.exception("the call of %s failed outside of the tool", name)
            return answers.failed(problem)

    def status(self) -> list[ToolStatus]:
        """Return all tools with whether they can be used, for people; the checks are asked where they must be."""
        return [self._status(tool) for _, tool in sorted(self.registry.tools().items())]

    def is_toolset_available(self, toolset: str) -> bool:
        """Say whether a tool of this toolset, or of one that it includes, can be used now."""
        return bool(self._select((toolset,), None).listed)

    def refresh(self) -> None:
        """Ask every check anew the next time."""
        self._selections.forget()

    def _status(self, tool: Tool) -> ToolStatus:
        answer = self.registry.availability.of(tool.check_fn)
        missing = tuple(name for name in tool.requires_env if not os.environ.get(name))
        reason = answer.reason
        if not answer.available and missing:
            reason = f"{reason}; not set: {', '.join(missing)}"
        return ToolStatus(
            tool.name, tool.toolset, answer.available, reason, tool.requires_env, missing, tool.emoji, tool.origin
        )

    def _select(self, enabled: Iterable[str] | None, disabled: Iterable[str] | None) -> Selection:
        return self._selections.of(Scope(_names(enabled), _names(disabled) or ()))

    def _handle(self, name: str, args: object, request: _Request) -> str:
        if name in BRIDGES:
            return self._handle_stand_in(name, args, request)
        if name in AGENT_LOOP:
            return stub(name)
        listed = request.selection.listed.get(name)
        if listed is None:
            return deferred.absent(request.selection, name)
        try:
            call = self._passed(listed, args, request)
        except InvalidArgumentsError as problem:
            return answers.error(f"the arguments of {name} do not fit: {problem}")
        if isinstance(call, Block):
            return answers.error(f"{name} was refused: {call.reason}")
        return self._carry_out(listed.tool, call, request)

    def _session(self, request: _Request) -> Session:
        return Session(frozenset(request.selection.listed), lambda name, args: self._handle(name, args, request))

    def _handle_stand_in(self, name: str, args: object, request: _Request) -> str:
        try:
            fitted = deferred.validator(name).fitted(args)
        except InvalidArgumentsError as problem:
            return answers.error(f"the arguments of {name} do not fit: {problem}")
        if name == "tool_search":
            return deferred.search(request.selection, fitted)
        if name == "tool_describe":
            return deferred.describe(request.selection, fitted)
        if fitted["name"] in BRIDGES:
            return answers.error(f"{fitted['name']} is called by itself, not through tool_call")
        return self._handle(fitted["name"], fitted.get("arguments"), request)

    def _passed(self, listed: Listed, args: object, request: _Request) -> ToolCall | Block:
        """Fit the arguments and ask the hooks.

        Raises:
            InvalidArgumentsError: the model's arguments do not fit.
        """
        call = _call(listed, listed.validator.fitted(args), request)
        for hook in self.hooks.pre():
            said = ask(hook, call)
            if isinstance(said, Block):
                return said
            if isinstance(said, Rewrite):
                try:
                    call = _call(listed, listed.validator.fitted(thaw(said.args)), request)
                except InvalidArgumentsError as problem:
                    return Block(f"a pre_tool_call hook wrote arguments that do not fit: {problem}")
        return call

    def _carry_out(self, tool: Tool, call: ToolCall, request: _Request) -> str:
        start = time.perf_counter()
        result, failed = self._dispatched(tool, call, request)
        outcome = Outcome(call, result, time.perf_counter() - start, failed)
        try:
            result = self.hooks.after(outcome)
        except HookError as problem:
            return answers.error(f"{call.name} has run, but its result is kept back: {problem}")
        checked = answers.well_formed(result)
        if checked is None:
            return answers.error(f"{call.name} has run, but a post_tool_call hook answered with what is no JSON")
        limit = tool.max_result_size_chars
        return self.results.limited(
            checked,
            self.settings.max_result_chars if limit is None else limit,
            readable=READER in request.selection.listed,
        )

    def _dispatched(self, tool: Tool, call: ToolCall, request: _Request) -> tuple[str, bool]:
        """Call the handler; returns its JSON, or that of what went wrong, and whether it failed."""
        given: dict[str, Any] = {"task_id": call.task_id, "user_task": call.user_task}
        if "session" in tool.context:
            given["session"] = self._session(request)
        try:
            result = tool.handler(thaw(call.args), **{name: given[name] for name in tool.context})
            if tool.is_async:
                result = bridge.run(result, self._async_limit)
        except Exception as problem:  # noqa: BLE001  # a tool may raise anything; the model is answered all the same
            _log.exception("tool %s failed", tool.name)
            return answers.failed(problem), True
        broken = ""
        if not isinstance(result, str):
            if hasattr(result, "close") and hasattr(result, "__await__"):
                result.close()
            broken = f"returned {type(result).__name__}, not a JSON string"
        elif (result := answers.well_formed(result)) is None:
            broken = "returned text that is no JSON"
        if broken:
            _log.error("tool %s broke its contract: it %s", tool.name, broken)
            return answers.error(f"{tool.name} broke its contract: it {broken}"), True
        return str(result), False


def _call(listed: Listed, args: Mapping[str, Any], request: _Request) -> ToolCall:
    # Read-only, so that a hook changes arguments with Rewrite, which are checked, or not at all.
    return ToolCall(listed.tool.name, freeze(args), listed.tool.toolset, request.task_id, request.user_task)


def _names(toolsets: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return the names in one order, so that sessions with the same toolsets share a selection."""
    if toolsets is None:
        return None
    return (toolsets,) if isinstance(toolsets, str) else tuple(sorted(set(toolsets)))
