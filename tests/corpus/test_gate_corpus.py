"""The bars of detection, on our own corpus and on the shared ones where they are."""

import json
import os
from pathlib import Path

import pytest

from shellward.approval import detect_dangerous_command

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "data"


def rows(path):
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [row for row in found if row.get("dangerous") is not None and not row.get("ambiguous")]


def check(path, recall):
    found = rows(path)
    bad = [row["command"] for row in found if row["dangerous"]]
    good = [row["command"] for row in found if not row["dangerous"]]
    missed = [command for command in bad if not detect_dangerous_command(command)]
    false = [command for command in good if detect_dangerous_command(command)]
    assert len(missed) <= (1 - recall) * len(bad), missed
    assert len(false) <= 0.01 * len(good), false


def shared(name):
    path = SHARED / name
    if not path.exists():
        if "shared" in os.environ.get("SHELLWARD_TEST_REQUIRE", "").split(","):
            pytest.fail(f"{path} is required here")
        pytest.skip(f"{path} is not beside this repository")
    return path


def test_own_corpus():
    path = HERE / "own.jsonl"
    assert len(rows(path)) >= 400
    check(path, 0.99)


@pytest.mark.parametrize(
    ("name", "recall"),
    [
        ("techniques.jsonl", 0.98),
        ("lookalikes.jsonl", 1.0),
        ("second_dangerous.jsonl", 0.99),
        ("second_harmless.jsonl", 1.0),
        ("third_dangerous.jsonl", 0.99),
        ("third_harmless.jsonl", 1.0),
        ("fourth_dangerous.jsonl", 0.99),
        ("fourth_harmless.jsonl", 1.0),
        ("fifth_dangerous.jsonl", 0.99),
        ("fifth_harmless.jsonl", 1.0),
        ("sixth_dangerous.jsonl", 0.99),
        ("sixth_harmless.jsonl", 1.0),
        ("seventh_dangerous.jsonl", 0.99),
        ("seventh_harmless.jsonl", 1.0),
        ("eighth_dangerous.jsonl", 0.99),
        ("eighth_harmless.jsonl", 1.0),
        ("ninth_dangerous.jsonl", 0.99),
        ("ninth_harmless.jsonl", 1.0),
        ("tenth_dangerous.jsonl", 0.98),
        ("tenth_harmless.jsonl", 1.0),
        ("eleventh_dangerous.jsonl", 0.99),
        ("eleventh_harmless.jsonl", 1.0),
        ("twelfth_dangerous.jsonl", 0.99),
        ("twelfth_harmless.jsonl", 1.0),
        ("thirteenth_dangerous.jsonl", 0.99),
        ("thirteenth_harmless.jsonl", 1.0),
        ("fourteenth_dangerous.jsonl", 0.99),
        ("fourteenth_harmless.jsonl", 1.0),
        ("fifteenth_dangerous.jsonl", 0.98),
        ("fifteenth_harmless.jsonl", 1.0),
        ("sixteenth_dangerous.jsonl", 0.99),
        ("sixteenth_harmless.jsonl", 1.0),
        ("seventeenth_dangerous.jsonl", 0.99),
        ("seventeenth_harmless.jsonl", 1.0),
        ("eighteenth_dangerous.jsonl", 0.99),
        ("eighteenth_harmless.jsonl", 1.0),
        ("nineteenth_dangerous.jsonl", 0.99),
        ("nineteenth_harmless.jsonl", 1.0),
        ("twentieth_dangerous.jsonl", 0.99),
        ("twentieth_harmless.jsonl", 1.0),
        ("twentyfirst_dangerous.jsonl", 0.99),
        ("twentyfirst_harmless.jsonl", 1.0),
        ("programs_dangerous.jsonl", 0.97),
        ("programs_harmless.jsonl", 1.0),
    ],
)
def test_sets_written_before_they_were_tried(name, recall):
    check(HERE / name, recall)


@pytest.mark.parametrize("name", ["commands_adversarial_dev.jsonl", "commands_peers_dev.jsonl"])
def test_shared_corpora(name):
    check(shared(name), 0.99)


def test_flag_rate_of_real_commands():
    lines = shared("commands_real_dev.jsonl").read_text(encoding="utf-8").splitlines()
    flagged = [line for line in lines if detect_dangerous_command(json.loads(line)["command"])]
    assert len(flagged) <= 0.03 * len(lines), flagged
