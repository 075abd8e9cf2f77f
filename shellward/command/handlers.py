"""Which handler follows which command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shellward.command.builtins import BUILTINS
from shellward.command.interpreters import LANGUAGES, SHELLS, console, interpret, interpreter, language, loader, shell
from shellward.command.programs import PROGRAMS
from shellward.command.scripts import project
from shellward.command.testrunners import python_by_name
from shellward.command.unwrap import UNWRAP, wrapper
from shellward.command.wrappers import WRAPPERS

if TYPE_CHECKING:
    from shellward.command.handling import Handler

_TABLE: dict[str, Handler] = {
    **dict.fromkeys(WRAPPERS, wrapper), **dict.fromkeys(SHELLS, shell), **dict.fromkeys(LANGUAGES, interpret),
    **dict.fromkeys(["rails", "gitlab-rails", "flask", "manage.py", "artisan"], console),
    **UNWRAP, **PROGRAMS, **BUILTINS, "bun": project(interpret),
}  # fmt: skip

__all__ = ["find", "language", "names"]


def find(name: str) -> Handler | None:
    """Find the handler of a command; None when it needs none."""
    handler = _TABLE.get(name)
    if handler is not None:
        return handler
    if interpreter(name):
        return interpret
    if name.endswith(".py"):
        return python_by_name
    return loader if name.startswith(("ld-linux", "ld-musl")) else None


def names() -> frozenset[str]:
    """List the commands that have a handler."""
    return frozenset(_TABLE)
