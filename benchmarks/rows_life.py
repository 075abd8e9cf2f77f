"""Rows about many callers at once, and about a container from nothing to its first result."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from figures import Bar, Measured, Row, Settings, compare, quietly, timed
from places import image_there, place, usual

from shellward import environments
from shellward.core.types import Result

_THREADS: Final = 64


def _threads(settings: Settings) -> Measured:
    with place("docker", settings) as environment, ThreadPoolExecutor(_THREADS) as pool:

        def one(number: int) -> Result:
            return environment.run(f"echo {number}.a; echo {number}.b >&2; sleep 0.5; echo {number}.c")

        def ours() -> None:
            for number, result in enumerate(pool.map(one, range(_THREADS))):
                if (result.stdout, result.stderr) != (f"{number}.a\n{number}.c\n", f"{number}.b\n"):
                    raise RuntimeError(f"output is mixed: thread {number} got {result.output[:200]!r}")

        words = usual(environment, "sleep", "0.5")

        def theirs() -> None:
            for _ in pool.map(lambda _: quietly(words), range(_THREADS)):
                pass

        # The round that compare throws away opens the shells.
        return compare(timed(ours, 1), timed(theirs, 1), samples=settings.of(8, 1), note="no output mixed")


def _create(settings: Settings) -> Measured:
    image_there(settings)

    def ours() -> float:
        start = time.perf_counter()
        with environments.create("docker", image=settings.image, pull="never") as environment:
            environment.run("true").check()
            return (time.perf_counter() - start) * 1000

    def theirs() -> float:
        start = time.perf_counter()
        # It ends by itself, should this process not live to remove it.
        container = quietly(["docker", "run", "-d", "--rm", settings.image, "sleep", "300"]).strip()
        took = (time.perf_counter() - start) * 1000
        quietly(["docker", "rm", "-f", container])
        return took

    return compare(ours, theirs, samples=settings.of(20, 2))


ROWS = (
    Row(
        "docker-threads",
        f"docker, {_THREADS} threads, one Environment, `sleep 0.5` each",
        f"{_THREADS} x `docker exec` at once",
        "s",
        Bar("<", 1.5, "figure"),
        _threads,
    ),
    Row(
        "docker-create",
        "docker, from `create` to the first result",
        "`docker run -d`, same image",
        "ms",
        Bar("<=", 1.4),
        _create,
    ),
)
