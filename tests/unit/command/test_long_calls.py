"""Calls of programs whose arguments are longer than what is read of them: that is said, and nothing is passed over."""

import pytest

from shellward.approval.detect import detect_dangerous_command


def rules(command: str) -> set[str]:
    return {finding.rule for finding in detect_dangerous_command(command).findings}


@pytest.mark.parametrize("count", [10, 1_600, 6_546])
def test_texts_that_are_joined(count: int) -> None:
    many = "true;" * count
    found = rules(f"python3 -c \"import os; os.system('{many}' + ' rm -rf /srv/a' + ' /srv/b')\"")
    assert found & {"files.rm-recursive", "remote.unknown-code"}


@pytest.mark.parametrize("count", [10, 1_600, 6_400])
def test_one_text_is_read_to_its_end(count: int) -> None:
    many = "true;" * count
    assert rules(f"python3 -c \"import os; os.system('{many} rm -rf /srv/a')\"") == {"files.rm-recursive"}
    assert rules(f"python3 -c \"import os; os.system('{many} ls')\"") == set()


def test_what_is_only_written_may_be_long() -> None:
    many = "x" * 8_000
    assert rules(f"python3 -c \"open('notes.txt', 'w').write('{many}' + '{many}')\"") == set()
    assert rules(f"python3 -c \"print('{many}' + '{many}')\"") == set()
