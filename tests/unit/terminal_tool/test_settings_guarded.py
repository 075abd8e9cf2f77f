"""The gate stays on, whatever an environment's commands and file tools do to its settings."""

import shutil
from pathlib import Path

import pytest

from shellward import ApprovalDenied, Terminal

OFF = "approval: {mode: 'off'}\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a service."""
    made = tmp_path / "var/lib/jenkins"
    (made / ".config/shellward").mkdir(parents=True)
    (made / "work/conf/shellward").mkdir(parents=True)
    (made / "work/conf/shellward/config.yaml").write_text(OFF)
    monkeypatch.delenv("SHELLWARD_HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(made))
    return made


def test_settings_are_not_written(home: Path) -> None:
    settings = home / ".config/shellward/config.yaml"
    with Terminal("local", cwd=str(home / "work")) as terminal:
        (home / "work/out").symlink_to(home / ".config/shellward")
        for path in (str(settings), "../.config/shellward/config.yaml", "out/config.yaml", "~/.config/shellward/x"):
            with pytest.raises(ApprovalDenied):
                terminal.write_file(path, OFF)
        for name in (".bashrc", ".profile", ".claude/settings.json"):
            with pytest.raises(ApprovalDenied):
                terminal.write_file(str(home / name), "x")
        with pytest.raises(ApprovalDenied):
            terminal.upload(home / "work/conf", str(home / ".config"))
        for line in (
            "cp -r conf/. ~/.config/",
            "tar c conf | tar x -C ~/.config",
            "cd ~/.config; cp -r ~/work/conf/. .",
        ):
            with pytest.raises(ApprovalDenied):
                terminal.run(line)
        assert not settings.exists()
        terminal.write_file("notes.txt", "x")
        assert terminal.run("mkdir new && cp -r conf/. new/").exit_code == 0


def test_settings_that_were_written_all_the_same_do_not_hold(home: Path) -> None:
    line = "rm -rf /srv/shellward-none"
    with Terminal("local", cwd=str(home / "work")) as terminal:
        with pytest.raises(ApprovalDenied):
            terminal.run(line)
        shutil.copytree(home / "work/conf", home / ".config", dirs_exist_ok=True)
        with pytest.raises(ApprovalDenied):
            terminal.run(line)
    with Terminal("local", cwd=str(home / "work")) as later, pytest.raises(ApprovalDenied):
        later.run(line)
