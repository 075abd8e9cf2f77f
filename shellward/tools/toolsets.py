"""Toolsets: names for groups of tools. They can include others; what a tool was registered in is one of itself."""

import logging
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from shellward.tools.tool import MCP, Tool

_log = logging.getLogger(__name__)

ALL: Final = frozenset({"all", "*"})
"""Names of the toolset of everything."""
_TOOL_OF_SERVER: Final = "mcp__"
_LEGACY: Final = "_tools"
"""What toolsets' names ended with once: ``file_tools`` is ``file``."""


@dataclass(frozen=True, slots=True)
class Toolset:
    """A named group.

    Attributes:
        description: for people.
        tools: names of tools that belong to it wherever they were registered; those that are missing are no error.
        includes: names of toolsets that belong to it; cycles are no error.
        explicit: its tools are listed only where it, or something that includes it, is asked for by name.
    """

    description: str = ""
    tools: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    explicit: bool = False


_PRESETS: Final[Mapping[str, Toolset]] = {
    "terminal": Toolset("Run commands, and look after those that go on", ("terminal", "process")),
    "file": Toolset("Read, write, patch and search files", ("read_file", "write_file", "patch", "search_files")),
    "code_execution": Toolset("Scripts that call other tools", ("execute_code",)),
    "results": Toolset("Read long results of other tools in parts", ("read_result",)),
    "coding": Toolset("What a programmer needs", (), ("terminal", "file", "code_execution", "results")),
    "reading": Toolset("Look, and change nothing", ("read_file", "search_files"), ("results",)),
    "todo": Toolset("A list of what is to be done, kept by the agent's own loop", ("todo",), explicit=True),
    "memory": Toolset("What is remembered between sessions, likewise", ("memory",), explicit=True),
    "session_search": Toolset("Search in earlier sessions, likewise", ("session_search",), explicit=True),
    "delegation": Toolset("Give a task to another agent, likewise", ("delegate_task",), explicit=True),
    "agent": Toolset("All that an agent's loop answers itself", (), ("todo", "memory", "session_search", "delegation")),
}


class Toolsets:
    """The table of toolsets. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._table: Mapping[str, Toolset] = _PRESETS
        self._generation = 0

    @property
    def generation(self) -> int:
        """A number that grows with each change."""
        return self._generation

    def define(self, name: str, toolset: Toolset) -> None:
        """Add a toolset, or put it in the place of one of that name.

        Raises:
            ValueError: the name is taken by what servers bring, or by everything.
        """
        if not name or name in ALL or name.startswith(MCP):
            raise ValueError(f"{name!r}: this name cannot be given to a toolset")
        with self._lock:
            self._table = {**self._table, name: toolset}
            self._generation += 1

    def names(self, tools: Mapping[str, Tool]) -> tuple[str, ...]:
        """Return the names of all toolsets, defined and registered, sorted."""
        return tuple(sorted({*self._table, *(tool.toolset for tool in tools.values())}))

    def get(self, name: str) -> Toolset | None:
        """Return a defined toolset, or None."""
        return self._table.get(name)

    def explicit(self) -> frozenset[str]:
        """Return the names of the tools that are listed only on request."""
        return frozenset(tool for each in self._table.values() if each.explicit for tool in each.tools)

    def of_servers(self, names: Iterable[str]) -> bool:
        """Say whether tools of MCP servers are among those of these toolsets, or would be if they were there."""
        waiting, seen = list(names), set[str]()
        while waiting:
            name = waiting.pop()
            if name in ALL or name.startswith(MCP):
                return True
            toolset = self._table.get(name) or self._table.get(name.removesuffix(_LEGACY))
            if toolset is not None and name not in seen:
                if any(tool.startswith(_TOOL_OF_SERVER) for tool in toolset.tools):
                    return True
                seen.add(name)
                waiting.extend(toolset.includes)
        return False

    def resolve(self, names: Iterable[str], tools: Mapping[str, Tool]) -> tuple[frozenset[str], tuple[str, ...]]:
        """Find the tools of toolsets.

        Args:
            names: toolsets; ``all`` is everything, a name with ``_tools`` at its end is the one without.
            tools: the registered tools.

        Returns:
            The names of their tools, as far as they are registered, and the names that are no toolset.
        """
        table = self._table
        registered: dict[str, set[str]] = {}
        for tool in tools.values():
            registered.setdefault(tool.toolset, set()).add(tool.name)
        found: set[str] = set()
        unknown: list[str] = []
        seen: set[str] = set()
        waiting = list(names)[::-1]
        while waiting:
            name = _today(waiting.pop(), table, registered)
            if name in seen:
                continue
            seen.add(name)
            if name in ALL:
                found.update(tools)
            elif name in table or name in registered:
                found |= registered.get(name, set())
                toolset = table.get(name, Toolset())
                found.update(each for each in toolset.tools if each in tools)
                waiting.extend(toolset.includes)
            else:
                unknown.append(name)
        return frozenset(found), tuple(unknown)


def _today(name: str, table: Mapping[str, Toolset], registered: Mapping[str, set[str]]) -> str:
    """Return today's name of a toolset."""
    if name in table or name in registered or not name.endswith(_LEGACY):
        return name
    stem = name.removesuffix(_LEGACY)
    return stem if stem in table or stem in registered else name
