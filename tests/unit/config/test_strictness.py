"""Which of two approval sections is looser, setting by setting."""

import msgspec
import pytest

from shellward.config.schema import AllowEntry, ApprovalSection, ReviewerSection, RuleSpec
from shellward.config.strictness import differences, looser, strictest

DENY = RuleSpec(action="deny", argv=("echo",))
ASK = RuleSpec(action="ask", argv=("ls",))
ALLOW = RuleSpec(action="allow", argv=("rm",))
PLAIN = ApprovalSection()

LOOSER = [
    (PLAIN, ApprovalSection(mode="smart")),
    (PLAIN, ApprovalSection(mode="off")),
    (ApprovalSection(mode="smart"), ApprovalSection(mode="off")),
    (PLAIN, ApprovalSection(rules=(ALLOW,))),
    (ApprovalSection(rules=(DENY,)), PLAIN),
    (ApprovalSection(rules=(ASK,)), PLAIN),
    (ApprovalSection(rules=(DENY,)), ApprovalSection(rules=(RuleSpec(action="deny", argv=("echo", "x")),))),
    (PLAIN, ApprovalSection(command_allowlist=("rm -rf x",))),
    (PLAIN, ApprovalSection(command_allowlist=(AllowEntry(command="rm -rf x"),))),
    (ApprovalSection(packs=("p.yaml",)), PLAIN),
    (ApprovalSection(low_severity="ask"), PLAIN),
    (PLAIN, ApprovalSection(contained="high")),
    (ApprovalSection(queue="off"), PLAIN),
    (PLAIN, ApprovalSection(reviewer=ReviewerSection(base_url="http://x"))),
]


@pytest.mark.parametrize(("old", "new"), LOOSER)
def test_looser_and_the_way_back(old: ApprovalSection, new: ApprovalSection) -> None:
    assert looser(old, new)
    assert not looser(old, strictest(old, new))
    assert all(str(each) for each in differences(old, new))
    if old.reviewer == new.reviewer and len(old.rules) + len(new.rules) < 2:
        assert not looser(new, old)
        assert strictest(new, old) == old


def test_what_lets_nothing_pass() -> None:
    assert not looser(PLAIN, ApprovalSection(timeout=5))
    assert not looser(ApprovalSection(rules=(DENY, ASK)), ApprovalSection(rules=(ASK, DENY)))
    assert not differences(PLAIN, PLAIN)


def test_of_a_mixed_change_the_prohibitions_hold() -> None:
    old = ApprovalSection(rules=(DENY,), command_allowlist=("a", "b"), timeout=9)
    new = ApprovalSection(mode="off", rules=(ASK, ALLOW), command_allowlist=("b", "c"), low_severity="ask", timeout=5)
    held = strictest(old, new)
    assert held == ApprovalSection(rules=(DENY, ASK), command_allowlist=("b",), low_severity="ask", timeout=5)
    assert not looser(old, held)


def test_every_setting_has_a_direction() -> None:
    """A new one counts as looser whenever it changes; whoever adds it decides."""
    known = {"mode", "command_allowlist", "rules", "packs", "low_severity", "contained", "timeout", "queue", "reviewer"}
    assert set(ApprovalSection.__struct_fields__) == known


def test_a_difference_is_readable() -> None:
    (one,) = differences(PLAIN, ApprovalSection(rules=(ALLOW,)))
    assert str(one) == '+ approval.rules: {"action":"allow","argv":["rm"]}'
    (one,) = differences(PLAIN, ApprovalSection(mode="off"))
    assert str(one) == '~ approval.mode: "manual" -> "off"'
    assert msgspec.to_builtins(one.old) == "manual"
