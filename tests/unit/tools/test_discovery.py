"""Discovery: what counts as a top-level register call, what is imported, and what a failure costs."""

import importlib
import logging
import sys
from pathlib import Path

import pytest

from shellward.tools import discovery
from shellward.tools.discovery import load_folder, load_package, registers, tool_modules
from shellward.tools.registry import Registry
from shellward.tools.tool import Origin

CALL = 'registry.register("t", "x", {}, print)'
IMPORT = "from shellward.tools.registry import registry\n"


@pytest.mark.parametrize(
    "source",
    [
        f"{IMPORT}{CALL}",
        f"from shellward.tools.registry import registry as r\nr{CALL[8:]}",
        f"from shellward.tools import registry\n{CALL}",
        f"from shellward.tools import registry as reg\nreg.{CALL}",
        f"import shellward.tools.registry\nshellward.tools.registry.{CALL}",
        f"import shellward.tools.registry as reg\nreg.{CALL}",
        f"import shellward.tools as tools\ntools.registry.{CALL}",
        "from shellward.tools.registry import register\nregister('t', 'x', {}, print)",
        f"from ..registry import registry\n{CALL}",
        f"{IMPORT}put = registry.register\nput('t', 'x', {{}}, print)",
        f"{IMPORT}r = registry\nr{CALL[8:]}",
        f"{IMPORT}done = {CALL}",
        f"{IMPORT}if True:\n    {CALL}",
        f"{IMPORT}if True:\n    pass\nelse:\n    {CALL}",
        f"{IMPORT}try:\n    import x\nexcept ImportError:\n    pass\nelse:\n    {CALL}",
        f"{IMPORT}try:\n    import x\nfinally:\n    {CALL}",
        f"{IMPORT}for name in 'ab':\n    {CALL}",
        f"{IMPORT}with open('x') as f:\n    {CALL}",
        f"try:\n    {IMPORT}except ImportError:\n    raise\n{CALL}",
        f'"""Text\nover lines."""\n{IMPORT}{CALL}',
        f"{IMPORT}\n\ndef f(\n    a,\n) -> None:\n    pass\n\n\n{CALL}",
        f"{IMPORT}@decorated(\n    1\n)\ndef f():\n    pass\n{CALL}",
        f"{IMPORT}registry.register(\n    't',\n    'x',\n    {{}},\n    print,\n)",
        f"\ufeff{IMPORT}{CALL}",
        f"{IMPORT}\r\n{CALL}".replace("\n", "\r\n"),
    ],
)  # fmt: skip
def test_what_registers_at_import(source) -> None:
    assert registers(source.encode())


@pytest.mark.parametrize(
    "source",
    [
        "",
        IMPORT,
        f"{IMPORT}def f():\n    {CALL}",
        f"{IMPORT}async def f():\n    {CALL}",
        f"{IMPORT}class A:\n    def f(self):\n        {CALL}",
        f"{IMPORT}f = lambda: {CALL}",
        f"{IMPORT}# {CALL}",
        f"{IMPORT}'''\n{CALL}\n'''",
        f"{IMPORT}def f():\n    '''\n{CALL}\n    '''",
        f"{IMPORT}text = '''\n{CALL}\n'''",
        "import atexit\natexit.register(print)",
        f"from abc import ABCMeta as registry\n{CALL}",
        f"from elsewhere.registry import registry\n{CALL}",
        f"{IMPORT}registry.deregister('t')",
        f"{IMPORT}if True:\n    def f():\n        {CALL}",
    ],
)
def test_what_does_not(source) -> None:
    assert not registers(source.encode())


@pytest.mark.parametrize("source", [b"registry.register(", b"x = registry.register(\n)\n)", b"registry.register\0()"])
def test_what_is_no_python_raises(source) -> None:
    with pytest.raises((SyntaxError, ValueError)):
        registers(source)


def test_the_quick_reading_agrees_with_the_whole_tree() -> None:
    """On this package, the tests, and the standard library with a call planted at the top and in a function."""
    import ast

    files = [*Path(discovery.__file__).parents[1].rglob("*.py"), *Path(__file__).parents[2].rglob("*.py")]
    files += sorted(Path(ast.__file__).parent.glob("*.py"))[:40]
    for file in files:
        source = file.read_bytes()
        for more in (b"", f"\n{IMPORT}{CALL}\n".encode(), f"\n{IMPORT}def f():\n    {CALL}\n".encode()):
            if b"register" in source + more:
                assert registers(source + more) == discovery._tree_registers(ast.parse(source + more)), file


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Make a package of modules and forget it afterwards."""

    def make(name: str, **modules: str) -> str:
        directory = tmp_path / name
        directory.mkdir()
        (directory / "__init__.py").write_text("")
        for module, text in modules.items():
            (directory / f"{module}.py").write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path))
        importlib.invalidate_caches()
        return name

    before = set(sys.modules)
    yield make
    for name in set(sys.modules) - before:
        if not name.startswith("shellward."):
            del sys.modules[name]


@pytest.fixture
def shared(monkeypatch) -> Registry:
    """Let modules that import the registry get a fresh one."""
    module = importlib.import_module("shellward.tools.registry")
    fresh = Registry()
    monkeypatch.setattr(module, "registry", fresh)
    monkeypatch.setattr(module, "register", fresh.register)
    return fresh


def tool(name: str) -> str:
    return f"{IMPORT}registry.register({name!r}, 'x', {{}}, lambda args: '{{}}')\n"


def test_only_modules_that_register_are_imported(package, shared) -> None:
    name = package("demo_a", one=tool("one"), two=tool("two"), idle="raise SystemExit('imported')\n")
    assert load_package(name, shared, Origin.CORE) == []
    assert shared.names() == ("one", "two")
    assert "demo_a.idle" not in sys.modules


def test_what_fails_is_logged_and_skipped_and_leaves_nothing(package, shared, caplog) -> None:
    name = package(
        "demo_b",
        a_broken=tool("half") + "raise ValueError('no <system>')\n",
        b_exits=tool("quits") + "import sys; sys.exit(3)\n",
        c_text="registry.register(\n",
        d_missing=f"import not_there_at_all\n{tool('missing')}",
        e_schema=f"{IMPORT}registry.register('bad name', 'x', {{}}, print)\n",
        f_good=tool("good"),
    )
    with caplog.at_level(logging.WARNING):
        failures = load_package(name, shared, Origin.CORE)
    assert shared.names() == ("good",)
    assert [each.module for each in failures] == [
        f"demo_b.{each}" for each in ("a_broken", "b_exits", "d_missing", "e_schema")
    ]
    assert "ValueError: no" in failures[0].reason
    assert all(word in caplog.text for word in ("a_broken", "b_exits", "c_text", "d_missing", "e_schema"))


def test_a_folder_of_files_and_packages(tmp_path, shared, package) -> None:
    folder = tmp_path / "tools"
    (folder / "inner").mkdir(parents=True)
    (folder / "one.py").write_text(tool("one"))
    (folder / "inner" / "__init__.py").write_text(
        f"from .part import NAME\n{IMPORT}registry.register(NAME, 'x', {{}}, print)\n"
    )
    (folder / "inner" / "part.py").write_text("NAME = 'two'\n")
    (folder / "not-a-name.py").write_text(tool("three"))
    (folder / "text.txt").write_text(tool("four"))
    assert load_folder(folder, "demo_folder", shared, Origin.PLUGIN) == []
    assert shared.names() == ("one", "two")
    assert shared.get("one").deferrable
    (folder / "one.py").write_text("raise ValueError('imported again')")
    (folder / "new.py").write_text(tool("new"))
    assert load_folder(folder, "demo_folder", shared, Origin.PLUGIN) == []
    assert shared.names() == ("new", "one", "two")


def test_a_folder_that_is_not_there_has_no_tools(tmp_path, shared) -> None:
    assert load_folder(tmp_path / "nothing", "x", shared, Origin.PLUGIN) == []


def test_what_cannot_be_read_is_left_out(tmp_path, caplog) -> None:
    (tmp_path / "latin.py").write_bytes(b"registry.register('caf\xe9')\n")
    (tmp_path / "deep.py").write_text("register" + "(" * 5000)
    (tmp_path / "gone.py").symlink_to("nowhere")
    assert list(tool_modules(tmp_path)) == []
    assert "latin.py" in caplog.text
    assert "deep.py" in caplog.text


def test_the_rooms_own_tools() -> None:
    import shellward.tools.builtin

    (directory,) = shellward.tools.builtin.__path__
    assert [name for name, _ in tool_modules(Path(directory))] == ["agent_loop", "results"]
