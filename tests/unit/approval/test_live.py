"""What is written into the settings holds in programs that run already."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from shellward.approval.accepted import Accepted
from shellward.approval.context import Context
from shellward.approval.gatekeeper import Gate, open_gate
from shellward.config import load, paths
from shellward.config.loader import approval_of
from shellward.core.gate import Verdict


@pytest.fixture
def settings() -> Path:
    file = paths.config_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("# mine\napproval: {mode: manual}\n")
    return file


@pytest.fixture
def gate(settings: Path) -> Iterator[Gate]:
    assert settings.exists()
    made = open_gate(load(), terminal=False)
    yield made
    made.close()


def write(file: Path, text: str) -> None:
    """As an editor does it: another file takes the name."""
    new = file.with_name("new")
    new.write_text(text)
    new.rename(file)


def accept(file: Path) -> None:
    """As a person does at a terminal."""
    Accepted(file).accept(approval_of(file))


def verdict(gate: Gate, command: str = "echo hello") -> Verdict:
    return gate.decide(command, Context(cwd="/tmp")).verdict


def test_a_deny_rule_holds_from_the_next_command_on(gate: Gate, settings: Path) -> None:
    assert verdict(gate) is Verdict.ALLOW
    write(settings, "approval:\n  rules:\n    - {action: deny, argv: [echo]}\n")
    assert verdict(gate) is Verdict.DENY
    write(settings, "approval: {}\n")
    assert verdict(gate) is Verdict.DENY  # what lets more pass waits for a person
    accept(settings)
    assert verdict(gate) is Verdict.ALLOW


def test_also_for_a_command_that_was_just_looked_at(gate: Gate, settings: Path) -> None:
    from shellward.approval.detect import detect_dangerous_command

    found = detect_dangerous_command("echo hello")
    passed = gate.passes(found, Context())
    assert passed is not None
    write(settings, "approval:\n  rules:\n    - {action: ask, argv: [echo]}\n")
    assert gate.passes(found, Context()) is None


def test_what_is_large_is_not_kept(gate: Gate) -> None:
    from shellward.approval.detect import detect_dangerous_command

    for size, kept in ((17_000, 0), (100, 1)):
        found = detect_dangerous_command(f"echo {'x' * size}")
        for _ in range(3):
            passed = gate.passes(found, Context())
            assert passed is not None
            assert passed.verdict is Verdict.ALLOW
        assert gate._unasked.cache_info().currsize == kept


def test_the_mode_changes(gate: Gate, settings: Path) -> None:
    assert verdict(gate, "rm -rf /srv/x") is Verdict.DENY
    write(settings, "approval: {mode: 'off'}\n")
    assert verdict(gate, "rm -rf /srv/x") is Verdict.DENY
    accept(settings)
    assert verdict(gate, "rm -rf /srv/x") is Verdict.ALLOW
    assert verdict(gate, "rm -rf /") is Verdict.DENY


@pytest.mark.parametrize("broken", ["approval: {mode: nonsense}\n", "approval: [\n", "\0", "a: b\n"])
def test_a_broken_file_changes_nothing_until_it_is_mended(gate: Gate, settings: Path, broken: str) -> None:
    write(settings, "approval:\n  rules:\n    - {action: deny, argv: [echo]}\n")
    assert verdict(gate) is Verdict.DENY
    write(settings, broken)
    assert verdict(gate) is Verdict.DENY
    write(settings, "approval: {}\n")
    accept(settings)
    assert verdict(gate) is Verdict.ALLOW


def test_a_file_that_is_gone_changes_nothing(gate: Gate, settings: Path) -> None:
    write(settings, "approval:\n  rules:\n    - {action: deny, argv: [echo]}\n")
    assert verdict(gate) is Verdict.DENY
    settings.unlink()
    assert verdict(gate) is Verdict.DENY


def test_a_file_that_comes_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELLWARD_HOME", str(tmp_path / "new"))
    gate = open_gate(load(), terminal=False)
    assert verdict(gate) is Verdict.ALLOW
    (tmp_path / "new").mkdir(exist_ok=True)
    paths.config_file().write_text("approval:\n  rules:\n    - {action: deny, argv: [echo]}\n")
    assert verdict(gate) is Verdict.DENY
    gate.close()


def test_what_the_caller_gave_stays(settings: Path) -> None:
    gate = open_gate(load(overrides={"approval.mode": "off"}), terminal=False)
    write(settings, "approval:\n  mode: manual\n")
    assert verdict(gate, "rm -rf /srv/x") is Verdict.ALLOW
    gate.close()


def test_twenty_threads_while_it_changes(gate: Gate, settings: Path) -> None:
    stop = threading.Event()
    failed: list[BaseException] = []

    def decide() -> None:
        try:
            while not stop.is_set():
                verdict(gate)
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=decide) for _ in range(20)]
    for thread in threads:
        thread.start()
    for number in range(20):
        action = "deny" if number % 2 else "ask"
        write(settings, f"approval:\n  rules:\n    - {{action: {action}, argv: [echo]}}\n")
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed
    assert verdict(gate) is Verdict.DENY
