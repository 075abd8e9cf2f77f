"""The worker (service ``TaskCommandRouter``): commands in a sandbox, their streams, snapshots."""

import asyncio
from typing import Any, Final

from grpclib import GRPCError, Status
from modal_proto import task_command_router_pb2 as sr

from shellward.testing.services.modal import execs
from shellward.testing.services.modal.control import Control
from shellward.testing.services.modal.sandbox import NotStarted
from shellward.testing.services.modal.state import State

_SIGNALLED: Final = 128


class Router:
    """One method for each call, named as the protocol names it. What is not here is missing."""

    def __init__(self, state: State, control: Control) -> None:
        self._state = state
        self._control = control

    async def TaskExecStart(self, stream: Any) -> None:
        request = await stream.recv_message()
        sandbox = self._state.task(request.task_id)
        if request.exec_id in sandbox.execs:  # the client has not heard the answer
            found = sandbox.execs[request.exec_id]
            if isinstance(found, asyncio.Future):
                await asyncio.shield(found)
            await stream.send_message(sr.TaskExecStartResponse())
            return
        env = {**sandbox.wanted.env, **self._control.variables(request.secret_sources), **dict(request.env)}
        tty = None
        if request.pty_info.enabled:
            tty = (request.pty_info.winsz_rows or 24, request.pty_info.winsz_cols or 80)
            env.setdefault("TERM", request.pty_info.env_term or "xterm-256color")
        cwd = request.workdir or sandbox.wanted.workdir

        async def start() -> None:
            try:
                made = await execs.start(sandbox, list(request.command_args), env, cwd, tty)
            except NotStarted:
                del sandbox.execs[request.exec_id]
                raise
            sandbox.execs[request.exec_id] = made
            if request.timeout_secs:
                asyncio.get_running_loop().call_later(request.timeout_secs, made.close)

        # It goes on when the client's connection breaks: he will ask again, by the same id.
        starting = sandbox.execs[request.exec_id] = asyncio.ensure_future(start())
        try:
            await asyncio.shield(starting)
        except NotStarted as error:
            raise GRPCError(Status.INVALID_ARGUMENT, f"Failed to start the command: {error}") from error
        await stream.send_message(sr.TaskExecStartResponse())

    def _exec(self, request: Any) -> execs.Exec:
        sandbox = self._state.task(request.task_id)
        found = sandbox.execs.get(request.exec_id)
        if not isinstance(found, execs.Exec):
            raise GRPCError(Status.NOT_FOUND, f"Exec {request.exec_id} not found")
        return found

    async def TaskExecStdioRead(self, stream: Any) -> None:
        request = await stream.recv_message()
        found = self._exec(request)
        errors = request.file_descriptor == sr.TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDERR
        output = found.stderr if errors else found.stdout
        try:
            async for data in output.since(request.offset):
                await stream.send_message(sr.TaskExecStdioReadResponse(data=data))
        except execs.Lost as error:
            raise GRPCError(Status.NOT_FOUND, str(error)) from error

    async def TaskExecStdinWrite(self, stream: Any) -> None:
        request = await stream.recv_message()
        await self._write(self._exec(request), request.offset, request.data, eof=request.eof)
        await stream.send_message(sr.TaskExecStdinWriteResponse())

    async def _write(self, found: execs.Exec, offset: int, data: bytes, *, eof: bool) -> None:
        try:
            await found.write(offset, data, eof=eof)
        except BrokenPipeError as error:
            raise GRPCError(Status.FAILED_PRECONDITION, "standard input is closed") from error
        except ValueError as error:
            raise GRPCError(Status.OUT_OF_RANGE, str(error)) from error

    async def TaskExecStdinStatus(self, stream: Any) -> None:
        found = self._exec(await stream.recv_message())
        await stream.send_message(sr.TaskExecStdinStatusResponse(num_bytes_written=found.written, closed=found.eof))

    async def TaskExecWait(self, stream: Any) -> None:
        request = await stream.recv_message()
        status = await asyncio.shield(self._exec(request).ended)
        self._state.task(request.task_id)
        await stream.send_message(sr.TaskExecWaitResponse(**_ended(status)))

    async def TaskExecPoll(self, stream: Any) -> None:
        request = await stream.recv_message()
        ended = self._exec(request).ended
        await stream.send_message(sr.TaskExecPollResponse(**(_ended(ended.result()) if ended.done() else {})))

    async def TaskSnapshotFilesystem(self, stream: Any) -> None:
        request = await stream.recv_message()
        image = await self._state.snapshot(self._state.task(request.task_id))
        await stream.send_message(sr.TaskSnapshotFilesystemResponse(image_id=image.id))


def _ended(status: int) -> dict[str, int]:
    return {"signal": status - _SIGNALLED} if status > _SIGNALLED else {"code": status}
