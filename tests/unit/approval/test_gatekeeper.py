"""The gate as callers hold it: from a command to a decision, with people, memory and the record."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shellward.approval.callbacks import register_approval_callback
from shellward.approval.context import Answer, ApprovalRequest, Context, Review
from shellward.approval.gatekeeper import Gate, open_gate
from shellward.approval.journal import Journal
from shellward.approval.queue import Queue
from shellward.approval.reach import SEALED, Reach
from shellward.approval.withdrawal import Withdrawal
from shellward.config import load
from shellward.config.schema import ApprovalSection, AuditSection, Config
from shellward.core.gate import Decision, Verdict
from shellward.telemetry.chain import read, verify

TOKEN = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
HERE = Context(cwd="/a")
Make = Callable[..., Gate]


@pytest.fixture
def gate(detect: Any, tmp_path: Path) -> Iterator[Make]:
    made: list[Gate] = []

    def make(**fields: Any) -> Gate:
        approval = {
            name: fields.pop(name)
            for name in ApprovalSection.__struct_fields__
            if name in fields and name != "reviewer"
        }
        audit = fields.pop("audit", AuditSection(fsync="never"))
        config = Config(approval=ApprovalSection(**approval), audit=audit)
        journal = Journal(audit, tmp_path / "audit.jsonl")
        made.append(Gate(config, detect=detect, journal=journal, terminal=False, **fields))
        return made[-1]

    yield make
    for one in made:
        one.close()


def ok(decision: Decision) -> bool:
    assert decision.verdict is not Verdict.ASK, "decide always ends in yes or no"
    return decision.verdict is Verdict.ALLOW


def test_headless_without_any_approver(gate: Make) -> None:
    one = gate()
    assert ok(one.decide("ls", HERE))
    decision = one.decide("rm -rf x", HERE)
    assert not ok(decision)
    assert decision.decided_by == "nobody"
    assert "nobody can be asked here" in decision.reason


def test_never_allow_asks_nobody(gate: Make) -> None:
    asked: list[ApprovalRequest] = []
    with register_approval_callback(lambda request: bool(asked.append(request)) or True):
        for mode in ("manual", "smart", "off"):
            assert not ok(gate(mode=mode, reach=SEALED).decide("rm -rf /", HERE))
    assert not asked


def test_all_findings_are_shown_and_answered_together(gate: Make) -> None:
    asked: list[ApprovalRequest] = []

    def yes(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    with register_approval_callback(yes):
        assert ok(gate().decide("rm -rf x; ls; rm -rf y", HERE))
    assert [finding.inner for finding in asked[0].findings] == ["rm -rf x", "rm -rf y"]


def test_once_is_once(gate: Make) -> None:
    one = gate()
    with register_approval_callback(lambda _: "once"):
        assert ok(one.decide("rm -rf x", HERE))
    assert not ok(one.decide("rm -rf x", HERE))


def test_session_is_this_session_and_this_line(gate: Make) -> None:
    one = gate()
    with register_approval_callback(lambda _: "session"):
        assert ok(one.decide("rm -rf x", Context(cwd="/a", session="s")))
    assert ok(one.decide("rm -rf x", Context(cwd="/a", session="s")))
    for command, context in (
        ("rm -rf y", Context(cwd="/a", session="s")),
        ("rm -rf x; rm -rf y", Context(cwd="/a", session="s")),
        ("rm -rf x", Context(cwd="/b", session="s")),
        ("rm -rf x", Context(cwd="/a", session="other")),
        ("rm -rf x", Context(cwd="/a", session="s", backend="ssh")),
        ("rm -rf x", Context(cwd="/a", session="s", target="other")),
    ):
        assert not ok(one.decide(command, context)), (command, context)
    one.forget_session("s")
    assert not ok(one.decide("rm -rf x", Context(cwd="/a", session="s")))


def test_a_narrow_rule_holds_in_other_lines(gate: Make) -> None:
    one = gate()
    with register_approval_callback(lambda _: Answer("allow", "session", part=True)):
        assert ok(one.decide("rm -rf x", HERE))
    assert ok(one.decide("ls; rm -rf x; ls", HERE))
    assert not ok(one.decide("ls; rm -rf x; rm -rf y", HERE))


def test_a_narrow_rule_that_was_not_offered_is_not_remembered(gate: Make) -> None:
    one = gate()
    with register_approval_callback(lambda _: Answer("allow", "always", part=True)):
        assert ok(one.decide("worst x", HERE))
    assert not ok(one.decide("worst x", HERE))


def test_always_survives_a_restart_and_nothing_more(gate: Make, detect: Any, own_home: Path) -> None:
    file = own_home / "config.yaml"
    own_home.mkdir()
    file.write_text("# mine\napproval:\n  mode: manual # keep\n")
    with register_approval_callback(lambda _: "always"):
        assert ok(gate(config_file=file).decide("rm -rf x", HERE))
    assert "# keep" in file.read_text()
    again = Gate(load().config, detect=detect, terminal=False)
    assert ok(again.decide("rm -rf x", HERE))
    assert not ok(again.decide("rm -rf y", HERE))
    assert not ok(again.decide("rm -rf x", Context(cwd="/b")))
    wider = Gate(load().config, detect=detect, terminal=False, reach=Reach())
    assert ok(wider.decide("rm -rf x", HERE))


def test_an_approval_in_a_sandbox_does_not_cover_a_wider_one(gate: Make, detect: Any, own_home: Path) -> None:
    file = own_home / "config.yaml"
    with register_approval_callback(lambda _: "always"):
        assert ok(gate(config_file=file, contained="none", reach=SEALED).decide("rm -rf x", HERE))
    assert ok(Gate(load().config, detect=detect, terminal=False, reach=SEALED).decide("rm -rf x", HERE))
    assert not ok(Gate(load().config, detect=detect, terminal=False).decide("rm -rf x", HERE))


def test_always_that_cannot_be_written_is_once(gate: Make, own_home: Path) -> None:
    own_home.mkdir()
    file = own_home / "config.yaml"
    file.write_text("approval: [\n")
    one = gate(config_file=file)
    with register_approval_callback(lambda _: "always"):
        decision = one.decide("rm -rf x", HERE)
    assert ok(decision)
    assert "could not be remembered" in decision.reason
    assert not ok(one.decide("rm -rf x", HERE))


def test_a_detector_that_fails_is_a_finding(gate: Make) -> None:
    assert not ok(gate().decide("explode", HERE))
    asked: list[ApprovalRequest] = []
    with register_approval_callback(lambda request: bool(asked.append(request)) or True):
        assert ok(gate().decide("explode", HERE))
    assert asked[0].findings[0].rule == "unknown.detector-failed"
    assert not asked[0].part


class FakeReviewer:
    def __init__(self, review: Review | Exception) -> None:
        self.said, self.asked = review, 0

    def review(self, *_: object) -> Review:
        self.asked += 1
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


@pytest.mark.parametrize(
    ("review", "allowed", "by"),
    [
        (Review("approve", "fine", (10, 5)), True, "reviewer"),
        (Review("deny", "bad", (10, 5)), False, "reviewer"),
        (Review("escalate", "doubt"), False, "nobody"),
        (RuntimeError("boom"), False, "nobody"),
    ],
)
@pytest.mark.parametrize("how", ["sync", "async"])
def test_the_reviewer(gate: Make, review: Review | Exception, allowed: bool, by: str, how: str) -> None:
    one = gate(mode="smart", reviewer=FakeReviewer(review))
    decision = one.decide("rm -rf x", HERE) if how == "sync" else asyncio.run(one.adecide("rm -rf x", HERE))
    assert (ok(decision), decision.decided_by) == (allowed, by)
    if not isinstance(review, Exception) and review.tokens != (0, 0):
        assert "15 tokens" in decision.steps[-1].reason, "what it cost can be seen"


def test_the_reviewers_verdict_is_never_remembered(gate: Make, own_home: Path) -> None:
    reviewer = FakeReviewer(Review("approve", "fine"))
    one = gate(mode="smart", reviewer=reviewer, config_file=own_home / "config.yaml")
    assert ok(one.decide("rm -rf x", HERE))
    reviewer.said = Review("escalate", "changed my mind")
    assert not ok(one.decide("rm -rf x", HERE))
    assert not (own_home / "config.yaml").exists()


def test_smart_mode_without_settings_asks_a_person(gate: Make) -> None:
    decision = gate(mode="smart").decide("rm -rf x", HERE)
    assert decision.decided_by == "nobody"
    assert any("approval.reviewer.base_url: must be set" in step.reason for step in decision.steps)


class TestQueue:
    def test_auto_waits_only_when_somebody_watches(self, gate: Make, tmp_path: Path) -> None:
        directory = tmp_path / "approvals"
        one = gate(approvals_dir=directory, timeout=20.0)
        assert not one.somebody_watches()
        assert one.decide("rm -rf x", HERE).decided_by == "nobody"
        queue, stop = Queue(directory), Withdrawal()
        from shellward.approval.withdrawal import Descriptor

        def watch() -> None:
            with Descriptor(stop) as fd:
                for entries in queue.watch(cancel_fd=fd):
                    for entry in entries:
                        queue.answer(entry.request.id, Answer("allow", by="me@tty7"))

        watcher = threading.Thread(target=watch)
        watcher.start()
        while not one.somebody_watches():
            time.sleep(0.005)
        decision = one.decide("rm -rf x", HERE)
        stop.withdraw()
        watcher.join()
        assert (ok(decision), decision.reason) == (True, "approved by me@tty7")

    def test_on_waits_and_then_denies(self, gate: Make, tmp_path: Path) -> None:
        one = gate(approvals_dir=tmp_path / "q", queue="on", timeout=0.05)
        assert "no answer within 0.05 seconds" in one.decide("rm -rf x", HERE).reason
        decision = one.decide("rm -rf x", HERE, timeout=0.02)
        assert "no answer within 0.02 seconds" in decision.reason

    def test_a_broken_queue_is_nobody(self, gate: Make, tmp_path: Path) -> None:
        (tmp_path / "q").write_text("a file where a directory should be")
        decision = gate(approvals_dir=tmp_path / "q", queue="on").decide("rm -rf x", HERE)
        assert decision.decided_by == "nobody"


def test_withdrawing_ends_the_wait_and_serves_again(gate: Make, tmp_path: Path) -> None:
    one = gate(approvals_dir=tmp_path / "q", queue="on", timeout=30.0)
    withdrawal = Withdrawal()
    threading.Timer(0.05, withdrawal.withdraw).start()
    assert one.decide("rm -rf x", HERE, withdrawal=withdrawal).decided_by == "nobody"
    shared = Withdrawal()
    with register_approval_callback(lambda _: True):
        assert ok(one.decide("rm -rf x", HERE, withdrawal=shared))
        assert ok(one.decide("rm -rf y", HERE, withdrawal=shared))


class TestAsync:
    @pytest.mark.parametrize("kind", ["plain", "async"])
    def test_callbacks(self, gate: Make, kind: str) -> None:
        async def main() -> list[Decision]:
            one = gate()

            async def coroutine(_: ApprovalRequest) -> bool:
                await asyncio.sleep(0.01)
                return True

            def plain(_: ApprovalRequest) -> bool:
                time.sleep(0.01)
                return True

            with register_approval_callback(coroutine if kind == "async" else plain):
                return await asyncio.gather(*(one.adecide(f"rm -rf x{number}", HERE) for number in range(20)))

        assert all(map(ok, asyncio.run(main())))

    def test_the_loop_goes_on_while_a_person_thinks(self, gate: Make, tmp_path: Path) -> None:
        async def main() -> tuple[Decision, int]:
            one = gate(approvals_dir=tmp_path / "q", queue="on", timeout=20.0)
            question = asyncio.create_task(one.adecide("rm -rf x", HERE))
            turns = 0
            queue = Queue(tmp_path / "q")
            while not queue.entries():
                turns += 1
                await asyncio.sleep(0.01)
            queue.answer(queue.entries()[0].request.id, Answer("allow"))
            return await question, turns

        decision, turns = asyncio.run(main())
        assert ok(decision)
        assert turns

    def test_cancelling_withdraws_the_question(self, gate: Make, tmp_path: Path) -> None:
        async def main() -> None:
            one = gate(approvals_dir=tmp_path / "q", queue="on", timeout=60.0)
            question = asyncio.create_task(one.adecide("rm -rf x", HERE))
            queue = Queue(tmp_path / "q")
            while not queue.entries():  # noqa: ASYNC110  # the other side is a program that sets no Event
                await asyncio.sleep(0.01)
            question.cancel()
            with pytest.raises(asyncio.CancelledError):
                await question
            assert queue.entries(pending_only=False)[0].state == "withdrawn"

        asyncio.run(main())


class TestRecord:
    def test_who_decided_what_and_how_it_ended(self, gate: Make, tmp_path: Path) -> None:
        one = gate()
        decision = one.decide("ls", HERE)
        one.record(decision, 3, 1.23456789)
        one.decide(f"rm -rf --token {TOKEN}", Context(cwd="/a", task="t", reason=f"use {TOKEN}"))
        first, outcome, second = read(tmp_path / "audit.jsonl")
        assert (first["verdict"], first["by"], first["command"]) == ("allow", "findings", "ls")
        assert first["context"] == {"backend": "local", "cwd": "/a"}
        assert (outcome["id"], outcome["exit_code"], outcome["duration"]) == (first["id"], 3, 1.234568)
        assert (second["verdict"], second["by"]) == ("deny", "nobody")
        assert [step["by"] for step in second["steps"]] == ["findings", "nobody"]
        assert TOKEN not in (tmp_path / "audit.jsonl").read_text()
        assert verify(tmp_path / "audit.jsonl").ok

    def test_text_that_is_not_utf8_and_long_commands(self, gate: Make, tmp_path: Path) -> None:
        one = gate()
        one.decide("ls \udcff", HERE)
        one.decide("ls " + "x" * 100_000, HERE)
        first, second = read(tmp_path / "audit.jsonl")
        assert first["command"] == "ls \\udcff"
        assert "characters left out, sha256" in second["command"]
        assert verify(tmp_path / "audit.jsonl").ok

    def test_what_cannot_be_recorded_does_not_run(self, gate: Make, tmp_path: Path) -> None:
        (tmp_path / "audit.jsonl").mkdir()
        decision = gate().decide("ls", HERE)
        assert not ok(decision)
        assert decision.decided_by == "audit"
        lenient = gate(audit=AuditSection(on_error="ignore"))
        decision = lenient.decide("ls", HERE)
        assert ok(decision)
        lenient.record(decision, 0, 0.1)

    def test_switched_off(self, gate: Make, tmp_path: Path) -> None:
        one = gate(audit=AuditSection(enabled=False))
        one.record(one.decide("ls", HERE), 0, 0.1)
        assert not (tmp_path / "audit.jsonl").exists()

    def test_examining_records_nothing(self, gate: Make, tmp_path: Path) -> None:
        assert gate().examine("rm -rf x", HERE).decision.verdict is Verdict.ASK
        assert not (tmp_path / "audit.jsonl").exists()

    def test_judging_records_and_asks_nobody(self, gate: Make, tmp_path: Path) -> None:
        with register_approval_callback(lambda _: pytest.fail("nobody is to be asked")):
            assert gate().judge("rm -rf x", HERE).verdict is Verdict.ASK
        assert next(iter(read(tmp_path / "audit.jsonl")))["verdict"] == "ask"


def test_twenty_threads_at_once(gate: Make, tmp_path: Path) -> None:
    one = gate()
    results: dict[int, bool] = {}

    def work(number: int) -> None:
        callback = register_approval_callback(lambda _: number % 2 == 0)
        for turn in range(5):
            results[number * 10 + turn] = ok(one.decide(f"rm -rf x{number}", HERE))
        callback.unregister()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number * 10 + turn: number % 2 == 0 for number in range(20) for turn in range(5)}
    assert verify(tmp_path / "audit.jsonl").records == 100
    assert verify(tmp_path / "audit.jsonl").ok


def test_open_gate_uses_the_usual_places(own_home: Path) -> None:
    one = open_gate(load(), terminal=False)
    assert ok(one.decide("true"))
    one.close()
    assert (own_home / "audit" / "audit.jsonl").exists()
