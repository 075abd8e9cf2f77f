"""Control keys at a guarded terminal: what the table says of each is true of a real bash, and the others are judged."""

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tooling import Tools

from shellward import Terminal
from shellward.terminal_tool.typed_keys import HARMLESS, HARMLESS_AFTER_ESCAPE

if TYPE_CHECKING:
    from shellward.environments.pty import PtySession

PROMPT = re.compile(r"[#$] ?\Z")


class StuckError(Exception):
    """The editor takes no key any more: bash may miss a Ctrl-C while it reads what to search for."""


class Editor:
    """A bash, in one of its editor's modes, without a gate: a key of ours tells when all before it was taken."""

    def __init__(self, bash: Terminal, place: Path, mode: str) -> None:
        self.place = place
        self.clears = "\x05\x15" if mode == "emacs" else "\x1bS"
        self.session: PtySession = bash.pty(
            by_person=True, cwd=place, env={"PS1": "$ ", "EDITOR": "true", "LC_ALL": "C"}
        )
        assert self.session.wait_for(PROMPT, 90)
        maps = ("emacs-standard",) if mode == "emacs" else ("vi-insert", "vi-command")
        binds = "; ".join(f"bind -m {each} -x '\"\\e[9{n}~\": : >sync{n}'" for each in maps for n in (8, 9))
        self.session.write(f"set -o {mode}; HISTFILE=; {binds}; touch begun\r")
        self.turn = 8
        assert self.until(place / "begun")
        (place / "begun").unlink()
        self.settle()

    def until(self, file: Path, seconds: float = 30.0) -> bool:
        deadline = time.monotonic() + seconds
        while not file.exists() and time.monotonic() < deadline:
            self.session.take(0.01)
        return file.exists()

    def settle(self) -> None:
        """Wait until all that was typed was taken. A key that waits for another one may take this one instead."""
        self.turn = 17 - self.turn  # one that comes late is not taken for the next
        sync = self.place / f"sync{self.turn}"
        sync.unlink(missing_ok=True)  # bash takes keys in their order: none of two turns ago is still to come
        for pause in (0.1, 0.2, 0.4, *[0.5, 1.0] * 20):
            self.session.write(f"\x11\x1b[9{self.turn}~")
            if self.until(sync, pause):
                return
            if pause >= 0.5:
                self.session.write("\x03")
        raise StuckError(self.session.snapshot().text)

    def runs(self, keys: str) -> bool:
        """Type a line and keys behind it; say whether that ran the line."""
        made = self.place / "made"
        self.session.write(self.clears + "touch made" + keys)
        self.settle()
        self.session.write("\x03")
        self.settle()
        ran = made.exists()
        made.unlink(missing_ok=True)
        return ran


@pytest.mark.timeout(600)  # some two hundred keys, one after the other
@pytest.mark.parametrize("mode", ["emacs", "vi"])
def test_what_is_said_to_run_nothing_runs_nothing_in_bash(bash: Terminal, tmp_path: Path, mode: str) -> None:
    editor = Editor(bash, tmp_path, mode)
    assert editor.runs("\r"), "else this test sees nothing"
    assert editor.runs("\x0f") == (mode == "emacs")
    keys = [*HARMLESS, *(f"\x1b{key}" for key in sorted(HARMLESS_AFTER_ESCAPE))]
    ran = []
    for key in keys:
        try:
            ran += [key] if editor.runs(key) else []
        except StuckError:
            editor.session.close()
            editor = Editor(bash, tmp_path, mode)
            ran += [key] if editor.runs(key) else []
    assert ran == []
    editor.session.close()


def test_every_other_control_byte_is_judged_as_enter_is(bash: Terminal, victim: Path) -> None:
    from shellward.approval.brought import Brought, Look, look
    from shellward.approval.detect import Detection
    from shellward.terminal_tool.audience import Audience
    from shellward.terminal_tool.typed import TypedInput
    from shellward.terminal_tool.typed_keys import TypedKeys

    del bash

    def decide(found: Detection) -> None:
        if found.findings:
            raise PermissionError

    def look_at(text: str, stdin: str | None) -> Look:
        return look(text, cwd="/a", brought=Brought(stdin=stdin))

    def judged(keys: str) -> bool:
        typed = TypedInput(lambda text: look("bash", cwd="/a", brought=Brought(stdin=text)), decide, (), by_caller=True)
        try:
            TypedKeys(Audience(typed, frozenset({"bash"}), look_at, decide))(keys.encode("utf-8", "surrogateescape"))
        except PermissionError:
            return True
        return False

    line = f"rm -rf {victim}"
    controls = [chr(code) for code in (*range(0x20), 0x7F) if chr(code) not in {"\x1b", "\x18"}]
    assert [key for key in controls if judged(line + key) == (key in HARMLESS)] == []
    for keys in (
        "\x18\x05",
        "\x18e",
        "\x1b\x05",
        "\x1b#",
        "\x1bv",
        "\x1b[D" + "v",
        "\x1bOM",
        "\x1b[13u",
        "\x1b[27;5;13~",
        "\x16\r",
        "\x16\x03\r",
        "\x11\r",
        "\x12x\n",
        "\x1b[A\r",
        "\x10\r",
        "\x19\r",
        "\x1b.\r",
        "\udca3",
        "\x1b[200~ \n",
    ):
        assert judged(line + keys), keys
    for keys in (
        "!!\r",
        "!rm\r",
        'echo "!rm"\r',
        "^echo^rm\r",
        "echo '\r' !rm\r",
        "# don't\r!rm'\r",
        f"rm -r\x04f {victim}\r",
        f"#\u0301\x7f{line}\r",
        f"echo ; {line} #" + "\b" * (len(line) + 4) + "a\r",
        f"trap '' INT\r{line}\x03\r",
        f"#\x0c ; {line}\r".replace("#\x0c", "echo \x0c# "),
        f"\x1b[200~\n{line}\n",
        "\x10\n\r",
    ):
        assert judged(keys), keys
    for keys in (
        "ls\x0c\r",
        "echo hi!\r",
        "[ ! -f x ]\r",
        "echo 'a!b' $! ${!x} a[!b]\r",
        "cd ~/\t",
        "\t\t",
        "echo \u00e9\u65e5\u672c\r",
    ):
        assert not judged(keys), keys


@pytest.mark.parametrize("keys", ["\x0f", "\x18\x05", "\x1b[A\r", "\x04"])
def test_a_tool_without_anybody_to_ask_types_nothing_that_runs_a_line(tools: Tools, victim: Path, keys: str) -> None:
    started = tools.terminal("bash --norc -i", background=True, pty=True)["session_id"]
    assert "bytes_written" in tools.process("write", started, data=f"rm -rf {victim}")
    said = tools.process("write", started, data=keys)
    assert "bytes_written" not in said, said
    assert (victim / "file").read_text() == "precious"
    tools.process("kill", started)
