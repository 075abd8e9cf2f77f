"""The backend: see ``shellward.environments.base``.

The sandbox's main process is a watchdog (scripts/lease.sh): when no client renews its lease it ends, and the sandbox
with it. Whatever else happens, Modal ends it after ``timeout``. Each shell is one long ``exec`` with open streams.
"""

import asyncio
import os
import secrets
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import msgspec

from shellward.core.errors import EnvironmentUnavailable, MissingDependency, Unsupported
from shellward.core.limits import LEASE
from shellward.core.types import EnvironmentInfo, Stats
from shellward.environments.base import Capabilities, Channel, Diagnosis, OnStep, PtySize
from shellward.environments.config import parse_config
from shellward.environments.modal.channel import ModalChannel
from shellward.environments.modal.config import APP, KIND, TAG, ModalConfig, check, is_ours
from shellward.environments.modal.connections import Connections
from shellward.environments.modal.images import image_of
from shellward.environments.modal.sandbox import CWD, PROCESSES, arguments, new_name, scratch_of
from shellward.environments.modal.sdk import call, give_back, sdk, server, take
from shellward.environments.modal.tags import name_in, settings_in, text_in

_ASK: Final = 20.0
"""Seconds for a question to Modal that it usually answers at once."""
_LOOK: Final = 5.0
_SNAPSHOT: Final = 300
_TERM: Final = "xterm-256color"
_RESULTS: Final = {124: "it has reached its time limit", 137: "it was terminated, or ran out of memory"}


class ModalBackend:
    """See Backend.

    Args:
        client: the SDK's.
        sandbox: likewise.
        name: with which what is ours in it is named.
        settings: it was made with.
        whole: they are all known, so that another could be made with them.
    """

    kind = KIND

    def __init__(self, client: Any, sandbox: Any, name: str, settings: ModalConfig, *, whole: bool = True) -> None:
        self.client = client
        self.sandbox = sandbox
        self.settings = settings
        self.whole = whole
        self.name = name
        self.scratch = scratch_of(name)
        self.processes = PROCESSES
        self.lease: float | None = settings.lease
        self._released = False
        self._lock = threading.Lock()
        self._open: set[threading.Event] = set()
        self._connections = Connections(sandbox, client)

    @property
    def handle(self) -> str:
        """See Backend."""
        return f"{KIND}:{self.sandbox.object_id}"

    @property
    def capabilities(self) -> Capabilities:
        """See Backend."""
        ports = bool(self.settings.ports or self.settings.tls_ports)
        return Capabilities(snapshot=self.whole, expose=ports, attach=True, pty=True, isolated=True)

    def open(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
        pty: PtySize | None = None,
    ) -> Channel:
        """See Backend."""
        if user is not None:
            raise Unsupported("run as another user", self.kind, "Modal's commands run as the image's own")
        if self._released:
            raise EnvironmentUnavailable(f"{self.handle} was closed; create a new environment")
        key = secrets.token_hex(6)
        words = ["sh", "-c", self._script(cwd, pty, key), "shellward", *argv]
        variables = {**({"TERM": _TERM} if pty else {}), **(env or {})}
        resize = self._resizer(key) if pty is not None else None
        return call(self._exec(words, variables, resize), _ASK, self._what())

    async def _exec(
        self, words: Sequence[str], env: Mapping[str, str], resize: Callable[[PtySize], None] | None
    ) -> ModalChannel:
        connections = self._connections
        connection = await connections.take()
        released = threading.Event()
        self._open.add(released)

        def release() -> None:
            connections.give_back(connection)
            self._open.discard(released)
            released.set()

        try:
            process = await connection.sandbox.exec.aio(*words, env=dict(env), text=False, pty=resize is not None)
            return ModalChannel(process, resize, release)
        except BaseException:
            release()
            raise

    def _script(self, cwd: str | None, pty: PtySize | None, key: str) -> str:
        """What is done in the sandbox before a program begins."""
        lines = [f"[ -d {self.scratch} ] || (umask 077; mkdir -p {self.scratch})"]
        if pty is not None:
            lines += [f"stty rows {pty.rows} cols {pty.columns}", f"tty >{self.scratch}/tty.{key}"]
        go = f"cd -- {shlex.quote(cwd)}" if cwd else f'if [ -n "${CWD}" ]; then cd -- "${CWD}"; fi'
        return "\n".join([*lines, f"{go} || exit 126", f"unset {CWD}", 'exec "$@"'])

    def _resizer(self, key: str) -> Callable[[PtySize], None]:
        """The SDK cannot resize; a second process can, at the terminal's name."""

        def resize(size: PtySize) -> None:
            text = f'stty rows {size.rows} cols {size.columns} <"$(cat {self.scratch}/tty.{key})"'
            call(self._done(["sh", "-c", text]), _ASK, self._what())

        return resize

    async def _done(self, words: Sequence[str]) -> int:
        process = await self.sandbox.exec.aio(*words, text=False)
        return int(await process.wait.aio())

    def _what(self) -> str:
        return f"sandbox {self.sandbox.object_id}"

    def explain_loss(self) -> str:
        """See Backend."""
        try:
            status = call(self.sandbox.poll.aio(), _LOOK, self._what())
        except EnvironmentUnavailable as error:
            return str(error)
        if status is None:
            return ""
        if status == 0:
            return f"the sandbox has ended: its lease of {self.lease:g} s ran out"
        if status in _RESULTS:
            return f"the sandbox has ended: {_RESULTS[status]}"
        return f"the sandbox has ended with exit status {status}"

    def destroy(self) -> None:
        """See Backend."""
        if not self._release():
            return
        try:
            call(self._terminate(), _ASK, self._what())
        except EnvironmentUnavailable as error:
            raise EnvironmentUnavailable(
                f"cannot end {self.handle} now, its lease of {self.lease:g} s will ({error})"
            ) from error
        finally:
            self._let_go()

    async def _terminate(self) -> None:
        modal = sdk()
        try:
            await self.sandbox.terminate.aio()
        except modal.exception.NotFoundError:
            return  # it has ended long ago

    def detach(self) -> None:
        """See Backend."""
        if self._release():
            deadline = time.monotonic() + _LOOK
            for each in [*self._open]:  # what was closed just now has the end of its input yet to be sent
                each.wait(max(0.0, deadline - time.monotonic()))
            self._let_go()

    def _release(self) -> bool:
        with self._lock:
            first, self._released = not self._released, True
            return first

    def _let_go(self) -> None:
        try:
            call(self._disconnect(), _LOOK, self._what())
        finally:
            give_back()

    async def _disconnect(self) -> None:
        await self._connections.close()
        await self.sandbox.detach.aio()

    def snapshot(self) -> str:
        """See Backend. The id is that of an image, which ``create(image=...)`` takes, too."""
        self._need_all("take snapshots")

        async def save() -> str:
            image = await self.sandbox.snapshot_filesystem.aio(timeout=_SNAPSHOT)
            return str(image.object_id)

        return call(save(), _SNAPSHOT + _ASK, "snapshot")

    def restore(self, snapshot: str) -> None:
        """See Backend."""
        settings = msgspec.structs.replace(self.settings, image=snapshot, apt_packages=[], pip_packages=[])
        self._need_all(f"go back to snapshot {snapshot!r}")
        if not snapshot.startswith("im-"):
            raise EnvironmentUnavailable(f"there is no snapshot {snapshot!r}; they are named im-...")
        call(self._restore(settings), settings.create_timeout, f"snapshot {snapshot}")
        self.settings = settings

    def _need_all(self, what: str) -> None:
        if not self.whole:  # secrets, volumes, what it may reach: a sandbox without those would be another one
            raise Unsupported(what, self.kind, "only the client that made it knows all its settings")

    async def _restore(self, settings: ModalConfig) -> None:
        before = self.sandbox
        app = await _app(settings, self.client)
        await image_of(settings, self.client).build.aio(app)  # so that nothing has ended yet when it is not there
        if settings.name is not None:  # the next can have it only when its holder has ended
            await _end(before)
        self.sandbox = await _make(settings, self.name, self.client, f"rm -rf {self.scratch}")
        closing, self._connections = self._connections, Connections(self.sandbox, self.client)
        await closing.close()
        await _end(before)

    def expose(self, port: int) -> str:
        """See Backend."""
        if port not in (*self.settings.ports, *self.settings.tls_ports):
            advice = f"create it with ports=[{port}], or tls_ports"
            raise Unsupported(f"expose port {port}", self.kind, advice)
        found = call(self.sandbox.tunnels.aio(timeout=round(_ASK)), _ASK + _LOOK, self._what())
        tunnel = found[port]
        host, number = tunnel.tcp_socket if port in self.settings.ports else tunnel.tls_socket
        return f"{host}:{number}"

    def stats(self) -> Stats:
        """See Backend."""
        raise Unsupported("tell what they use", self.kind, "Modal's dashboard does, minutes later")


async def _app(settings: ModalConfig, client: Any) -> Any:
    return await sdk().App.lookup.aio(
        settings.app, client=client, environment_name=settings.environment, create_if_missing=True
    )


async def _make(settings: ModalConfig, name: str, client: Any, first: str = "") -> Any:
    """Create a sandbox; when that fails half-way, nothing is left of it."""
    modal = sdk()
    entrypoint, more = arguments(settings, name, client, await _app(settings, client))
    sandbox = await modal.Sandbox.create.aio(*entrypoint, **more)
    try:
        if first:
            process = await sandbox.exec.aio("sh", "-c", first)
            await process.wait.aio()
    except BaseException:
        await _end(sandbox)
        raise
    return sandbox


async def _end(sandbox: Any) -> None:
    modal = sdk()
    try:
        await sandbox.terminate.aio()
    except modal.exception.NotFoundError:
        pass
    finally:
        await sandbox.detach.aio()


def create(config: Mapping[str, object], progress: OnStep | None = None) -> ModalBackend:
    """See BackendFactory."""
    sdk()
    settings = parse_config(ModalConfig, config, KIND)
    check(settings)
    client = take(settings.connect_timeout)
    try:
        if progress is not None:
            progress(f"making a sandbox from {settings.image} in Modal's app {settings.app}")
        name = new_name()
        sandbox = call(_make(settings, name, client), settings.create_timeout, f"sandbox from {settings.image!r}")
    except BaseException:
        give_back()
        raise
    return ModalBackend(client, sandbox, name, settings)


def attach(handle: str) -> ModalBackend:
    """See BackendFactory."""
    sdk()
    client = take(ModalConfig().connect_timeout)
    try:
        sandbox, tags = call(_find(handle, client), _ASK, handle)
        name = name_in(tags, handle)
        if sandbox.returncode is not None:
            raise EnvironmentUnavailable(f"{handle} has ended; create a new environment")  # noqa: TRY301
    except BaseException:
        give_back()
        raise
    return ModalBackend(client, sandbox, name, settings_in(tags), whole=False)


async def _find(handle: str, client: Any) -> tuple[Any, dict[str, str]]:
    sandbox = await sdk().Sandbox.from_id.aio(handle.partition(":")[2], client=client)
    return sandbox, dict(await sandbox.get_tags.aio())


def remove(handle: str) -> bool:
    """See BackendFactory."""
    modal = sdk()
    client = take(ModalConfig().connect_timeout)
    try:
        sandbox, tags = call(_find(handle, client), _ASK, handle)
        name_in(tags, handle)
        if sandbox.returncode is not None:
            return False
        call(_end(sandbox), _ASK, handle)
    except EnvironmentUnavailable as error:
        if isinstance(error.__cause__, modal.exception.NotFoundError):
            return False
        raise
    finally:
        give_back()
    return True


def list_environments() -> Sequence[EnvironmentInfo]:
    """See BackendFactory. Those in the app ``shellward``; without a token there is nothing to find."""
    if not _has_token():
        return []
    client = take(ModalConfig().connect_timeout)
    try:
        return call(_listed(client), _ASK, "listing sandboxes")
    finally:
        give_back()


async def _listed(client: Any) -> list[EnvironmentInfo]:
    modal = sdk()
    app = await modal.App.lookup.aio(APP, client=client, create_if_missing=True)
    found = [each async for each in modal.Sandbox.list.aio(app_id=app.app_id, client=client)]
    tags = await asyncio.gather(*(each.get_tags.aio() for each in found))
    return [_info(each.object_id, dict(known)) for each, known in zip(found, tags, strict=True) if TAG in known]


def _info(sandbox: str, tags: dict[str, str]) -> EnvironmentInfo:
    return EnvironmentInfo(
        handle=f"{KIND}:{sandbox}",
        kind=KIND,
        name=tags[TAG],
        image=text_in(tags, "image"),
        created=datetime.fromtimestamp(int(tags.get(f"{TAG}-created", 0)), UTC),
        state="running",
        owner=text_in(tags, "owner"),
        lease=float(tags.get(f"{TAG}-lease", LEASE)),
        labels={key: value for key, value in tags.items() if not is_ours(key)},
    )


def doctor() -> Diagnosis:
    """See BackendFactory."""
    if not _has_token():
        advice = "make a token with `modal token new`, or set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET"
        return Diagnosis(KIND, works=False, summary="there is no token for Modal", advice=advice)
    try:
        sdk()
        take(_LOOK)
    except MissingDependency as error:
        return Diagnosis(KIND, works=False, summary="the modal SDK is not installed", advice=str(error))
    except EnvironmentUnavailable as error:
        return Diagnosis(KIND, works=False, summary="Modal does not answer", advice=str(error))
    give_back()
    return Diagnosis(KIND, works=True, summary=f"modal {version('modal')} at {server()}")


def _has_token() -> bool:
    """Whether the SDK could find one; that costs nothing, and the SDK's import half a second."""
    path = os.environ.get("MODAL_CONFIG_PATH") or "~/.modal.toml"
    named = any(os.environ.get(name) for name in ("MODAL_TOKEN_ID", "MODAL_OAUTH_REFRESH_TOKEN"))
    return named or Path(path).expanduser().is_file()
