"""What the gate costs one command: detection, decision, two records, and the parts of that, beside a budget.

Run: python benchmarks/gate.py. The budget is 0.15 ms for everything around ``run("true")``. The last rows are a whole
``shellward.Terminal`` beside a raw environment, turn by turn, so that both have the same machine.
"""

import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from shellward import Terminal, environments
from shellward.approval.context import Context
from shellward.approval.detect import detect_dangerous_command
from shellward.approval.gatekeeper import Gate
from shellward.approval.journal import Journal
from shellward.config.schema import AuditSection, Config
from shellward.telemetry.audit import AuditLog
from shellward.telemetry.masking import mask

BUDGET = 150e-6
CONTEXT = Context(backend="docker", target="0123456789ab", cwd="/srv/app", task="task-1")


def measure(what: Callable[[], object], rounds: int = 3000) -> float:
    """Return the median time of one call, in seconds."""
    for _ in range(200):
        what()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        what()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def pairs(change: str = "", rounds: int = 600, *, new: bool = False) -> tuple[float, float]:
    """Return the median time of a raw ``run("true")``, and that of what the door adds to it, in seconds.

    Args:
        change: a command that both run before each of them, untimed.
        rounds: how many pairs.
        new: each command is one that was not there before.
    """
    numbers = itertools.count()

    def once(environment: environments.Environment) -> float:
        if change:
            environment.run(change)
        command = f"true {next(numbers)}" if new else "true"
        start = time.perf_counter()
        environment.run(command)
        return time.perf_counter() - start

    with tempfile.TemporaryDirectory() as directory:
        gate = Gate(Config(), journal=Journal(AuditSection(), Path(directory) / "audit.jsonl"), terminal=False)
        with Terminal("local", gate=gate) as guarded, environments.create("local") as raw:
            for _ in range(100):
                once(guarded)
                once(raw)
            times = [(once(raw), once(guarded)) for _ in range(rounds)]
        gate.close()
    return statistics.median(a for a, _ in times), statistics.median(b - a for a, b in times)


def main() -> int:
    """Measure, print, and say whether the budget was kept."""
    with tempfile.TemporaryDirectory() as directory:
        journal = Journal(AuditSection(), Path(directory) / "audit.jsonl")
        gate = Gate(Config(), journal=journal, terminal=False)
        bare = Gate(Config(), terminal=False)
        log = AuditLog(Path(directory) / "other.jsonl")

        def guarded(command: str = "true") -> None:
            decision = gate.decide(command, CONTEXT)
            gate.record(decision, 0, 0.001)

        rows = {
            "detection": measure(lambda: detect_dangerous_command("true", cwd="/srv/app")),
            "detection and decision": measure(lambda: bare.decide("true", CONTEXT)),
            "masking": measure(lambda: mask("true")),
            "one record": measure(lambda: log.append("outcome", {"id": "x", "exit_code": 0, "duration": 0.1})),
            "all that a guarded run adds": measure(guarded),
            "the same, a longer command": measure(
                lambda: guarded(
                    "cd /srv/app && git status --short && pytest -q tests/unit -k 'not slow' 2>&1 | tail -5"
                )
            ),
        }
        gate.close()
        log.close()
    raw, added = pairs()
    rows['a raw run("true")'] = raw
    rows["what a Terminal adds to it"] = added
    rows["the same, a new command each time"] = pairs(new=True)[1]
    rows["the same, after a change of state"] = pairs("X=1", 300)[1]
    for name, seconds in rows.items():
        print(f"{name:34} {seconds * 1e6:8.1f} us   {seconds / BUDGET:5.2f} of the budget")
    return 0 if max(rows["all that a guarded run adds"], added) <= BUDGET else 1


if __name__ == "__main__":
    sys.exit(main())
