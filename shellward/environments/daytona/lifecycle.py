"""What a sandbox of Daytona's can do besides running: be stopped, archived, and started again."""

from collections.abc import Callable
from typing import Any

from shellward.environments.daytona.client import Client, mapped, sdk
from shellward.environments.daytona.config import DaytonaConfig
from shellward.environments.daytona.sandbox import found


def stop(handle: str) -> None:
    """Stop a sandbox: its processes end, its files stay; with ``auto_delete=0`` it is deleted with that.

    Raises:
        EnvironmentUnavailable: it is not there, or Daytona refuses.
    """
    _with(handle, lambda sandbox: sandbox.stop())


def start(handle: str) -> None:
    """Start a sandbox that was stopped or archived; ``attach`` does that, too.

    Raises:
        EnvironmentUnavailable: it is not there, or Daytona refuses.
    """
    _with(handle, lambda sandbox: sandbox.start())


def archive(handle: str) -> None:
    """Move the files of a stopped sandbox to where they cost less.

    Raises:
        EnvironmentUnavailable: it is not there or not stopped, or Daytona refuses.
    """
    _with(handle, lambda sandbox: sandbox.archive())


def _with(handle: str, do: Callable[[Any], object]) -> None:
    sdk()
    client = Client(DaytonaConfig())
    try:
        sandbox = found(client, handle)
        with mapped(handle):
            do(sandbox)
    finally:
        client.close()
