#!/usr/bin/env python3
"""Overlapping commands of one environment: what they cost beside one thread's, and what a long state adds.

Each figure is beside its baseline of the same run. See docs/decisions/2026-11-23-overlapping-commands.md.
"""

import argparse
import asyncio
import itertools
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from shellward import aio, environments
from shellward.environments import Environment

_FEW: Final = 100
_MANY: Final = 10_000
_WARM: Final = 6
"""Commands of each caller that are not counted, in which shells open, and take the state over."""


@dataclass(frozen=True, slots=True)
class Load:
    """The work that a number of callers got done.

    Attributes:
        rate: commands in a second, all together.
        median: seconds that a command took.
        worst: seconds of which 99 % took less.
        share: commands of the busiest caller to those of the least busy one.
        cost: processor time of a command in seconds, the client's and its shell's: says most where the machine is busy.
    """

    rate: float
    median: float
    worst: float
    share: float
    cost: float


def _spent(environment: Environment) -> float:
    """Return the seconds of processor time that this client and the shells of an environment have used."""
    shells = environment._pool.shells()  # noqa: SLF001  # nobody else knows them
    said = environment.run("cat " + " ".join(f"/proc/{shell.pid}/stat" for shell in shells if shell.pid)).check().stdout
    ticks = sum(int(each) for line in said.splitlines() for each in line.rpartition(")")[2].split()[11:15])
    return time.process_time() + ticks / 100


def _load(took: list[list[float]], seconds: float, spent: float) -> Load:
    everything = sorted(itertools.chain.from_iterable(took))
    counts = [len(each) for each in took]
    worst = everything[min(len(everything) - 1, len(everything) * 99 // 100)]
    share = max(counts) / max(1, min(counts))
    return Load(len(everything) / seconds, statistics.median(everything), worst, share, spent / len(everything))


def threads(environment: Environment, command: str, callers: int, seconds: float) -> Load:
    """Have threads run a command over and over."""
    took: list[list[float]] = [[] for _ in range(callers)]
    gate = threading.Barrier(callers + 1)

    def work(mine: list[float]) -> None:
        for _ in range(_WARM):
            environment.run(command)
        gate.wait()
        gate.wait()
        until = time.perf_counter() + seconds
        while (began := time.perf_counter()) < until:
            environment.run(command)
            mine.append(time.perf_counter() - began)

    running = [threading.Thread(target=work, args=(each,)) for each in took]
    for each in running:
        each.start()
    gate.wait()
    before = _spent(environment)
    gate.wait()
    began = time.perf_counter()
    for each in running:
        each.join()
    took_in_all = time.perf_counter() - began
    return _load(took, took_in_all, _spent(environment) - before)


def tasks(environment: Environment, command: str, callers: int, seconds: float) -> Load:
    """Have tasks of asyncio do the same."""
    took: list[list[float]] = [[] for _ in range(callers)]

    async def main() -> tuple[float, float]:
        place = aio.Environment(environment)
        for _ in range(_WARM):
            await asyncio.gather(*(place.run(command) for _ in range(callers)))
        before = await asyncio.to_thread(_spent, environment)
        start = time.perf_counter()

        async def work(mine: list[float]) -> None:
            while (began := time.perf_counter()) < start + seconds:
                await place.run(command)
                mine.append(time.perf_counter() - began)

        await asyncio.gather(*(work(each) for each in took))
        took_in_all = time.perf_counter() - start
        return took_in_all, await asyncio.to_thread(_spent, environment) - before

    return _load(took, *asyncio.run(main()))


def beside(environment: Environment, samples: int) -> float:
    """Return the median of seconds that a command takes while another one runs."""
    with environment.stream("sleep 600"):
        environment.run("true")
        return statistics.median(_timed(lambda: environment.run("true")) for _ in range(samples))


def restart(environment: Environment, samples: int) -> float:
    """Return the median of seconds that it takes to lose a shell and have the next one ready."""

    def once() -> None:
        environment.run("exit 3")
        environment.run("true")

    return statistics.median(_timed(once) for _ in range(samples))


def _timed(deed: Callable[[], object]) -> float:
    began = time.perf_counter()
    deed()
    return time.perf_counter() - began


def _fill(environment: Environment, what: str, count: int) -> None:
    if what == "variables":
        environment.run(f'for i in $(seq {count}); do declare "v$i=value_$i"; done').check()
        return
    body = "{ echo $i; if true; then echo b; fi; }"
    environment.run(f'for i in $(seq {count}); do eval "f$i() {body}"; done').check()


def _print(what: str, figure: str, ratio: float, wanted: str) -> None:
    print(f"{what:58} {figure:>26} {ratio:8.2f}x   wanted {wanted}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", action="append", help="local, docker; repeat (both)")
    parser.add_argument("--image", default="shellward/sandbox:latest", help="for docker (%(default)s)")
    parser.add_argument("--command", default="true", help="what runs (%(default)s)")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each load (%(default)s)")
    parser.add_argument("--only", choices=["loads", "states"], help="one half")
    options = parser.parse_args()
    for kind in options.kind or ["local", "docker"]:
        config: dict[str, Any] = {"image": options.image, "network": "none"} if kind == "docker" else {}
        with environments.create(kind, **config) as environment:
            if options.only != "states":
                _loads(kind, environment, options.command, options.seconds)
        if options.only == "loads":
            continue
        for what in ("variables", "functions"):
            figures: dict[int, tuple[float, float]] = {}
            for count in (_FEW, _MANY):
                with environments.create(kind, **config) as environment:
                    _fill(environment, what, count)
                    figures[count] = (beside(environment, 15), restart(environment, 5))
            (few, _), (many, again) = figures[_FEW], figures[_MANY]
            _print(f"{kind}: beside, {_MANY} {what} to {_FEW}", f"{many * 1000:.2f} ms", many / few, "<= 2")
            _print(f"{kind}: restart, {_MANY} {what}, to 200 ms", f"{again * 1000:.0f} ms", again / 0.2, "<= 1")


def _loads(kind: str, environment: Environment, command: str, seconds: float) -> None:
    one = threads(environment, command, 1, seconds)
    _print(f"{kind}: one thread", f"{one.rate:.0f}/s, {one.cost * 1000:.2f} ms", 1.0, "1")
    for callers in (8, 64):
        load = threads(environment, command, callers, seconds)
        _print(f"{kind}: {callers} threads to one", f"{load.rate:.0f}/s", load.rate / one.rate, ">= 1")
        _print(
            f"{kind}: {callers} threads, 99 % to median",
            f"{load.worst * 1000:.2f} ms",
            load.worst / load.median,
            "<= 20",
        )
        _print(f"{kind}: {callers} threads, largest to least share", "", load.share, "<= 3")
        _print(
            f"{kind}: {callers} threads, processor time to one", f"{load.cost * 1000:.2f} ms", load.cost / one.cost, "-"
        )
        again = tasks(environment, command, callers, seconds)
        _print(
            f"{kind}: {callers} tasks of asyncio to threads", f"{again.rate:.0f}/s", again.rate / load.rate, ">= 0.7"
        )
        _print(
            f"{kind}: {callers} tasks, processor time to threads",
            f"{again.cost * 1000:.2f} ms",
            again.cost / load.cost,
            "-",
        )


if __name__ == "__main__":
    main()
