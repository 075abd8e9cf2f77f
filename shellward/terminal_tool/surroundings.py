"""What the gate is told of an environment, and of what a command gets as its input."""

from typing import TYPE_CHECKING

import msgspec

from shellward.approval.brought import Brought
from shellward.approval.reach import Reach
from shellward.approval.surroundings import reach_of

if TYPE_CHECKING:
    from shellward.command.known import Known
    from shellward.environments.base import Backend
    from shellward.environments.call import Call
    from shellward.environments.environment import Environment


def reach_of_environment(environment: "Environment", *, lasting: bool) -> Reach:
    """Work out what an environment can touch, from the configuration that it was really made with.

    Args:
        environment: which.
        lasting: it outlives this program, so what happens inside is not gone with it.
    """
    config = getattr(environment.backend, "config", None)
    if not isinstance(config, msgspec.Struct):
        return Reach()
    reach = reach_of(environment.kind, msgspec.structs.asdict(config))
    return Reach.of({*reach.powers, "persistent"}) if lasting else reach


def target_of(backend: "Backend") -> str:
    """Say which environment of its kind this is: an approval for one image, or one host, is none for another."""
    config = getattr(backend, "config", None)
    given = {name: getattr(config, name, None) for name in ("image", "name", "context", "user", "host", "port")}
    if given["host"]:
        user = f"{given['user']}@" if given["user"] else ""
        port = f":{given['port']}" if given["port"] else ""
        return f"{user}{given['host']}{port}"
    place = [f"{name}={given[name]}" for name in ("name", "context") if given[name]]
    return " ".join([str(given["image"] or ""), *place]).strip()


def streams(call: "Call") -> bool:
    """Whether the input is not there yet, but comes bit by bit."""
    return call.stdin is not None and not isinstance(call.stdin, str | bytes | bytearray | memoryview)


def comes_later(call: "Call") -> bool:
    """Whether there will be input that is not there yet."""
    return streams(call) or (call.launch is not None and call.launch.stdin is None)


def input_of(call: "Call", known: "Known") -> Brought:
    """Say what a command brings along: what its shell knows, its variables, its input as far as it is there."""
    stdin, env = call.stdin, call.env or {}
    if stdin is None and not comes_later(call):
        return Brought(known=known, env=env)
    if comes_later(call):
        return Brought(known=known, env=env, more=True)
    text = stdin if isinstance(stdin, str) else bytes(stdin).decode("utf-8", "surrogateescape")  # type: ignore[arg-type]
    return Brought(known=known, env=env, stdin=text)
