"""How a sandbox is made, with an environment in it: a directory and a watchdog. What fails half-way leaves nothing."""

import re
import secrets
import threading
import time
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from shellward.core.errors import EnvironmentUnavailable
from shellward.environments import keeping
from shellward.environments.base import OnStep
from shellward.environments.daytona.client import PAUSES, Client, again, explained, for_now, rest, sdk, short, unsent
from shellward.environments.daytona.config import LABEL, DaytonaConfig, Kept
from shellward.environments.daytona.sandbox import parameters, run
from shellward.environments.owner import owner

_CLEAR: Final = 5.0
"""Seconds for an answer to who wants to remove what a creation has left: Daytona may be what has failed."""
_CLEAR_LIMIT: Final = 30.0
_LOOKS: Final = 3
"""So often a sandbox may not be there, or Daytona not answer, until that is taken for good."""


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
        answer = run(sandbox, first + text, "sandbox", before=keeping.clear(name))
        where = re.search(rf"^(/.*/shellward-{name})\n(/.*)\n\Z", answer, re.MULTILINE | re.DOTALL)
        if where is None:
            raise EnvironmentUnavailable(f"the sandbox does not work as one: {short(answer)}")  # noqa: TRY301
        return Made(sandbox=sandbox, scratch=where[1], kept=msgspec.structs.replace(kept, cwd=where[2]))
    except BaseException:
        delete(sandbox)
        raise


def _made(client: Client, settings: DaytonaConfig, labels: dict[str, str], progress: OnStep | None) -> Any:
    """Make a sandbox, one whatever is refused: its name says whether it is there."""
    daytona = sdk()
    began = f"sandbox of {settings.image or settings.snapshot or 'the default snapshot'!r}"
    more: dict[str, Any] = {}
    if settings.image is not None and progress is not None:
        more["on_snapshot_create_logs"] = progress
    wanted = Wanted(settings.name or f"shellward-{labels[f'{LABEL}.id']}", labels[f"{LABEL}.id"])
    settings = msgspec.structs.replace(settings, name=wanted.name)
    deadline = time.monotonic() + settings.create_timeout
    refused = True  # until it is known otherwise; then nothing is there
    tries = 0
    try:
        while True:
            left = max(1.0, deadline - time.monotonic())
            try:
                return client.api.create(parameters(client, settings, labels), timeout=left, **more)
            except daytona.DaytonaError as error:
                refused = unsent(error)
                taken = isinstance(error, daytona.DaytonaConflictError)
                if not taken and not for_now(error):
                    raise
                if (found := wanted.find(client)) is not None:
                    return _started(found, deadline)
                if taken or tries >= len(PAUSES):
                    raise
                time.sleep(rest(error, tries))
                tries += 1
    except BaseException as error:
        if not refused:
            _clear(client, wanted)
        if isinstance(error, daytona.DaytonaError):
            raise EnvironmentUnavailable(explained(error, began)) from error
        raise


def _started(sandbox: Any, deadline: float) -> Any:
    """Wait until a sandbox is started; a question that is refused says nothing about it."""

    def wait() -> Any:
        sandbox.wait_for_sandbox_start(timeout=max(1.0, deadline - time.monotonic()))
        return sandbox

    return again(wait)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The sandbox that a creation was to make.

    Lists of sandboxes tell late of a new one, so it is asked for by name.

    Attributes:
        name: of the sandbox.
        label: says that it is this one and not another of that name.
    """

    name: str
    label: str

    def find(self, client: Client) -> Any:
        """Find it; None: it is not there.

        Raises:
            DaytonaError: nobody knows.
        """
        try:
            found = again(lambda: client.api.get(self.name, request_timeout=_CLEAR))
        except sdk().DaytonaNotFoundError:
            return None
        return found if found.labels.get(f"{LABEL}.id") == self.label else None


def _clear(client: Client, wanted: Wanted) -> None:
    """Remove what a creation that failed has left: a sandbox may be there, and cost.

    One that is being made cannot be deleted yet. It is, later; the program does not end before, for half a minute.
    """
    thread = threading.Thread(target=_remove, args=(client, wanted), name="shellward-daytona-clear", daemon=False)
    thread.start()
    thread.join(_CLEAR)


def _remove(client: Client, wanted: Wanted) -> None:
    daytona = sdk()
    deadline = time.monotonic() + _CLEAR_LIMIT
    missing = unreachable = tries = 0
    while time.monotonic() < deadline and missing < _LOOKS and unreachable < _LOOKS:
        try:
            found = wanted.find(client)
            if found is not None:
                found.delete(timeout=_CLEAR)
                break
            missing += 1
        except daytona.DaytonaNotFoundError:
            break
        except daytona.DaytonaConnectionError:
            unreachable += 1
        except daytona.DaytonaError:
            pass  # refused, for now or because it is being made; else its own time limits remain
        time.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
        tries += 1
    client.close()  # once more: connections of these calls


def delete(sandbox: Any) -> None:
    """Delete a sandbox that nobody needs any more; where Daytona does not do it now, its own time limits remain."""
    daytona = sdk()
    try:
        again(sandbox.delete, until=time.monotonic() + _CLEAR)
    except daytona.DaytonaError:
        return
