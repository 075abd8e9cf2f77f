"""``shellward agent-demo``: everything together. A model, its tools, a sandbox, the gate, one question to a person."""

import json
import subprocess
from typing import Any

import pytest
from commandline import IMAGE, cli

pytestmark = pytest.mark.docker


def demo(*words: str) -> tuple[int, list[dict[str, Any]]]:
    done = cli("agent-demo", "--image", IMAGE, "--json", *words, timeout=110)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def answers(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [json.loads(each["content"]) for each in messages if each["role"] == "tool"]


def running() -> set[str]:
    done = subprocess.run(["docker", "ps", "-q"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_a_whole_task_with_one_question_answered() -> None:
    status, messages = demo("--answer", "once")
    assert (status, messages[-1]["content"][:5]) == (0, "Done:"), messages[-3:]
    (question,) = [each for each in messages if each["role"] == "approval"]
    assert question["command"] == "rm -rf /srv/reports"
    assert question["reason"] == "the reports are made anew from numbers.txt"
    removed = answers(messages)[-3]
    assert (removed["exit_code"], removed["approval"]["decided_by"]) == (0, "person")


@pytest.mark.parametrize("how", [("--answer", "deny"), ()])
def test_without_approval_it_is_not_done(how: tuple[str, ...]) -> None:
    """With nobody to ask, as here without a terminal, it is the same as with a person who says no."""
    status, messages = demo(*how)
    assert status == 1
    denied = answers(messages)[-1]
    assert (denied["status"], denied["exit_code"], denied["approval"]["verdict"]) == ("denied", -1, "deny")
    assert "I stop" in messages[-1]["content"]


def test_an_endpoint_that_is_not_there() -> None:
    done = cli("agent-demo", "--image", IMAGE, "--base-url", "http://127.0.0.1:9/v1")
    assert done.returncode == 125
    assert b"127.0.0.1:9" in done.stderr
