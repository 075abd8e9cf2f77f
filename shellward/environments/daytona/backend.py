"""The backend: see ``shellward.environments.base``.

A sandbox of Daytona's, in it a directory, a watchdog and the processes of one environment. The watchdog ends these when
no client renews the lease; then nobody uses the sandbox, and Daytona stops it, which deletes it (``auto_delete``).
"""

import re
import secrets
import shlex
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import msgspec

from shellward.core.errors import ConfigError, ConnectionLost, EnvironmentUnavailable, MissingDependency, Unsupported
from shellward.core.limits import LEASE
from shellward.core.types import EnvironmentInfo, Stats
from shellward.environments.base import Capabilities, Channel, Diagnosis, OnStep, PtySize
from shellward.environments.config import parse_config
from shellward.environments.daytona import boot
from shellward.environments.daytona.channel import PairChannel, TerminalChannel
from shellward.environments.daytona.client import Client, explained, mapped, sdk, short
from shellward.environments.daytona.config import KIND, LABEL, DaytonaConfig, Kept, check, stop_after
from shellward.environments.daytona.sandbox import parameters
from shellward.environments.daytona.socket import Wire, http
from shellward.environments.owner import owner
from shellward.environments.ssh import boot as keeping

_CALL = 30
_READY = 20.0
_RENEW = 10.0
"""Seconds between two signs of life; Daytona counts in minutes."""


class DaytonaBackend:
    """See Backend."""

    kind = KIND

    def __init__(self, client: Client, sandbox: Any, scratch: str, kept: Kept) -> None:
        self.client = client
        self.sandbox = sandbox
        self.scratch = scratch
        self.processes = f"{scratch}/processes"
        self.lease: float | None = kept.lease
        self._kept = kept
        self._http = http()
        self._toolbox = f"{sandbox.toolbox_proxy_url.rstrip('/')}/{sandbox.id}"
        self._channels: set[PairChannel | TerminalChannel] = set()
        self._lock = threading.Lock()
        self._ended = False
        self._renewed = time.monotonic()

    @property
    def handle(self) -> str:
        """See Backend."""
        return f"{KIND}:{self.sandbox.id}"

    @property
    def capabilities(self) -> Capabilities:
        """See Backend."""
        return Capabilities(expose=True, attach=True, pty=True, isolated=True)

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
            raise Unsupported("run as another user", KIND, "name the user when you create one")
        if self._ended:
            raise EnvironmentUnavailable("the environment was closed")
        variables = {**self._kept.env, **(env or {})}
        cwd = cwd or self._kept.cwd
        key = secrets.token_hex(16)
        if pty is not None:
            return self._terminal(argv, variables, cwd, pty, key)
        directory = f"{self.scratch}/channel.{secrets.token_hex(6)}"
        first = boot.data(argv, variables, cwd, directory=directory, key=key, scratch=self.scratch)
        second = boot.control(directory=directory, key=key)
        data = self._wire(PtySize())
        try:
            control = self._wire(PtySize())
        except BaseException:
            data.close()
            raise
        channel = PairChannel(data, control, key, lambda: self._forget(channel))
        try:
            self._start([(data, first), (control, second)])
        except BaseException:
            channel.close()
            raise
        self._remember(channel)
        return channel

    def _terminal(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str, size: PtySize, key: str
    ) -> TerminalChannel:
        text = boot.terminal(argv, env, cwd, size, key, self.scratch)
        wire = self._wire(size)
        name = wire.name

        def resize(wanted: PtySize) -> None:
            try:
                self.sandbox.process.resize_pty_session(name, sdk().PtySize(rows=wanted.rows, cols=wanted.columns))
            except sdk().DaytonaError as error:
                if not wire.over:
                    raise ConnectionLost(explained(error, "terminal")) from error

        channel = TerminalChannel(wire, boot.ready(key), resize, lambda: self._end_terminal(name, channel))
        try:
            self._start([(wire, text)])
            channel.await_start(_READY)
        except BaseException:
            channel.close()
            raise
        self._remember(channel)
        return channel

    def _wire(self, size: PtySize) -> Wire:
        name = f"shellward-{secrets.token_hex(8)}"
        variables = {keeping.SANDBOX: f"{keeping.mark(self.scratch)};", "HISTFILE": "/dev/null"}
        return Wire.open(self._http, self._toolbox, self.client.key, name, size, "", variables)

    def _start(self, wires: Sequence[tuple[Wire, bytes]]) -> None:
        """Have the shells at terminals read a script each, and run it."""
        keys = [secrets.token_hex(8) for _ in wires]
        for (wire, _), key in zip(wires, keys, strict=True):
            wire.write(boot.typed(key), _READY)
        for (wire, text), key in zip(wires, keys, strict=True):
            _await(wire, boot.ready(key))
            wire.write(boot.lines(text, key), _READY)

    def _remember(self, channel: PairChannel | TerminalChannel) -> None:
        with self._lock:
            self._channels.add(channel)

    def _forget(self, channel: PairChannel | TerminalChannel) -> None:
        with self._lock:
            self._channels.discard(channel)

    def _end_terminal(self, name: str, channel: TerminalChannel) -> None:
        self._forget(channel)
        try:
            self.sandbox.process.kill_pty_session(name)
        except sdk().DaytonaError:
            return  # it has ended, or the sandbox has

    def renew(self) -> None:
        """See Renewing."""
        now = time.monotonic()
        if now - self._renewed < _RENEW:
            return
        self._renewed = now
        with mapped("lease"):
            self.sandbox.refresh_activity()
        with self._lock:
            channels = list(self._channels)
        for channel in channels:
            channel.ping()

    def explain_loss(self) -> str:
        """See Backend."""
        daytona = sdk()
        try:
            self.sandbox.refresh_data()
        except daytona.DaytonaError as error:
            return explained(error, f"sandbox {self.sandbox.id}")
        state = _state(self.sandbox)
        if state != "started":
            reason = f" ({short(self.sandbox.error_reason)})" if self.sandbox.error_reason else ""
            return f"the sandbox is {state}{reason}"
        return ""

    def destroy(self) -> None:
        """See Backend."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
        self._close_channels()
        daytona = sdk()
        try:
            self.sandbox.delete()
        except daytona.DaytonaNotFoundError:
            return
        except daytona.DaytonaError as error:
            what = f"cannot delete sandbox {self.sandbox.id}, Daytona will when nobody has used it for a while"
            raise EnvironmentUnavailable(explained(error, what)) from error
        finally:
            self._release()

    def _close_channels(self) -> None:
        with self._lock:
            channels = list(self._channels)
        for channel in channels:
            channel.close()

    def _release(self) -> None:
        self._http.close()
        self.client.close()

    def detach(self) -> None:
        """See Backend."""
        self._close_channels()
        self._release()

    def snapshot(self) -> str:
        """See Backend."""
        raise Unsupported("take snapshots", KIND)

    def restore(self, snapshot: str) -> None:
        """See Backend."""
        raise Unsupported(f"go back to snapshot {snapshot!r}", KIND)

    def expose(self, port: int) -> str:
        """See Backend. A preview link; a private one wants its token in the header ``x-daytona-preview-token``."""
        with mapped(f"port {port}"):
            link = self.sandbox.get_preview_link(port)
        return re.sub(r"^http://|/$", "", str(link.url))

    def stats(self) -> Stats:
        """See Backend."""
        raise Unsupported("tell what they use", KIND)


def _await(wire: Wire, sync: bytes) -> None:
    """Wait for a sign that the shell at a terminal is ready."""
    deadline = time.monotonic() + _READY
    heard = b""
    while sync not in heard:
        data = wire.read(max(0.0, deadline - time.monotonic()))
        if data is None or time.monotonic() > deadline:
            words = " ".join(heard.decode("utf-8", "replace").split())[-200:]
            raise EnvironmentUnavailable(f"no shell starts in the sandbox: {wire.lost or words or 'no answer'}")
        heard = heard[-8192:] + data


def _state(sandbox: Any) -> str:
    return str(getattr(sandbox.state, "value", sandbox.state))


def _run(sandbox: Any, text: bytes, what: str) -> str:
    """Run a script in a sandbox and return what it printed."""
    command = f"exec sh -c {shlex.quote(text.decode())}"
    with mapped(what):
        done = sandbox.process.exec(command, timeout=_CALL)
    if done.exit_code:
        said = short(str(done.result)) or f"exit status {done.exit_code}"
        raise EnvironmentUnavailable(f"{what}: {said}")
    return str(done.result)


def create(config: Mapping[str, object], progress: OnStep | None = None) -> DaytonaBackend:
    """See BackendFactory."""
    sdk()
    settings = parse_config(DaytonaConfig, config, KIND)
    check(settings)
    client = Client(settings)
    name = secrets.token_hex(10)
    sandbox = None
    try:
        labels = {
            **settings.labels,
            f"{LABEL}.id": name,
            f"{LABEL}.owner": owner(),
            f"{LABEL}.lease": f"{settings.lease:g}",
        }
        sandbox = _made(client, settings, labels, progress)
        kept = Kept(cwd="", env=settings.env, lease=settings.lease)
        text = keeping.setup(name, msgspec.json.encode(kept), settings.cwd, max(1, round(settings.lease)))
        answer = _run(sandbox, text, "sandbox")
        where = re.search(rf"^(/.*/shellward-{name})\n(/.*)\n\Z", answer, re.MULTILINE | re.DOTALL)
        if where is None:
            raise EnvironmentUnavailable(f"the sandbox does not work as one: {short(answer)}")  # noqa: TRY301
        return DaytonaBackend(client, sandbox, where[1], msgspec.structs.replace(kept, cwd=where[2]))
    except BaseException:
        try:
            if sandbox is not None:
                _delete(sandbox)
        finally:
            client.close()
        raise


def _made(client: Client, settings: DaytonaConfig, labels: dict[str, str], progress: OnStep | None) -> Any:
    daytona = sdk()
    began = f"sandbox of {settings.image or settings.snapshot or 'the default snapshot'!r}"
    more: dict[str, Any] = {}
    if settings.image is not None and progress is not None:
        more["on_snapshot_create_logs"] = progress
    try:
        return client.api.create(parameters(client, settings, labels), timeout=settings.create_timeout, **more)
    except daytona.DaytonaError as error:
        _clear(client, labels[f"{LABEL}.id"])
        raise EnvironmentUnavailable(explained(error, began)) from error
    except BaseException:
        _clear(client, labels[f"{LABEL}.id"])
        raise


def _clear(client: Client, name: str) -> None:
    """Remove what a creation that failed has left: a sandbox may be there, and cost."""
    daytona = sdk()
    try:
        for each in client.api.list(daytona.ListSandboxesQuery(labels={f"{LABEL}.id": name})):
            _delete(each)
    except daytona.DaytonaError:
        return  # its own time limits remain


def _delete(sandbox: Any) -> None:
    daytona = sdk()
    try:
        sandbox.delete()
    except daytona.DaytonaError:
        return  # its own time limits remain


def found(client: Client, handle: str) -> Any:
    """Find the sandbox of a handle: ``daytona:ID``, ``daytona:NAME`` or ``daytona:LABEL=VALUE``.

    Raises:
        EnvironmentUnavailable: there is none, or several have that label.
    """
    daytona = sdk()
    wanted = handle.partition(":")[2]
    label, is_label, value = wanted.partition("=")
    with mapped(handle):
        if not is_label:
            return client.api.get(wanted)
        all_of_them = list(client.api.list(daytona.ListSandboxesQuery(labels={label: value})))
    if len(all_of_them) != 1:
        raise EnvironmentUnavailable(f"{handle}: {len(all_of_them) or 'no'} sandboxes have that label")
    with mapped(handle):
        return client.api.get(all_of_them[0].id)


def attach(handle: str) -> DaytonaBackend:
    """See BackendFactory. A sandbox that was stopped or archived is started."""
    sdk()
    client = Client(DaytonaConfig())
    try:
        sandbox = found(client, handle)
        name = sandbox.labels.get(f"{LABEL}.id")
        if name is None:
            raise EnvironmentUnavailable(f"{handle} was not made by Shellward")  # noqa: TRY301
        state = _state(sandbox)
        if state in ("stopped", "archived"):
            with mapped(handle):
                sandbox.start()
        elif state != "started":
            raise EnvironmentUnavailable(f"{handle} is {state}; create a new environment")  # noqa: TRY301
        lease = float(sandbox.labels.get(f"{LABEL}.lease", LEASE))
        scratch = f"/tmp/shellward-{name}"  # noqa: S108  # in the sandbox
        text = keeping.revive(scratch, max(1, round(lease)))
        saved = _run(sandbox, text, handle)
        if not saved:
            raise EnvironmentUnavailable(f"{handle} has ended, its lease has run out; create a new environment")  # noqa: TRY301
        kept = msgspec.json.decode(saved, type=Kept)
        return DaytonaBackend(client, sandbox, scratch, kept)
    except msgspec.DecodeError as error:
        client.close()
        raise EnvironmentUnavailable(f"{handle} has lost its settings: {error}") from error
    except BaseException:
        client.close()
        raise


def remove(handle: str) -> bool:
    """See BackendFactory.

    Raises:
        EnvironmentUnavailable: Daytona does not answer, or that sandbox is not ours.
    """
    daytona = sdk()
    client = Client(DaytonaConfig())
    try:
        sandbox = found(client, handle)
        if f"{LABEL}.id" not in sandbox.labels:
            raise EnvironmentUnavailable(f"{handle} was not made by Shellward")  # noqa: TRY301
        with mapped(handle):
            sandbox.delete()
    except EnvironmentUnavailable as error:
        if isinstance(error.__cause__, daytona.DaytonaNotFoundError):
            return False
        raise
    finally:
        client.close()
    return True


def list_environments() -> Sequence[EnvironmentInfo]:
    """See BackendFactory. Those of the organization of the API key."""
    daytona = sdk()
    client = Client(DaytonaConfig())
    try:
        with mapped(KIND):
            every = list(client.api.list(daytona.ListSandboxesQuery()))
        return [_info(each) for each in every if f"{LABEL}.id" in each.labels]
    finally:
        client.close()


def _info(sandbox: Any) -> EnvironmentInfo:
    labels = sandbox.labels
    return EnvironmentInfo(
        handle=f"{KIND}:{sandbox.id}",
        kind=KIND,
        name=sandbox.name,
        image=sandbox.snapshot or "",
        created=datetime.fromisoformat(sandbox.created_at).astimezone(UTC),
        state="running" if _state(sandbox) == "started" else _state(sandbox),
        owner=labels.get(f"{LABEL}.owner", ""),
        lease=float(labels.get(f"{LABEL}.lease", LEASE)),
        labels={key: value for key, value in labels.items() if not key.startswith(LABEL)},
    )


def doctor() -> Diagnosis:
    """See BackendFactory."""
    try:
        daytona = sdk()
    except MissingDependency as error:
        return Diagnosis(KIND, works=False, summary="the Daytona SDK is not installed", advice=str(error))
    summary = f"daytona {version('daytona')}"
    try:
        client = Client(DaytonaConfig())
    except (EnvironmentUnavailable, ConfigError) as error:
        return Diagnosis(KIND, works=False, summary="no credentials", advice=str(error))
    try:
        next(client.api.list(daytona.ListSandboxesQuery(limit=1), request_timeout=5), None)
    except daytona.DaytonaError as error:
        return Diagnosis(KIND, works=False, summary="no answer", advice=explained(error, client.url))
    finally:
        client.close()
    return Diagnosis(KIND, works=True, summary=f"{summary} at {client.url}")
