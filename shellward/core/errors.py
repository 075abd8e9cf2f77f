"""The errors of Shellward. A command that fails is never one of them: that is a ``Result``.

::

    ShellwardError
    ├── ConfigError                 a setting is unknown or has a wrong value       (also ValueError)
    ├── MissingDependency           an optional package is not installed            (also ImportError)
    ├── Unsupported                 this backend cannot do that; see Capabilities
    ├── EnvironmentUnavailable      the sandbox failed: no daemon, no image, gone
    │   └── ConnectionLost          ... in the middle of a command, which may have run
    ├── LimitReached                so many are allowed and there already           (nothing was done)
    ├── DamagedRecording            a recording of a terminal cannot be read, or not to its end
    ├── CommandTimeout              only where a caller asked for raising           (also TimeoutError)
    ├── ApprovalRequired            the gate needs an answer first; carries the Decision
    └── ApprovalDenied              the gate said no; carries the Decision
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shellward.core.gate import Decision
    from shellward.core.types import Result


NOTHING_RAN: Final = "nothing has run"
"""A note of an error of the system's own kind (OSError) that came before the command was begun."""

HAD_BEGUN: Final = "the command had begun, and was ended"
"""A note of an error that means "nothing has run" elsewhere."""


def had_begun(error: BaseException) -> None:
    """Note of an error that its command had begun, and was ended, unless it says already what became of that."""
    if not {HAD_BEGUN, NOTHING_RAN} & set(getattr(error, "__notes__", ())):
        error.add_note(HAD_BEGUN)


@contextmanager
def beside(first: BaseException | None) -> Iterator[None]:
    """Clean up after an error: what goes wrong in this block becomes a note of it, and does not take its place.

    Args:
        first: the error that is under way; None: there is none, and what goes wrong is raised.
    """
    try:
        yield
    except Exception as trouble:
        if first is None:
            raise
        first.add_note(f"cannot clean up: {str(trouble) or type(trouble).__name__}")


class ShellwardError(Exception):
    """Root of everything that Shellward raises on purpose."""


class ConfigError(ShellwardError, ValueError):
    """A setting is unknown or has a wrong value; the message is one line and names the key."""


def install_line(extra: str) -> str:
    """Return the command that installs an extra: from the checkout that this is, or was installed from, if any."""
    import json
    import shlex
    from contextlib import suppress
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path
    from urllib.parse import unquote, urlsplit

    root = Path(__file__).parents[2]
    with suppress(PackageNotFoundError):
        url = json.loads(distribution("shellward").read_text("direct_url.json") or "{}")
        if "dir_info" in url:
            root = Path(unquote(urlsplit(url["url"]).path))
    what = "shellward"
    if (root / "pyproject.toml").is_file():
        what = str(root)
        with suppress(OSError):  # the current directory may be gone
            what = "." if Path.cwd() == root.resolve() else what
    return f"pip install {shlex.quote(f'{what}[{extra}]')}"


class MissingDependency(ShellwardError, ImportError):  # noqa: N818  # public name, fixed by the spec
    """An optional package is not installed; the message holds the exact install line."""

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} is not installed; run: {install_line(extra)}")


class Unsupported(ShellwardError):  # noqa: N818
    """This environment cannot do what was asked; its ``Capabilities`` say so beforehand."""

    def __init__(self, what: str, kind: str, advice: str = "") -> None:
        self.what = what
        self.kind = kind
        super().__init__(f"{kind} environments cannot {what}" + (f"; {advice}" if advice else ""))


class EnvironmentUnavailable(ShellwardError):  # noqa: N818
    """The sandbox itself failed (no daemon, host or image, or it is gone); says what to do.

    Attributes:
        gone: whoever keeps such sandboxes has answered that this one is there no more, and so is all that ran in it.
    """

    def __init__(self, message: str, *, gone: bool = False) -> None:
        self.gone = gone
        super().__init__(message)


class ConnectionLost(EnvironmentUnavailable):
    """The sandbox went away in the middle of a command, which may have run, in whole or in part.

    Attributes:
        result: what the command had printed by then; its ``exit_code`` is -1. None when nothing was running.
    """

    def __init__(self, message: str, result: "Result | None" = None) -> None:
        self.result = result
        super().__init__(message)


class LimitReached(ShellwardError):  # noqa: N818
    """There are as many as there may be; nothing was done."""


class DamagedRecording(ShellwardError):  # noqa: N818
    """A recording of a terminal is none, or is cut off or damaged; says how far it goes."""


class CommandTimeout(ShellwardError, TimeoutError):  # noqa: N818
    """A command took longer than its limit, and the caller asked for an exception (``Result.check()``).

    Attributes:
        result: the output so far, with ``timed_out`` set.
    """

    def __init__(self, result: "Result") -> None:
        self.result = result
        super().__init__(f"timed out after {result.duration:.1f} s: {result.command[:200]}")


class ApprovalRequired(ShellwardError):  # noqa: N818
    """The gate wants an answer before this command may run."""

    def __init__(self, decision: "Decision", message: str) -> None:
        self.decision = decision
        super().__init__(message)


class ApprovalDenied(ShellwardError):  # noqa: N818
    """The gate refused this command; nothing has run.

    Args:
        decision: with all that led to it.
        message: for an agent, or for whoever reads what a program prints.
        here: the same for the person at whose own terminal it was refused.
    """

    def __init__(self, decision: "Decision", message: str, here: str = "") -> None:
        self.decision = decision
        self.here = here or message
        super().__init__(message)
