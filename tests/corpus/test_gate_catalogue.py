"""The catalogue: all deeds, ways and words that somebody could think of, by family; each line must be found, or not.

``+`` opens a section whose lines must be found, ``~`` one of what is noted only, ``-`` one of harmless neighbours.
"""

import shlex
from pathlib import Path

import pytest

from shellward.approval import detect_dangerous_command

HERE = Path(__file__).parent / "catalogue"
FAMILIES = sorted(path.name for path in HERE.glob("*.txt") if path.name != "wrappers.txt")
CWD = "/srv/app"


def lines(name):
    section = ""
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line[:2] in {"+ ", "~ ", "- "}:
            section = line[0]
        elif line and not line.startswith("# "):
            yield section, line.replace("\u23ce", "\n")


@pytest.mark.parametrize("name", FAMILIES)
def test_each_line_of_a_family(name):
    wrong = []
    for section, command in lines(name):
        detection = detect_dangerous_command(command, cwd=CWD)
        found = "+" if detection else "~" if detection.findings else "-"
        if found != section and not (section == "-" and found == "~"):
            wrong.append((section, command, [finding.rule for finding in detection.findings]))
    assert not wrong


def test_each_way_to_have_a_command_run():
    """What stands in the way does not matter: the inner command is found, or at least that something unknown runs."""
    wrong = []
    for _, way in lines("wrappers.txt"):
        for inner in ("rm -rf /srv/data", "systemctl stop postgresql"):
            quoted = shlex.quote(inner)
            command = way.replace("{qq}", shlex.quote(quoted)).replace("{q}", quoted)
            if "{q}" not in way and "{qq}" not in way:
                command = command.replace("{}", inner)
            if not detect_dangerous_command(command, cwd=CWD):
                wrong.append(command)
    assert not wrong


def test_a_harmless_command_stays_harmless_in_each_way():
    """The way alone is no finding, but for those that open or schedule something themselves."""
    flagged = []
    for _, way in lines("wrappers.txt"):
        inner = "echo hello"
        command = way.replace("{qq}", shlex.quote(shlex.quote(inner))).replace("{q}", shlex.quote(inner))
        if "{q}" not in way and "{qq}" not in way:
            command = command.replace("{}", inner)
        detection = detect_dangerous_command(command, cwd=CWD)
        if detection:
            flagged.append((command, [finding.rule for finding in detection.findings]))
    assert len(flagged) <= 25, flagged
