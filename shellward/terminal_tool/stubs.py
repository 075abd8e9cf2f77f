"""The module that a script in the sandbox imports to call tools: plain Python 3.6, made from the tools' schemas."""

import keyword
from collections.abc import Iterable, Mapping
from typing import Any, Final

MODULE: Final = "shellward_tools"
ALIAS: Final = "hermes_tools"
"""What scripts that were written for Hermes Agent import."""
CALLS: Final = "calls"
ANSWERS: Final = "answers"

_HEAD: Final = '''"""Tools, called by the client of this sandbox. Each returns what the tool answered, as a dict."""
import json, os, threading

_place = os.path.dirname(os.path.abspath(__file__))
_lock = threading.Lock()
_pid = os.getpid()
_open = []


def _call(_name, _arguments):
    if os.getpid() != _pid:
        raise RuntimeError("tools are called by the script itself, not by a process that it has forked")
    line = json.dumps({"name": _name, "args": {k: v for k, v in _arguments.items() if v is not None}})
    with _lock:
        if not _open:
            _open.append(open(os.path.join(_place, "calls"), "wb"))
            _open.append(open(os.path.join(_place, "answers"), "rb"))
        _open[0].write(line.encode() + b"\\n")
        _open[0].flush()
        answer = _open[1].readline()
    if not answer.endswith(b"\\n"):
        raise ConnectionError("the client of this sandbox does not answer")
    return json.loads(answer.decode())
'''
_FUNCTION: Final = """

def {name}({signature}):
    return _call({name!r}, {{{arguments}}})
"""


def signature(schema: Mapping[str, Any]) -> str:
    """Return the parameters of a tool as Python has them, those that are needed first."""
    parameters = schema["parameters"]
    needed = set(parameters.get("required", ()))
    names = [name for name in parameters["properties"] if name.isidentifier() and not keyword.iskeyword(name)]
    first = [name for name in names if name in needed]
    return ", ".join([*first, *(f"{name}=None" for name in names if name not in needed)])


def module(schemas: Iterable[Mapping[str, Any]]) -> str:
    """Return the module's text, with a function for each schema."""
    functions = []
    for schema in schemas:
        names = [part.partition("=")[0] for part in signature(schema).split(", ") if part]
        arguments = ", ".join(f"{name!r}: {name}" for name in names)
        functions.append(_FUNCTION.format(name=schema["name"], signature=signature(schema), arguments=arguments))
    return _HEAD + "".join(functions)
