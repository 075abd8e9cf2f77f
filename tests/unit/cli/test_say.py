"""What the command line says by the way is less bright, on a terminal only."""

import os

import pytest

from shellward.cli.say import say


@pytest.mark.parametrize(
    ("terminal", "variables", "colours"),
    [
        (True, {"TERM": "xterm"}, True),
        (False, {"TERM": "xterm"}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *,
    terminal: bool,
    variables: dict[str, str],
    colours: bool,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "isatty", lambda _: terminal)
    say("on docker", dim=True)
    say("on docker")
    plain = "shellward: on docker\n"
    assert capfd.readouterr().err == ("\x1b[2mshellward: on docker\x1b[0m\n" if colours else plain) + plain
