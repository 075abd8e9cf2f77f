"""Rows about the tools of models: listing, searching, discovering. Three hundred tools as MCP servers have them."""

import ast
import importlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from figures import Bar, Measured, Row, Settings, compare, timed

from shellward.config.schema import ToolSearchSection, ToolsSection
from shellward.tools import discovery
from shellward.tools.registry import Registry
from shellward.tools.runtime import ToolRuntime
from shellward.tools.search import Index

CORPUS = Path(__file__).parent.parent / "tests" / "corpus" / "tools"
TOOLS = 300
MODULES = 100
_BODY = '''

def helper_{0}(first, second=None):
    """What a tool does is in functions like this one."""
    if second is None:
        return {{"first": first}}
    return {{name: value for name, value in [("first", first), ("second", second)] if value}}
'''


def _catalogue() -> list[tuple[str, dict[str, object]]]:
    sys.path.insert(0, str(CORPUS))
    try:
        found = importlib.import_module("catalogue").catalogue()
    finally:
        sys.path.remove(str(CORPUS))
    return [(listed.toolset, listed.schema) for listed in found[:TOOLS]]


def _must(holds: bool, what: str) -> None:
    """Stop a row that would measure something else."""
    if not holds:
        raise RuntimeError(what)


def _answer(args: dict[str, object]) -> str:
    return json.dumps(args)


def _runtime(search: str) -> ToolRuntime:
    runtime = ToolRuntime(Registry(), settings=ToolsSection(tool_search=ToolSearchSection(enabled=search)))

    def check() -> bool:
        return True

    for toolset, schema in _catalogue():
        runtime.registry.register(str(schema["name"]), toolset, schema, _answer, check_fn=check)
    return runtime


def _against(action: Callable[[], object], settings: Settings, note: str) -> Measured:
    """Compare with what a client does with the result in any case: 300 schemas to JSON, once."""
    schemas = [schema for _, schema in _catalogue()]
    return compare(timed(action), timed(lambda: json.dumps(schemas)), samples=settings.of(200, 5), note=note)


def _warm(settings: Settings) -> Measured:
    runtime = _runtime("off")
    _must(len(runtime.get_tool_definitions()) == TOOLS, "not every tool is listed")
    return _against(runtime.get_tool_definitions, settings, f"{TOOLS} tools")


def _cold(settings: Settings) -> Measured:
    runtime = _runtime("off")

    def cold() -> None:
        runtime.refresh()
        runtime.get_tool_definitions()

    return _against(cold, settings, f"{TOOLS} tools, nothing remembered")


def _search(settings: Settings) -> Measured:
    runtime = _runtime("on")
    args = {"query": "open a ticket about the failed deployment", "limit": 5}
    _must("error" not in json.loads(runtime.handle_function_call("tool_search", args)), "tool search is not in use")
    return _against(lambda: runtime.handle_function_call("tool_search", args), settings, "a call from end to end")


def _search_cold(settings: Settings) -> Measured:
    tools = _catalogue()
    return _against(
        lambda: Index(tools).search("open a ticket about the failed deployment", 5),
        settings,
        "as after a tool has changed",
    )


@contextmanager
def _modules() -> Iterator[Path]:
    """Make a package of tool modules of some 100 lines (5 KB) each, as tools have them."""
    schema = {
        "description": "d",
        "parameters": {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(6)}},
    }
    text = json.dumps(schema, indent=4)
    with tempfile.TemporaryDirectory() as directory:
        package = Path(directory) / "benchmark_tools"
        package.mkdir()
        (package / "__init__.py").write_text("")
        for number in range(MODULES):
            parts = [
                '"""A tool."""\n\nimport json\n\nfrom shellward.tools.registry import registry\n',
                f"SCHEMA = {text}\n",
            ]
            parts += [_BODY.format(each) for each in range(9)]
            parts.append("\n\ndef handler(args):\n    return json.dumps(args)\n")
            parts.append(f'\n\nregistry.register("bench_{number}", "bench", SCHEMA, handler)\n')
            (package / f"tool_{number}.py").write_text("".join(parts))
        yield package


def _discovery(settings: Settings) -> Measured:
    with _modules() as package:
        files = [each.read_bytes() for each in package.glob("tool_*.py")]
        size = sum(map(len, files)) // len(files)
        _must(len(list(discovery.tool_modules(package))) == MODULES, "not every module is found")
        return compare(
            timed(lambda: list(discovery.tool_modules(package))),
            timed(lambda: [ast.parse(each) for each in files]),
            samples=settings.of(30, 2),
            note=f"{MODULES} modules of {size} bytes, reading included",
        )


_JSON = "`json.dumps` of the same schemas"

ROWS = (
    Row("tools-list-warm", "`get_tool_definitions`, warm", _JSON, "ms", Bar("<=", 0.1, "figure"), _warm),
    Row("tools-list-cold", "`get_tool_definitions`, cold", _JSON, "ms", Bar("<=", 15, "figure"), _cold),
    Row("tools-search", "`tool_search` over 300 tools", _JSON, "ms", Bar("<=", 5, "figure"), _search),
    Row("tools-search-cold", "the same, with its index built anew", _JSON, "ms", Bar("<=", 5, "figure"), _search_cold),
    Row(
        "tools-discovery",
        "finding 100 tool modules, beyond importing them",
        "`ast.parse` of each",
        "ms",
        Bar("<=", 50, "figure"),
        _discovery,
    ),
)
