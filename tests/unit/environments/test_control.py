"""How a command is ended, step by step, with answers from a script and a clock that can be moved."""

from collections.abc import Iterable, Iterator

import pytest

from shellward.core.limits import KILL_GRACE
from shellward.environments import control
from shellward.environments.control import Pause, Round, Step, carry_out, kill_plan


class Command:
    """What kill_plan looks at of an Execution."""

    died = False


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(control, "time", made)
    return made


def play(
    command: Command, clock: Clock, answers: Iterable[tuple[int, int]], *, dies_at: int = -1, first: str = "TERM"
) -> list[Step]:
    """Answer each Round from a list (the last one again and again); the shell dies after that many rounds."""
    plan = kill_plan(command, first)  # type: ignore[arg-type]
    script: Iterator[tuple[int, int]] = iter(answers)
    answer, steps, rounds = (0, 0), [], 0
    try:
        step = next(plan)
        while True:
            steps.append(step)
            assert len(steps) < 1000
            if isinstance(step, Round):
                answer = next(script, answer)
                rounds += 1
                command.died = command.died or rounds == dies_at
            else:
                clock.now += step.seconds
            step = plan.send(answer)
    except StopIteration:
        return steps


def signals(steps: list[Step]) -> list[str]:
    return [step.signal for step in steps if isinstance(step, Round)]


def test_what_ends_when_it_is_asked_to_sees_one_signal(clock: Clock) -> None:
    steps = play(Command(), clock, [(0, 1)], dies_at=1)
    assert signals(steps) == ["TERM", "0", "0"]  # and two more looks, for what hops


def test_the_first_signal_is_the_callers_choice(clock: Clock) -> None:
    assert signals(play(Command(), clock, [(2, 1), (0, 0)], dies_at=2, first="INT")) == ["INT", "0", "0", "0"]


def test_what_does_not_listen_is_killed_when_its_time_is_up(clock: Clock) -> None:
    began = clock.now
    steps = play(Command(), clock, [(1, 1)] * 1 + [(1, 1)] * 15 + [(1, 1), (0, 0)], dies_at=18)
    found = signals(steps)
    assert found[0] == "TERM"
    assert "KILL" in found
    assert set(found[1 : found.index("KILL")]) == {"0"}
    assert clock.now - began < 2 * KILL_GRACE + 0.2


def test_a_shell_that_does_not_end_in_order_is_killed_and_so_is_what_it_started_last(clock: Clock) -> None:
    steps = play(Command(), clock, [(0, 1)])
    assert signals(steps) == ["TERM", "0", "0", "KILL+", "KILL"]
    assert sum(step.seconds for step in steps if isinstance(step, Pause)) >= KILL_GRACE


def test_a_shell_that_is_gone_is_not_killed_again(clock: Clock) -> None:
    assert signals(play(Command(), clock, [(0, 0)])) == ["TERM", "0", "0"]


def test_what_forks_faster_than_it_dies_is_stopped_first(clock: Clock) -> None:
    found = signals(play(Command(), clock, [(5000, 1)] * 6 + [(0, 0)], dies_at=7))
    assert found[:3] == ["TERM", "STOP", "KILL+"]


def test_it_ends_even_when_nothing_helps(clock: Clock) -> None:
    began = clock.now
    steps = play(Command(), clock, [(3, 1)])
    assert len(steps) < 200
    assert clock.now - began < 3


def test_carry_out_gives_each_answer_to_the_plan() -> None:
    class Recorded:
        def __init__(self) -> None:
            self.seen: list[str] = []

        def round(self, target: object, signal: str) -> tuple[int, int]:
            assert target == "target"
            self.seen.append(signal)
            return len(self.seen), 0

    def plan() -> Iterator[Step]:
        got.append((yield Round("A")))
        yield Pause(1.5)
        got.append((yield Round("B")))

    got: list[tuple[int, int]] = []
    pauses: list[float] = []
    recorded = Recorded()
    carry_out(plan(), recorded, "target", pauses.append)  # type: ignore[arg-type]
    assert (got, pauses, recorded.seen) == ([(1, 0), (2, 0)], [1.5], ["A", "B"])
