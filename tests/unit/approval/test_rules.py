"""The user's rules: what denies may match too much, what allows never does."""

from dataclasses import replace
from typing import Any

import pytest
from found import Found as Detection
from hypothesis import given
from hypothesis import strategies as st

from shellward.approval.context import Context
from shellward.approval.rules import Rules, _narrow, is_simple, split_commands
from shellward.config.schema import RuleSpec
from shellward.core.gate import Finding, Severity

HERE = Context()


def finding(inner: str, rule: str = "git.push") -> Finding:
    return Finding(rule, "push", Severity.MEDIUM, (0, len(inner)), inner)


def allows(inner: str, **spec: object) -> bool:
    return Rules([RuleSpec(action="allow", **spec)]).allowing(finding(inner), HERE) is not None  # type: ignore[arg-type]


def denies(command: str, *findings: Finding, **spec: object) -> bool:
    detected = Detection(command, findings, command)
    return Rules([RuleSpec(action="deny", **spec)]).denying(detected, HERE) is not None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("inner", "spec"),
    [
        ("git push origin x", {"glob": "git push *"}),
        ("git push origin feature/x", {"glob": "git push origin feature/?"}),
        ("git push origin f1", {"glob": "git push origin f[0-9]"}),
        ("git push origin fx", {"glob": "git push origin f[!0-9]"}),
        ("git push 'a;b'", {"glob": "git push 'a;b'"}),
        ("git push origin x", {"regex": "git push origin [a-z]+"}),
        ("git push origin x", {"argv": ("git", "push")}),
        ("git push origin x", {"rule": "git.*"}),
        ("git push origin x", {"rule": "git.push", "glob": "git push origin *", "argv": ("git",)}),
    ],
)
def test_allow_covers_what_it_says(inner: str, spec: dict[str, object]) -> None:
    assert allows(inner, **spec)


@pytest.mark.parametrize("glob", ["git push *", "git push*", "git*", "*", "git push ??????????*"])
@pytest.mark.parametrize(
    "inner",
    [
        "git push; rm -rf /srv",
        "git push && rm -rf /srv",
        "git push | sh",
        "git push & rm -rf /srv",
        "git push\nrm -rf /srv",
        "git push $(rm -rf /srv)",
        'git push "$(rm -rf /srv)"',
        "git push `rm -rf /srv`",
        "git push <(rm -rf /srv)",
        "git push > /etc/passwd",
        "git push ${x:=$(rm -rf /srv)}",
        "git push # '\nrm -rf /srv #'",
        "git push $'\\''; rm -rf /srv; #'",
    ],
)
def test_an_allowing_wildcard_stops_at_what_the_shell_acts_on(glob: str, inner: str) -> None:
    assert not allows(inner, glob=glob)
    assert not allows(inner, regex="(?s)git push.*")
    assert not allows(inner, argv=("git", "push"))


@pytest.mark.parametrize(
    ("inner", "spec"),
    [
        ("git push origin x", {"glob": "git push"}),
        ("git push origin x", {"regex": "git push"}),
        ("git pushx", {"argv": ("git", "push")}),
        ("/tmp/evil/git push", {"argv": ("git", "push")}),
        ("git push x", {"rule": "files.*"}),
        ("git push x", {"rule": "git.push", "glob": "git pull *"}),
        ("git push z", {"glob": "git push [z-a]"}),
        ("", {"glob": "*"}),
        ("git push 'open", {"glob": "git push *"}),
    ],
)
def test_allow_covers_no_more(inner: str, spec: dict[str, object]) -> None:
    assert not allows(inner, **spec)


@pytest.mark.parametrize("char", ";|&<>()`$\n")
def test_a_wildcard_alone_stands_for_no_active_character(char: str) -> None:
    """Also in quotes: this is the second fence, for the day when the first one misreads a quote."""
    for glob in ("git push *", "git push a?b", "git push a[!x]b", "git push a*b", "*"):
        assert _narrow(glob).fullmatch("git push a-b")
        assert not _narrow(glob).fullmatch(f"git push a{char}b")


@pytest.mark.parametrize("spec", [{"rule": "git.*"}, {"glob": "git push*"}, {"argv": ("git",)}, {"regex": "git.*"}])
def test_allowed_here_is_not_allowed_elsewhere_or_as_root(spec: dict[str, Any]) -> None:
    rules = Rules([RuleSpec(action="allow", **spec)])
    here = finding("git push")
    assert rules.allowing(here, HERE)
    assert rules.allowing(replace(here, via=("bash", "timeout")), HERE)
    for via in (("ssh",), ("docker",), ("something-new",), ("sudo",), ("bash", "sudo")):
        assert not rules.allowing(replace(here, via=via), HERE), via


def test_a_rule_may_say_that_it_means_root() -> None:
    rules = Rules([RuleSpec(action="allow", glob="sudo git push*")])
    assert rules.allowing(replace(finding("git push"), via=("sudo",)), HERE)
    assert not rules.allowing(finding("git push"), HERE)
    assert not rules.allowing(replace(finding("git push"), via=("sudo", "ssh")), HERE)


def test_an_effect_names_its_program_as_the_last_wrapper() -> None:
    rules = Rules([RuleSpec(action="allow", rule="system.write")])
    effect = replace(finding("> /etc/x", "system.write"), via=("tee",))
    assert rules.allowing(effect, HERE)
    assert not rules.allowing(replace(effect, via=("sudo", "tee")), HERE)


def test_nobody_allows_the_never_allow_list() -> None:
    never = Finding("files.rm-root", "all", Severity.CRITICAL, (0, 1), "rm -rf /", never_allow=True)
    assert Rules([RuleSpec(action="allow", rule="*")]).allowing(never, HERE) is None


@pytest.mark.parametrize(
    ("command", "spec"),
    [
        ("git push", {"glob": "git push*"}),
        ("cd x && git push -f", {"glob": "git push*"}),
        ("true; git push", {"argv": ("git", "push")}),
        ("(git push)", {"argv": ("git", "push")}),
        ("x=$(git push)", {"argv": ("git", "push")}),
        ("/usr/bin/git push", {"argv": ("git", "push")}),
        ("echo hi\ngit push", {"regex": "^git push"}),
        ("sudo git push origin", {"regex": "git push"}),
        ("X=git; $X push -f", {"glob": "git push*"}),
        ("g'i't pu\\sh", {"argv": ("git", "push")}),
        ("sudo env A=1 /usr/bin/git push", {"glob": "git push*"}),
        ("find . -name x -exec git push {} +", {"argv": ("git", "push")}),
        ("bash -c 'git push'", {"argv": ("git", "push")}),
        ('eval "$(echo git push)"', {"argv": ("git", "push")}),
        ("printf 'git push' | sh", {"argv": ("git", "push")}),
        ("if true; then git push; fi", {"argv": ("git", "push")}),
    ],
)
def test_deny_sees_every_reading(command: str, spec: dict[str, object]) -> None:
    assert denies(command, **spec)


def test_deny_sees_resolved_inner_commands() -> None:
    assert denies("X=git; $X push", finding("git push"), argv=("git", "push"))
    assert denies("X=git; $X push", finding("git push"), rule="git.*")
    assert not denies("ls", argv=("git", "push"))
    assert not denies("X=git; $X push", finding("git push"), rule="files.*")


@given(st.text(max_size=40), st.text(max_size=10))
def test_any_glob_and_any_text(text: str, glob: str) -> None:
    allows(text, glob=glob or "*")
    split_commands(text)


@given(st.text(alphabet="abc ;|&$(`'\"\n", max_size=30))
def test_whatever_has_an_operator_is_not_simple(text: str) -> None:
    if is_simple(text):
        outside = text.replace('\\"', "")
        assert "\n" not in outside
        assert "`" not in outside or "'" in outside


def test_many_stars_take_no_exponential_time() -> None:
    assert not allows("a" * 3000, glob="*a" * 30 + "b")
