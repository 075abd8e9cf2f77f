"""Recordings: written as it comes, read with care."""

import json
from pathlib import Path

import pytest

from shellward.core.errors import DamagedRecording
from shellward.terminal.asciicast import Player, Recording


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.cast"
    with Recording(path, rows=30, columns=100, title="it", variables={"TERM": "vt100"}) as recording:
        recording.output("gr\u00fc".encode()[:-1])  # cut in a character
        recording.input(b"geheim\r")
        recording.output("\u00fcn".encode()[1:])
        recording.resize(20, 90)
        recording.output(b"\xff\xc3")
    recording.output(b"too late")
    recording.close()
    assert path.stat().st_mode & 0o777 == 0o600
    player = Player(path)
    assert (player.rows, player.columns, player.header["title"], player.header["env"]) == (
        30,
        100,
        "it",
        {"TERM": "vt100"},
    )
    events = list(player)
    assert [(event.code, event.data) for event in events] == [
        ("o", "gr"), ("o", "ün"), ("r", "90x20"), ("o", "\ufffd"), ("o", "\ufffd"),
    ]  # fmt: skip
    assert [event.time for event in events] == sorted(event.time for event in events)


def test_input_is_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    with Recording(tmp_path / "a.cast", keep_input=True) as recording:
        recording.input(b"typed")
    assert [tuple(event[1:]) for event in Player(tmp_path / "a.cast")] == [("i", "typed")]


@pytest.mark.parametrize(
    "header",
    [
        "",
        "[]",
        "{}",
        '{"version": 2}',
        '{"version": 3, "width": 1, "height": 1}',
        '{"version": 2, "width": 0, "height": 1}',
        '{"version": 2, "width": "x", "height": 1}',
        '{"version": 2, "width": 1, "height": 99999}',
    ],
)
def test_no_header_of_a_recording(tmp_path: Path, header: str) -> None:
    (tmp_path / "a.cast").write_text(header + "\n")
    with pytest.raises(DamagedRecording):
        Player(tmp_path / "a.cast")


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "[1, 2]",
        '[1, "o"]',
        '["x", "o", "a"]',
        '[-1, "o", "a"]',
        "nonsense",
        '[Infinity, "o", "a"]',
        '[1, "o", "a',
    ],
)
def test_a_damaged_line_ends_it_and_is_named(tmp_path: Path, line: str) -> None:
    lines = [json.dumps({"version": 2, "width": 80, "height": 24}), '[1, "o", "a"]', "", '[0.5, "o", "b"]', line]
    (tmp_path / "a.cast").write_text("\n".join(lines) + "\n")
    events = iter(Player(tmp_path / "a.cast"))
    played = [next(events), next(events)]
    assert [(event.time, event.data) for event in played] == [(1.0, "a"), (1.0, "b")]  # time does not go back
    with pytest.raises(DamagedRecording, match="line 5"):
        next(events)
