"""What the gate sees of a call. Nothing is called here."""

from typing import Any

import pytest

from shellward.approval.engine import NO_PACKS
from shellward.core.gate import Severity
from shellward.mcp_client.asking import detected
from shellward.mcp_client.described import Effect


def found(args: dict[str, Any], effect: Effect = Effect.HARMLESS, calls: str = "hints"):
    return detected("notes", "add", args, effect=effect, calls=calls, packs=NO_PACKS)


def test_the_line_that_rules_and_approvals_know_it_by() -> None:
    detection = found({"text": "it's; $(here)\nand `there`"})
    assert detection.command.startswith("mcp notes add ")
    assert not detection.findings


@pytest.mark.parametrize(
    ("effect", "calls", "rules"),
    [
        (Effect.HARMLESS, "hints", []),
        (Effect.UNKNOWN, "hints", ["mcp.unknown-effect"]),
        (Effect.DESTRUCTIVE, "hints", ["mcp.destructive"]),
        (Effect.HARMLESS, "ask", ["mcp.call"]),
        (Effect.UNKNOWN, "ask", ["mcp.unknown-effect"]),
        (Effect.UNKNOWN, "allow", []),
        (Effect.DESTRUCTIVE, "allow", []),
    ],
)
def test_what_a_server_says_and_what_the_settings_say(effect: Effect, calls: str, rules: list[str]) -> None:
    findings = found({"text": "x"}, effect, calls).findings
    assert [each.rule for each in findings] == rules
    assert all(each.severity >= Severity.MEDIUM for each in findings)


@pytest.mark.parametrize(
    "args",
    [
        {"command": "rm -rf /srv/data"},
        {"cmd": "true; rm -rf /srv/data"},
        {"Command": "sh -c 'rm -rf /srv/data'"},
        {"commands": ["ls", "rm -rf /srv/data"]},
        {"command": ["rm", "-rf", "/srv/data"]},
        {"argv": ["rm", "-rf", "/srv/data"]},
        {"steps": [{"script": "rm -rf /srv/data"}]},
        {"sql": "DROP TABLE users"},
        {"command": "rm", "args": ["-rf", "/srv/data"]},
        {"args": ["-rf", "/srv/data"], "command": "rm"},
        {"command": "rm -rf", "arguments": ["/srv/data"]},
        {"command": "rm", "args": "-rf /srv/data"},
        {"command": ["sh", "-c"], "args": ["rm -rf /srv/data"]},
        {"command": "rm", "args": [], "arguments": ["-rf", "/srv/data", 7]},
        {"shell": "/bin/sh", "args": ["-c", "rm -rf /srv/data"]},
        {"file": "/bin/rm", "args": ["-rf", "/srv/data"]},
        {"command": {"name": "rm", "args": ["-rf", "/srv/data"]}},
        {"args": ["rm", "-rf", "/srv/data"]},
        {"commands": [["rm", "-rf", "/srv/data"]]},
        {"commands": [["ls"], [["rm", "-rf", "/srv/data"]]]},
        {"script": ["rm", "-rf", "/srv/data"]},
        {"commands": ["X=/srv/data", "rm -rf $X"]},
        {"commands": {"build": "make", "clean": "rm -rf /srv/data"}},
        {"shellCommand": "rm -rf /srv/data"},
        {"cmdline": "rm -rf /srv/data"},
        {"shell-command": "rm -rf /srv/data"},
        {"SHELL_COMMAND": "rm -rf /srv/data"},
        {"_command": "rm -rf /srv/data"},
        {"ShellCommand": "rm", "ARGS": ["-rf", "/srv/data"]},
        {"rawSQL": "DROP TABLE users", "S_Q_L": "DROP TABLE users"},
    ],
)
@pytest.mark.parametrize("calls", ["hints", "allow"])
def test_commands_among_the_arguments_are_judged_as_commands(args: dict[str, Any], calls: str) -> None:
    detection = found(args, calls=calls)
    assert detection, args
    assert all(each.via[0] == "mcp" for each in detection.findings)


@pytest.mark.parametrize(
    "args",
    [
        {"text": "rm -rf /srv/data"},
        {"command": "ls -l"},
        {"query": "how do I DROP TABLE users?"},
        {"command": 7, "script": None, "argv": [1, 2]},
        {"name": "rm", "text": "rm -rf /srv/data"},
        {"argv": ["git", "commit", "-m", "rm -rf /srv/data"]},
        {"command": "git", "args": ["commit", "-m", "rm -rf /srv/data"]},
        {"command": "grep", "args": ["-e", "; rm -rf /srv/data"]},
        {"args": {"text": "rm -rf /srv/data"}, "params": []},
        {},
    ],
)
def test_what_is_no_dangerous_command_is_not_asked_about(args: dict[str, Any]) -> None:
    assert not found(args).findings


def test_what_nobody_can_approve() -> None:
    assert found({"command": "rm -rf --no-preserve-root /"}, calls="allow").never_allow


def deep(levels: int, inside: Any) -> Any:
    for level in range(levels):
        inside = [inside] if level % 2 else {"data": inside}
    return {"document": inside}


@pytest.mark.parametrize("args", [{"command": "rm", "args": ["-rf", "/"]}, {"commands": [["rm", "-rf", "/"]]}])
def test_what_nobody_can_approve_in_parts(args: dict[str, Any]) -> None:
    assert found(args, calls="allow").never_allow


def test_deep_arguments() -> None:
    """What is too deep to be read is a finding of its own, once; documents are not that deep."""
    assert found(deep(20, {"command": "rm -rf /srv/data"}))
    assert not found(deep(20, "text")).findings
    for inside in ({"command": "rm -rf /srv/data"}, "text"):
        for calls in ("hints", "allow"):
            (finding,) = found(deep(200, [inside, inside]), calls=calls).findings
            assert (finding.rule, finding.severity) == ("mcp.unread", Severity.MEDIUM)
            assert len(finding.inner) < 1000


def test_more_commands_than_are_read() -> None:
    many = {f"com{'_' * n}mand": "ls" for n in range(200)} | {f"ar{'_' * n}gs": ["-l"] for n in range(200)}
    assert [each.rule for each in found(many).findings] == ["mcp.unread"]
    assert not found({"commands": ["ls"] * 1000}).findings


def test_long_arguments() -> None:
    assert found({"text": "x" * 1_000_000}, Effect.UNKNOWN).findings[0].inner.endswith(" ..")
