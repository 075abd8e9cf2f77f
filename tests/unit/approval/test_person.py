"""The prompt on a pseudo-terminal with a program behind it, and keys as a person types them."""

import contextlib
import io
import os
import pty
import select
import signal
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from shellward.approval import person
from shellward.approval.context import ApprovalRequest
from shellward.core.gate import Finding, Severity

# Python 3.12 warns of fork() where threads are; that is what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

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


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, tmp_path: Path, *, script: str = SCRIPT, **fields: object) -> None:
        options = {"command": "rm -rf /srv", "part": "", "timeout": 20, "ready": ""} | fields
        self.out = tmp_path / "answer"
        script = script.format(**options, out=str(self.out))
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execve(
                sys.executable,
                [sys.executable, "-c", script],
                {**os.environ, "TERM": "xterm", "COLUMNS": "120"},
            )
        self.screen = ""

    def expect(self, text: str) -> None:
        deadline = time.monotonic() + 20
        while text not in self.screen:
            ready, _, _ = select.select([self.fd], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{text!r} was not shown: {self.screen!r}"
            self.screen += os.read(self.fd, 65536).decode()

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def answer(self) -> str:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self.fd], [], [], 0.05)
            if ready:
                try:
                    self.screen += os.read(self.fd, 65536).decode()
                except OSError:
                    break
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                self.pid = 0
                break
        return self.out.read_text() if self.out.exists() else f"nothing: {self.screen}"

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self.pid:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def start(terminals: list[Terminal], tmp_path: Path, **fields: Any) -> Terminal:
    terminals.append(Terminal(tmp_path, **fields))
    return terminals[-1]


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        ("o", "allow once False "),
        ("s", "allow session False "),
        ("d", "deny once False "),
        ("q", "deny once False "),
        ("\x03", "deny once False "),
        ("\x04", "deny once False "),
    ],
)
def test_one_key_answers(terminals: list[Terminal], tmp_path: Path, keys: str, answer: str) -> None:
    terminal = start(terminals, tmp_path)
    terminal.expect("[e] explain")
    terminal.type(keys)
    assert terminal.answer() == answer


def test_everything_is_shown(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = start(terminals, tmp_path, part="`rm` inside any line")
    terminal.expect("[N] always: `rm` inside any line")
    for text in (
        "rm -rf",
        "recursive deletion (files.rm)",
        "affects /srv",
        "through sudo",
        "why     gone",
        "/home/me",
        "network",
    ):
        assert text in terminal.screen
    assert 'the agent says: "because"' in terminal.screen
    assert "\x1b[1;7;31mrm -rf /" in terminal.screen, "the span is marked"
    terminal.type("d")
    assert terminal.answer().startswith("deny")


def test_always_shows_what_is_remembered_and_asks_again(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = start(terminals, tmp_path)
    terminal.expect("[e] explain")
    terminal.type("a")
    terminal.expect("remember for good: exactly `rm`")
    terminal.type("x")
    time.sleep(0.2)
    terminal.type("a")
    time.sleep(0.2)
    terminal.type("y")
    assert terminal.answer() == "allow always False "


def test_the_narrow_rule(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = start(terminals, tmp_path, part="`rm` inside any line")
    terminal.expect("[n] this session")
    terminal.type("n")
    assert terminal.answer() == "allow session True "


def test_explain_and_other_keys_decide_nothing(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = start(terminals, tmp_path)
    terminal.expect("[e] explain")
    for keys in ("n", "x", "\x1b[A", "oo", "e"):
        terminal.type(keys)
        time.sleep(0.1)
    terminal.expect("what the shell would run:")
    assert not terminal.out.exists()
    terminal.type("o")
    assert terminal.answer() == "allow once False "


@pytest.mark.parametrize("keys", ["o", "ooo\no"])
def test_keys_typed_before_the_question_do_not_answer_it(terminals: list[Terminal], tmp_path: Path, keys: str) -> None:
    ready = tmp_path / "ready"
    terminal = start(terminals, tmp_path, ready=str(ready), timeout=2)
    deadline = time.monotonic() + 20
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    terminal.type(keys)
    time.sleep(0.1)
    ready.unlink()
    assert terminal.answer() == "nobody once False no answer within 2 seconds"


def test_time_is_up(terminals: list[Terminal], tmp_path: Path) -> None:
    assert start(terminals, tmp_path, timeout=0.3).answer() == "nobody once False no answer within 0.3 seconds"


def test_a_command_cannot_draw_over_the_question(terminals: list[Terminal], tmp_path: Path) -> None:
    command = "rm -rf /srv\x1b[2J\x1b[1;1Hls\r\u202e [bold]\x07\x9b2J\nsecond"
    terminal = start(terminals, tmp_path, command=command)
    terminal.expect("[e] explain")
    shown = terminal.screen
    assert "\x1b[2J" not in shown
    assert "\x1b[1;1H" not in shown
    assert "\x07" not in shown
    assert "\u202e" not in shown
    assert "\\e" in shown
    assert "[bold]" in shown
    terminal.type("d")
    assert terminal.answer().startswith("deny")


def test_a_long_command_hides_nothing_dangerous(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = start(terminals, tmp_path, command="\n" * 500 + "end")
    terminal.expect("more lines without findings; [e] shows all")
    terminal.type("d")
    assert terminal.answer().startswith("deny")


def test_the_terminal_is_as_it_was(terminals: list[Terminal], tmp_path: Path) -> None:
    terminal = start(terminals, tmp_path)
    terminal.expect("[e] explain")
    import termios

    terminal.type("o")
    terminal.expect("BY")
    flags = termios.tcgetattr(terminal.fd)[3]
    assert flags & termios.ECHO
    assert flags & termios.ICANON
    assert flags & termios.ISIG


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
    terminal = start(terminals, tmp_path, script=THREADS)
    terminal.expect("[e] explain")
    terminal.type("s")
    assert terminal.answer() == "allow allow allow allow allow"
    assert terminal.screen.count("[e] explain") == 1


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
    assert "shows all" in text


def test_of_many_findings_the_worst_are_shown() -> None:
    many = tuple(finding(f"minor.n{n}", (0, 2), Severity.MEDIUM) for n in range(500))
    text = shown("ls", (*many, finding("worst.of-all", (0, 2), Severity.CRITICAL)))
    assert "worst.of-all" in text
    assert "491 more findings" in text
    assert len(text.splitlines()) < 80
