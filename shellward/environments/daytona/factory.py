"""What the module offers: environments made, found, listed and removed (see BackendFactory)."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import msgspec

from shellward.core.errors import ConfigError, EnvironmentUnavailable, MissingDependency
from shellward.core.limits import LEASE
from shellward.core.types import EnvironmentInfo
from shellward.environments import keeping
from shellward.environments.base import Diagnosis, OnStep
from shellward.environments.config import parse_config
from shellward.environments.daytona.backend import DaytonaBackend
from shellward.environments.daytona.client import CHANGING, Client, again, explained, mapped, sdk
from shellward.environments.daytona.config import KIND, LABEL, DaytonaConfig, Kept, check
from shellward.environments.daytona.making import make
from shellward.environments.daytona.sandbox import found, run, state


def create(config: Mapping[str, object], progress: OnStep | None = None) -> DaytonaBackend:
    """See BackendFactory."""
    sdk()
    settings = parse_config(DaytonaConfig, config, KIND)
    check(settings)
    client = Client(settings)
    try:
        made = make(client, settings, progress)
    except BaseException:
        client.close()
        raise
    return DaytonaBackend(client, made.sandbox, made.scratch, made.kept, settings)


def attach(handle: str) -> DaytonaBackend:
    """See BackendFactory. A sandbox that was stopped or archived is started."""
    sdk()
    client = Client(DaytonaConfig())
    try:
        sandbox = found(client, handle)
        name = sandbox.labels.get(f"{LABEL}.id")
        if name is None:
            raise EnvironmentUnavailable(f"{handle} was not made by Shellward")  # noqa: TRY301
        now = state(sandbox)
        if now in ("stopped", "archived"):
            with mapped(handle):
                again(sandbox.start)
        elif now != "started":
            raise EnvironmentUnavailable(f"{handle} is {now}; create a new environment")  # noqa: TRY301
        lease = float(sandbox.labels.get(f"{LABEL}.lease", LEASE))
        scratch = run(sandbox, keeping.find(name), handle).rstrip("\n")
        saved = run(sandbox, keeping.revive(scratch, max(1, round(lease))), handle) if scratch else ""
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
            again(sandbox.delete, until=time.monotonic() + CHANGING)
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
            every = again(lambda: list(client.api.list(daytona.ListSandboxesQuery())))
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
        state="running" if state(sandbox) == "started" else state(sandbox),
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
