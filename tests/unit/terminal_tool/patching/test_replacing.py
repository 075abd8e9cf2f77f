"""Replacing one piece by another: exact, lenient, and refused where it would be a guess."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shellward.terminal_tool.patching.model import PatchError
from shellward.terminal_tool.patching.replacing import replace

CODE = """\
class A:
    def f(self):
        if x:
            return 1
        return 2

    def g(self):
        return 3
"""
G = "    def g(self):\n        return 3"
BLOCK = "    def f(self):\n        if y:\n            return 1\n        return 2\n"


@pytest.mark.parametrize(
    ("old", "new", "wanted", "how"),
    [
        ("return 3", "return 4", "        return 4\n", "exact"),
        (f"{G[:16]}   {G[16:]}", "    def h(self):\n        return 3\n", "    def h(self):\n", "trailing blanks"),
        ("def g(self):\n    return 3", "def g(self):\n    return 4", "        return 4\n", "indentation"),
        ("def g(self):\n return  3", "def g(self):\n return 5", "        return 5\n", "blanks"),
        ("    def  g(self):\n        return   3", "    def g(self):\n        return 6", "        return 6\n", "blanks"),
        (G.replace("\n", "\\n"), "    def g(self):\\n        return 7", "        return 7\n", "escapes"),
        (BLOCK, "    pass\n", "class A:\n    pass\n\n    def g", "first and last line"),
    ],
)
def test_each_rung(old, new, wanted, how) -> None:
    done = replace(CODE, old, new)
    assert done.how == how
    assert wanted in done.text
    assert done.count == 1


def test_typography() -> None:
    done = replace('say("it\u2019s \u201chere\u201d \u2013 now")\n', 'say("it\'s "here" - now")', "x")
    assert (done.how, done.text) == ("typography", "x\n")


def test_tabs_stay_tabs() -> None:
    text = "def f():\n\tif x:\n\t\treturn 1\n"
    done = replace(text, "def f():\n    if x:\n        return 1", "def f():\n    if y:\n        return 2\n    return 3")
    assert done.text == "def f():\n\tif y:\n\t\treturn 2\n\treturn 3\n"


def test_line_ends_stay_as_they_are() -> None:
    assert replace("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n").text == "x\r\ny\r\nz\r\nc\r\n"
    assert replace("a\nb", " b", "c").text == "a\nc"


@pytest.mark.parametrize(
    ("text", "old", "message"),
    [
        ("a\na\n", "a", r"2 times \(lines 1, 2\)"),
        ("  a\n  b\n a\n b\n", "a\nb", "2 times"),
        ("a\n", "", "empty"),
        ("a\n", "new", "are the same"),
        ("a\n", "b", "not there"),
        ("a\n", "\n\n", "not there"),
        ("def handler(args):\n", "def handler(arguments):\n", "line 1 comes near"),
        ("", "x", "not there"),
    ],
)
def test_a_guess_is_refused(text, old, message) -> None:
    with pytest.raises(PatchError, match=message):
        replace(text, old, "new")


def test_every_one_of_them() -> None:
    done = replace("a b a\na\n", "a", "x", every=True)
    assert (done.text, done.count, done.lines) == ("x b x\nx\n", 3, (1, 1, 2))


def test_a_block_that_is_too_different_is_not_it() -> None:
    with pytest.raises(PatchError):
        replace("begin\nsomething\nend\n", "begin\nwholly other text here\nend\n", "x")


def test_long_files_are_quick() -> None:
    text = "".join(f"line {number}\n" for number in range(100_000))
    assert replace(text, "  line 99999", "x").how == "indentation"
    with pytest.raises(PatchError):
        replace("a\n" * 100_000, "a\n" * 50_000 + "b", "x")
    with pytest.raises(PatchError):
        replace("a\n" + "x\n" * 100_000, "a\n" + "y\n" * 50_000 + "a\n", "x")


LINES = st.lists(st.text("ab (){}\t", max_size=6), min_size=1, max_size=12)


@given(LINES, st.data())
def test_what_is_there_once_is_replaced_exactly(lines, data) -> None:
    text = "\n".join(lines) + "\n"
    start = data.draw(st.integers(0, len(text) - 1))
    old = text[start : data.draw(st.integers(start + 1, len(text)))]
    new = data.draw(st.text("xy\n ", max_size=8).filter(lambda new: new != old))
    if text.count(old) == 1:
        assert replace(text, old, new).text == text.replace(old, new)
    else:
        with pytest.raises(PatchError):
            replace(text, old, new)


@given(LINES, st.data())
def test_other_indentation_changes_only_the_place(lines, data) -> None:
    unique = [f"{'  ' * (number % 3)}line {number} {line.strip()}" for number, line in enumerate(lines)]
    start = data.draw(st.integers(0, len(unique) - 1))
    end = data.draw(st.integers(start + 1, len(unique)))
    old = "\n".join(f"   {line.lstrip()}  " for line in unique[start:end])
    done = replace("\n".join(unique) + "\n", old, "new")
    kept = [line.strip() for line in done.text.split("\n")]
    assert kept == [*(line.strip() for line in unique[:start]), "new", *(line.strip() for line in unique[end:]), ""]
    assert done.text.split("\n")[:start] == unique[:start]
