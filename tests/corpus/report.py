"""Print recall, false alarms and misses per category and technique for a corpus file.

Usage: python tests/corpus/report.py FILE.jsonl [--misses]

Lines without a label count for the flag rate only. Commands are analysed, never executed.
"""

import json
import sys
from collections import Counter
from pathlib import Path

from shellward.approval import detect_dangerous_command


def main(paths: list[str], misses: bool) -> None:
    for path in paths:
        rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
        rows = [row for row in rows if not row.get("ambiguous")]
        hits: Counter[tuple[str, str]] = Counter()
        totals: Counter[tuple[str, str]] = Counter()
        right = {True: 0, False: 0, None: 0}
        count = {True: 0, False: 0, None: 0}
        wrong = []
        for row in rows:
            label = row.get("dangerous")
            detection = detect_dangerous_command(row["command"])
            flagged = bool(detection)
            count[label] += 1
            right[label] += flagged
            key = (row.get("category", ""), row.get("technique", ""))
            totals[key] += 1
            hits[key] += flagged == bool(label)
            if label is not None and flagged != label:
                wrong.append((row, detection))
        print(f"{Path(path).name}: {len(rows)} commands")
        if count[True]:
            print(f"  recall          {right[True]}/{count[True]} = {right[True] / count[True]:.1%}")
        if count[False]:
            print(f"  false positives {right[False]}/{count[False]} = {right[False] / count[False]:.1%}")
        if count[None]:
            print(f"  flagged         {right[None]}/{count[None]} = {right[None] / count[None]:.1%}")
        for key in sorted(totals):
            if hits[key] < totals[key] and count[True]:
                print(f"    {hits[key]:4}/{totals[key]:<4} {key[0]} {key[1]}")
        if misses:
            for row, detection in wrong:
                found = ",".join(f.rule for f in detection.findings if f.severity >= 2)
                print(
                    "  MISS " if row["dangerous"] else "  FALSE",
                    json.dumps(row["command"])[1:300],
                    f"[{found}]",
                )


if __name__ == "__main__":
    main([arg for arg in sys.argv[1:] if not arg.startswith("--")], "--misses" in sys.argv)
