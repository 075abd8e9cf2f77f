"""The scripts that run inside sandboxes: clean by shellcheck, and parsed by every shell that they are for."""

import subprocess
from pathlib import Path

import pytest

ROOM = Path(__file__).parents[3] / "shellward" / "environments" / "scripts"
SCRIPTS = sorted(ROOM.glob("*.sh"))
LEFT_OUT = {
    "SC1007": "a= b= on one line is meant",
    "SC1083": "{ and } are names of aliases here",
    "SC1090": "a state file cannot be read beforehand",
    "SC2034": "the scripts are pieces of one program: what one sets, another uses",
    "SC2142": "the caller's own arguments are meant",
    "SC2154": "as SC2034",
    "SC2086": "words are split on purpose",
    "SC2172": "62 is a signal that nobody else uses, and has no name",
    "SC2164": "a directory that has gone must not end the session",
    "SC2209": "sh and bash are names here",
    "SC3013": "test -ef is not in POSIX, but in bash, dash and busybox",
}


def of_bash(script: Path) -> bool:
    return script.name == "bash.sh" or ".bash." in script.name


def test_they_are_found() -> None:
    assert {"bash.sh", "posix.sh", "holder.sh", "kill.sh", "lease.sh"} <= {path.name for path in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_shellcheck(script: Path) -> None:
    shell = "bash" if of_bash(script) else "sh"
    done = subprocess.run(
        ["shellcheck", f"--shell={shell}", "--severity=warning", f"--exclude={','.join(LEFT_OUT)}", script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_it_parses(script: Path) -> None:
    for shell in (["bash"],) if of_bash(script) else (["bash"], ["dash"], ["busybox", "sh"]):
        subprocess.run([*shell, "-n", script], check=True)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_it_is_ascii_and_each_command_is_on_its_own_lines(script: Path) -> None:
    """It is sent without indentation and comments, so no text in it may rely on either."""
    text = script.read_text(encoding="ascii")
    assert "<<-" not in text
    assert not any(line.endswith("\\") and line.strip() == "\\" for line in text.splitlines())
