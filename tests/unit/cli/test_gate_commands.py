"""The gate on the command line: exit statuses, JSON, hooks, and answering from another terminal."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from seats import Seat

from shellward.approval import detect as detect_module
from shellward.approval.context import Answer, ApprovalRequest, Context
from shellward.approval.detect import Detection
from shellward.approval.queue import Queue
from shellward.cli.main import main
from shellward.config import load, paths
from shellward.core.gate import Finding, Severity

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def detector(monkeypatch: pytest.MonkeyPatch) -> None:
    """A detector of three words, so that these tests do not change with the rules."""

    def detect(command: str, *, cwd: str | None = None) -> Detection:
        del cwd
        found = []
        if "explode" in command:
            raise RecursionError
        for word, rule, never in (("rm -rf /srv", "files.rm", False), ("mkfs", "disks.mkfs", True)):
            if word in command:
                span = (command.index(word), command.index(word) + len(word))
                found.append(Finding(rule, "deletion", Severity.HIGH, span, word, ("/srv",), "gone", never_allow=never))
        return Detection(command, tuple(found))

    monkeypatch.setattr(detect_module, "detect_dangerous_command", detect)


@dataclass(frozen=True)
class Result:
    exit_code: int
    stdout: str
    stderr: str


def run(*args: str, stdin: str | bytes = "") -> Result:
    """Run the command line in this process, where the detector is ours; it also writes to descriptors."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    before = sys.stdin, sys.stdout, sys.stderr, os.dup(1), os.dup(2)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(data)), out, err
        try:
            with pytest.raises(SystemExit) as ended:
                main(args)
        finally:
            sys.stdin, sys.stdout, sys.stderr, *kept = before
            for number, descriptor in enumerate(kept, 1):
                os.dup2(descriptor, number)
                os.close(descriptor)
        for file in (out, err):
            file.flush()
            file.seek(0)
        assert isinstance(ended.value.code, int)
        return Result(ended.value.code, out.read(), err.read())


def settings(text: str) -> Path:
    file = paths.config_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


class TestCheck:
    @pytest.mark.parametrize(
        ("command", "status"), [("ls", 0), ("rm -rf /srv", 10), ("mkfs /dev/sda", 20), ("explode", 10)]
    )
    def test_exit_status(self, command: str, status: int) -> None:
        assert run("check", command).exit_code == status
        assert run("check", command, "--json").exit_code == status

    def test_json(self) -> None:
        record = json.loads(run("check", "cd /; rm -rf /srv", "--json").stdout)
        assert (record["verdict"], record["decided_by"]) == ("ask", "findings")
        assert record["findings"][0]["span"] == [6, 17]
        assert record["findings"][0]["rule"] == "files.rm"
        assert "network" in record["reach"]

    def test_the_rule_it_names_does_allow_it(self) -> None:
        record = json.loads(run("check", "cd /; rm -rf /srv", "--json").stdout)
        settings(json.dumps({"approval": record["allow_with"]}))
        assert run("check", "cd /; rm -rf /srv").exit_code == 0
        assert run("check", "rm -rf /srv").exit_code == 10
        assert run("check", "rm -rf /srv/x; rm -rf /srv").exit_code == 10
        assert run("check", "cd /; rm -rf /srv", "--cwd", "/elsewhere").exit_code == 10
        assert run("check", "mkfs; rm -rf /srv").exit_code == 20

    def test_a_person_reads_why_and_what_would_allow_it(self) -> None:
        text = run("check", "rm -rf /srv").stdout
        for words in (
            "high: deletion  [files.rm]",
            "affects /srv",
            "gone",
            "this in config.yaml would allow it",
            "command_allowlist",
        ):
            assert words in text

    def test_nothing_allows_the_never_allow_list(self) -> None:
        assert json.loads(run("check", "mkfs", "--json").stdout)["allow_with"] == {}

    def test_environment_and_reach(self) -> None:
        settings("approval: {contained: high}\n")
        assert run("check", "rm -rf /srv", "--env", "docker").exit_code == 0
        assert run("check", "rm -rf /srv", "--env", "docker", "--reach", "host-files-write").exit_code == 10
        assert run("check", "rm -rf /srv", "--reach", "nothing").exit_code == 0
        assert "unknown reach: x" in run("check", "ls", "--reach", "x").stderr
        assert run("check", "mkfs", "--env", "docker").exit_code == 20

    def test_text_that_draws_is_harmless(self) -> None:
        assert "\x1b[2J" not in run("check", "rm -rf /srv \x1b[2J").stdout

    def test_from_standard_input_and_not_utf8(self) -> None:
        assert run("check", "-", stdin="rm -rf /srv").exit_code == 10
        assert run("check", "ls \udcff", "--json").exit_code == 0

    def test_it_records_and_asks_nothing(self, own_home: Path) -> None:
        run("check", "rm -rf /srv")
        assert not (own_home / "audit").exists()


def hook(payload: object, *args: str) -> Result:
    return run("hook", *args, stdin=payload if isinstance(payload, bytes) else json.dumps(payload))


def claude(command: object = "ls", tool: str = "Bash", **fields: object) -> dict[str, object]:
    return {
        "session_id": "s", "transcript_path": "/t", "cwd": "/a", "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": tool, "tool_use_id": "u",
        "tool_input": {"command": command, "description": "because"},
    } | fields  # fmt: skip


def codex(command: object = "ls", **fields: object) -> dict[str, object]:
    return claude(command, model="gpt", turn_id="t") | fields


def said(result: Result) -> tuple[str, str]:
    assert result.exit_code == 0
    output = json.loads(result.stdout)["hookSpecificOutput"]
    assert output["hookEventName"] == "PreToolUse"
    return output["permissionDecision"], output["permissionDecisionReason"]


class TestHook:
    @pytest.mark.parametrize("payload", [claude(), codex()])
    def test_no_objection_is_silence(self, payload: object) -> None:
        result = hook(payload)
        assert (result.exit_code, result.stdout) == (0, "")

    def test_claude_is_told_to_ask(self) -> None:
        verdict, reason = said(hook(claude("rm -rf /srv")))
        assert verdict == "ask"
        assert "files.rm" in reason

    def test_codex_would_run_what_it_is_told_to_ask_for(self) -> None:
        verdict, reason = said(hook(codex("rm -rf /srv")))
        assert verdict == "deny"
        assert "Ask the user" in reason
        assert said(hook(claude("rm -rf /srv"), "--agent", "codex"))[0] == "deny"
        assert said(hook(codex("rm -rf /srv"), "--agent", "claude"))[0] == "ask"

    @pytest.mark.parametrize("payload", [claude("mkfs"), codex("mkfs")])
    def test_never_is_deny(self, payload: object) -> None:
        assert said(hook(payload))[0] == "deny"

    @pytest.mark.parametrize(
        "payload",
        [
            b"", b"not json", b"[]", b"null", b"\xff", b"[" * 100_000,
            claude(None), claude(3), claude([1]), claude([]), claude({}),
            claude(tool_input=None), claude(tool_input=[]),
            claude(tool_input={}), claude(tool_input="ls"), claude(tool_input=["ls"]),
            {}, {"hook_event_name": "PreToolUse"}, {"tool_input": {"command": "rm -rf /srv"}},
            claude(tool_name=None), claude(tool_name=3), claude(tool_name=["Bash"]), claude(tool_name=""),
            claude(tool_name=" "), claude(hook_event_name=None), claude(hook_event_name=3),
            claude("rm -rf /srv", hook_event_name="pre_tool_use"), claude("rm -rf /srv", hook_event_name=""),
        ],
    )  # fmt: skip
    def test_what_is_not_understood_is_blocked(self, payload: object) -> None:
        result = hook(payload)
        assert result.exit_code == 2
        assert "not run" in result.stderr
        assert result.stdout == ""

    @pytest.mark.parametrize(
        "payload",
        [claude("rm -rf /srv", hook_event_name="PostToolUse"), {"hook_event_name": "Stop"}, {"hook_event_name": "x"}],
    )
    def test_other_events_are_not_its_business(self, payload: object) -> None:
        result = hook(payload)
        assert (result.exit_code, result.stdout) == (0, "")

    def test_an_agent_is_told_not_to_try_again(self) -> None:
        assert said(hook(claude("mkfs")))[1].endswith("Do not try it another way.")

    def test_a_broken_detector_or_setting_never_lets_a_command_through(self) -> None:
        assert said(hook(claude("explode")))[0] == "ask"
        settings("approval: [\n")
        assert hook(claude("ls")).exit_code == 2

    def test_a_broken_installation_never_lets_a_command_through(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "shellward.cli.hook", None)
        assert hook(claude("ls")).exit_code == 2

    @pytest.mark.parametrize("tool", ["Write", "Edit", "apply_patch", "mcp__fs__write", "TodoWrite", "Fishing"])
    def test_other_tools_are_not_its_business(self, tool: str) -> None:
        result = hook(claude("rm -rf /srv", tool))
        assert (result.exit_code, result.stdout) == (0, "")

    @pytest.mark.parametrize(
        "tool", ["Bash", "bash", "shell", "local_shell", "exec_command", "mcp__x__run_command", "RunShell"]
    )
    def test_tools_that_run_commands(self, tool: str) -> None:
        assert said(hook(claude("rm -rf /srv", tool)))[0] == "ask"

    def test_tools_beside_a_shell_hold_no_command(self) -> None:
        result = hook(claude(tool="BashOutput", tool_input={"bash_id": "1"}))
        assert (result.exit_code, result.stdout) == (0, "")

    def test_commands_as_lists(self) -> None:
        assert said(hook(claude(["rm", "-rf", "/srv"], "shell")))[0] == "ask"

    @pytest.mark.parametrize(
        "given",
        [{"commandLine": "rm -rf /srv"}, {"command_line": "rm -rf /srv"}, {"command": "ls", "cmd": "; rm -rf /srv"}],
    )
    def test_whichever_argument_holds_the_command(self, given: dict[str, str]) -> None:
        assert said(hook(claude(tool="mcp__x__run_command", tool_input=given)))[0] == "ask"

    def test_a_script_that_was_just_written_is_judged_by_its_text(self, tmp_path: Path) -> None:
        (tmp_path / "s.sh").write_text("rm -rf /srv\n")
        assert said(hook(claude("sh s.sh", cwd=str(tmp_path))))[0] == "ask"
        assert said(hook(codex("./s.sh", cwd=str(tmp_path))))[0] == "deny"
        (tmp_path / "s.sh").write_text("echo fine\n")
        assert hook(claude("sh s.sh", cwd=str(tmp_path))).stdout == ""

    def test_it_is_recorded(self) -> None:
        hook(claude("rm -rf /srv"))
        record = json.loads(run("audit", "show", "--json").stdout)
        assert (record["verdict"], record["context"]["session"], record["context"]["reason"]) == (
            "ask",
            "s",
            "because",
        )


def ask(command: str = "rm -rf /srv", id_: str = "abc123") -> tuple[threading.Thread, list[Answer]]:
    finding = Finding("files.rm", "deletion", Severity.HIGH, (0, 11), "rm -rf /srv", ("/srv",))
    request = ApprovalRequest(
        id=id_, command=command, normalized=command, findings=(finding,), context=Context(cwd="/a"),
        exact="exactly it", part="", timeout=60,
    )  # fmt: skip
    answers: list[Answer] = []
    queue = Queue(paths.approvals_dir())
    thread = threading.Thread(target=lambda: answers.append(queue.ask(request)))
    thread.start()
    wait(lambda: any(entry.request.id == id_ for entry in queue.entries()))
    return thread, answers


def wait(what: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def outside(*args: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line as a program that is nobody's child here (as another terminal's would be)."""
    script = "import os,sys; from shellward.cli import approvals; approvals._ancestors = lambda: set(); "
    script += "from shellward.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", script, *args], capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@contextlib.contextmanager
def watching() -> Iterator[Seat]:
    """Somebody who waits for questions at another terminal."""
    script = "from shellward.cli.main import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with Seat([sys.executable, "-c", script, "approvals", "watch"], env=environment) as seat:
        wait(Queue(paths.approvals_dir()).watched)
        yield seat


class TestApprovals:
    def test_nothing_to_do(self) -> None:
        assert run("approvals", "list").stdout == ""
        result = run("approvals", "approve", "x")
        assert result.exit_code == 1
        assert "no such question" in result.stderr

    def test_list_show_and_deny(self) -> None:
        thread, answers = ask("rm -rf /srv \x1b[2J")
        listed = json.loads(run("approvals", "list", "--json").stdout)
        assert (listed["id"], listed["state"], listed["findings"][0]["rule"]) == (
            "abc123",
            "pending",
            "files.rm",
        )
        shown = run("approvals", "show", "abc").stdout
        assert "exactly it" in shown
        assert "\x1b[2J" not in shown + run("approvals", "list").stdout
        assert run("approvals", "deny", "abc", "--note", "not now").exit_code == 0
        thread.join()
        assert (answers[0].kind, answers[0].note) == ("deny", "not now")
        assert run("approvals", "list").stdout == ""
        assert "answered" in run("approvals", "list", "--all").stdout

    def test_another_program_approves(self) -> None:
        thread, answers = ask()
        result = outside("approvals", "approve", "abc123", "--scope", "session", "--json")
        assert json.loads(result.stdout) == {"id": "abc123", "state": "accepted", "accepted": True}
        thread.join()
        assert (answers[0].kind, answers[0].scope) == ("allow", "session")
        again = outside("approvals", "approve", "abc123")
        assert again.returncode == 1
        assert "does not count" in again.stderr

    def test_a_program_cannot_approve_its_own_question(self) -> None:
        thread, answers = ask()
        result = run("approvals", "approve", "abc123")
        assert result.exit_code == 1
        assert "cannot approve its own question" in result.stderr
        run("approvals", "deny", "abc123")
        thread.join()
        assert answers[0].kind == "deny"

    def test_nobody_approves_inside_a_command(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A command whose parents have ended is no child of the program that asks, and nobody's hand."""
        thread, answers = ask()
        monkeypatch.setenv(paths.INSIDE, "1")
        result = outside("approvals", "approve", "abc123")
        assert result.returncode == 1
        assert "inside a command of Shellward's" in result.stderr
        assert outside("approvals", "deny", "abc123").returncode == 0
        thread.join()
        assert answers[0].kind == "deny"

    def test_a_narrow_rule_must_have_been_offered(self) -> None:
        thread, _ = ask()
        assert outside("approvals", "approve", "abc", "--scope", "always", "--part").returncode == 2
        run("approvals", "deny", "abc")
        thread.join()

    def test_watch_prints_new_questions(self) -> None:
        script = "from shellward.cli.main import main; main()"
        with subprocess.Popen(
            [sys.executable, "-c", script, "approvals", "watch", "--json"], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        ) as watcher:  # fmt: skip
            assert watcher.stdout is not None
            wait(Queue(paths.approvals_dir()).watched)
            thread, _ = ask()
            assert json.loads(watcher.stdout.readline())["id"] == "abc123"
            run("approvals", "deny", "abc123")
            thread.join()
            watcher.terminate()

    def test_watch_answers_on_a_terminal(self) -> None:
        with watching() as seat:
            thread, answers = ask("rm -rf /srv \x1b[2J")
            assert seat.sees("Allow it?"), seat.screen
            assert "\x1b[2J" not in seat.printed
            seat.press("s")
            assert seat.sees("Sure?"), seat.screen
            seat.press("y")
            thread.join(60)
        assert (answers[0].kind, answers[0].scope) == ("allow", "session")
        assert "@pts/" in answers[0].by

    @pytest.mark.parametrize("key", ["n", "q", "\x1b", "\x03", "\x04"])
    def test_keys_mean_the_same_in_watch(self, key: str) -> None:
        with watching() as seat:
            thread, answers = ask("rm -rf /srv")
            assert seat.sees("Allow it?"), seat.screen
            seat.press(key)
            thread.join(60)
        assert answers[0].kind == "deny"

    def test_watch_takes_back_what_was_answered_elsewhere(self) -> None:
        with watching() as seat:
            queue = Queue(paths.approvals_dir())
            thread, answers = ask("rm -rf /srv")
            assert seat.sees("Allow it?"), seat.screen
            queue.answer(queue.entries(pending_only=False)[0].request.id, Answer("deny", by="another"))
            assert seat.sees("no answer is wanted any more"), seat.screen
            thread.join(60)
        assert (answers[0].kind, answers[0].by) == ("deny", "another")


class TestConfigAndAudit:
    def test_config_show_says_where_values_come_from(self) -> None:
        file = settings("approval:\n  mode: smart\n")
        values = json.loads(run("config", "show", "--json").stdout)
        assert values["approval.mode"] == {"value": "smart", "source": f"{file}:2"}
        assert values["audit.fsync"]["source"] == "default"
        assert f'"smart"  ({file}:2)' in run("config", "show").stdout

    def test_config_show_keeps_what_servers_are_given_to_itself(self, own_home: Path) -> None:
        own_home.mkdir(exist_ok=True)
        server = {"url": "https://a", "headers": {"Authorization": "Bearer s3cr3t", "Key": "Bearer ${KEY}"}}
        (own_home / "config.yaml").write_text(json.dumps({"mcp_servers": {"a": server}}))
        assert "s3cr3t" not in run("config", "show").stdout
        shown = json.loads(run("config", "show", "--json").stdout)["mcp_servers"]["value"]["a"]["headers"]
        assert shown == {"Authorization": "***", "Key": "Bearer ${KEY}"}

    def test_config_path(self, own_home: Path) -> None:
        assert json.loads(run("config", "path", "--json").stdout)["config"] == str(own_home / "config.yaml")

    def test_verify(self) -> None:
        assert run("audit", "verify").exit_code == 0
        hook(claude("ls"))
        hook(claude("ls"))
        report = json.loads(run("audit", "verify", "--json").stdout)
        assert (report["ok"], report["records"]) == (True, 2)
        expect = f"{report['last']['seq']}:{report['last']['hash']}"
        assert run("audit", "verify", "--expect", expect).exit_code == 0
        assert run("audit", "verify", "--expect", "1:ab").exit_code == 1
        assert run("audit", "verify", "--expect", "x").exit_code == 2
        log = paths.audit_file()
        log.write_bytes(log.read_bytes().replace(b'"allow"', b'"denyy"', 1))
        result = run("audit", "verify")
        assert result.exit_code == 1
        assert "BROKEN" in result.stdout

    def test_show_filters(self) -> None:
        for command in ("ls", "rm -rf /srv", "ls -l"):
            hook(claude(command))
        assert run("audit", "show", "--verdict", "ask").stdout.count("\n") == 2
        assert "ls -l" in run("audit", "show", "-n", "1").stdout


class TestRules:
    def test_list_and_test(self) -> None:
        settings(
            "approval:\n  rules:\n"
            "  - {action: deny, argv: [git, push], note: never}\n"
            "  - {action: allow, rule: files.*}\n"
        )
        assert "approval.rules[0] (deny git push ...: never)" in run("rules", "list", "--user").stdout
        record = json.loads(run("rules", "test", "git push; rm -rf /srv", "--json").stdout)
        assert (record["deny"], record["ask"], record["allow"]) == (0, None, {"files.rm": 1})
        assert "no rule speaks" in run("rules", "test", "ls").stdout

    def test_show_unknown(self) -> None:
        assert run("rules", "show", "no.such").exit_code == 1


def test_errors_are_one_line(own_home: Path) -> None:
    settings("aproval: {}\n")
    result = run("check", "ls")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert f"{own_home}/config.yaml:1: aproval: unknown setting; did you mean approval?" in result.stderr


def test_loading_the_settings_again_gives_the_same() -> None:
    assert load() == load()
