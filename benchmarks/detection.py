"""Print what detection costs: per ordinary command, and for 128 KB of repetitive or hostile text.

The time is that of the processor, so that others who work on the machine disturb less.

Usage: python benchmarks/detection.py [COMMANDS.jsonl]
"""

import json
import sys
import time
from pathlib import Path

from shapes import NAMES, shape

from shellward.approval import detect_dangerous_command

SIZE = 128 * 1024
BAR = 0.1
"""Most seconds for SIZE characters."""


def timed(command: str) -> float:
    """Analyse once; return seconds."""
    start = time.process_time()
    detect_dangerous_command(command)
    return time.process_time() - start


def main() -> int:
    """Measure, print, and say whether the bar was kept."""
    default = Path(__file__).parents[2] / "shared" / "data" / "commands_real_dev.jsonl"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    commands = [json.loads(line)["command"] for line in path.read_text(encoding="utf-8").splitlines()]
    for command in commands:
        timed(command)
    times = sorted(min(timed(command) for _ in range(3)) for command in commands)
    median, late = times[len(times) // 2], times[len(times) * 99 // 100]
    print(f"median {median * 1e6:.0f} us, p99 {late * 1e6:.0f} us over {len(times)} commands")
    missed = 0
    for name in NAMES:
        half, whole = (min(timed(shape(name, size)) for _ in range(3)) for size in (SIZE // 2, SIZE))
        missed += whole > BAR
        verdict = "ok" if whole <= BAR else f"over {BAR * 1e3:.0f} ms"
        print(f"{name:26} {whole * 1e3:8.1f} ms, {whole / half:.1f} times half of it   {verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
