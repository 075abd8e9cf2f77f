"""Finding tool modules without running them: their syntax trees say whether they register a tool when imported.

``registry.register(...)`` counts at the top level of a module, also inside ``if``, ``try``, ``with`` and loops there,
and under whatever name the registry was imported. A call inside a function does not: it does not happen at import.
"""

import ast
import functools
import importlib
import importlib.util
import logging
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shellward.tools.answers import sanitised
from shellward.tools.registry import Registry, loading
from shellward.tools.tool import Origin

_log = logging.getLogger(__name__)

_HOME: Final = "shellward.tools"
_FUNCTION: Final = re.compile(rb"(?:async\s+def|def|class)\b")
_KEPT: Final = re.compile(rb"@|(?:from|import|if|try|with|for|while|match|else|elif|except|finally|async)\b")
"""What may hold statements, or say what a name stands for; a decorator belongs to what follows it."""
_ALIAS: Final = re.compile(rb"register\s*$|register\s+as\b", re.MULTILINE)
"""Another name for the function itself: a call by that name does not show what it calls."""
_CHUNK: Final = re.compile(rb"^(?=[^\s#)\]}])", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Failure:
    """A module that could not be loaded.

    Attributes:
        module: its name, or its file.
        reason: why.
    """

    module: str
    reason: str


def registers(source: bytes) -> bool:
    """Say whether a module registers a tool at its top level.

    Raises:
        SyntaxError: it is no Python.
        ValueError: it is no text.
    """
    if b"register" not in source:
        return False
    try:
        essence = _essence(source)
        return _tree_registers(ast.parse(source if _ALIAS.search(essence) else essence))
    except (SyntaxError, ValueError):
        return _tree_registers(ast.parse(source))


def _essence(source: bytes) -> bytes:
    """Leave out what cannot matter: functions, classes, and statements that do not name a registry.

    Most of a module is functions, and building its syntax tree is what discovery's time goes into. Text is cut only
    where a line begins a statement; where a string over several lines makes that doubtful, all of it stays.
    """
    kept = []
    starts = [match.start() for match in _CHUNK.finditer(source)]
    pieces = [source[start:end] for start, end in zip(starts, [*starts[1:], len(source)], strict=True)]
    for number, piece in enumerate(pieces):
        if piece.count(b'"""') % 2 or piece.count(b"'''") % 2:
            # A string over several lines begins or ends here. The module's own docstring is worth a look, since most
            # modules have one: what follows it is read as usual.
            docstring = _docstring(source) if number == 0 else 0
            return _essence(source[docstring:]) if docstring else source
        if _FUNCTION.match(piece):
            kept.append(b"def _(): pass\n")
        elif b"regist" in piece or _KEPT.match(piece):
            kept.append(piece)
    return b"".join(kept)


def _docstring(source: bytes) -> int:
    """Return where the docstring that a module begins with ends; 0 when it begins with something else."""
    for quotes in (b'"""', b"'''"):
        if source.startswith(quotes):
            end = source.find(quotes, len(quotes))
            # With a backslash in it, what looks like its end may be none.
            return 0 if end < 0 or b"\\" in source[:end] else end + len(quotes)
    return 0


class _Names:
    """What the names of a module stand for, as far as the registry goes: ``module``, ``registry`` or ``register``."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def imported(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                self._known[alias.asname or name] = name
            return
        # A relative import can only be of the registry if it is from a module of that name, or of the tools' package.
        base = node.module or ""
        if node.level:
            base = f"{_HOME}.registry" if base.endswith("registry") else _HOME
        for alias in node.names:
            self._known[alias.asname or alias.name] = f"{base}.{alias.name}"

    def assigned(self, node: ast.Assign) -> None:
        meaning = self.meaning(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._known[target.id] = meaning

    def meaning(self, node: ast.expr) -> str:
        """Return the dotted name that an expression stands for; empty when that is not known."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or not self._known.get(node.id):
            return ""
        return ".".join([self._known[node.id], *reversed(parts)])

    def is_register(self, node: ast.expr) -> bool:
        """Say whether an expression is the registry's ``register``, which can be reached in two ways."""
        return self.meaning(node) in {f"{_HOME}.registry.register", f"{_HOME}.registry.registry.register"}


def _tree_registers(tree: ast.Module) -> bool:
    names = _Names()
    for node in _at_import(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names.imported(node)
        elif isinstance(node, ast.Assign):
            if isinstance(node.value, ast.Call) and names.is_register(node.value.func):
                return True
            names.assigned(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and names.is_register(node.value.func):
            return True
    return False


def _at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Walk the statements that run at import, in order."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            continue
        yield child
        yield from _at_import(child)


def tool_modules(directory: Path) -> Iterator[tuple[str, Path]]:
    """Find the modules and packages directly in a directory that register tools.

    Yields:
        Name and file of each, in order of the names. What cannot be read or parsed is logged and left out.
    """
    for path in sorted(directory.iterdir()):
        file = path / "__init__.py" if path.is_dir() else path
        name = path.name if path.is_dir() else path.stem
        if file.suffix != ".py" or not name.isidentifier() or name == "__init__" or not file.is_file():
            continue
        try:
            found = registers(file.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            _log.warning("%s is left out: %s: %s", file, type(error).__name__, error)
            continue
        if found:
            yield name, file


def load_package(package: str, registry: Registry, origin: Origin) -> list[Failure]:
    """Import the modules of a package that register tools.

    Args:
        package: its dotted name; imported first.
        registry: where they register; what a module registered before it failed is taken back.
        origin: where the tools come from.

    Returns:
        What could not be imported; it is logged, too.
    """
    failures = attempt(package, registry, origin, functools.partial(importlib.import_module, package))
    module = sys.modules.get(package)
    for entry in getattr(module, "__path__", ()):
        for name, _ in tool_modules(Path(entry)):
            full = f"{package}.{name}"
            failures += attempt(full, registry, origin, functools.partial(importlib.import_module, full))
    return failures


def load_folder(folder: Path, namespace: str, registry: Registry, origin: Origin) -> list[Failure]:
    """Import the files of a folder that register tools; a folder that is not there has none.

    Args:
        folder: holds ``*.py`` files and packages.
        namespace: their names in ``sys.modules`` begin so; a module that is there already is not run again.
        registry: as above.
        origin: as above.
    """
    if not folder.is_dir():
        return []
    failures = []
    for name, file in tool_modules(folder):
        full = f"{namespace}_{name}"
        if full not in sys.modules:
            failures += attempt(str(file), registry, origin, functools.partial(_import_file, full, file))
    return failures


def _import_file(name: str, file: Path) -> None:
    places = [str(file.parent)] if file.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=places)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def attempt(what: str, registry: Registry, origin: Origin, load: Callable[[], object]) -> list[Failure]:
    """Load something; when it fails, log it, and take back what it had registered by then."""
    with loading(origin) as done:
        try:
            load()
        except (Exception, SystemExit) as error:  # noqa: BLE001  # foreign code at import; the others must load
            registry.undo(done)
            reason = sanitised(f"{type(error).__name__}: {error}")
            _log.warning("the tools of %s are left out: %s", what, reason)
            return [Failure(what, reason)]
    return []
