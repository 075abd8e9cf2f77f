"""The prompt on a pseudo-terminal with a program behind it, and keys as a person types them."""

import io
import re
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from seats import Seat

from shellward.approval import person
from shellward.approval.context import ApprovalRequest
from shellward.core.gate import Finding, Severity

ASKED = "Allow it?"
SURE = "Sure?"
SCRIPT = textwrap.dedent(
    """
    import os, sys, time
    from shellward.approval import person
    from shellward.approval.context import ApprovalRequest, Context
    from shellward.core.gate import Finding, Severity
    command = {command!r}
    finding = Finding("files.rm", "recursive deletion", Severity.HIGH, (0, 8), "rm -rf /srv", ("/srv",), "gone",
        via=("sudo",))
    request = ApprovalRequest(id="a", command=command, normalized=command, findings=(finding,),
        context=Context(cwd="/home/me", reason="because"), reach=("network",), exact="exactly `rm`",
        part={part!r}, timeout={timeout})
    if {ready!r}:
        open({ready!r}, "w").close()
        while os.path.exists({ready!r}): time.sleep(0.01)
    answer = person.ask(request)
    with open({out!r}, "w") as file:
        file.write(f"{{answer.kind}} {{answer.scope}} {{answer.part}} {{answer.note}}")
    print("BY", answer.by)
    """
)


class Terminal(Seat):
    """The script at a terminal of its own."""

    def __init__(self, tmp_path: Path, *, script: str = SCRIPT, columns: int = 120, **fields: object) -> None:
        options = {"command": "rm -rf /srv", "part": "", "timeout": 60, "ready": ""} | fields
        self.out = tmp_path / "answer"
        super().__init__([sys.executable, "-c", script.format(**options, out=str(self.out))], columns=columns)

    def answer(self) -> str:
        assert self.ends() == 0, self.screen
        return self.out.read_text()


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        with terminal:
            pass


def start(terminals: list[Terminal], tmp_path: Path, **fields: Any) -> Terminal:
    terminals.append(Terminal(tmp_path, **fields))
    return terminals[-1]


def asked(terminals: list[Terminal], tmp_path: Path, **fields: Any) -> Terminal:
    terminal = start(terminals, tmp_path, **fields)
    assert terminal.sees(ASKED), terminal.screen
    return terminal


def test_everything_is_shown(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = asked(terminals, tmp_path, part="`rm` inside any line")
    for text in (
        "rm -rf",
        "recursive deletion (files.rm)",
        "affects /srv",
        "through sudo",
        "why gone",
        "in /home/me (local)",
        'the agent says: "because"',
        "y allow once n deny",
        "s allow this command for this session",
        "P allow this part always",
    ):
        assert text in terminal.words
    assert "\x1b[1;7;31mrm -rf /" in terminal.printed, "the span is marked"
    terminal.press("n")
    assert terminal.answer().startswith("deny")


@pytest.mark.parametrize(
    ("key", "answer", "covers"),
    [
        ("s", "allow session False ", "Covers for this session: | exactly `rm`"),
        ("a", "allow always False ", "Covers always, written to config.yaml: | exactly `rm`"),
        ("p", "allow session True ", "Covers for this session: | `rm` inside any line"),
        ("P", "allow always True ", "Covers always, written to config.yaml: | `rm` inside any line"),
    ],
)
def test_what_holds_longer_is_shown_first(
    terminals: list[Terminal], tmp_path: Path, key: str, answer: str, covers: str
) -> None:
    terminal = asked(terminals, tmp_path, part="`rm` inside any line")
    terminal.presses(key + "y")  # at once: that is a paste
    terminal.press(key)
    assert terminal.sees(SURE)
    assert covers in terminal.words
    assert "while nothing is found in it but files.rm" in terminal.words
    terminal.press("x")
    assert terminal.sees(ASKED, 2)
    terminal.press(key)
    assert terminal.sees(SURE, 2)
    terminal.press("y")
    assert terminal.answer() == answer


def test_a_part_that_is_not_offered(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = asked(terminals, tmp_path)
    for key in "pP":
        terminal.presses(key)
    terminal.press("y")
    assert terminal.answer() == "allow once False "
    assert SURE not in terminal.printed


def test_explain_and_other_keys_decide_nothing(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = asked(terminals, tmp_path)
    for keys in ("\r", "x", "\x1b[A", "yy", "yes\n", "ny", "e"):
        terminal.presses(keys)
    assert terminal.sees("what the shell would run:")
    assert terminal.sees(ASKED, 2)
    assert not terminal.out.exists()
    terminal.press("y")
    assert terminal.answer() == "allow once False "


@pytest.mark.parametrize("keys", ["y", "yyy\ny", "sy", "n", "\x1b"])
def test_keys_typed_before_the_question_do_not_answer_it(terminals: list[Terminal], tmp_path: Path, keys: str) -> None:
    ready = tmp_path / "ready"
    terminal = start(terminals, tmp_path, ready=str(ready), timeout=2)
    deadline = time.monotonic() + 60
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    terminal.press(keys)
    ready.unlink()
    assert terminal.answer() == "nobody once False no answer within 2 seconds"


DRAWN = SCRIPT.replace(
    "answer = person.ask(request)",
    """
    real = person.draw
    def draw(console, request):
        real(console, request)
        console.file.flush()
        while not os.path.exists({ready!r} + "2"): time.sleep(0.01)
    person.draw = draw
    answer = person.ask(request)
""".replace("\n    ", "\n"),
)


def test_keys_typed_while_the_question_is_drawn_do_not_answer_it(terminals: list[Terminal], tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    terminal = start(terminals, tmp_path, script=DRAWN, ready=str(ready))
    assert wait_for(ready)
    ready.unlink()
    assert terminal.sees("show everything"), terminal.screen
    terminal.press("y")
    (tmp_path / "ready2").touch()
    assert terminal.sees(ASKED), terminal.screen
    terminal.press("n")
    assert terminal.answer() == "deny once False "


def wait_for(path: Path) -> bool:
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return path.exists()


def test_time_is_up(terminals: list[Terminal], tmp_path: Path) -> None:
    assert start(terminals, tmp_path, timeout=0.3).answer() == "nobody once False no answer within 0.3 seconds"


def test_a_command_cannot_draw_over_the_question(terminals: list[Terminal], tmp_path: Path) -> None:
    command = "rm -rf /srv\x1b[2J\x1b[1;1Hls\r\u202e [bold]\x07\x9b2J\nsecond"
    shown = asked(terminals, tmp_path, command=command).printed
    for text in ("\x1b[2J", "\x1b[1;1H", "\x07", "\u202e"):
        assert text not in shown
    assert "\\e" in shown
    assert "[bold]" in shown


def test_a_long_command_hides_nothing_dangerous(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = asked(terminals, tmp_path, command="\n" * 500 + "end")
    assert "more lines without findings; e shows all" in terminal.words


def test_forty_columns(terminals: list[Terminal], tmp_path: Path) -> None:
    command = "rm -rf /srv" + "/very-long-name" * 20 + "; " + "x" * 3000 + "\n" + " " * 60 + "y  allow once"
    terminal = asked(terminals, tmp_path, command=command, columns=40)
    drawn = re.sub(r"\x1b\[[0-9;]*m", "", terminal.printed).replace("\r", "").split("\n")
    assert all(len(line) <= 40 for line in drawn)
    assert re.search(r"<\d+ characters more; e shows all>", "".join(line.removeprefix("  | ") for line in drawn))
    # What a command holds stands behind a bar, also where a line of it is broken.
    assert drawn.count("  y  allow once") == 1
    terminal.press("e")
    assert terminal.sees(ASKED, 2)
    everything = re.sub(r"\x1b\[[0-9;]*m", "", terminal.printed).replace("\r", "")
    assert "".join(line[4:] for line in everything.split("\n") if line.startswith("  | ")).count("x") >= 3000


def test_standard_error_that_is_no_terminal(terminals: list[Terminal], tmp_path: Path) -> None:
    """The question is shown where the keys come from, not written to a file that nobody reads."""
    script = "import sys; sys.stderr = open({out!r} + '.err', 'w')\n" + SCRIPT
    terminal = asked(terminals, tmp_path, script=script)
    terminal.press("n")
    assert terminal.answer() == "deny once False "
    assert "approval" not in (tmp_path / "answer.err").read_text()


def test_the_terminal_is_as_it_was(terminals: list[Terminal], tmp_path: Path) -> None:
    import termios

    terminal = asked(terminals, tmp_path)
    before = termios.tcgetattr(terminal.fd)
    assert not before[3] & termios.ISIG
    terminal.press("y")
    assert terminal.sees("BY")
    after = termios.tcgetattr(terminal.fd)
    for flags, bits in ((3, termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN), (0, termios.IXON)):
        assert after[flags] & bits == bits


THREADS = textwrap.dedent(
    """
    import threading
    from shellward.approval import Context, Gate
    from shellward.approval.detect import Detection
    from shellward.config.schema import Config
    from shellward.core.gate import Finding, Severity
    def detect(command, *, cwd=None):
        return Detection(command, (Finding("files.rm", "d", Severity.HIGH, (0, 2), command, ("/a",)),))
    gate = Gate(Config(), detect=detect)
    said = []
    ask = lambda: said.append(gate.decide("rm", Context(cwd="/a")))
    threads = [threading.Thread(target=ask) for _ in range(5)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    with open({out!r}, "w") as file:
        file.write(" ".join(sorted(decision.verdict.value for decision in said)))
    """
)


def test_several_threads_ask_one_after_the_other_and_share_an_answer(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = asked(terminals, tmp_path, script=THREADS)
    terminal.press("s")
    assert terminal.sees(SURE)
    terminal.press("y")
    assert terminal.answer() == "allow allow allow allow allow"
    assert terminal.printed.count(ASKED) == 1


def test_a_background_job_does_not_touch_the_terminal(terminals: list[Terminal], tmp_path: Path) -> None:
    script = "import os\nif os.fork(): os.wait()\nelse:\n os.setpgid(0, 0)\n" + textwrap.indent(SCRIPT, " ")
    terminal = start(terminals, tmp_path, script=script)
    assert terminal.answer() == "nobody once False standard input is not a terminal"


def test_without_a_terminal_there_is_nobody() -> None:
    from shellward.approval import person
    from shellward.approval.context import ApprovalRequest

    assert not person.has_terminal()
    request = ApprovalRequest(id="a", command="rm", normalized="rm", findings=())
    assert person.ask(request).kind == "nobody"


def shown(command: str, findings: tuple[Finding, ...], **fields: str) -> str:
    request = ApprovalRequest(id="a", command=command, normalized=command, findings=findings, **fields)
    out = io.StringIO()
    person.draw(Console(file=out, width=120, highlight=False, markup=False, emoji=False), request)
    return out.getvalue()


def finding(rule: str, span: tuple[int, int], severity: Severity = Severity.HIGH) -> Finding:
    return Finding(rule, f"does {rule}", severity, span, f"inner {rule}", why="gone")


@pytest.mark.parametrize(
    "filler", ["echo " + "a" * 200_000 + "; ", "echo aaaaaaaaaa\n" * 20_000, "\u202e" * 100_000 + "; "]
)
def test_nothing_pushes_the_danger_off_the_screen(filler: str) -> None:
    command = f"{filler}rm -rf /srv; {filler}"
    place = (len(filler), len(filler) + 11)
    text = shown(command, (finding("files.rm", place),), exact=f"exactly `{command}`", part=command)
    assert len(text.splitlines()) < 120
    assert "rm -rf /srv" in text
    assert "e shows all" in "".join(line.removeprefix("  | ") for line in text.splitlines())


def test_of_many_findings_the_worst_are_shown() -> None:
    many = tuple(finding(f"minor.n{n}", (0, 2), Severity.MEDIUM) for n in range(500))
    text = shown("ls", (*many, finding("worst.of-all", (0, 2), Severity.CRITICAL)))
    assert "worst.of-all" in text
    assert "491 more findings" in text
    assert len(text.splitlines()) < 80
