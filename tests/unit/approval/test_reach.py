"""The table of reach, row by row, and that what is not in it is never taken lightly."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellward.approval import reach as reach_module
from shellward.approval.patterns_index import known_rules
from shellward.approval.reach import CONTAINED_WHEN, EVERYTHING, NEVER_CONTAINED, SEALED, Reach, contained, typical
from shellward.core.gate import Finding, Severity

POWERS = sorted(EVERYTHING.powers)


def finding(pack: str, severity: Severity = Severity.MEDIUM, affects: tuple[str, ...] = ()) -> Finding:
    rule = pack if "." in pack else f"{pack}.x"
    return Finding(rule, "x", severity, (0, 1), "x", affects)


@pytest.mark.parametrize("pack", CONTAINED_WHEN)
def test_each_row(pack: str) -> None:
    assert contained(finding(pack), SEALED, "medium")
    assert not contained(finding(pack), EVERYTHING, "medium")
    for power in POWERS:
        assert contained(finding(pack), Reach.of([power]), "medium") == (power not in CONTAINED_WHEN[pack])


@pytest.mark.parametrize("pack", [*sorted(NEVER_CONTAINED), "new-pack", ""])
def test_what_is_not_in_the_table_is_never_contained(pack: str) -> None:
    assert not contained(finding(pack), SEALED, "high")


def test_somebody_thought_about_every_pack() -> None:
    packs = {entry.id.partition(".")[0] for entry in known_rules()}
    assert packs <= set(CONTAINED_WHEN) | NEVER_CONTAINED
    rules = {entry.id for entry in known_rules()}
    assert {name for name in CONTAINED_WHEN if "." in name} <= rules
    assert not set(CONTAINED_WHEN) & NEVER_CONTAINED


def test_the_docstring_names_every_row() -> None:
    rows = re.split(r"=+  =+  =+\n", reach_module.__doc__ or "")[2]
    assert set(re.findall(r"[a-z.-]+", " ".join(line[:22] for line in rows.splitlines()))) == set(CONTAINED_WHEN)


def test_severity_has_a_ceiling() -> None:
    high = finding("files", Severity.HIGH)
    assert not contained(high, SEALED, "medium")
    assert contained(high, SEALED, "high")
    assert not contained(finding("files", Severity.CRITICAL), SEALED, "high")
    assert not contained(finding("files", Severity.LOW), SEALED, "none")


@pytest.mark.parametrize("target", ["host:/srv", "user@host", "s3://bucket/x", "//server/share", "rsync://h/m"])
def test_a_remote_target_counts_the_network(target: str) -> None:
    online = Reach.of(["network"])
    assert contained(finding("files", affects=("/srv",)), online, "medium")
    assert not contained(finding("files", affects=("/srv", target)), online, "medium")


def test_a_command_on_another_host_is_not_contained() -> None:
    online = Reach.of(["network"])
    here = Finding("files.x", "x", Severity.MEDIUM, (0, 1), "rm -rf x", ("x",))
    assert contained(here, online, "medium")
    assert contained(replace(here, via=("bash", "timeout")), online, "medium")
    for via in (("ssh",), ("docker",), ("bash", "kubectl"), ("something-new",)):
        assert not contained(replace(here, via=via), online, "medium")
        assert contained(replace(here, via=via), SEALED, "medium")


def test_never_allow_is_never_contained() -> None:
    never = Finding("files.x", "x", Severity.LOW, (0, 1), "x", never_allow=True)
    assert not contained(never, SEALED, "high")


@given(st.sets(st.sampled_from(POWERS)), st.sampled_from(POWERS), st.sampled_from(list(CONTAINED_WHEN)))
def test_more_reach_never_contains_more(powers: set[str], more: str, pack: str) -> None:
    if contained(finding(pack), Reach.of({*powers, more}), "medium"):
        assert contained(finding(pack), Reach.of(powers), "medium")


def test_words_and_back() -> None:
    assert Reach.of(EVERYTHING.powers) == EVERYTHING == Reach()
    with pytest.raises(ValueError, match="unknown reach: nonsense; known: "):
        Reach.of(["nonsense"])
    assert SEALED.within(())
    assert not EVERYTHING.within(["network"])


def test_only_sandboxes_have_a_narrow_typical_reach() -> None:
    for kind in ("local", "ssh", "singularity", "anything"):
        assert typical(kind) == EVERYTHING
    assert typical("docker").powers == {"network"}
