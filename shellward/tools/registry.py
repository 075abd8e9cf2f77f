"""The registry of tools: which there are, and who may take whose name. Nothing is listed or called here.

Tool modules register at import::

    from shellward.tools.registry import registry

    registry.register("weather", "web", SCHEMA, handler)
"""

import contextlib
import contextvars
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from shellward.tools.availability import Availability, CheckFn
from shellward.tools.tool import MCP, Handler, Origin, SchemaOverrides, Tool, ToolSpec, make

_log = logging.getLogger(__name__)
_loads: Final[contextvars.ContextVar["Load"]] = contextvars.ContextVar("shellward_tool_load")


@dataclass(frozen=True, slots=True)
class Load:
    """One module or plugin that is being loaded, and what it has registered.

    Attributes:
        origin: where its tools come from.
        done: each tool, and what had its name before.
    """

    origin: Origin
    done: list[tuple[Tool, Tool | None]] = field(default_factory=list)


@contextlib.contextmanager
def loading(origin: Origin) -> Iterator[Load]:
    """Let what is registered meanwhile, in this thread, count as coming from ``origin``."""
    load = Load(origin)
    token = _loads.set(load)
    try:
        yield load
    finally:
        _loads.reset(token)


class Registry:
    """Tools by name. Safe to share between threads; readers never wait.

    Attributes:
        availability: the answers of the tools' checks.
    """

    def __init__(self, availability: Availability | None = None) -> None:
        self.availability = availability or Availability()
        self._lock = threading.RLock()
        self._tools: dict[str, Tool] = {}
        self._generation = 0
        self._snapshot: tuple[int, Mapping[str, Tool]] = (0, MappingProxyType({}))

    @property
    def generation(self) -> int:
        """A number that grows with each change."""
        return self._generation

    def register(
        self,
        name: str,
        toolset: str,
        schema: Mapping[str, Any],
        handler: Handler,
        *,
        check_fn: CheckFn | None = None,
        requires_env: Iterable[str] | None = None,
        is_async: bool = False,
        description: str = "",
        emoji: str = "",
        max_result_size_chars: float | None = None,
        dynamic_schema_overrides: SchemaOverrides | None = None,
        override: bool = False,
    ) -> bool:
        """Register a tool, or register it anew.

        Args:
            name: 1 to 64 letters, digits, ``_`` or ``-``.
            toolset: the toolset it belongs to; ``mcp-<server>`` for the tools of a server.
            schema: ``description`` and ``parameters`` (JSON Schema); OpenAI's, Anthropic's and MCP's forms are taken
                too.
            handler: called with the arguments; returns a JSON string.
            check_fn: says whether the tool can be used now; shared checks are asked once.
            requires_env: variables it needs, shown to people; the check decides.
            is_async: the handler returns an awaitable (seen by itself for ``async def``).
            description: stronger than the schema's.
            emoji: for people's lists.
            max_result_size_chars: longer results go to a file.
            dynamic_schema_overrides: returns what to replace in the schema, for each listing; it may take the set of
                names that are listed.
            override: take the name from a tool of another toolset.

        Returns:
            Whether it is registered. The name of a tool of another toolset is refused, and that is logged.

        Raises:
            ValueError: the name or the schema cannot be used.
            TypeError: something cannot be called.
        """
        spec = ToolSpec(
            name=name,
            schema=schema,
            handler=handler,
            check_fn=check_fn,
            requires_env=tuple(requires_env or ()),
            is_async=is_async,
            description=description,
            emoji=emoji,
            max_result_size_chars=max_result_size_chars,
            dynamic_schema_overrides=dynamic_schema_overrides,
        )
        load = _loads.get(None)
        tool = make(spec, toolset, load.origin if load else Origin.CORE)
        with self._lock:
            if not self._may_take(tool, override=override):
                return False
            if load is not None:
                load.done.append((tool, self._tools.get(name)))
            self._tools[name] = tool
            self._generation += 1
        return True

    def undo(self, load: Load) -> None:
        """Take back what a module registered before it failed; what came after it stays."""
        with self._lock:
            for tool, before in reversed(load.done):
                if self._tools.get(tool.name) is tool:
                    del self._tools[tool.name]
                    if before is not None:
                        self._tools[tool.name] = before
            self._generation += bool(load.done)

    def _may_take(self, tool: Tool, *, override: bool) -> bool:
        held = self._tools.get(tool.name)
        if held is None or held.toolset == tool.toolset:
            return True
        if held.toolset.startswith(MCP) and tool.toolset.startswith(MCP):
            return True
        if override:
            _log.warning("tool %s of %s is replaced by that of %s (override)", tool.name, held.toolset, tool.toolset)
            return True
        _log.error(
            "tool %s of %s is refused: %s has one of that name (override=True replaces it)",
            tool.name,
            tool.toolset,
            held.toolset,
        )
        return False

    def deregister(self, name: str) -> bool:
        """Take a tool away; returns whether it was there."""
        with self._lock:
            there = self._tools.pop(name, None) is not None
            self._generation += there
        return there

    def replace_toolset(self, toolset: str, specs: Iterable[ToolSpec]) -> tuple[str, ...]:
        """Put tools in the place of all that a toolset had, in one step: what a server lists now.

        A tool that cannot be used (its schema is invalid, its name is another toolset's) is left out and logged: one
        bad tool of a server must not cost the others.

        Returns:
            The names that are registered now.
        """
        tools: dict[str, Tool] = {}
        for spec in specs:
            try:
                tools[spec.name] = make(spec, toolset, Origin.PLUGIN)
            except (ValueError, TypeError) as error:
                _log.warning("a tool of %s is left out: %s", toolset, error)
        with self._lock:
            kept = {name: tool for name, tool in tools.items() if self._may_take(tool, override=False)}
            left = {name: tool for name, tool in self._tools.items() if tool.toolset != toolset}
            self._tools = left | kept
            self._generation += 1
        return tuple(kept)

    def deregister_toolset(self, toolset: str) -> int:
        """Take all tools of a toolset away; returns how many there were."""
        with self._lock:
            before = len(self._tools)
            self._tools = {name: tool for name, tool in self._tools.items() if tool.toolset != toolset}
            gone = before - len(self._tools)
            self._generation += bool(gone)
        return gone

    def tools(self) -> Mapping[str, Tool]:
        """Return all tools by name, as they are in this moment; it does not change afterwards."""
        return self.snapshot()[1]

    def snapshot(self) -> tuple[int, Mapping[str, Tool]]:
        """Return the generation and all tools of that generation."""
        found = self._snapshot
        if found[0] == self._generation:
            return found
        with self._lock:
            self._snapshot = (self._generation, MappingProxyType(dict(self._tools)))
            return self._snapshot

    def get(self, name: str) -> Tool | None:
        """Return a tool, or None."""
        return self.tools().get(name)

    def get_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return a tool's schema as it was registered, or None; it is known whether or not the tool is available."""
        tool = self.get(name)
        return None if tool is None else tool.schema

    def names(self) -> tuple[str, ...]:
        """Return the names of all tools, sorted."""
        return tuple(sorted(self.tools()))

    def toolsets(self) -> tuple[str, ...]:
        """Return the toolsets that tools were registered in, sorted."""
        return tuple(sorted({tool.toolset for tool in self.tools().values()}))

    def is_toolset_available(self, toolset: str) -> bool:
        """Say whether a tool of this toolset can be used now."""
        tools = [tool for tool in self.tools().values() if tool.toolset == toolset]
        return any(self.availability.of(check).available for check in dict.fromkeys(tool.check_fn for tool in tools))


registry: Final = Registry()
"""The one that tool modules register in, and that the functions of ``shellward.tools`` use."""

register: Final = registry.register
"""So that ``from shellward.tools import registry`` and ``registry.register(...)`` work, too."""
