"""The loopback Daytona as a place of the suite: one service per process that runs tests, and views from outside."""

import atexit
import contextlib
import importlib.util
import os
from collections.abc import Iterator
from functools import cache

from shellward.environments.environment import Environment
from shellward.testing.place import Seen, SmallDisk, Viewed
from shellward.testing.services.launch import Launched

_KEY = "loopback-key"
_MINUTE = "25"
"""Seconds that a minute takes: an unused sandbox is gone soon, and one whose client renews the usual lease stays."""


@cache
def daytona_service() -> Launched:
    """Start the service, and have clients find it.

    Raises:
        RuntimeError: it does not start.
    """
    service = Launched("shellward.testing.services.daytona", "--minute", _MINUTE)
    atexit.register(service.stop)
    os.environ.update(DAYTONA_API_KEY=_KEY, DAYTONA_API_URL=f"{service.url}/api")
    return service


@cache
def daytona_absent() -> str:
    """Say what is missing for the service; empty when it runs."""
    if importlib.util.find_spec("daytona") is None:
        return "the Daytona SDK is not installed"
    try:
        daytona_service()
    except RuntimeError as error:
        return str(error)
    return ""


def _id(env: Viewed) -> str:
    return env.handle.partition(":")[2]


def daytona_processes(env: Viewed) -> list[Seen]:
    """Have the service list a sandbox's processes; none when it is gone."""
    rows = daytona_service().call("GET", f"table/{_id(env)}")["rows"]
    return [Seen(pid, state, words) for pid, state, words in rows]


def daytona_evicts(env: Environment) -> None:
    """Have a sandbox be gone at once."""
    daytona_service().call("POST", f"evict/{_id(env)}")


def daytona_labelled(label: str, value: str) -> list[str]:
    """List sandboxes that have a label, and the calls that the service had no answer for."""
    service = daytona_service()
    found = service.call("GET", "sandboxes")["sandboxes"]
    return [each["id"] for each in found if each["labels"].get(label) == value] + service.lacking()


@contextlib.contextmanager
def daytona_small_disk() -> Iterator[SmallDisk]:
    """Name a volume of 1 MB."""
    yield SmallDisk({"volumes": [{"name": "small-1m", "target": "/small"}]}, "/small")
