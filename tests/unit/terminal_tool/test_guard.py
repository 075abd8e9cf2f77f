"""The door: what it lets pass, what it refuses, and that what is refused has not run."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shellward import ApprovalDenied, Chunk, EnvironmentUnavailable, Result, Terminal, environments
from shellward.approval import ApprovalRequest, Gate, register_approval_callback
from shellward.config.schema import Config
from shellward.core.gate import Verdict

Refused = Callable[[Callable[[], object]], ApprovalDenied]

NEVER = "export SHELLWARD_HOME=/tmp/none"
"""Nobody can allow this, and it harms nothing if it does run: see conftest.py."""


def records(home: Path) -> list[dict[str, Any]]:
    (log,) = home.rglob("audit.jsonl")
    return [msgspec.json.decode(line) for line in log.read_bytes().splitlines()]


# -- what passes, and what does not --------------------------------------------------------------------------


def test_harmless_commands_run_as_in_any_environment(terminal: Terminal) -> None:
    assert isinstance(terminal, environments.Environment)
    assert terminal.run("echo hi; exit 3").exit_code == 3
    assert terminal.run(["printf", "%s", "$HOME"]).stdout == "$HOME"
    pieces = [*terminal.stream("echo a; echo b")]
    assert isinstance(pieces[-1], Result)
    assert "".join(piece.text for piece in pieces if isinstance(piece, Chunk)) == "a\nb\n"
    with terminal.session("s") as session:
        assert session.run("echo in").stdout == "in\n"
    terminal.write_file("x", b"data")
    assert terminal.read_file("x") == b"data"


@pytest.mark.parametrize("how", ["run", "words", "stream", "session", "session stream", "user"])
def test_a_refused_command_has_not_run(terminal: Terminal, victim: Path, refused: Refused, how: str) -> None:
    line = f"rm -rf {victim}"
    acts: dict[str, Callable[[], object]] = {
        "run": lambda: terminal.run(line),
        "words": lambda: terminal.run(["rm", "-rf", str(victim)]),
        "stream": lambda: [*terminal.stream(line)],
        "session": lambda: terminal.session("a").run(line),
        "session stream": lambda: [*terminal.session("a").stream(line)],
        "user": lambda: terminal.run(line, user="root"),
    }
    error = refused(acts[how])
    assert error.decision.verdict is Verdict.DENY
    assert error.decision.decided_by == "nobody"
    assert terminal.run("echo still here").stdout == "still here\n"


def test_a_refusal_says_what_was_found_why_and_what_would_allow_it(
    bash: Terminal, victim: Path, refused: Refused
) -> None:
    said = str(refused(lambda: bash.run(f"echo hi && rm -rf {victim}")))
    assert f"[files.rm-recursive]: rm -rf {victim}" in said
    assert "Deleted files do not come back." in said
    assert f'"command_allowlist":[{{"command":"echo hi && rm -rf {victim}"' in said
    assert said.endswith("Nothing was run.")


def test_what_nobody_can_allow_says_so(bash: Terminal) -> None:
    with register_approval_callback(lambda _: True), pytest.raises(ApprovalDenied) as caught:
        bash.run(NEVER)
    assert caught.value.decision.decided_by == "never-allow"
    assert "would allow it" not in str(caught.value)


def test_everything_is_recorded(bash: Terminal, victim: Path, own_home: Path, refused: Refused) -> None:
    bash.run("exit 7")
    refused(lambda: bash.run(f"rm -rf {victim}"))
    decision, outcome, refusal = (each for each in records(own_home) if each["event"] in {"decision", "outcome"})
    assert (decision["command"], decision["verdict"], outcome["exit_code"]) == ("exit 7", "allow", 7)
    assert outcome["id"] == decision["id"]
    assert (refusal["verdict"], refusal["by"]) == ("deny", "nobody")


def test_an_approved_command_runs_once_as_shown(bash: Terminal, victim: Path) -> None:
    asked: list[ApprovalRequest] = []
    with register_approval_callback(lambda request: asked.append(request) or True):
        assert bash.run(f"rm -rf {victim}; echo once >>log").exit_code == 0
    assert not victim.exists()
    assert bash.run("cat log").stdout == "once\n"
    (request,) = asked
    assert request.command == f"rm -rf {victim}; echo once >>log"


# -- who is asked, and how that can go wrong -----------------------------------------------------------------


def boom(_: ApprovalRequest) -> bool:
    raise ValueError("no")


async def cancelled(_: ApprovalRequest) -> bool:
    import asyncio

    raise asyncio.CancelledError


@pytest.mark.parametrize("callback", [boom, lambda _: None, lambda _: "perhaps", lambda _: False])
def test_a_callback_that_fails_has_not_allowed(
    bash: Terminal, victim: Path, refused: Refused, callback: Callable[[ApprovalRequest], Any]
) -> None:
    with register_approval_callback(callback):
        refused(lambda: bash.run(f"rm -rf {victim}"))
    assert bash.run("echo ok").stdout == "ok\n"


def short_gate(seconds: float) -> Gate:
    config = msgspec.convert({"approval": {"timeout": seconds}}, Config)
    return Gate(config, terminal=False)


def test_a_callback_that_takes_too_long_has_not_allowed(tmp_path: Path, victim: Path, refused: Refused) -> None:
    release = threading.Event()
    with Terminal("local", cwd=str(tmp_path), gate=short_gate(0.2)) as terminal:
        with register_approval_callback(lambda _: release.wait(20)):
            refused(lambda: terminal.run(f"rm -rf {victim}"))
        release.set()
        time.sleep(0.1)
        assert victim.exists()


def test_others_go_on_while_a_person_is_asked(bash: Terminal, victim: Path) -> None:
    asked, release = threading.Event(), threading.Event()

    def wait(_: ApprovalRequest) -> bool:
        asked.set()
        return not release.wait(20)

    errors: list[BaseException] = []

    def ask() -> None:
        with register_approval_callback(wait):
            try:
                bash.run(f"rm -rf {victim}")
            except ApprovalDenied as error:
                errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert asked.wait(20)
    assert bash.asking
    assert [bash.run("echo meanwhile").stdout for _ in range(3)] == ["meanwhile\n"] * 3
    release.set()
    thread.join(20)
    assert len(errors) == 1
    assert victim.exists()


@pytest.mark.parametrize("how", ["interrupt", "close"])
def test_a_question_can_be_taken_back(tmp_path: Path, victim: Path, how: str) -> None:
    asked = threading.Event()
    ends: list[BaseException] = []

    def wait(request: ApprovalRequest) -> bool:
        asked.set()
        while not request.withdrawal.done:
            time.sleep(0.01)
        return True  # too late

    terminal = Terminal("local", cwd=str(tmp_path))

    def ask() -> None:
        with register_approval_callback(wait):
            try:
                terminal.run(f"rm -rf {victim}")
            except (ApprovalDenied, EnvironmentUnavailable) as error:
                ends.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert asked.wait(20)
    began = time.monotonic()
    getattr(terminal, how)()
    thread.join(20)
    assert time.monotonic() - began < 3
    terminal.close()
    assert len(ends) == 1
    assert victim.exists()


def test_closed_is_closed(tmp_path: Path) -> None:
    terminal = Terminal("local", cwd=str(tmp_path))
    terminal.close()
    terminal.close()
    with pytest.raises(EnvironmentUnavailable):
        terminal.run("true")


def test_control_c_while_a_callback_is_asked(bash: Terminal, victim: Path) -> None:
    import os
    import signal

    asked = threading.Event()

    def wait(_: ApprovalRequest) -> bool:
        asked.set()
        time.sleep(1)
        return True

    def press() -> None:
        asked.wait(20)
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with register_approval_callback(wait), pytest.raises(KeyboardInterrupt):
        bash.run(f"rm -rf {victim}")
    thread.join()
    time.sleep(1.2)
    assert victim.exists()
    assert bash.run("echo ok").stdout == "ok\n"


def test_an_approval_for_this_session_is_none_for_another_terminal(
    tmp_path: Path, victim: Path, refused: Refused
) -> None:
    with Terminal("local", cwd=str(tmp_path)) as one, Terminal("local", cwd=str(tmp_path)) as other:
        with register_approval_callback(lambda _: "session"):
            one.session("same").run(f"rm -rf {victim}/none")
        one.run(f"rm -rf {victim}/none")
        refused(lambda: other.session("same").run(f"rm -rf {victim}/none"))


def test_many_at_once(bash: Terminal, victim: Path) -> None:
    answers: list[str] = []

    def work(number: int) -> None:
        for turn in range(5):
            try:
                if (number + turn) % 2:
                    answers.append(bash.run(f"echo {number}.{turn}").stdout.strip())
                else:
                    bash.run(f"V{number}=rm; rm -rf {victim}")
                    answers.append("RAN")
            except ApprovalDenied:
                answers.append("refused")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 40
    assert answers.count("refused") == 20
    assert "RAN" not in answers
    assert victim.exists()


def test_a_gate_that_fails_lets_nothing_pass(bash: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("defect")

    monkeypatch.setattr("shellward.terminal_tool.looking.look", broken)
    with pytest.raises(ApprovalDenied, match="could not be understood"):
        bash.run("echo hi >made")
    assert not Path(bash.cwd, "made").exists()


def test_reach_comes_from_the_real_configuration(bash: Terminal) -> None:
    assert bash.gate.reach.powers >= {"host-files-write", "network", "persistent"}


@pytest.mark.docker
def test_reach_of_a_container(victim: Path, refused: Refused) -> None:
    config: dict[str, object] = {"image": "shellward/sandbox:latest"}
    mount = {"source": str(victim), "target": "/data"}
    with Terminal("docker", network="none", **config) as sealed, Terminal("docker", mounts=[mount], **config) as open_:
        assert not sealed.gate.reach.powers
        assert open_.gate.reach.powers == {"network", "host-files-read", "host-files-write"}
        # Medium findings are the sandbox's own affair, where nothing else is in reach.
        assert sealed.run("cat /etc/hostname | sh; true").exit_code == 0
        refused(lambda: open_.run("cat /etc/hostname | sh; true"))
        refused(lambda: open_.run("rm -rf /data"))
        refused(lambda: open_.run("ln -s /data /tmp/x; cd /tmp/x; rm -rf ./file"))
        assert open_.run("ln -s /data /tmp/x").exit_code == 0
        refused(lambda: open_.run("rm -rf ../x/*", cwd="/tmp/x"))
        with Terminal.attach(open_.handle) as again:
            assert again.gate.reach.powers == {"network", "host-files-read", "host-files-write", "persistent"}
            refused(lambda: again.run("rm -rf /data"))
            again.detach()
