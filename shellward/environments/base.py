"""The narrow waist: what a backend is. Everything else is written once, above it.

A backend makes a sandbox and opens processes in it; it knows nothing of commands, sessions or files.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from shellward.core.types import EnvironmentInfo, Stats, StreamName


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an environment can do; read it before asking. What is False raises ``Unsupported``.

    Attributes:
        snapshot: ``snapshot()`` and ``restore()``.
        expose: ``expose(port)`` gives a reachable address.
        stats: ``stats()`` knows something.
        user: ``run(user=...)`` may name another user.
        attach: another process can ``attach`` by handle, and the environment outlives its client for a lease.
        pty: processes can have a terminal.
        held_pty: so can background processes, since something in the sandbox can hold one without a client: python3,
            ``script`` of util-linux or ``telnetd`` of busybox; known once a session was opened, else False.
        shell: the session's shell, ``bash`` or ``sh``; known once a session was opened, else empty.
        functions: shell functions survive the loss of the shell (bash can print them, dash and busybox cannot).
        isolated: commands cannot reach the machine that Shellward runs on.
        notes: what was asked for and this host cannot give (limits), a sentence each.
    """

    snapshot: bool = False
    expose: bool = False
    stats: bool = False
    user: bool = False
    attach: bool = False
    pty: bool = False
    held_pty: bool = False
    shell: str = ""
    functions: bool = False
    isolated: bool = False
    notes: tuple[str, ...] = ()


class Piece(NamedTuple):
    """Bytes as they came from one of the two output streams of a channel."""

    stream: StreamName
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PtySize:
    """Size of a terminal in characters."""

    rows: int = 24
    columns: int = 80


class Channel(Protocol):
    """A duplex stream to one process in the sandbox.

    One thread reads at a time and one writes at a time (they may differ). With a terminal everything comes
    as stdout.
    """

    def fileno(self) -> int:
        """Return a descriptor that is readable when ``read`` would return at once."""
        ...

    def read(self, timeout: float | None = None) -> Sequence[Piece] | None:
        """Wait up to ``timeout`` seconds (None: for ever) for output.

        Returns:
            What came, in order of arrival; empty when the time is up; None at the end of the stream (both
            streams ended, or the connection is gone).
        """
        ...

    def write(self, data: bytes, timeout: float | None = None) -> None:
        """Write all of ``data`` to the process's standard input.

        Raises:
            ConnectionLost: the process or the connection is gone, or nothing was taken for ``timeout`` seconds.
        """
        ...

    def close_stdin(self) -> None:
        """Let the process see the end of its standard input; its output can still be read."""
        ...

    def resize(self, size: PtySize) -> None:
        """Change the size of the terminal (the process gets SIGWINCH).

        Raises:
            Unsupported: the channel has no terminal.
        """
        ...

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for the process to end; its exit status (128 + n for signal n), or None when it has not."""
        ...

    def close(self) -> None:
        """Release everything on this side. Idempotent. The process sees the end of its input."""
        ...


class Backend(Protocol):
    """One kind of place where processes can run. Made by ``create`` or ``attach`` of its module.

    Thread-safe: ``open`` may be called from several threads at once.

    Attributes:
        kind: its public name (``docker``).
        handle: what ``attach`` takes in another process: ``kind:id``.
        scratch: absolute path of a directory in the sandbox that is ours alone and that the session's user may
            write to. Removed with the environment.
        processes: absolute path of the directory in the sandbox where background processes have theirs. It outlives
            the client; a shell makes it.
        lease: seconds the sandbox lives on without a client; None when it ends with its client.
    """

    kind: str
    handle: str
    scratch: str
    processes: str
    lease: float | None

    @property
    def capabilities(self) -> Capabilities:
        """What this backend can do, as far as it is known without starting a session."""
        ...

    def open(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        user: str | None = None,
        pty: PtySize | None = None,
    ) -> Channel:
        """Start a process in the sandbox, in a session (process group) of its own.

        Args:
            argv: program and arguments, passed as they are.
            env: variables on top of the environment's own.
            cwd: working directory; None: the environment's default.
            user: user to run as; None: the environment's default.
            pty: give it a terminal of this size.

        Raises:
            EnvironmentUnavailable: the sandbox is not there any more, or refused.
            Unsupported: it cannot give a terminal, or another user.
        """
        ...

    def explain_loss(self) -> str:
        """Say why the sandbox cannot be reached any more, as far as it can be found out; empty: it seems fine."""
        ...

    def destroy(self) -> None:
        """End the sandbox and all that is in it. Idempotent; fine when it is gone already."""
        ...

    def detach(self) -> None:
        """Release this client's side and leave the sandbox to its lease."""
        ...

    def snapshot(self) -> str:
        """Save the file system; returns an id that ``restore`` takes.

        Raises:
            Unsupported: see ``Capabilities.snapshot``.
        """
        ...

    def restore(self, snapshot: str) -> None:
        """Replace the sandbox by one with the file system of ``snapshot``; all processes end.

        Raises:
            EnvironmentUnavailable: there is no such snapshot.
            Unsupported: see ``Capabilities.snapshot``.
        """
        ...

    def expose(self, port: int) -> str:
        """Return ``host:port`` at which a TCP port of the sandbox is reachable from here.

        Raises:
            Unsupported: see ``Capabilities.expose``.
        """
        ...

    def stats(self) -> Stats:
        """Return what the sandbox uses now.

        Raises:
            Unsupported: see ``Capabilities.stats``.
        """
        ...


@runtime_checkable
class Putting(Protocol):
    """A backend that has a way of its own to send a file's data, past the shell. What has none lacks the method."""

    def put(self, path: str, chunks: Iterable[bytes]) -> bool:
        """Fill an empty file that is there; False when that cannot be done here. Then no chunk was taken.

        Raises:
            OSError: it cannot be written to.
            ConnectionLost: the connection broke.
            EnvironmentUnavailable: whoever takes the data refuses to.
        """
        ...


@runtime_checkable
class Remembering(Protocol):
    """A backend that knows which shell its sandbox was made with, for clients that attach, too.

    Attributes:
        shell: as in its configuration, see ``BaseConfig``.
    """

    @property
    def shell(self) -> str:
        """See the class."""
        ...


@runtime_checkable
class Renewing(Protocol):
    """A backend whose sandboxes have somebody else to be told that a client lives, beside the file of the lease."""

    def renew(self) -> None:
        """Tell it. Is called several times in the length of a lease, and may do nothing.

        Raises:
            EnvironmentUnavailable: the sandbox is not there, or not reachable now.
        """
        ...


@runtime_checkable
class Located(Protocol):
    """A backend whose handles are understood by one engine of several, of which a client reaches one at a time.

    Attributes:
        engine: id of the one that keeps this sandbox.
    """

    @property
    def engine(self) -> str:
        """See the class."""
        ...


@runtime_checkable
class Locating(Protocol):
    """A backend's module that knows which engine it would ask for a handle; see ``Located``."""

    def engine(self, handle: str) -> str:
        """Return the id of the engine that answers now.

        Raises:
            EnvironmentUnavailable: none does.
        """
        ...


@runtime_checkable
class Forgetting(Protocol):
    """A backend's module that keeps a list of its environments on this machine, so that one can be forgotten."""

    def forget(self, handle: str) -> bool:
        """Drop an environment from the list without asking where it is; False when it is not there."""
        ...


OnStep = Callable[[str], None]
"""Is called with one line of text for each step of something that takes long."""


class BackendFactory(Protocol):
    """What a backend's module offers under the name ``backend`` (see ``registry``)."""

    def create(self, config: Mapping[str, object], progress: OnStep | None = None) -> Backend:
        """Make a sandbox from a configuration, checked here; ``progress`` hears of images pulled or built."""
        ...

    def attach(self, handle: str) -> Backend:
        """Find a living sandbox by its handle."""
        ...

    def remove(self, handle: str) -> bool:
        """End a sandbox with all that is in it, in whatever state; False when there is none."""
        ...

    def list_environments(self) -> Sequence[EnvironmentInfo]:
        """List the sandboxes of this kind that are known, of every client."""
        ...

    def doctor(self) -> "Diagnosis":
        """Say whether this backend works here, and what is missing."""
        ...


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What ``doctor`` found for one backend.

    Attributes:
        kind: backend.
        works: it can be used now.
        summary: one line: the version found, or what is missing.
        advice: what to do, when it does not work.
        notes: further facts (limits that this host cannot enforce, ...).
    """

    kind: str
    works: bool
    summary: str
    advice: str = ""
    notes: tuple[str, ...] = ()
