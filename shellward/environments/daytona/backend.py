"""The backend: see ``shellward.environments.base``.

A sandbox of Daytona's, in it a directory, a watchdog and the processes of one environment. The watchdog ends these when
no client renews the lease; then nobody uses the sandbox, and Daytona stops it, which deletes it (``auto_delete``).
"""

import re
import secrets
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable, Unsupported
from shellward.core.types import Stats
from shellward.environments import keeping
from shellward.environments.base import Capabilities, Channel, PtySize
from shellward.environments.daytona import boot, snapshots, upload
from shellward.environments.daytona.channel import PairChannel, TerminalChannel
from shellward.environments.daytona.client import CHANGING, PAUSES, Client, again, explained, mapped, sdk, short
from shellward.environments.daytona.config import KIND, DaytonaConfig, Kept
from shellward.environments.daytona.making import delete, make
from shellward.environments.daytona.sandbox import run, state
from shellward.environments.daytona.socket import MOST_CELLS, Refused, Wire, http

_READY = 20.0
_LOOK = 5.0
_RENEW = 10.0
"""Seconds between two signs of life; Daytona counts in minutes."""
_CLOSED = "the environment was closed"


class DaytonaBackend:
    """See Backend.

    Args:
        client: the SDK's.
        sandbox: likewise.
        scratch: directory of the environment in it.
        kept: what of the settings is kept there.
        settings: all of them; None: they are not known, so that no other sandbox can be made with them.
    """

    kind = KIND

    def __init__(
        self, client: Client, sandbox: Any, scratch: str, kept: Kept, settings: DaytonaConfig | None = None
    ) -> None:
        self.client = client
        self.sandbox = sandbox
        self.scratch = scratch
        self.processes = f"{scratch}/processes"
        self.lease: float | None = kept.lease
        self._kept = kept
        self._settings = settings
        self._http = http()
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
        return Capabilities(snapshot=self._settings is not None, expose=True, attach=True, pty=True, isolated=True)

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
            raise EnvironmentUnavailable(_CLOSED)
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
            self._remember(channel)
            self._start([(data, first), (control, second)])
        except BaseException:
            channel.close()
            raise
        return channel

    def _terminal(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str, size: PtySize, key: str
    ) -> TerminalChannel:
        text = boot.terminal(argv, env, cwd, size=size, key=key, scratch=self.scratch)
        wire = self._wire(size)
        name = wire.name

        def resize(wanted: PtySize) -> None:
            try:
                if max(wanted.rows, wanted.columns) > MOST_CELLS:
                    run(self.sandbox, boot.far(key, self.scratch, wanted), "terminal")
                    return
                size = sdk().PtySize(rows=wanted.rows, cols=wanted.columns)
                again(lambda: self.sandbox.process.resize_pty_session(name, size))
            except (sdk().DaytonaError, EnvironmentUnavailable) as error:
                if not wire.over:
                    raise ConnectionLost(explained(error, "terminal")) from error

        channel = TerminalChannel(wire, key, resize, lambda: self._end_terminal(name, channel))
        try:
            self._remember(channel)
            self._start([(wire, text)])
            channel.await_start(_READY)
        except BaseException:
            channel.close()
            raise
        return channel

    def _wire(self, size: PtySize) -> Wire:
        """Make a terminal; nothing runs in it yet but a shell, so one that was refused for now is asked for again."""
        for pause in PAUSES[:-1]:
            try:
                return self._one_wire(size)
            except Refused as error:
                if not error.for_now:
                    raise
                time.sleep(pause)
        return self._one_wire(size)

    def _one_wire(self, size: PtySize) -> Wire:
        name = f"shellward-{secrets.token_hex(8)}"
        variables = {keeping.SANDBOX: f"{keeping.mark(self.scratch)};", "HISTFILE": "/dev/null"}
        url = f"{self.sandbox.toolbox_proxy_url.rstrip('/')}/{self.sandbox.id}"
        try:
            return Wire.open(self._http, url, self.client.key, name=name, size=size, env=variables)
        except Refused as error:
            if error.made:
                self._kill_terminal(name)
            raise

    def _start(self, wires: Sequence[tuple[Wire, bytes]]) -> None:
        """Have the shells at terminals read a script each, and run it."""
        keys = [secrets.token_hex(8) for _ in wires]
        for (wire, _), key in zip(wires, keys, strict=True):
            wire.write(boot.typed(key), _READY)
        for (wire, text), key in zip(wires, keys, strict=True):
            _await(wire, boot.ready(key))
            wire.write(boot.lines(text, key), _READY)

    def _remember(self, channel: PairChannel | TerminalChannel) -> None:
        """Have it closed with the rest, from its first moment on: who reads from one that is not waits in vain."""
        with self._lock:
            if self._ended:
                raise EnvironmentUnavailable(_CLOSED)
            self._channels.add(channel)

    def _forget(self, channel: PairChannel | TerminalChannel) -> None:
        with self._lock:
            self._channels.discard(channel)

    def _end_terminal(self, name: str, channel: TerminalChannel) -> None:
        self._forget(channel)
        self._kill_terminal(name)

    def _kill_terminal(self, name: str) -> None:
        try:
            again(lambda: self.sandbox.process.kill_pty_session(name))
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
            self.sandbox.refresh_data(request_timeout=_LOOK)
        except daytona.DaytonaError as error:
            return explained(error, f"sandbox {self.sandbox.id}")
        now = state(self.sandbox)
        if now != "started":
            reason = f" ({short(self.sandbox.error_reason)})" if self.sandbox.error_reason else ""
            return f"the sandbox is {now}{reason}"
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
            again(self.sandbox.delete, until=time.monotonic() + CHANGING)
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
        with self._lock:
            self._ended = True
        self._close_channels()
        self._release()

    def put(self, path: str, chunks: Iterable[bytes]) -> bool:
        """See Putting."""
        return upload.put(self.sandbox, path, chunks)

    def snapshot(self) -> str:
        """See Backend. It is one of Daytona's, which ``create(snapshot=...)`` takes, too."""
        self._known("take snapshots")
        return snapshots.save(self.client, self.sandbox, keeping.mark(self.scratch))

    def restore(self, snapshot: str) -> None:
        """See Backend."""
        settings = self._known(f"go back to snapshot {snapshot!r}")
        plain = {"image": None, "cpus": None, "memory": None, "disk": None, "gpus": 0}
        settings = msgspec.structs.replace(settings, snapshot=snapshot, **plain)
        if not snapshots.ready(self.client, snapshot):
            raise EnvironmentUnavailable(f"snapshot {snapshot} is not ready; try again later")
        before, named = self.sandbox, settings.name is not None
        if named:  # the next can have it only when its holder is gone
            self._close_channels()
            delete(before)
        made = make(self.client, settings, first=snapshots.left_in(snapshot))
        self.sandbox, self.scratch, self._kept, self._settings = made.sandbox, made.scratch, made.kept, settings
        self.processes = f"{made.scratch}/processes"
        if not named:
            self._close_channels()
            delete(before)

    def _known(self, what: str) -> DaytonaConfig:
        if self._settings is None:  # volumes, labels, what it may reach: a sandbox without those would be another one
            raise Unsupported(what, KIND, "only the client that made it knows all its settings")
        return self._settings

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
