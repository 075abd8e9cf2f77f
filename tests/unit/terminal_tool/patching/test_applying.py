"""Patches: unified diffs of real programs and of models, V4A, several files, all or nothing."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from shellward.terminal_tool.patching.applying import apply, parse
from shellward.terminal_tool.patching.making import diff
from shellward.terminal_tool.patching.model import Kind, PatchError

FILE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


def change(patch: str, **files: str) -> dict[str, str | None]:
    return apply(patch, files.get).files


TEXTS = st.lists(
    st.sampled_from(["a", "b", "c", "", "-- x", "++ y", "@@ z", "\\ w", "d\r", " e"]), max_size=14
).flatmap(lambda lines: st.sampled_from(["\n".join(lines), "\n".join(lines) + "\n"]))


@given(TEXTS, TEXTS, st.integers(1, 4))
@example("a\nb", "a\nb\n", 3)
@example("a", "", 3)
@example("-- x\n", "++ y\n", 1)
def test_a_diff_leads_from_the_old_text_to_the_new(old, new, context) -> None:
    patch = diff(old, new, "f", context=context)
    if old == new:
        assert patch == ""
    else:
        assert change(patch, f=old) == {"f": new}


@given(TEXTS)
def test_a_diff_makes_and_removes_files(text) -> None:
    assume(text)
    assert change(diff(None, text, "f")) == {"f": text}
    assert change(diff(text, None, "f"), f=text) == {"f": None}


@settings(max_examples=25, deadline=None)
@given(TEXTS, TEXTS)
def test_diffs_of_the_real_program(tmp_path_factory, old, new) -> None:
    directory = tmp_path_factory.mktemp("diff")
    (directory / "old").write_bytes(old.encode())
    (directory / "new").write_bytes(new.encode())
    done = subprocess.run(["diff", "-u", "old", "new"], cwd=directory, capture_output=True, check=False)
    patch = done.stdout.decode().replace("+++ new", "+++ old")
    if old == new:
        assert patch == ""
        return
    files = apply(patch, {"old": old}.get).files
    assert files == {"old": new}


@given(st.lists(st.integers(0, 30), max_size=8), st.lists(st.integers(0, 30), max_size=8), st.integers(0, 20))
def test_a_place_that_moved_is_found_again(removed, inserted, shift) -> None:
    old = [f"line {number}" for number in range(31)]
    new = [line for number, line in enumerate(old) if number not in removed]
    for at in inserted:
        new.insert(min(at, len(new)), f"new {at}")
    patch = diff("\n".join(old) + "\n", "\n".join(new) + "\n", "f")
    above = "".join(f"above {number}\n" for number in range(shift))
    if patch:
        assert change(patch, f=above + "\n".join(old) + "\n") == {"f": above + "\n".join(new) + "\n"}


def test_what_git_writes(tmp_path) -> None:
    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x@y", *words], cwd=tmp_path, capture_output=True, check=True
        )
        return done.stdout.decode()

    names = ["plain.txt", "with space.txt", "h\u00e9 \u201cquoted\u201d\n.txt", "gone.txt", "old name.txt"]
    before = {name: f"{name}\n" + "".join(f"{number}\n" for number in range(20)) for name in names}
    git("init", "-q")
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    git("add", "-A")
    git("commit", "-qm", "x")
    after: dict[str, str | None] = {}
    for name in names[:3]:
        after[name] = before[name].replace("7\n", "seven\n", 1) + "no end"
        (tmp_path / name).write_text(after[name])
    (tmp_path / "gone.txt").unlink()
    (tmp_path / "old name.txt").rename(tmp_path / "new name.txt")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "fresh.txt").write_text("fresh\n")
    git("add", "-A")
    patch = git("diff", "--cached", "-M")
    after |= {"gone.txt": None, "old name.txt": None, "empty.txt": "", "fresh.txt": "fresh\n"}
    after["new name.txt"] = before["old name.txt"]
    assert apply(patch, before.get).files == after
    mail = "From: x\nSubject: y\n\n---\n f | 2 +-\n\n" + diff("a\n", "b\n", "f") + "-- \n2.39.0\n\n"
    assert change(mail, f="a\n") == {"f": "b\n"}


@pytest.mark.parametrize(
    "patch",
    [
        "--- a/f\n+++ b/f\n@@ -2,3 +2,3 @@ def x\n two\n-three\n+THREE\n four\n",
        "--- f\n+++ f\n@@\n two\n-three\n+THREE\n four\n",
        "--- f\n+++ f\n@@ ... @@\n two\n-three\n+THREE\n four\n\n\n",
        "--- f\t2026-01-01\n+++ f\t2026-01-02\n@@ -99,1 +99,7 @@\n two\n-three\n+THREE\n four\n",
        "--- f\n+++ f\n@@ -2,1 +2,1 @@\n two  \n-  three\n+THREE\n  four\n",
        "Here it is:\n--- f\n+++ f\n@@ -2,30 +2,30 @@\n two\n-three\n+THREE\n four\n",
        "*** Begin Patch\n*** Update File: f\n@@\n two\n-three\n+THREE\n four\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: f\n@@ two\n-three\n+THREE\n*** End Patch",
        "*** Begin Patch\n*** Update File: f\n@@ one\n@@ two\n-three\n+THREE\n*** End Patch",
        "text\n*** Begin Patch\r\n*** Update File: f\r\n two\r\n-three\r\n+THREE\r\n*** End Patch\r\n",
    ],
)
def test_the_ways_models_write_one_change(patch) -> None:
    assert change(patch, f=FILE) == {"f": FILE.replace("three", "THREE")}


def test_context_stays_as_it_is_in_the_file() -> None:
    patch = "--- f\n+++ f\n@@ -1,3 +1,3 @@\n if x:\n-y\n+z\n w\n"
    done = apply(patch, {"f": "\tif x: \n\ty\n\tw\t\n"}.get)
    assert done.files == {"f": "\tif x: \nz\n\tw\t\n"}
    assert done.notes == ("f, hunk 1 was found at line 1, but for indentation",)


def test_several_files_and_one_of_them_twice() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a\n-one\n+1\n*** Add File: new/b\n+first\n+\n+third\n*** Delete File: c\n"
        "*** Update File: d\n*** Move to: e\n-x\n+y\n*** Update File: a\n-two\n+2\n*** End Patch"
    )
    found = change(patch, a=FILE, c="gone\n", d="x\n")
    assert found == {
        "a": FILE.replace("one", "1").replace("two", "2"),
        "new/b": "first\n\nthird\n",
        "c": None,
        "d": None,
        "e": "y\n",
    }
    assert [each.kind for each in parse(patch)] == [Kind.UPDATE, Kind.ADD, Kind.DELETE, Kind.UPDATE, Kind.UPDATE]


def test_all_or_nothing_and_each_problem_is_named() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a\n-one\n+1\n*** Update File: b\n-nothing\n+x\n*** Delete File: c\n"
        "*** Add File: a2\n+x\n*** Update File: a\n-eleven\n+x\n*** End Patch"
    )
    with pytest.raises(PatchError) as error:
        change(patch, a=FILE, b="text\n", a2="there\n")
    message = str(error.value)
    assert message.startswith("nothing was changed")
    assert "b, hunk 1: not in the file below line 0: 'nothing'" in message
    assert "c: there is no such file" in message
    assert "a2 cannot be added" in message
    assert "a, hunk 1: not in the file" in message


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ("", "no file header"),
        ("--- f\n+++ f\n", "a hunk .* must follow"),
        ("--- f\n+++ f\n@@ -1 +1 @@\n", "empty"),
        ("--- f\n+++ f\n@@ -1,2 +1,2 @@\n one\nbroken\n", "begins with"),
        ("--- f\n+++ f\n@@ -1 +1 @@\n-one\n+1\nrest\n", "neither a hunk nor a file"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-one\n+1\n", "both files"),
        ("diff --git a/f b/f\nindex 1..2\nBinary files a/f and b/f differ\n", "binary"),
        ("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", "mode alone"),
        ("*** Begin Patch\n", "must begin with"),
        ("*** Begin Patch\n*** End Patch", "names no file"),
        ("*** Begin Patch\n*** Update File: f\n*** End Patch", "nothing changes"),
        ("*** Begin Patch\n*** Update File: f\n one\n*** End Patch", "nothing changes"),
        ("*** Begin Patch\n*** Update File: \n-one\n*** End Patch", "no name"),
        ("*** Begin Patch\n*** Add File: g\nx\n*** End Patch", r"begins with '\+'"),
        ("*** Begin Patch\n*** Delete File: f\n-x\n*** End Patch", "nothing follows"),
        ("*** Begin Patch\n*** Update File: f\n?one\n*** End Patch", "begins with"),
        ("*** Begin Patch\nrest\n*** Update File: f\n-one\n*** End Patch", "a file must begin"),
        ("*** Begin Patch\n*** Update File: f\n@@ nowhere\n-two\n*** End Patch", "no line 'nowhere'"),
        ("*** Begin Patch\n*** Update File: f\n*** Move to: g\n-one\n+1\n*** End Patch", "there is one already"),
        ("*** Begin Patch\n*** Update File: f\n-two\n-five\n*** End Patch", "not one after the other"),
        ("*** Begin Patch\n*** Update File: f\n-one\n+1\n*** End of File\n*** End Patch", "below line 0"),
        ("--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "more lines than the patch knows"),
    ],
)
def test_what_is_wrong_is_said(patch, message) -> None:
    with pytest.raises(PatchError, match=message):
        change(patch, f=FILE, g="there\n")


def test_a_lenient_place_that_is_there_twice_is_refused() -> None:
    patch = "*** Begin Patch\n*** Update File: f\n-a\n+b\n*** End Patch"
    with pytest.raises(PatchError, match="2 times, but for indentation"):
        change(patch, f="  a\nx\n   a\n")
    assert change(patch, f="a\nx\na\n") == {"f": "b\nx\na\n"}


def test_insertions_without_context() -> None:
    begin, end = "*** Begin Patch\n*** Update File: f\n", "*** End Patch"
    assert change(f"{begin}+last\n{end}", f="a\n") == {"f": "a\nlast\n"}
    assert change(f"{begin}@@ a\n+after\n{end}", f="a\nb\n") == {"f": "a\nafter\nb\n"}
    assert change(f"{begin}+first\n{end}", f="") == {"f": "first\n"}
    assert change("--- f\n+++ f\n@@ -1,0 +2 @@\n+new\n", f="a\nb\n") == {"f": "a\nnew\nb\n"}


def test_the_end_of_a_file() -> None:
    patch = "*** Begin Patch\n*** Update File: f\n-x\n+y\n*** End of File\n*** End Patch"
    assert change(patch, f="x\na\nx\n") == {"f": "x\na\ny\n"}


def test_line_ends_of_the_file_stay() -> None:
    assert change("--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n", f="a\r\nb\r\n") == {"f": "a\r\nc\r\n"}
    assert change("--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n", f="a\nb") == {"f": "a\nc"}


@given(st.text("-+ @*\\ab\n", max_size=80))
@settings(deadline=None)
def test_no_text_is_more_than_an_error(text) -> None:
    for patch in (text, f"--- f\n+++ f\n{text}", f"*** Begin Patch\n*** Update File: f\n{text}\n*** End Patch"):
        try:
            apply(patch, {"f": FILE}.get)
        except PatchError:
            continue


def test_what_reading_raises_is_raised() -> None:
    def read(path: str) -> str:
        raise PermissionError(path)

    with pytest.raises(PermissionError):
        apply("--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n", read)


def test_nothing_is_imported_that_could_touch_a_file() -> None:
    import shellward.terminal_tool.patching as room

    for file in Path(room.__path__[0]).glob("*.py"):
        assert not {"import os", "pathlib", "open(", "subprocess"} & set(file.read_text().split())
