"""Print what detection costs: per ordinary command, seen for the first time, and for 128 KB of hostile text.

Commands are measured cold, as a user has it: each is seen once by a fresh process, and what is compiled or built at
its first use counts; imports before the first command do not. Each process sees all of them in the same order, and of
several processes the least time of each command counts, as others who work on the machine can only add to it. The
time is that of the processor. Beside it stand the same commands seen again (warm), and what the very first command of
a process costs.

Usage: python benchmarks/detection.py [COMMANDS.jsonl] [--against DIRECTORY]

With --against, the commands are also seen by the checkout in DIRECTORY, in turns, and the last column is the ratio.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from shapes import NAMES, shape

HERE = Path(__file__).parents[1]
PROCESSES = 5
FIRST = 40
"""So many processes see one command only."""
SIZE = 128 * 1024
MEDIAN, LATE, LARGE = 50e-6, 1e-3, 0.1
"""Most seconds: for the median command, for the 99th percentile, for SIZE characters."""


@dataclass
class Times:
    """Seconds that each command has cost, the least so far."""

    cold: list[float]
    warm: list[float]

    def least(self, other: "Times") -> "Times":
        """Join with those of another process."""
        return Times(list(map(min, self.cold, other.cold)), list(map(min, self.warm, other.warm)))


def share(times: list[float], part: float) -> float:
    """Return the time that so much of the commands keep to."""
    return sorted(times)[min(int(len(times) * part), len(times) - 1)]


def timed(command: str) -> float:
    """Analyse once; return seconds."""
    from shellward.approval.detect import detect_dangerous_command

    start = time.process_time()
    detect_dangerous_command(command, cwd="/srv/app")
    return time.process_time() - start


def see(commands: list[str]) -> None:
    """Be the fresh process: see all commands, then all again; print the times."""
    import shellward.approval.detect  # noqa: F401  # imports before the first command do not count

    print(json.dumps([[timed(command) for command in commands] for _ in range(2)]))


def seen_by(tree: Path, commands: list[str], cache: Path) -> Times:
    """Have a fresh process see commands, with the code of a checkout."""
    # As in an installation: there is bytecode, and it is up to date.
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONPYCACHEPREFIX": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    words = [sys.executable, __file__, "--see", "-"]
    given = json.dumps(commands)
    done = subprocess.run(words, env=environment, input=given, stdout=subprocess.PIPE, text=True, check=True)
    return Times(*json.loads(done.stdout))


def measure(commands: list[str], trees: list[Path], processes: int) -> list[Times]:
    """Have each checkout see commands several times, in turns."""
    with tempfile.TemporaryDirectory() as cache:
        for tree in trees:
            seen_by(tree, commands, Path(cache))  # writes the bytecode
        found = [seen_by(tree, commands, Path(cache)) for tree in trees]
        for _ in range(processes - 1):
            found = [
                times.least(seen_by(tree, commands, Path(cache))) for times, tree in zip(found, trees, strict=True)
            ]
    return found


def first_ones(commands: list[str], trees: list[Path]) -> list[list[float]]:
    """Return what single commands cost as the first one of a process."""
    found: list[list[float]] = [[] for _ in trees]
    for command in commands[:: max(1, len(commands) // FIRST)]:
        for times, measured in zip(found, measure([command], trees, 2), strict=True):
            times.extend(measured.cold)
    return found


def row(name: str, seconds: list[float], bar: float = 0.0) -> int:
    """Print one row; the second figure is the baseline. Return whether the bar was missed."""
    against = f"   {seconds[0] / seconds[1]:5.2f} times {seconds[1] * 1e6:.0f} us" if len(seconds) > 1 else ""
    missed = bool(bar) and seconds[0] > bar
    verdict = "" if not bar else f"   over {bar * 1e6:.0f} us" if missed else "   ok"
    print(f"{name:34} {seconds[0] * 1e6:8.0f} us{against}{verdict}")
    return missed


def large() -> int:
    """Measure the large texts, each beside half of it; return how many take too long."""
    missed = 0
    for name in NAMES:
        half, whole = (min(timed(shape(name, size)) for _ in range(3)) for size in (SIZE // 2, SIZE))
        missed += whole > LARGE
        verdict = "ok" if whole <= LARGE else f"over {LARGE * 1e3:.0f} ms"
        print(f"{name:26} {whole * 1e3:8.1f} ms, {whole / half:.1f} times half of it   {verdict}")
    return missed


def main() -> int:
    """Measure, print, and say whether the bars were kept."""
    default = HERE.parent / "shared" / "data" / "commands_real_dev.jsonl"
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("commands", nargs="?", type=Path, default=default)
    parser.add_argument("--against", type=Path, metavar="DIRECTORY")
    parser.add_argument("--see", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.see:
        see(json.load(sys.stdin))
        return 0
    commands = [json.loads(line)["command"] for line in given.commands.read_text(encoding="utf-8").splitlines()]
    trees = [HERE, *([given.against.resolve()] if given.against else [])]
    print(f"{len(commands)} commands, each seen once by a fresh process")
    found = measure(commands, trees, PROCESSES)
    missed = row("median", [share(times.cold, 0.5) for times in found], MEDIAN)
    row("90 of 100", [share(times.cold, 0.9) for times in found])
    missed += row("99 of 100", [share(times.cold, 0.99) for times in found], LATE)
    row("all of them", [sum(times.cold) for times in found])
    row("median, seen again", [share(times.warm, 0.5) for times in found])
    print(f"cold is {sum(found[0].cold) / sum(found[0].warm):.1f} times warm")
    firsts = first_ones(commands, trees)
    row("the first of a process, median", [share(times, 0.5) for times in firsts])
    row("the first of a process, worst", [max(times) for times in firsts])
    return 1 if missed + large() else 0


if __name__ == "__main__":
    sys.exit(main())
