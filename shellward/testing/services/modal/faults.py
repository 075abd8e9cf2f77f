"""What goes wrong on purpose, and what was called: around every call that the services take."""

import asyncio
import inspect
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

import grpclib.server
from grpclib import GRPCError, Status
from grpclib.const import Handler

_MOST: Final = 200_000
STATUSES: Final = {
    "unavailable": (Status.UNAVAILABLE, "the service is not available now"),
    "expired": (Status.UNAUTHENTICATED, "the token has expired"),
    "unauthenticated": (Status.UNAUTHENTICATED, "Token ID is malformed"),
    "quota": (Status.RESOURCE_EXHAUSTED, "workspace has reached its limit of sandboxes"),
    "forbidden": (Status.PERMISSION_DENIED, "you have no access to this workspace"),
}
"""Faults that are an answer. ``slow``, ``cut``, ``reset`` and ``lost`` (the call is carried out) are not."""

Method = Callable[[Any], Awaitable[None]]


class Fault:
    """One thing that goes wrong.

    Args:
        rpc: name of the call, ``*``: any.
        kind: of ``STATUSES``, or ``slow``, ``cut``, ``lost``, ``reset``.
        times: how often; -1: always.
        after: calls that go well first; with ``cut``: messages of a stream that do.
        seconds: with ``slow``: how long.
        message: other than the usual one.
    """

    def __init__(
        self, rpc: str, kind: str, *, times: int = 1, after: int = 0, seconds: float = 1.0, message: str = ""
    ) -> None:
        if kind not in {*STATUSES, "slow", "cut", "lost", "reset"}:
            raise ValueError(f"there is no fault {kind!r}")
        self.rpc = rpc
        self.kind = kind
        self.times = times
        self.after = after
        self.seconds = seconds
        self.message = message

    def strikes(self, rpc: str) -> bool:
        """Count a call; whether this is one that goes wrong."""
        if self.rpc not in (rpc, "*") or self.times == 0:
            return False
        if self.after > 0 and self.kind != "cut":
            self.after -= 1
            return False
        self.times -= 1
        return True


def parse(text: str) -> Fault:
    """Make a fault of what stands on a command line: ``TaskExecStart=unavailable,times=2``.

    Raises:
        ValueError: it is none.
    """
    rpc, is_one, rest = text.partition("=")
    kind, *more = rest.split(",")
    if not is_one or not rpc:
        raise ValueError(f"a fault is CALL=KIND, not {text!r}")
    numbers: dict[str, Any] = {}
    for each in more:
        name, _, value = each.partition("=")
        if name not in ("times", "after", "seconds"):
            raise ValueError(f"a fault has times, after and seconds, not {name!r}")
        numbers[name] = float(value) if name == "seconds" else int(value)
    return Fault(rpc, kind, **numbers)


class Record:
    """Every call, and the faults.

    Attributes:
        calls: time, name and peer's request (the first message) of the last ones.
        missing: names of calls that nobody implements here.
        broken: what a service's own mistakes raised.
        faults: what is to go wrong.
    """

    def __init__(self) -> None:
        self.calls: deque[tuple[float, str]] = deque(maxlen=_MOST)
        self.missing: set[str] = set()
        self.broken: list[str] = []
        self.faults: list[Fault] = []

    def forget(self) -> None:
        """Forget calls and faults."""
        self.calls.clear()
        self.faults.clear()
        self.missing.clear()
        self.broken.clear()

    def wrapped(self, name: str, method: Method, admit: Callable[[Any], bool]) -> Method:
        """Put recording, faults and a look at the token around a call."""

        async def call(stream: "grpclib.server.Stream[Any, Any]") -> None:
            self.calls.append((time.time(), name))
            if not admit(stream.metadata):
                raise GRPCError(Status.UNAUTHENTICATED, "Token ID is malformed")
            fault = next((each for each in self.faults if each.strikes(name)), None)
            if fault is not None:
                await _fail(fault, stream)
            try:
                await method(stream)
            except GRPCError:
                raise
            except (asyncio.CancelledError, ConnectionError, grpclib.exceptions.StreamTerminatedError):
                raise
            except Exception as error:
                self.broken.append(f"{name}: {error!r}")
                raise

        return call


async def _fail(fault: Fault, stream: Any) -> None:
    if fault.kind == "slow":
        await asyncio.sleep(fault.seconds)
    elif fault.kind in STATUSES:
        status, usual = STATUSES[fault.kind]
        raise GRPCError(status, fault.message or usual)
    elif fault.kind == "reset":
        drop(stream)
        raise ConnectionResetError("reset on purpose")
    else:
        send = stream.send_message
        left = fault.after

        async def cut(message: Any) -> None:
            nonlocal left
            if left <= 0:
                drop(stream)
                raise ConnectionResetError("cut on purpose")
            left -= 1
            await send(message)

        stream.send_message = cut


def drop(stream: Any) -> None:
    """Break the connection below a call."""
    stream._stream.connection._transport.abort()  # noqa: SLF001  # grpclib has no name for it


def mapping(base: type, service: object, record: Record, admit: Callable[[Any], bool]) -> dict[str, Handler]:
    """Make the table of a service's calls: those that it has, recorded, and a complaint for each other one.

    Args:
        base: of the generated code.
        service: has a method of the same name for each call that it implements.
        record: where calls are noted.
        admit: whether a call with this metadata is let in.
    """

    def methods(name: str) -> Method:
        found = getattr(service, name, None)
        if found is not None:
            return record.wrapped(name, found, admit)

        async def missing(_stream: Any) -> None:
            record.missing.add(name)
            raise GRPCError(Status.UNIMPLEMENTED, f"the loopback service lacks {name}")

        return record.wrapped(name, missing, admit)

    names = [name for name, each in inspect.getmembers(base, inspect.isfunction) if not name.startswith("_")]
    made = type(base.__name__, (base,), {name: staticmethod(methods(name)) for name in names})
    table: dict[str, Handler] = made().__mapping__()
    return table
