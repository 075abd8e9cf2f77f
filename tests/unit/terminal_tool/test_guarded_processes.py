"""The door in front of background processes: their commands, and what is typed into them.

As in conftest.py: nothing here may harm anything but ``victim`` when the door is broken.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from shellward import ApprovalDenied, Terminal

Refused = Callable[[Callable[[], object]], ApprovalDenied]


def ids(terminal: Terminal, task: str) -> list[str]:
    return [info.id for info in terminal.processes() if info.task == task]


def test_a_harmless_command_is_started(terminal: Terminal) -> None:
    process = terminal.start("echo hi; exit 3")
    assert process.wait(20).exit_code == 3
    assert process.log().text == "hi\n"
    process.remove()
    assert terminal.run("echo on").stdout == "on\n"


@pytest.mark.parametrize("how", ["line", "words", "session", "input", "variable", "state"])
def test_a_refused_command_is_not_started(terminal: Terminal, victim: Path, refused: Refused, how: str) -> None:
    line, task = f"rm -rf {victim}", victim.parent.name
    acts: dict[str, Callable[[], object]] = {
        "line": lambda: terminal.start(line, task=task),
        "words": lambda: terminal.start(["rm", "-rf", str(victim)], task=task),
        "session": lambda: terminal.session("a").start(line, task=task),
        "input": lambda: terminal.start("bash", stdin=line, task=task),
        "variable": lambda: terminal.start(f"$X -rf {victim}", env={"X": "rm"}, task=task),
        "state": lambda: (terminal.run("X=rm"), terminal.start(f"$X -rf {victim}", task=task)),
    }
    refused(acts[how])
    assert ids(terminal, task) == []


@pytest.mark.parametrize("program", ["bash", ["bash"], "python3 -i", "sh -s"])
def test_what_is_typed_into_a_shell_passes_the_gate(
    terminal: Terminal, victim: Path, refused: Refused, program: str | list[str]
) -> None:
    process = terminal.start(program)
    text = f"rm -rf {victim}" if "python" not in str(program) else f"import shutil; shutil.rmtree('{victim}')"
    try:
        refused(lambda: process.submit(text))
        refused(lambda: process.write(text))
        process.submit("echo harmless" if "python" not in str(program) else "print('harmless')")
        assert process.poll().running
    finally:
        process.remove()


def test_the_lines_are_judged_together(terminal: Terminal, victim: Path, refused: Refused) -> None:
    process = terminal.start("bash")
    try:
        process.submit("X=rm")
        refused(lambda: process.submit(f"$X -rf {victim}"))
        process.write("r")
        refused(lambda: process.write(f"m -rf {victim}"))
    finally:
        process.remove()


def test_another_client_types_through_the_same_door(terminal: Terminal, victim: Path, refused: Refused) -> None:
    process = terminal.start("bash")
    try:
        with Terminal("local") as other:
            again = other.process(process.id)
            again.submit("echo harmless")
            refused(lambda: again.submit(f"rm -rf {victim}"))
    finally:
        process.remove()


def test_what_is_data_may_be_typed(terminal: Terminal, victim: Path) -> None:
    process = terminal.start(["cat"])
    try:
        process.submit(f"rm -rf {victim}")
        process.close_stdin()
        assert process.wait(20).exit_code == 0
    finally:
        process.remove()


def test_a_start_leaves_what_is_known_of_the_session(bash: Terminal, victim: Path, refused: Refused) -> None:
    bash.run("X=rm; f() { echo f; }")
    process = bash.start("X=other; f; echo $X")
    process.wait(20)
    assert process.log().text == "f\nother\n"
    process.remove()
    refused(lambda: bash.run(f"$X -rf {victim}"))
    assert bash.run("f; echo $X").stdout == "f\nrm\n"
