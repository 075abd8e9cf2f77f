"""Approvals never widen: what one covers is what was shown."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from found import Found as Detection
from hypothesis import given
from hypothesis import strategies as st

from shellward.approval.context import Context
from shellward.approval.grants import Grant, Grants, GrantStore, exact, parts
from shellward.approval.policy import Case, decide
from shellward.approval.reach import Reach
from shellward.config.schema import AllowEntry
from shellward.core.gate import Finding, Severity, Verdict

Place = tuple[Detection, Context, Reach]
POWERS = ("network", "credentials", "host-files-write", "persistent")

findings = st.builds(
    lambda rule, inner, severity, affects, via, cwd: Finding(
        rule, "x", severity, (0, 1), inner, tuple(affects), via=via, cwd=cwd
    ),
    st.sampled_from(["files.rm", "git.push-force", "system.service", "unknown.eval", "remote.run"]),
    st.sampled_from(["rm -rf a", "rm -rf b", "git push -f"]),
    st.sampled_from([Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL]),
    st.lists(st.sampled_from(["/a", "/b"]), max_size=2),
    st.sampled_from([(), ("bash",), ("sudo",), ("ssh",)]),
    st.sampled_from(["/a", "/b", "."]),
)
detections = st.builds(
    lambda command, found: Detection(command, tuple(found), command),
    st.sampled_from(["rm -rf a", "rm -rf b", "rm -rf a; rm -rf b", "git push -f && rm -rf a"]),
    st.lists(findings, min_size=1, max_size=3),
)
contexts = st.builds(
    lambda backend, target, cwd: Context(backend=backend, target=target, cwd=cwd),
    st.sampled_from(["local", "docker"]),
    st.sampled_from(["", "one", "two"]),
    st.sampled_from([None, "/a", "/b"]),
)
reaches = st.builds(Reach.of, st.sets(st.sampled_from(POWERS)))


def place(context: Context) -> tuple[str, str, str]:
    return context.backend, context.target, context.cwd or ""


@given(st.tuples(detections, contexts, reaches), st.tuples(detections, contexts, reaches))
def test_an_exact_approval_covers_that_line_in_that_place(approved: Place, tried: Place) -> None:
    (shown, context, reach), (other, elsewhere, wider) = approved, tried
    grant = exact(shown, shown.findings, context, reach)
    decision = decide(Case(detected=other, context=elsewhere, reach=wider, grants=Grants([grant]))).decision
    same = (
        other.normalized == shown.normalized
        and place(elsewhere) == place(context)
        and wider.powers <= reach.powers
        and {finding.rule for finding in other.findings} <= {finding.rule for finding in shown.findings}
    )
    ungranted = decide(Case(detected=other, context=elsewhere, reach=wider)).decision
    if ungranted.verdict is not Verdict.ALLOW:
        open_rules = {finding.rule for finding in decide(Case(detected=other, context=elsewhere, reach=wider)).open}
        same_enough = same or (
            other.normalized == shown.normalized
            and place(elsewhere) == place(context)
            and wider.powers <= reach.powers
            and open_rules <= {finding.rule for finding in shown.findings}
        )
        assert (decision.verdict is Verdict.ALLOW) == same_enough


@given(st.tuples(detections, contexts, reaches), st.tuples(detections, contexts, reaches))
def test_a_narrow_rule_covers_those_inner_commands_only(approved: Place, tried: Place) -> None:
    (shown, context, reach), (other, elsewhere, wider) = approved, tried
    made = parts(shown, shown.findings, context, reach)
    before = decide(Case(detected=other, context=elsewhere, reach=wider))
    after = decide(Case(detected=other, context=elsewhere, reach=wider, grants=Grants(made)))
    seen = {(f.rule, f.inner, frozenset(f.affects), f.cwd) for f in shown.findings}
    answered = set(before.open) - set(after.open)
    for finding in answered:
        assert (finding.rule, finding.inner, frozenset(finding.affects), finding.cwd) in seen
        assert not {"sudo", "ssh"} & set(finding.via)
        assert place(elsewhere)[:2] == place(context)[:2]
        assert wider.powers <= reach.powers
        assert finding.severity < Severity.CRITICAL or finding.rule in {g.rule for g in shown.findings}


@given(detections, contexts, reaches)
def test_what_is_written_is_what_is_read(shown: Detection, context: Context, reach: Reach) -> None:
    import msgspec

    for grant in (exact(shown, shown.findings, context, reach), *parts(shown, shown.findings, context, reach)):
        entry = msgspec.convert(grant.entry() | {"added": "2026-11-21T08:00:00+00:00"}, AllowEntry)
        assert Grant.of_entry(entry) == grant


BASE = Finding("files.rm", "x", Severity.MEDIUM, (0, 1), "rm -rf a", ("/a",), cwd="/a")


@pytest.mark.parametrize(
    "change",
    [
        {"severity": Severity.CRITICAL},
        {"affects": ()},
        {"inner": ""},
        {"inner": "rm -rf $(find ..)"},
        {"inner": "rm -rf " + "x" * 500 + " .."},
        {"rule": "unknown.eval"},
        {"rule": "remote.run", "inner": "@run sh net:curl"},
        {"via": ("sudo",)},
        {"via": ("ssh",)},
        {"via": ("something-new",)},
        {"cwd": "."},
        {"cwd": ""},
    ],
)
def test_no_narrow_rule_for_what_depends_on_its_surroundings(change: dict[str, Any]) -> None:
    context, reach = Context(cwd="/a"), Reach()
    line = Detection("rm -rf a", (BASE,))
    assert len(parts(line, [BASE], context, reach)) == 1
    assert parts(line, [BASE, replace(BASE, **change)], context, reach) == ()


@pytest.mark.parametrize(
    "line",
    [
        "GIT_DIR=/x rm -rf a",
        "export X=1; rm -rf a",
        "PATH=/evil:$PATH; rm -rf a",
        "a[0]=1; rm -rf a",
        "alias rm=x; rm -rf a",
        "rm() { x; }; rm -rf a",
        "function rm { x; }; rm -rf a",
        ". ./x; rm -rf a",
        "source x; rm -rf a",
        "env X=1 rm -rf a",
        "eval x; rm -rf a",
        "set -- x; rm -rf a",
        "(X=1; rm -rf a)",
        "printf -v X y; rm -rf a",
    ],
)
def test_a_narrow_rule_does_not_hold_where_something_was_set_before(line: str) -> None:
    context, reach = Context(cwd="/a"), Reach()
    (grant,) = parts(Detection("rm -rf a", (BASE,)), [BASE], context, reach)
    assert grant.covers(BASE, Detection("ls && rm -rf a 2>&1 | tail -3", (BASE,)), context, reach)
    assert not grant.covers(BASE, Detection(line, (BASE,)), context, reach)
    assert parts(Detection(line, (BASE,)), [BASE], context, reach) == ()


def test_a_finding_that_was_not_shown_is_not_covered() -> None:
    shown = BASE
    newer = replace(shown, rule="files.rm-outside")
    context, reach = Context(cwd="/a"), Reach()
    detected = Detection("rm -rf a", (shown, newer), "rm -rf a")
    for grant in (exact(detected, [shown], context, reach), *parts(detected, [shown], context, reach)):
        assert grant.covers(shown, detected, context, reach)
        assert not grant.covers(newer, detected, context, reach)


def test_a_bare_string_is_one_line_anywhere() -> None:
    store = GrantStore(("rm -rf a",))
    finding = Finding("files.rm", "x", Severity.HIGH, (0, 1), "rm -rf a")
    view = store.view("s")
    for context in (Context(), Context(backend="ssh", cwd="/x")):
        assert view.covering(finding, Detection("c", (finding,), "rm -rf a"), context, Reach())
        assert not view.covering(finding, Detection("c", (finding,), "rm -rf a b"), context, Reach())


def test_a_session_ends() -> None:
    store = GrantStore()
    finding = Finding("files.rm", "x", Severity.HIGH, (0, 1), "rm")
    detected = Detection("rm", (finding,), "rm")
    store.remember([Grant(command="rm")], "one")
    assert store.view("one").covering(finding, detected, Context(), Reach())
    assert not store.view("two").covering(finding, detected, Context(), Reach())
    store.forget("one")
    assert not store.view("one").covering(finding, detected, Context(), Reach())


def test_what_another_program_writes_or_takes_out_holds_here_too(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    finding = Finding("files.rm", "x", Severity.HIGH, (0, 1), "rm a")
    detected = Detection("rm a", (finding,), "rm a")
    here, there = GrantStore((), file, follow=True), GrantStore((), file, follow=True)

    def covered() -> bool:
        return here.view("s").covering(finding, detected, Context(), Reach()) is not None

    assert not covered()
    there.remember([Grant(command="rm a")], None)
    assert covered()
    file.write_text("approval: [")  # somebody is in the middle of changing it
    assert covered()
    file.write_text("approval: {mode: manual}\n")
    assert not covered()


def test_never_allow_is_covered_by_nothing() -> None:
    finding = Finding("files.rm", "x", Severity.HIGH, (0, 1), "rm", never_allow=True)
    assert not Grant(command="rm").covers(finding, Detection("rm", (finding,), "rm"), Context(), Reach())
