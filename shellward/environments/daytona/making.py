"""How a sandbox is made, with an environment in it: a directory and a watchdog. What fails half-way leaves nothing."""

import re
import secrets
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments import keeping
from shellward.environments.base import OnStep
from shellward.environments.daytona.client import Client, again, explained, sdk, short
from shellward.environments.daytona.config import LABEL, DaytonaConfig, Kept
from shellward.environments.daytona.sandbox import parameters, run
from shellward.environments.owner import owner

_CLEAR: Final = 5.0
"""Seconds for an answer to who wants to remove what a creation has left: Daytona may be what has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What an environment needs of its sandbox.

    Attributes:
        sandbox: the SDK's.
        scratch: the environment's directory in it.
        kept: what of the settings is kept there.
    """

    sandbox: Any
    scratch: str
    kept: Kept


def make(client: Client, settings: DaytonaConfig, progress: OnStep | None = None, *, first: bytes = b"") -> Made:
    """Make a sandbox and an environment in it.

    Args:
        client: the SDK's.
        settings: of the environment.
        progress: hears of what takes long.
        first: lines of shell that are run before everything else.

    Raises:
        EnvironmentUnavailable: Daytona refuses, or the sandbox does not work.
    """
    name = secrets.token_hex(10)
    labels = {
        **settings.labels,
        f"{LABEL}.id": name,
        f"{LABEL}.owner": owner(),
        f"{LABEL}.lease": f"{settings.lease:g}",
    }
    sandbox = _made(client, settings, labels, progress)
    try:
        kept = Kept(cwd="", env=settings.env, lease=settings.lease)
        text = keeping.setup(name, msgspec.json.encode(kept), settings.cwd, max(1, round(settings.lease)))
        answer = run(sandbox, first + text, "sandbox")
        where = re.search(rf"^(/.*/shellward-{name})\n(/.*)\n\Z", answer, re.MULTILINE | re.DOTALL)
        if where is None:
            raise EnvironmentUnavailable(f"the sandbox does not work as one: {short(answer)}")  # noqa: TRY301
        return Made(sandbox=sandbox, scratch=where[1], kept=msgspec.structs.replace(kept, cwd=where[2]))
    except BaseException:
        delete(sandbox)
        raise


def _made(client: Client, settings: DaytonaConfig, labels: dict[str, str], progress: OnStep | None) -> Any:
    daytona = sdk()
    began = f"sandbox of {settings.image or settings.snapshot or 'the default snapshot'!r}"
    more: dict[str, Any] = {}
    if settings.image is not None and progress is not None:
        more["on_snapshot_create_logs"] = progress

    def create() -> Any:
        try:
            return client.api.create(parameters(client, settings, labels), timeout=settings.create_timeout, **more)
        except daytona.DaytonaServiceUnavailableError:
            _clear(client, labels[f"{LABEL}.id"])  # it may be there all the same; then the next one would be a second
            raise

    try:
        return again(create)
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
        query = daytona.ListSandboxesQuery(labels={f"{LABEL}.id": name})
        for each in client.api.list(query, request_timeout=_CLEAR):
            delete(each)
    except daytona.DaytonaError:
        return  # its own time limits remain


def delete(sandbox: Any) -> None:
    """Delete a sandbox that nobody needs any more; where Daytona does not do it now, its own time limits remain."""
    daytona = sdk()
    try:
        sandbox.delete()
    except daytona.DaytonaError:
        return
