"""What holds across programs: prohibitions of a changed file at once, permissions when a person has accepted them."""

import threading
from pathlib import Path

import pytest

from shellward.approval.accepted import Accepted
from shellward.approval.callbacks import register_approval_callback
from shellward.approval.context import Answer, ApprovalRequest, Context
from shellward.approval.gatekeeper import open_gate
from shellward.config import load, paths
from shellward.config.loader import approval_of
from shellward.core.errors import ConfigError
from shellward.core.gate import Verdict

DANGEROUS = "rm -rf /srv/x"


@pytest.fixture
def settings() -> Path:
    file = paths.config_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("approval: {mode: manual}\n")
    return file


def verdict(command: str = DANGEROUS) -> Verdict:
    """As another program decides, started now."""
    gate = open_gate(load(), terminal=False)
    try:
        return gate.judge(command, Context(cwd="/srv/work")).verdict
    finally:
        gate.close()


def test_the_first_start_takes_what_is_there(settings: Path) -> None:
    settings.write_text("approval: {mode: 'off'}\n")
    assert verdict() is Verdict.ALLOW
    kept = Accepted(settings).path
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_later_start_keeps_what_was_accepted(settings: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert verdict() is Verdict.ASK
    settings.write_text("approval: {mode: 'off'}\n")
    assert verdict() is Verdict.ASK
    assert verdict() is Verdict.ASK
    said = capfd.readouterr().err
    assert said.count("shellward config accept") == 1
    assert '"manual" -> "off"' in said
    Accepted(settings).accept(approval_of(settings))
    assert verdict() is Verdict.ALLOW


def test_without_a_file_the_defaults_were_accepted(settings: Path) -> None:
    settings.unlink()
    assert verdict() is Verdict.ASK
    settings.write_text("approval: {mode: 'off'}\n")
    assert verdict() is Verdict.ASK


def test_stricter_settings_hold_at_once_and_the_way_back_is_accepted(settings: Path) -> None:
    assert verdict("echo x") is Verdict.ALLOW
    settings.write_text("approval: {rules: [{action: deny, argv: [echo]}]}\n")
    assert verdict("echo x") is Verdict.DENY
    settings.write_text("approval: {}\n")
    assert verdict("echo x") is Verdict.DENY
    settings.unlink()
    assert verdict("echo x") is Verdict.DENY


def test_of_a_mixed_change_the_prohibition_holds(settings: Path) -> None:
    assert verdict() is Verdict.ASK
    settings.write_text("approval: {mode: 'off', rules: [{action: deny, argv: [echo]}]}\n")
    assert (verdict(), verdict("echo x")) == (Verdict.ASK, Verdict.DENY)


def test_a_link_laid_elsewhere_makes_no_first_start(settings: Path, tmp_path: Path) -> None:
    assert verdict() is Verdict.ASK
    other = tmp_path / "other.yaml"
    other.write_text("approval: {mode: 'off'}\n")
    settings.unlink()
    settings.symlink_to(other)
    assert verdict() is Verdict.ASK


def test_what_cannot_be_read_lets_nothing_pass(settings: Path) -> None:
    assert verdict() is Verdict.ASK
    Accepted(settings).path.write_text("{}")
    with pytest.raises(ConfigError, match="cannot be read"):
        verdict()


def test_a_running_program_knows_what_was_accepted_when_the_file_is_lost(settings: Path) -> None:
    gate = open_gate(load(), terminal=False)
    Accepted(settings).path.unlink()
    settings.write_text("approval: {mode: 'off'}\n")
    assert gate.judge(DANGEROUS, Context(cwd="/srv/work")).verdict is Verdict.ASK
    gate.close()
    assert verdict() is Verdict.ASK


def test_variables_and_arguments_of_the_program_stay(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict() is Verdict.ASK
    settings.write_text("approval: {mode: 'off', low_severity: deny}\n")
    monkeypatch.setenv("SHELLWARD_APPROVAL__MODE", "off")
    assert verdict() is Verdict.ALLOW
    monkeypatch.delenv("SHELLWARD_APPROVAL__MODE")
    assert verdict() is Verdict.ASK


@pytest.mark.usefixtures("settings")
def test_what_a_person_always_allows_is_accepted_with_it() -> None:
    def always(request: ApprovalRequest) -> Answer:
        del request
        return Answer("allow", "always")

    gate, beside = open_gate(load(), terminal=False), open_gate(load(), terminal=False)
    with register_approval_callback(always):
        assert gate.decide(DANGEROUS, Context(cwd="/srv/work")).verdict is Verdict.ALLOW
    assert beside.judge(DANGEROUS, Context(cwd="/srv/work")).verdict is Verdict.ALLOW
    assert verdict() is Verdict.ALLOW
    gate.close()
    beside.close()


def test_an_entry_that_nobody_approved_waits(settings: Path) -> None:
    gate = open_gate(load(), terminal=False)
    settings.write_text("approval: {command_allowlist: ['rm -rf /srv/x']}\n")
    assert gate.judge(DANGEROUS, Context(cwd="/srv/work")).verdict is Verdict.ASK
    assert verdict() is Verdict.ASK
    gate.close()


def test_many_at_once_keep_a_whole_file(settings: Path) -> None:
    kept = [Accepted(settings) for _ in range(8)]
    failed: list[BaseException] = []

    def hold(one: Accepted) -> None:
        try:
            for _ in range(10):
                one.hold()
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=hold, args=(one,)) for one in kept]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert kept[0].hold() == approval_of(settings)


def test_where_nothing_can_be_kept_it_is_said(settings: Path, capfd: pytest.CaptureFixture[str]) -> None:
    place = settings.parent / "file"
    place.write_text("")
    one = Accepted(settings, place / "accepted")
    held = one.hold()
    settings.write_text("approval: {mode: 'off'}\n")
    assert one.hold() == held
    assert "cannot be kept" in capfd.readouterr().err
