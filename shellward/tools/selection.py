"""What one session has: the tools of its toolsets that can be used now, and how they are listed.

A selection is a value. It is made anew when a tool, a toolset or a setting changes, and when the answer of a check no
longer holds; until then every listing and every call of that session uses the same one.
"""

import inspect
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shellward.config.schema import ToolSearchSection
from shellward.tools.answers import sanitised
from shellward.tools.arguments import Validator
from shellward.tools.frozen import FrozenDict
from shellward.tools.registry import Registry
from shellward.tools.tool import Tool, checked, estimated_tokens, function_schema
from shellward.tools.toolsets import Toolsets

if TYPE_CHECKING:
    from shellward.tools.search import Index

_log = logging.getLogger(__name__)

_KEPT: Final = 128
"""Selections that are remembered; a host has one for each combination of toolsets that its sessions use."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as this session sees it.

    Attributes:
        tool: the tool.
        schema: its schema, with what is replaced in it for this listing.
        validator: checks arguments against that.
        tokens: what it costs in a model's context, estimated.
    """

    tool: Tool
    schema: FrozenDict
    validator: Validator
    tokens: int

    @property
    def definition(self) -> FrozenDict:
        """The form in which models are told."""
        same = self.schema is self.tool.schema
        return self.tool.definition if same else FrozenDict({"type": "function", "function": self.schema})


class Scope(NamedTuple):
    """The toolsets of a session; see ``get_tool_definitions``."""

    enabled: tuple[str, ...] | None
    disabled: tuple[str, ...]


@dataclass(frozen=True)
class Selection:
    """What a session has.

    Attributes:
        listed: the tools that can be used, by name, in the order in which they are listed.
        unavailable: why the others of its toolsets cannot.
        unknown: toolsets that were asked for and are not there.
        deferred: those that tool search stands in for; empty when it does not.
        settings: the settings of tool search.
        until: time at which the checks are to be asked again.
    """

    listed: Mapping[str, Listed]
    unavailable: Mapping[str, str]
    unknown: tuple[str, ...]
    deferred: frozenset[str]
    settings: ToolSearchSection
    until: float

    @cached_property
    def definitions(self) -> tuple[FrozenDict, ...]:
        """What the model is told, in the order of the names; the stand-ins come last."""
        shown = tuple(each.definition for name, each in self.listed.items() if name not in self.deferred)
        if not self.deferred:
            return shown
        from shellward.tools.deferred import stand_ins

        return (*shown, *stand_ins(len(self.deferred), self.settings))

    @cached_property
    def index(self) -> "Index":
        """The index of the deferred tools, made on first use."""
        from shellward.tools.search import Index

        listed = (self.listed[name] for name in sorted(self.deferred))
        return Index((each.tool.toolset, each.schema) for each in listed)


class Selections:
    """Makes selections and remembers them. Safe to share between threads.

    Args:
        registry: the tools.
        toolsets: the toolsets.
        settings: returns the settings of tool search.
    """

    def __init__(self, registry: Registry, toolsets: Toolsets, settings: Callable[[], ToolSearchSection]) -> None:
        self._registry = registry
        self._toolsets = toolsets
        self._settings = settings
        self._lock = threading.Lock()
        self._known: dict[Scope, tuple[tuple[object, ...], Selection]] = {}

    def of(self, scope: Scope) -> Selection:
        """Return the selection of a session, from memory while it holds."""
        settings = self._settings()
        state = (self._registry.generation, self._toolsets.generation, settings)
        known = self._known.get(scope)
        if known is not None and known[0] == state and known[1].until > self._registry.availability.now():
            return known[1]
        generation, tools = self._registry.snapshot()
        state = (generation, self._toolsets.generation, settings)
        made = self._make(scope, tools, settings)
        with self._lock:
            self._known.pop(scope, None)
            while len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
            self._known[scope] = (state, made)
        return made

    def forget(self) -> None:
        """Make every selection anew, and ask every check again."""
        self._registry.availability.forget()
        with self._lock:
            self._known.clear()

    def _make(self, scope: Scope, tools: Mapping[str, Tool], settings: ToolSearchSection) -> Selection:
        wanted, unknown = self._wanted(scope, tools)
        usable: dict[str, Tool] = {}
        unavailable: dict[str, str] = {}
        until = float("inf")
        for name in sorted(wanted):
            answer = self._registry.availability.of(tools[name].check_fn)
            until = min(until, answer.until)
            if answer.available:
                usable[name] = tools[name]
            else:
                unavailable[name] = answer.reason
        listed = self._listed(usable, unavailable)
        if any(tool.dynamic_schema_overrides for tool in usable.values()):
            until = min(until, self._registry.availability.soon())
        return Selection(listed, unavailable, unknown, _deferred(listed.values(), settings), settings, until)

    def _wanted(self, scope: Scope, tools: Mapping[str, Tool]) -> tuple[frozenset[str], tuple[str, ...]]:
        if scope.enabled is not None:
            return self._toolsets.resolve(scope.enabled, tools)
        off, unknown = self._toolsets.resolve(scope.disabled, tools)
        return frozenset(tools) - off - self._toolsets.explicit(), unknown

    @staticmethod
    def _listed(usable: Mapping[str, Tool], unavailable: dict[str, str]) -> Mapping[str, Listed]:
        """Apply what is replaced in schemas; a tool whose replacement fails is unavailable."""
        names = frozenset(usable)
        found: dict[str, Listed] = {}
        for name, tool in usable.items():
            if tool.dynamic_schema_overrides is None:
                found[name] = Listed(tool, tool.schema, tool.validator, tool.tokens)
                continue
            try:
                found[name] = _overridden(tool, names)
            except Exception as error:  # noqa: BLE001  # the tool's own code; the others must be listed all the same
                unavailable[name] = sanitised(f"its schema cannot be made: {type(error).__name__}: {error}")
                _log.error("%s is left out: %s", name, unavailable[name])  # the reason is what helps
        return found


def _overridden(tool: Tool, names: frozenset[str]) -> Listed:
    overrides = tool.dynamic_schema_overrides
    assert overrides is not None  # noqa: S101  # for the type checker
    replaced = overrides(names) if inspect.signature(overrides).parameters else overrides()
    schema = function_schema(tool.name, {**tool.schema, **replaced})
    return Listed(tool, schema, checked(tool.name, schema["parameters"]), estimated_tokens(schema))


def _deferred(listed: Iterable[Listed], settings: ToolSearchSection) -> frozenset[str]:
    """Return the names that tool search stands in for."""
    candidates = [each for each in listed if each.tool.deferrable]
    if settings.enabled == "off" or not candidates:
        return frozenset()
    threshold = settings.context_window * settings.threshold_pct / 100
    if settings.enabled == "auto" and sum(each.tokens for each in candidates) < threshold:
        return frozenset()
    return frozenset(each.tool.name for each in candidates)


def definitions_of(selection: Selection) -> list[dict[str, Any]]:
    """Return a fresh list of what the model is told; the definitions in it are shared and read-only."""
    return list(selection.definitions)
