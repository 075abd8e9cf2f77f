"""Findings in plain words: no canonical form in anything that a person is asked."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from shellward.approval import Context, Gate, person, register_approval_callback
from shellward.approval.context import ApprovalRequest
from shellward.approval.plainly import deed, unlike_others
from shellward.approval.reach import EVERYTHING, typical
from shellward.config.schema import Config
from shellward.core.gate import Finding, Severity

CORPUS = Path(__file__).parents[2] / "corpus"


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        ("rm -rf src", "rm -rf src"),
        ("@run sh piped net:curl", "a shell runs what comes from the network (curl)"),
        ("@run sh decoded", "a shell runs what was decoded"),
        ("@run python piped out:awk", "python runs what another command prints (awk)"),
        ("@run sh piped file:/tmp/p", "a shell runs a file's text (/tmp/p)"),
        ("@run sh piped", "a shell runs what another command prints"),
        ("@run sh", "a shell runs code that is not known"),
        ("@empty /dev/sdb", "empties /dev/sdb"),
        ("> /etc/passwd", "writes /etc/passwd"),
        (">> ~/.bashrc", "appends to ~/.bashrc"),
        ("@http DELETE https://a.example/b", "sends DELETE https://a.example/b"),
        ("@send fetch file:/root/.ssh/id_rsa", "sends /root/.ssh/id_rsa"),
        ("@fork-bomb perl", ""),
        ("@something new", ""),
        ("", ""),
    ],
)
def test_deed(inner: str, words: str) -> None:
    assert deed(Finding("a.b", "d", Severity.HIGH, (0, 1), inner)) == words


def test_sql() -> None:
    found = Finding("a.b", "d", Severity.HIGH, (0, 1), "@sql mysql ..", argv=("@sql", "mysql", "DROP TABLE a"))
    assert deed(found) == "DROP TABLE a (given to mysql)"


def test_what_every_command_here_reaches_is_not_said() -> None:
    for kind in ("local", "ssh", "singularity", "docker", "modal", "daytona"):
        assert unlike_others(kind, sorted(typical(kind).powers)) == ""
    assert unlike_others("docker", []) == "unlike other docker environments, this one cannot reach the network"
    said = unlike_others("docker", ["network", "host-files-write"])
    assert said == "unlike other docker environments, this one can change files outside"
    for power in EVERYTHING.powers:
        assert power not in unlike_others("docker", sorted(EVERYTHING.powers)).split()


@pytest.mark.parametrize("width", [40, 120])
def test_no_question_shows_a_canonical_form(width: int) -> None:
    asked: list[ApprovalRequest] = []

    def reply(request: ApprovalRequest) -> bool:
        asked.append(request)
        return False

    gate = Gate(Config(), terminal=False)
    for file in sorted(CORPUS.glob("*dangerous*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines()[::15]:
            command = json.loads(line)["command"]
            if "@" in command:
                continue
            with register_approval_callback(reply):
                gate.decide(command, Context(cwd="/home/me/proj"))
    assert len(asked) > 100
    for request in asked:
        out = io.StringIO()
        console = Console(file=out, width=width, highlight=False, markup=False, emoji=False)
        person.draw(console, request)
        person.explain(console, request)
        drawn = out.getvalue()
        assert "@" not in drawn, request.command[:300]
        assert all(len(text) <= width for text in drawn.split("\n") if text.isascii()), request.command[:300]
