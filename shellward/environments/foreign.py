"""Errors that are not Shellward's, at the border to the backends: callers hear of them as ours, with their cause."""

from collections.abc import Iterator
from contextlib import contextmanager

from shellward.core.errors import EnvironmentUnavailable, ShellwardError


@contextmanager
def foreign(kind: str, what: str) -> Iterator[None]:
    """Let a backend's call raise what ``base.Backend`` says, whatever an SDK or the system has raised in it.

    Mistakes in a program (TypeError, KeyError, ...) go through as they are.

    Args:
        kind: of the backend.
        what: is done, for the message.

    Raises:
        EnvironmentUnavailable: in place of an OSError (no descriptor left, a connection reset) or an SDK's error.
    """
    try:
        yield
    except ShellwardError:
        raise
    except Exception as error:
        if type(error).__module__ == "builtins" and not isinstance(error, OSError):
            raise
        why = str(error) or type(error).__name__
        raise EnvironmentUnavailable(f"{kind}: {what}: {why[:500]}") from error
