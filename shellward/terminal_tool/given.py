"""The input that a command is given: all of it, none, or some that comes later."""

from shellward.approval.brought import Brought
from shellward.command.known import Known
from shellward.environments.call import Call


def streams(call: Call) -> bool:
    """Whether the input is not there yet, but comes bit by bit."""
    return call.stdin is not None and not isinstance(call.stdin, str | bytes | bytearray | memoryview)


def comes_later(call: Call) -> bool:
    """Whether there will be input that is not there yet."""
    return streams(call) or (call.launch is not None and call.launch.stdin is None)


def input_of(call: Call, known: Known) -> Brought:
    """Return what a command brings along: what its shell knows, its variables and its input."""
    stdin, env = call.stdin, call.env or {}
    if stdin is None and not comes_later(call):
        return Brought(known=known, env=env)
    if comes_later(call):
        return Brought(known=known, env=env, more=True)
    text = stdin if isinstance(stdin, str) else bytes(stdin).decode("utf-8", "surrogateescape")  # type: ignore[arg-type]
    return Brought(known=known, env=env, stdin=text)
