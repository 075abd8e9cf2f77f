"""Rows about Daytona: against its SDK's own calls, all at the loopback service of ``shellward.testing.services``."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from far import far
from figures import Bar, Measured, Row, Settings, Skipped, compare, timed
from transfers import moved, rows

from shellward import environments
from shellward.testing.services.launch import Launched

_DELAY: Final = 0.015
_SANDBOXES: Final = 50
_COMMANDS: Final = 20
_KEY: Final = "loopback-key"


@contextmanager
def _service() -> Iterator[Launched]:
    """Run the service, and have clients find it.

    Raises:
        Skipped: the SDK or what the service needs is not here.
    """
    try:
        import daytona  # noqa: F401

        service = Launched("shellward.testing.services.daytona")
    except (ImportError, RuntimeError) as error:
        raise Skipped(f"no loopback Daytona: {error}") from error
    before = dict(os.environ)
    os.environ.update(DAYTONA_API_KEY=_KEY, DAYTONA_API_URL=f"{service.url}/api")
    try:
        yield service
    finally:
        os.environ.clear()
        os.environ.update(before)
        service.stop()


def _sdk(url: str) -> Any:
    import daytona

    return daytona.Daytona(daytona.DaytonaConfig(api_key=_KEY, api_url=url, target="us"))


def _true(settings: Settings) -> Measured:
    with _service() as service, environments.create("daytona") as environment:
        environment.run("true").check()
        theirs = _sdk(f"{service.url}/api").get(environment.handle.partition(":")[2])
        return compare(
            timed(lambda: environment.run("true").check()),
            timed(lambda: theirs.process.exec("true")),
            samples=settings.of(200, 4),
            block=settings.of(5, 2),
        )


def _round_trip(settings: Settings) -> Measured:
    with _service() as service, far(urlsplit(service.url).port or 0, _DELAY) as near:
        url = f"http://127.0.0.1:{near}/api"
        with environments.create("daytona", api_url=url) as environment:
            environment.run("true").check()
            theirs = _sdk(url).get(environment.handle.partition(":")[2])
            theirs.process.exec("true")
            start = time.perf_counter()
            theirs.process.exec("true")
            took = (time.perf_counter() - start) * 1000
            return compare(
                timed(lambda: environment.run("true").check()),
                timed(lambda: time.sleep(2 * _DELAY)),
                samples=settings.of(100, 4),
                block=settings.of(5, 2),
                note=f"{_DELAY * 1000:g} ms added each way; the SDK's exec: {took:.0f} ms",
            )


def _fifty(settings: Settings) -> Measured:
    count, commands = settings.of(_SANDBOXES, 4), settings.of(_COMMANDS, 2)
    with _service() as service, ThreadPoolExecutor(count) as pool:
        api = _sdk(f"{service.url}/api")

        def ours(number: int) -> None:
            with environments.create("daytona") as environment:
                for turn in range(commands):
                    if environment.run(f"echo {number}.{turn}").check().stdout != f"{number}.{turn}\n":
                        raise RuntimeError("output is mixed")

        def theirs(number: int) -> None:
            sandbox = api.create()
            for turn in range(commands):
                if sandbox.process.exec(f"echo {number}.{turn}").result != f"{number}.{turn}\n":
                    raise RuntimeError("output is mixed")
            sandbox.delete()

        measured = compare(
            timed(lambda: list(pool.map(ours, range(count))), 1),
            timed(lambda: list(pool.map(theirs, range(count))), 1),
            samples=settings.of(3, 1),
            note="no error, nothing left",
        )
        if left := service.call("GET", "sandboxes")["sandboxes"]:
            raise RuntimeError(f"{len(left)} sandboxes are left")
        return measured


def _moved(settings: Settings, *, direction: str) -> Measured:
    with _service():
        return moved(settings, "daytona", direction)


ROWS = (
    Row("daytona-true", 'daytona `run("true")`', 'the SDK\'s `process.exec("true")`', "ms", Bar("<=", 0.4), _true),
    Row(
        "daytona-far",
        'daytona `run("true")`, a far cloud',
        "one round trip, slept",
        "ms",
        Bar("<=", 1.2),
        _round_trip,
    ),
    Row(
        "daytona-fifty",
        f"daytona, {_SANDBOXES} sandboxes at once: create, {_COMMANDS} commands each, close",
        "the same by the SDK's own calls",
        "s",
        Bar("<", 60, "figure"),
        _fifty,
    ),
    *rows("daytona", _moved),
)
