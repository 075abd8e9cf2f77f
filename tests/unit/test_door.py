"""Nothing above the door reaches a sandbox another way: the syntax tree of every module says so.

What comes out of ``terminal_tool.guard`` is guarded, whoever calls ``run`` on it. So it is enough that no module
above gets hold of an environment that is not, nor of the engine's own parts.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "shellward"
BELOW = ("environments/", "aio/", "testing/")
"""The engine, its asyncio twin, and the public checks of backends."""
DOOR = {"terminal_tool/guard.py", "terminal_tool/aio.py"}
OPENERS = {"create", "attach", "attach_backend", "of", "Environment", "Session", "Stream"}
"""What makes, or is, an environment without a gate."""
ENGINE = {
    "make_run",
    "open_pty",
    "open_at_terminal",
    "begin_at_terminal",
    "run_on",
    "stream_on",
    "borrowed",
    "helper",
    "open_channel",
    "make_call",
    "drive",
    "start_on",
    "type_into",
    "process_io",
}
"""The engine's parts, with which a command could be run past the door."""
ROOMS = ("shellward.aio", "shellward.environments")


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(BELOW) and name not in DOOR:
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def annotations_only(tree: ast.AST) -> set[int]:
    """Nodes that exist for type checkers alone."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            found |= {id(each) for each in ast.walk(node)}
    return found


def ways_past(tree: ast.AST) -> list[str]:
    """Every use of an unguarded environment, or of the engine's parts."""
    skipped = annotations_only(tree)
    named = "environments" in ast.unparse(tree)
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if id(node) not in skipped
        and (
            (isinstance(node, ast.ImportFrom) and imports_from(node, named=named))
            or (isinstance(node, ast.Import) and any(alias.name.startswith(ROOMS) for alias in node.names))
            or (isinstance(node, ast.Attribute) and reaches(node))
            or (isinstance(node, ast.Call) and asks_by_name(node))
        )
    ]


def imports_from(node: ast.ImportFrom, *, named: bool) -> bool:
    room, names = node.module or "", {alias.name for alias in node.names}
    if room == "shellward.aio.loop":  # threads and descriptors, of nobody's sandbox
        return False
    if room.startswith("shellward.aio") or (room == "shellward" and "aio" in names):
        return True
    if room == "importlib" and named:
        return True
    return room.startswith("shellward.environments") and bool(names & (OPENERS | ENGINE))


def reaches(node: ast.Attribute) -> bool:
    owner = ast.unparse(node.value)
    opens = node.attr in OPENERS and owner.rpartition(".")[2] in {"environments", "registry", "environment"}
    return opens or node.attr in ENGINE or (node.attr == "open" and owner.endswith("backend"))


def asks_by_name(node: ast.Call) -> bool:
    return ast.unparse(node.func) == "getattr" and any(f"'{name}'" in ast.unparse(node) for name in ENGINE)


@pytest.mark.parametrize(("name", "tree"), [pytest.param(name, tree, id=name) for name, tree in modules()])
def test_no_way_past_the_door(name: str, tree: ast.Module) -> None:
    assert ways_past(tree) == [], name


@pytest.mark.parametrize(
    "planted",
    [
        "from shellward import environments\nwith environments.create('local') as env:\n    env.run('id')",
        "from shellward.environments import create as make\nmake('local').run('id')",
        "from shellward.environments.environment import Environment\n",
        "from shellward.environments import registry\nregistry.attach(handle).session('a').run('id')",
        "import shellward.environments as e\ne.create('local').stream('id')",
        "from shellward import aio\n",
        "def f(terminal):\n    with terminal.borrowed(None) as shell:\n        pass",
        "def f(terminal, shell, call):\n    terminal.run_on(shell, call, None)",
        "def f(terminal, shell, call):\n    getattr(terminal, 'stream_on')(shell, call)",
        "def f(terminal):\n    terminal.backend.open(['id'])",
        "from shellward.environments.running import drive\n",
        "def f(terminal, process):\n    terminal.type_into(process, b'x', 1)",
        "from shellward.environments import process_io\n",
        "def f(terminal, shell, call, size):\n    terminal.open_pty(shell, call, size)",
    ],
)
def test_a_planted_way_past_is_found(planted: str) -> None:
    assert ways_past(ast.parse(planted))


def test_what_is_for_type_checkers_is_no_way_past() -> None:
    text = "if TYPE_CHECKING:\n    from shellward.environments.environment import Environment\n"
    assert ways_past(ast.parse(text)) == []
    assert ways_past(ast.parse("from shellward import Terminal\nTerminal('local').run('id')\n")) == []


def test_what_is_typed_passes_one_place() -> None:
    """What writes into a background process is called in ``type_into`` alone, which the door overrides."""
    writes = {
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("process_io.write")
    }
    assert writes == {"environments/process_calls.py"}


def test_every_terminal_of_the_engine_is_opened_where_the_door_is() -> None:
    opens = {
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "PtySession"
    }
    wraps = {"aio/environment.py"}  # what has been opened there, for tasks
    assert opens == {"environments/pty_calls.py"} | wraps


def test_the_door_is_where_every_command_of_the_engine_passes() -> None:
    """Each place of the engine that begins a command has prepared it with ``make_run``, which the door overrides."""
    begins = {
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"Run", "running.Run"}
    }
    assert begins == {"environments/command_calls.py"}
