"""``python -m campaign --seed N --rounds M --places local,docker,ssh [--replay SEED:ROUND]``, from ``tests/``."""

import argparse
import dataclasses
import sys
import time
from collections import Counter
from collections.abc import Sequence

from . import plan as plans
from .round import Report, Round, absent


def main(arguments: Sequence[str] | None = None) -> int:
    """See the module; returns 1 when something was violated."""
    parser = argparse.ArgumentParser(prog="python -m campaign", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--first", type=int, default=0, help="number of the first round")
    parser.add_argument("--places", default=",".join(plans.PLACES), help="of %(default)s")
    parser.add_argument("--fault", help="only faults whose names begin so")
    parser.add_argument("--replay", metavar="SEED:ROUND", help="this round only; say --places and --fault as before")
    parser.add_argument("--threads", type=int, help="so many in each round; else 1 or 8")
    parser.add_argument("--slack", type=float, default=0.0, help="seconds on top of all limits, on a busy machine")
    parser.add_argument("--keep", action="store_true", help="leave the directories of the rounds")
    given = parser.parse_args(arguments)
    places = given.places.split(",")
    if unknown := set(places) - set(plans.PLACES):
        parser.error(f"no such places: {', '.join(sorted(unknown))}")
    if why := absent(places):
        parser.error(why)
    seed, numbers = given.seed, range(given.first, given.first + given.rounds)
    if given.replay:
        seed, number = map(int, given.replay.split(":"))
        numbers = range(number, number + 1)
    reports = []
    for number in numbers:
        plan = plans.make(seed, number, places, given.fault)
        if given.threads:
            plan = dataclasses.replace(plan, threads=given.threads)
        report = Round(plan, slack=given.slack, keep=given.keep).run()
        tell(report, given)
        reports.append(report)
    return summary(reports)


def tell(report: Report, given: argparse.Namespace) -> None:
    """Print a line on a round, and more where something was violated."""
    plan = report.plan
    how = f"{plan.place}-{plan.shell}{'-' + plan.way if plan.place == 'docker' else ''}"
    print(
        f"{time.strftime('%H:%M:%S')} {plan.name} {how} {plan.fault} at {plan.at} of {len(plan.calls)} x{plan.threads}:"
        f" {report.fault}; {report.seconds:.1f} s, {report.commands} commands {dict(report.claims)}",
        flush=True,
    )
    for kind, what in report.violations:
        print(f"  VIOLATION {kind}: {what}")
    if report.violations:
        more = f" --fault {given.fault}" if given.fault else ""
        more += f" --threads {given.threads}" if given.threads else ""
        print(f"  again: python -m campaign --places {given.places}{more} --replay {plan.name}", flush=True)


def summary(reports: Sequence[Report]) -> int:
    """Print what there was in all."""
    kinds = Counter(kind for report in reports for kind in {kind for kind, _ in report.violations})
    print(
        f"{len(reports)} rounds, {sum(each.commands for each in reports)} commands, "
        f"{sum(each.processes for each in reports)} processes, "
        f"{sum(bool(each.violations) for each in reports)} rounds with a violation {dict(kinds)}"
    )
    for place in plans.PLACES:
        there = [each for each in reports if each.plan.place == place]
        if there:
            print(f"  {place}: {sum(not each.violations for each in there)} of {len(there)} rounds without a violation")
    bad = Counter(each.plan.fault for each in reports if each.violations)
    for fault, times in bad.most_common():
        print(f"  {fault}: {times} of {sum(each.plan.fault == fault for each in reports)} rounds with a violation")
    return int(bool(kinds))


if __name__ == "__main__":
    sys.exit(main())
