"""Every rule carries examples: what it must find and what it must leave alone."""

import re

import pytest

from shellward.approval import DANGEROUS_PATTERNS, detect_dangerous_command
from shellward.approval.patterns import PACKS
from shellward.core.gate import Severity

RULES = list(DANGEROUS_PATTERNS)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_examples(rule):
    for command in rule.must:
        found = {finding.rule for finding in detect_dangerous_command(command).findings}
        assert rule.id in found, f"{command!r} gives {sorted(found)}"
    for command in rule.must_not:
        found = {finding.rule for finding in detect_dangerous_command(command).findings}
        assert rule.id not in found, f"{command!r} gives {sorted(found)}"


def test_ids_are_unique_and_rules_are_complete():
    ids = [rule.id for rule in RULES]
    assert len(ids) == len(set(ids))
    for rule in RULES:
        assert rule.must, rule.id
        assert rule.must_not, rule.id
        assert rule.description, rule.id
        assert rule.why, rule.id
        assert rule.commands, rule.id


def test_items_begin_with_regex_and_description():
    for item in DANGEROUS_PATTERNS:
        regex, description, *_ = item
        re.compile(regex)
        assert item[0] == regex
        assert item[1] == description


def test_never_allow_is_short_and_critical():
    held = [rule for rule in RULES if rule.never_allow]
    assert 3 <= len(held) <= 12
    assert all(rule.severity is Severity.CRITICAL for rule in held)


def test_packs_are_not_empty():
    assert all(PACKS.values())


@pytest.mark.parametrize(
    ("command", "cwd", "asked"),
    [
        ("rm notes.txt", "/home/bob/project", False),
        ("rm -rf build", "/home/bob/project", False),
        ("rm -rf /home/bob/project/build", "/home/bob/project", False),
        ("cd sub && rm -rf node_modules", "/srv/app", False),
        ("rm -rf src", "/srv/app", True),
        ("rm *", "/srv/app", True),
        ("rm -rf ../other", "/srv/app", True),
        ("cd .. && rm notes.txt", "/srv/app", True),
        ("rm notes.txt", "/home/bob", True),
        ("rm id_rsa", "/home/bob/.ssh", True),
        ("rm passwd", "/etc", True),
        ("rm -rf main", "/var/lib/postgresql", True),
        ("rm -rf build", "/", True),
        ("sudo rm ../../etc/passwd", "/srv/app", True),
    ],
)
def test_what_is_below_somebodys_working_directory_is_their_work(command, cwd, asked):
    assert bool(detect_dangerous_command(command, cwd=cwd)) is asked


REPEATED = [
    ("ip ", "link set "),
    ("ip -- ", "r "),
    ("nmcli ", "con "),
    ("npm ", "install "),
    ("npm install ", "-g "),
    ("go env ", "-w "),
    ("npm pkg ", "set "),
    ("gh api graphql -f query='", "mutation "),
    ("gdb ", "-p "),
    ("renice ", "-20 "),
    ("touch ", "-d "),
    ("ctr ", "run "),
    ("pacman ", "-S "),
    ("aws ec2 ", "authorize-security-group-ingress "),
    ("docker run ", "--network host "),
    ("neo4j-admin ", "load "),
    ("virsh ", "qemu-agent-command "),
]
"""What an expression could try in every combination: the square of 64 KB takes minutes, and the test is ended."""


@pytest.mark.parametrize(("head", "unit"), REPEATED)
def test_words_that_are_repeated_are_not_tried_in_every_combination(head, unit):
    command = head + unit * (65_536 // len(unit)) + "'" * head.count("'")
    assert not [finding for finding in detect_dangerous_command(command).findings if finding.never_allow]
