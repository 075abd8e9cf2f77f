"""Telling from its words alone that a program does nothing that matters, so that nobody needs to follow it.

Most programs that are typed read a file and count something. Each call that becomes a command is known by its name,
and the name stands in the text unless the program works it out, for which it takes functions that stand in there.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from shellward.command.anylanguage import shell_lists
from shellward.command.doing import call_names

_ALSO = frozenset(
    ("rename", "replace", "chmod", "symlink_to", "rename_to", "delete", "deleteDir", "rm_rf",  # methods of paths
     "urlretrieve", "download_file", "mirror", "getstore", "sh", "plumbum", "shelljs",
     "getattr", "setattr", "vars", "globals", "locals", "builtins", "dir", "getmembers", "attrgetter", "methodcaller",
     "importlib", "import_module")
)  # fmt: skip
"""Names besides those of calls.py by which something is done, or another name is found."""
_TEXT = r"(?:'[^'\\\n]*'|\"[^\"\\\n]*\")"
_CALM = re.compile(
    rf"\bopen\(\s*{_TEXT}\s*(?:,\s*['\"]rb?['\"]\s*)?(?:,\s*encoding={_TEXT}\s*)?\)"
    rf"|\.replace\(\s*{_TEXT}\s*,\s*{_TEXT}\s*\)|\b__name__\s*==\s*['\"]__main__['\"]"
)
"""Reading a file, replacing within a text, and what many programs begin with."""
_WORD = re.compile(r"\w+")


@lru_cache(maxsize=1)
def _names() -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
    """Return names that matter wherever they stand, and those that do together with another one."""
    anywhere, exact = call_names("python")
    pairs = [tuple(name.split(".")[-2:]) for name in exact if "." in name]
    return _ALSO | anywhere.keys() | {name for name in exact if "." not in name}, tuple((a, b) for a, b in pairs)


def is_idle(code: str) -> bool:
    """Tell whether a program of Python has no name by which it could do something that matters; in doubt it has."""
    words = set(_WORD.findall(_CALM.sub(" ", code if code.isascii() else unicodedata.normalize("NFKC", code))))
    names, pairs = _names()
    if not names.isdisjoint(words) or any(one in words and other in words for one, other in pairs):
        return False
    return not any("__" in word for word in words) and not shell_lists(code)
