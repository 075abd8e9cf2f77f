"""Files that are moved in pass the gate like the commands that would write them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from shellward import ApprovalDenied, Terminal
from shellward.approval import register_approval_callback
from shellward.config import paths
from shellward.environments.environment import Environment
from shellward.terminal_tool.deeds import copying, writing

Refused = Callable[[Callable[[], object]], ApprovalDenied]


def test_files_of_a_project_are_written_unasked(bash: Terminal, tmp_path: Path) -> None:
    bash.write_file("notes.txt", "a")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "f").write_text("b")
    bash.upload(tmp_path / "tree", "copy")
    assert bash.read_file("notes.txt") == b"a"
    assert bash.read_file("copy/f") == b"b"


def test_a_startup_file_is_not_written(bash: Terminal, tmp_path: Path) -> None:
    hook = tmp_path / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(parents=True)
    hook.write_text("old")
    with pytest.raises(ApprovalDenied, match="Nothing was written"):
        bash.write_file(".git/hooks/pre-commit", "new")
    assert hook.read_text() == "old"
    with register_approval_callback(lambda _: True):
        bash.write_file(".git/hooks/pre-commit", "new")
    assert hook.read_text() == "new"


def test_the_gates_own_settings_are_not_written(bash: Terminal) -> None:
    settings = paths.config_file()
    with register_approval_callback(lambda _: True), pytest.raises(ApprovalDenied, match="never allowed"):
        bash.write_file(settings, "approval: {mode: off}\n")
    assert not settings.exists()


def test_a_link_is_judged_by_where_it_leads(bash: Terminal, tmp_path: Path) -> None:
    hooks = tmp_path / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (tmp_path / "notes").symlink_to(hooks / "pre-commit")
    (tmp_path / "dir").symlink_to(hooks)
    for path in ("notes", "dir/pre-commit"):
        with pytest.raises(ApprovalDenied):
            bash.write_file(path, "x")
    assert not any(hooks.iterdir())


def test_a_set_user_id_bit_is_asked_for(bash: Terminal) -> None:
    with pytest.raises(ApprovalDenied):
        bash.write_file("tool", "x", mode=0o4755)


def test_a_tree_with_a_startup_file_is_not_copied(bash: Terminal, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / ".git" / "hooks").mkdir(parents=True)
    (tree / ".git" / "hooks" / "post-merge").write_text("x")
    with pytest.raises(ApprovalDenied):
        bash.upload(tree, "copy")
    assert not (tmp_path / "copy").exists()


def test_it_is_recorded(bash: Terminal) -> None:
    bash.write_file("a", "text")
    records = [json.loads(line) for line in paths.audit_file().read_text().splitlines()]
    assert [record["event"] for record in records][-2:] == ["decision", "outcome"]
    assert "text" in records[-2]["command"]
    with pytest.raises(FileNotFoundError):
        bash.write_file("none/a", "text")
    last = json.loads(paths.audit_file().read_text().splitlines()[-1])
    assert last["exit_code"] == 1


def test_an_approval_is_for_this_text(bash: Terminal, tmp_path: Path) -> None:
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    with register_approval_callback(lambda _: "session"):
        bash.write_file(".git/hooks/a", "one")
    bash.write_file(".git/hooks/a", "one")
    with pytest.raises(ApprovalDenied):
        bash.write_file(".git/hooks/a", "two")


def test_long_and_binary_data_is_told_by_its_hash() -> None:
    one, two = (writing("f", b"x" * 100_000 + end, None) for end in (b"1", b"2"))
    assert one != two
    assert len(one) < 200
    assert "\0" not in writing("f", b"a\0b", None)


def test_data_cannot_end_what_stands_for_it() -> None:
    assert writing("f", "END\nrm -rf x\n", None).splitlines()[-1] == "END_"


def test_every_call_that_changes_files_is_guarded() -> None:
    """``restore`` and ``close`` end what is the caller's own; reading is not dangerous by itself."""
    changing = {"run", "stream", "session", "write_file", "upload", "start", "pty"}
    reading = {
        "read_file",
        "list_dir",
        "stat",
        "download",
        "snapshot",
        "expose",
        "stats",
        "capabilities",
        "processes",
        "process",
        "process_info",
        "read_lines",
    }
    life = {"restore", "close", "detach", "undo", "interrupt", "open", "cwd", "handle", "kind"}
    engine = {
        "make_run", "run_on", "stream_on", "start_of", "ready", "is_ready", "end_from_outside", "control", "why_lost",
        "helper", "close_session", "borrowed", "check_user", "alive", "ask_processes", "remove_process", "start_on",
        "type_into", "exits", "follower", "open_pty", "new_process_id", "drop_prepared", "speaks_bash", "set_aside",
        "begin_afresh", "can_pty", "dialogue", "open_at_terminal", "begin_at_terminal", "close_terminals",
        "process_ids", "process_infos", "process_of", "not_running", "printer",
    }  # fmt: skip
    known = {name for name in dir(Environment) if not name.startswith("_")}
    assert known == changing | reading | life | engine
    assert {"write_file", "upload", "type_into", "open_pty", "make_run"} <= set(vars(Terminal))


def test_a_tree_is_named_by_its_files_with_a_dot(tmp_path: Path) -> None:
    (tmp_path / "a" / ".b").mkdir(parents=True)
    (tmp_path / "a" / ".b" / "c").write_text("")
    (tmp_path / "a" / "d").write_text("")
    assert copying(tmp_path / "a", "/x").splitlines()[1:] == [f"cp -- {tmp_path}/a/.b/c /x/.b/c"]
