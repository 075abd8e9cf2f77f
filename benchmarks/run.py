#!/usr/bin/env python3
"""Print one table of figures, each beside a baseline of the same run. See docs/performance.md."""

import argparse
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import report
import rows_agent
import rows_calls
import rows_daytona
import rows_life
import rows_mcp
import rows_modal
import rows_output
import rows_processes
import rows_ssh
import rows_startup
import rows_terminals
import rows_tools
import rows_watching
from figures import Row, Settings, Skipped

ROWS: Final = (
    *rows_calls.ROWS,
    *rows_output.ROWS,
    *rows_life.ROWS,
    *rows_processes.ROWS,
    *rows_watching.ROWS,
    *rows_ssh.ROWS,
    *rows_daytona.ROWS,
    *rows_modal.ROWS,
    *rows_startup.ROWS,
    *rows_terminals.ROWS,
    *rows_tools.ROWS,
    *rows_agent.ROWS,
    *rows_mcp.ROWS,
)
PAGE: Final = Path(__file__).parent.parent / "docs" / "performance.md"


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="Exit status: 0; 1 when a row failed to run. A bar that does not hold is shown and is no failure.",
    )
    parser.add_argument("--only", metavar="NAME", action="append", help="this row, or a pattern (docker-*); repeat")
    parser.add_argument("--quick", action="store_true", help="few samples, little data: do the rows work?")
    parser.add_argument("--image", default="shellward/sandbox:latest", help="for the Docker rows (%(default)s)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--markdown", action="store_true", help="write what was measured into docs/performance.md, too")
    options = parser.parse_args(argv)
    if options.markdown and options.quick:
        parser.error("--markdown publishes figures: without --quick")
    for pattern in options.only or ():
        if not any(fnmatchcase(row.name, pattern) for row in ROWS):
            parser.error(f"--only: no row is called {pattern!r}; there are {', '.join(row.name for row in ROWS)}")
    return options


def _measure(row: Row, settings: Settings) -> report.Line:
    sys.stderr.write(f"{row.name} ...\n")
    try:
        return report.Line(row, row.measure(settings))
    except Skipped as reason:
        return report.Line(row, None, f"skipped: {reason}")
    except Exception as error:  # noqa: BLE001  # one row that fails must not cost the others
        return report.Line(row, None, f"FAILED: {type(error).__name__}: {error}", failed=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status."""
    options = _arguments(argv)
    settings = Settings(image=options.image, quick=options.quick)
    facts = report.machine(settings)
    chosen = [row for row in ROWS if not options.only or any(fnmatchcase(row.name, p) for p in options.only)]
    lines = [_measure(row, settings) for row in chosen]
    print(report.as_json(lines, facts) if options.json else report.as_text(lines, facts))
    failed = any(line.failed for line in lines)
    if options.markdown:
        if failed or any(line.measured is None for line in lines):
            sys.stderr.write(f"{PAGE.name} stays as it is: not every row was measured\n")
            return 1
        page = PAGE.read_text(encoding="utf-8")
        page = report.renew(page, lines) if options.only else report.fill(page, report.as_markdown(lines, facts))
        PAGE.write_text(page, encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
