"""Rules' expressions: what is compiled for which text, and that the words they need are those that they need."""

import re

import needed_words
import pytest
from needed_words import needed, parts

from shellward.approval import expressions
from shellward.approval.expressions import Expression, sign
from shellward.approval.patterns import RULES
from shellward.approval.patterns.words import PARTS, WORDS

RULE = next(rule.regex for rule in RULES if rule.id == "cloud.aws-delete")
SHORT = next(rule.regex for rule in RULES if sign(rule.regex) in WORDS and sign(rule.regex) not in PARTS)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The expressions that were compiled."""
    made: list[str] = []

    class Re:
        @staticmethod
        def compile(text: str) -> re.Pattern[str]:
            made.append(text)
            return re.compile(text)

    monkeypatch.setattr(expressions, "re", Re)
    expressions.expression.cache_clear()  # other tests ask the same rules
    return made


def test_the_table_is_that_of_the_rules() -> None:
    assert needed_words.tables() == (WORDS, PARTS), "run: python tests/unit/approval/needed_words.py"


def test_most_rules_are_in_it() -> None:
    assert sum(sign(rule.regex) in WORDS for rule in RULES if rule.regex) > 0.9 * sum(1 for rule in RULES if rule.regex)


def test_a_text_without_the_words_compiles_nothing(compiled: list[str]) -> None:
    rule = Expression(RULE)
    assert not rule.occurs_in("aws s3 ls")
    assert compiled == []
    assert rule.occurs_in("aws ec2 terminate-instances --instance-ids=i-1")
    assert not rule.occurs_in("aws ec2 describe-instances")
    assert len(compiled) == 1


def test_a_long_one_is_compiled_in_parts(compiled: list[str]) -> None:
    assert Expression(RULE).occurs_in("aws ec2 terminate-instances --instance-ids=i-1")
    assert sum(map(len, compiled)) < len(RULE) / 2


def test_one_that_is_asked_often_is_compiled(compiled: list[str]) -> None:
    rule = Expression(SHORT)
    for _ in range(200):
        assert not rule.occurs_in("-")
    assert compiled == [SHORT]


FILLER = "x" * 150


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("abc|def", ["abc|def"]),
        (f"abc|{FILLER}|def", ["abc", FILLER, "def"]),
        (f"a|b|{FILLER}|c|d", ["a|b", FILLER, "c|d"]),
        (f"a(?:b|{FILLER})c", ["a(?:b)c", f"a(?:{FILLER})c"]),
        (f"(?i)abc|{FILLER}", ["(?i)abc", f"(?i){FILLER}"]),
        (f"[|(]a|{FILLER}", ["[|(]a", FILLER]),
        (rf"\(a\|b|{FILLER}", [r"\(a\|b", FILLER]),
        (f"a(?:b|{FILLER})?c", [f"a(?:b|{FILLER})?c"]),
        (f"a(b|{FILLER})c", [f"a(b|{FILLER})c"]),
        (f"a(?>b|{FILLER})c", [f"a(?>b|{FILLER})c"]),
        (f"a(?!b|{FILLER})c", [f"a(?!b|{FILLER})c"]),
        (rf"(a)\1|{FILLER}", [rf"(a)\1|{FILLER}"]),
    ],
)
def test_the_parts_of_an_expression(expression: str, expected: list[str]) -> None:
    assert ["".join(expression[start:end] for start, end in part) for part in parts(expression)] == expected


def test_a_changed_expression_does_not_use_the_old_words(compiled: list[str]) -> None:
    changed = RULE.replace("terminate", "describe")
    assert sign(changed) not in PARTS
    assert Expression(changed).occurs_in("aws ec2 describe-instances")
    assert compiled == [changed]


def test_letters_that_count_as_the_same(compiled: list[str]) -> None:
    folded = [rule.regex for rule in RULES if rule.regex.startswith("(?i)")]
    rule = next(regex for regex in folded if sign(regex) in WORDS and sign(regex) not in PARTS)
    word = WORDS[sign(rule)][1:].split("\n")[0].split("\t")[0].split("\r")[0]
    Expression(rule).occurs_in(f"x {word.upper()} x")
    assert compiled == [rule]
    Expression(rule).occurs_in("\u017f")  # a long s, which is an s there
    assert compiled == [rule, rule]
    Expression(rule).occurs_in("x")
    assert compiled == [rule, rule]


def ways(expression: str, *commands: str) -> set[tuple[frozenset[str], ...]]:
    found = needed(expression, commands)
    return set(found.ways) if found else set()


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("^git push", [["git push"]]),
        ("(?:abc|abd)e?", [["abc", "abd"]]),
        ("abc(?:de)?", [["abc"]]),
        ("a[bc]d", [["abd", "acd"]]),
        (r"abc\b.*(?:def)+", [["abc"], ["def"]]),
        ("abc(?=xyz)(?!uvw)", [["abc"]]),
        ("abc(?:x{2}|y)def", [["abc"], ["def"]]),
        (r"(abc)\1", [["abc"]]),
        ("(?:zabc|abc)x", [["abcx"]]),
        (r"\w+|abc", None),
        (r".*\d", None),
        ("a", None),
        ("(?:abc)?", None),
        ("(?>abc|abd).*", [["abc", "abd"]]),
        ("(?i)ABC", [["abc"]]),
        ("x(?i:ABC)y", [["xabcy"]]),
    ],
)
def test_what_an_expression_needs(expression: str, words: list[list[str]] | None) -> None:
    expected = set() if words is None else {frozenset(map(frozenset, words))}
    assert {frozenset(way) for way in ways(expression)} == expected


def test_alternatives_need_something_each() -> None:
    long = "abcdefghijklmnop"
    assert ways(f"{long}.*xyz|uvw") == {(frozenset([long]), frozenset(["xyz"])), (frozenset(["uvw"]),)}
    assert ways(f"{long}.*xyz|.*") == set()


def test_a_commands_name_says_nothing() -> None:
    assert ways("^docker .*(?:rm|kill)", "docker") == {(frozenset(["kill", "rm"]),)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_no_example_is_passed_over(rule: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the words and without, a rule says the same of its own examples and of other rules' ones."""
    from shellward.approval.detect import detect_dangerous_command

    examples = [*rule.must, *rule.must_not]  # type: ignore[attr-defined]
    with_words = [[one.rule for one in detect_dangerous_command(text).findings] for text in examples]
    monkeypatch.setattr("shellward.approval.engine.expression", _Plain)
    assert with_words == [[one.rule for one in detect_dangerous_command(text).findings] for text in examples]


class _Plain:
    def __init__(self, text: str) -> None:
        self.text = text

    def occurs_in(self, text: str) -> bool:
        return re.search(self.text, text) is not None
