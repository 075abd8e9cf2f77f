"""The program: both services on one port, and a socket for whoever wants something to go wrong."""

import asyncio
import contextlib
import inspect
import json
import sys
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grpclib.protocol import H2Protocol
from grpclib.server import Server
from modal_proto.api_grpc import ModalClientBase
from modal_proto.task_command_router_grpc import TaskCommandRouterBase

from shellward.testing.services.modal.control import Control
from shellward.testing.services.modal.faults import Fault, mapping
from shellward.testing.services.modal.router import Router
from shellward.testing.services.modal.state import State

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from grpclib._typing import IServable


class _Table:
    def __init__(self, base: type, service: object, state: State, admit: "Callable[[Any], bool]") -> None:
        self._table = mapping(base, service, state.record, admit)

    def __mapping__(self) -> Any:
        return self._table


class _Breakable(Server):
    """A server whose connections can be broken, as a network does."""

    def __init__(self, services: "Collection[IServable]") -> None:
        super().__init__(services)
        self._protocols: weakref.WeakSet[H2Protocol] = weakref.WeakSet()

    def _protocol_factory(self) -> H2Protocol:
        made = super()._protocol_factory()
        self._protocols.add(made)
        return made

    def abort(self) -> None:
        """Break all connections."""
        for each in list(self._protocols):
            if getattr(each, "connection", None) is not None:  # somebody has connected
                each.connection._transport.abort()  # noqa: SLF001  # grpclib has no name for it


class Program:
    """See above.

    Args:
        host: where to listen.
        port: there; 0: any.
        advertise: the address that clients are told, when it is another (a proxy).
        token_life: seconds for which a token is good.
        root: a directory with a file system, in place of every image.
    """

    def __init__(self, host: str, port: int, advertise: str, token_life: float, root: Path | None = None) -> None:
        self._host = host
        self._port = port
        self.state = State(advertise, token_life, root)
        self.address = ""
        self._server: _Breakable | None = None

    async def listen(self) -> None:
        """Begin to listen, or do so again at the same port."""
        control = Control(self.state)
        router = Router(self.state, control)
        state = self.state
        self._server = _Breakable(
            [
                _Table(ModalClientBase, control, state, state.knows_client),
                _Table(TaskCommandRouterBase, router, state, state.knows_bearer),
            ]
        )
        await self._server.start(self._host, self._port, reuse_address=True)
        self._port = self._server._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]  # noqa: SLF001  # the port that 0 became
        self.address = f"http://{self._host}:{self._port}"
        self.state.address = self.state.address or self.address

    async def stop(self) -> None:
        """Listen no more, and break all connections. Sandboxes live on."""
        if self._server is not None:
            self._server.abort()
            self._server.close()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._server.wait_closed(), 2)
            self._server = None

    async def answer(self, request: dict[str, Any]) -> Any:
        """Carry out what a test asks for; see ``ModalService`` for the words."""
        state, record = self.state, self.state.record
        known: dict[str, Callable[..., Any]] = {
            "calls": lambda: [name for _, name in record.calls],
            "forget": record.forget,
            "missing": lambda: [sorted(record.missing), record.broken],
            "fault": lambda fault: record.faults.append(Fault(**fault)),
            "heal": record.faults.clear,
            "sandboxes": state.seen,
            "end": lambda id, why: state.sandbox(id).end(why),  # noqa: A006  # the word that tests send
            "volume": lambda name, path: state.volumes.update({name: path}),
            "secret": lambda name, values: state.secrets.update({f"st-{name}": values}),
            "advertise": lambda address: setattr(state, "address", address or self.address),
            "restart": self._restart,
        }
        answer = known[request.pop("op")](**request)
        return await answer if inspect.isawaitable(answer) else answer

    async def _restart(self, seconds: float) -> None:
        await self.stop()
        await asyncio.sleep(seconds)
        await self.listen()

    async def serve_test(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer a test's lines."""
        try:
            while line := await reader.readline():
                try:
                    answer = {"answer": await self.answer(json.loads(line))}
                except Exception as error:  # noqa: BLE001  # it is the test's, and said there
                    answer = {"error": repr(error)}
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except ConnectionError:
            return
        finally:
            writer.close()

    async def run(self, control: Path | None, *, until_eof: bool) -> None:
        """Serve until it is cancelled, or until standard input ends.

        Args:
            control: where the socket is to be that takes ``answer``'s requests.
            until_eof: end with standard input.
        """
        try:
            await self.listen()
            if control is not None:
                control.unlink(missing_ok=True)  # noqa: ASYNC240  # nothing is served yet
                await asyncio.start_unix_server(self.serve_test, str(control), limit=1 << 24)
            sys.stdout.write(f"{self.address}\n")
            sys.stdout.flush()
            if not until_eof:
                await asyncio.Event().wait()
            reader = asyncio.StreamReader()
            await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
            await reader.read()
        finally:
            await self.stop()
            self.state.close()
