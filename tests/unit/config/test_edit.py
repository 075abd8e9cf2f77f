"""Writing settings: a person's file keeps every byte that is theirs, and nobody's entry is lost."""

import multiprocessing
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shellward.config import load
from shellward.config.edit import append
from shellward.core.errors import ConfigError

# Python 3.12 warns of fork() where threads are; that is what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

KEY = ("approval", "command_allowlist")
ENTRY = {"command": 'git push # "x"', "backend": "local", "rules": ["git.push-force"]}

SHAPES = {
    "missing": None,
    "empty": "",
    "only comments": "# one\n# two\n",
    "no newline at the end": "approval:\n  mode: off # why",
    "other section after it": "approval:\n  mode: off # hm\n\n# about audit\naudit:\n  fsync: never\n",
    "list in use": (
        "approval:\n  command_allowlist:\n    - a # why\n    # second\n    - 'b'\n\n  # after\n  mode: off\n"
    ),
    "list not indented": "approval:\n  command_allowlist:\n  - a\n  mode: off\n",
    "multi-line item": "approval:\n  command_allowlist:\n  - |\n    two\n    lines\n  mode: off\n",
    "windows line ends": "approval:\r\n  mode: off\r\n",
    "deep indent": "approval:\n      mode: off\n      command_allowlist:\n          - a\n",
    "quoted keys": "\"approval\":\n  'command_allowlist':\n    - a\n",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_line_of_the_person_stays(own_home: Path, shape: str) -> None:
    own_home.mkdir()
    file = own_home / "config.yaml"
    before = SHAPES[shape]
    if before is not None:
        file.write_bytes(before.encode())
    assert append(file, KEY, ENTRY)
    after = file.read_bytes().decode()
    kept = iter(after.splitlines(keepends=True))
    for line in (before or "").splitlines(keepends=True):
        assert any(line.rstrip("\r\n") == new.rstrip("\r\n") for new in kept), f"lost or moved: {line!r}"
    if "\r\n" in (before or ""):
        assert "\n" not in after.replace("\r\n", "")
    entry = load().config.approval.command_allowlist[-1]
    assert entry.command == ENTRY["command"]  # type: ignore[union-attr]
    assert not append(file, KEY, ENTRY), "an entry that is there is not added twice"
    assert file.read_bytes().decode() == after


@pytest.mark.parametrize(
    "text",
    [
        "approval:\n  command_allowlist: [a, b] # flow\n  mode: off # keep\n",
        "approval: {} # keep\n# keep too\n",
        "approval:\n  command_allowlist:\n# keep\naudit:\n  fsync: never\n",
        "# keep\n---\napproval: {mode: off}\n",
    ],
)
def test_shapes_without_room_for_a_line_keep_comments(own_home: Path, text: str) -> None:
    own_home.mkdir()
    file = own_home / "config.yaml"
    file.write_text(text)
    append(file, KEY, ENTRY)
    assert file.read_text().count("# keep") == text.count("# keep")
    assert load().config.approval.command_allowlist[-1].command == ENTRY["command"]  # type: ignore[union-attr]


def test_a_comment_that_would_be_lost_stops_the_edit(own_home: Path) -> None:
    own_home.mkdir()
    file = own_home / "config.yaml"
    text = "# mine\n%YAML 1.2\n---\napproval: {}\n...\n# the end\n"
    file.write_text(text)
    with pytest.raises(ConfigError, match="add it by hand"):
        append(file, KEY, "x")
    assert file.read_text() == text


@pytest.mark.parametrize(
    "text", ["approval: [1]\n", "approval:\n  command_allowlist: 3\n", "approval:\n  mode: [\n", "- x\n"]
)
def test_a_broken_file_is_not_touched(own_home: Path, text: str) -> None:
    own_home.mkdir()
    file = own_home / "config.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError):
        append(file, KEY, "x")
    assert file.read_text() == text


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1, max_size=60), st.sampled_from([s for s in SHAPES if s != "quoted keys"]))
def test_any_command_survives_the_way_through_the_file(
    tmp_path_factory: pytest.TempPathFactory, command: str, shape: str
) -> None:
    file = tmp_path_factory.mktemp("c") / "config.yaml"
    if SHAPES[shape] is not None:
        file.write_bytes(SHAPES[shape].encode())  # type: ignore[union-attr]
    append(file, KEY, {"command": command})
    last = load(file=file, environ={}).config.approval.command_allowlist[-1]
    assert last.command == command  # type: ignore[union-attr]


def test_a_failure_in_the_middle_leaves_the_old_file(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home.mkdir()
    file = own_home / "config.yaml"
    file.write_text("approval:\n  mode: off\n")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match="No space left"):
        append(file, KEY, "x")
    assert file.read_text() == "approval:\n  mode: off\n"
    assert {entry.name for entry in own_home.iterdir()} == {"config.yaml", ".config.yaml.lock"}


def test_a_linked_file_stays_a_link_and_keeps_its_mode(own_home: Path, tmp_path: Path) -> None:
    own_home.mkdir()
    real = tmp_path / "dotfiles.yaml"
    real.write_text("approval:\n  mode: off\n")
    real.chmod(0o640)
    (own_home / "config.yaml").symlink_to(real)
    append(own_home / "config.yaml", KEY, "x")
    assert (own_home / "config.yaml").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert '- "x"' in real.read_text()


def _add(file: str, number: int) -> None:
    for index in range(5):
        append(Path(file), KEY, f"command {number}.{index}")


def test_many_programs_at_once_lose_nothing(own_home: Path) -> None:
    own_home.mkdir()
    file = own_home / "config.yaml"
    file.write_text("# mine\napproval:\n  mode: smart\n")
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_add, args=(str(file), number)) for number in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    allowed = load().config.approval.command_allowlist
    assert sorted(allowed) == sorted(f"command {n}.{i}" for n in range(6) for i in range(5))  # type: ignore[type-var]
    assert file.read_text().startswith("# mine\n")
