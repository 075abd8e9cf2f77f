"""``read_file``, ``write_file`` and ``patch``: on the files of a task's environment."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tooling import ALL_KINDS, KINDS, Tools

from shellward.config import paths


@pytest.mark.parametrize("tools", ALL_KINDS, indirect=True)
def test_write_and_read(tools: Tools) -> None:
    assert tools.write_file("a/b c/d.txt", "one\ntwo €\nthree") == {
        "path": "a/b c/d.txt",
        "bytes_written": 17,
        "created": True,
    }
    assert not tools.write_file("a/b c/d.txt", "one\ntwo €\nthree")["created"]
    assert tools.terminal("cat 'a/b c/d.txt'")["output"] == "one\ntwo €\nthree"
    assert tools.read_file("a/b c/d.txt") == {
        "content": "1|one\n2|two €\n3|three",
        "total_lines": 3,
        "file_size": 17,
        "truncated": False,
    }
    part = tools.read_file("a/b c/d.txt", offset=2, limit=1)
    assert (part["content"], part["truncated"]) == ("2|two €", True)
    assert "offset=3" in part["hint"]
    assert "3 lines" in tools.read_file("a/b c/d.txt", offset=9)["hint"]


@pytest.mark.parametrize("tools", KINDS, indirect=True)
def test_paths_are_the_sessions(tools: Tools) -> None:
    tools.terminal("mkdir -p sub; cd sub; export HOME=$PWD")
    tools.write_file("here", "1\n")
    assert tools.terminal("cat $OLDPWD/sub/here")["output"] == "1\n"
    assert tools.read_file("~/here")["content"] == "1|1"
    assert tools.write_file("~/there", "2\n")["created"]
    assert tools.terminal("cat there")["output"] == "2\n"


@pytest.mark.parametrize("tools", ALL_KINDS, indirect=True)
def test_large_files_are_read_in_parts(tools: Tools) -> None:
    tools.terminal("seq 1 200000 >numbers; head -c 300000 /dev/zero | tr '\\0' x >wide; : >empty")
    part = tools.read_file("numbers", offset=199_999)
    assert (part["content"], part["total_lines"]) == ("199999|199999\n200000|200000", 200_000)
    wide = tools.read_file("wide")
    assert len(wide["content"]) < 3000
    assert wide["total_lines"] == 1
    assert tools.read_file("empty") == {"content": "", "total_lines": 0, "file_size": 0, "truncated": False}


@pytest.mark.parametrize("tools", ALL_KINDS, indirect=True)
def test_what_cannot_be_read_or_written(tools: Tools) -> None:
    tools.terminal("printf 'a\\0b' >binary; mkdir directory; : >file")
    assert "binary" in tools.read_file("binary")["error"]
    assert "No such file" in tools.read_file("missing")["error"]
    assert "Is a directory" in tools.read_file("directory")["error"]
    assert tools.read_file("")["error"]
    assert "Is a directory" in tools.write_file("directory", "x")["error"]
    assert tools.write_file("file/below", "x")["error"]
    assert "binary" in tools.patch(path="binary", old_string="a", new_string="c")["error"]
    assert tools.terminal("ls")["output"] == "binary\ndirectory\nfile\n"


def test_writing_passes_the_gate(tools: Tools, victim: Path) -> None:
    keys = victim / ".ssh" / "authorized_keys"
    keys.parent.mkdir()
    keys.write_text("mine\n")
    said = tools.write_file(str(keys), "another\n")
    assert (said["status"], said["approval"]["verdict"]) == ("denied", "deny")
    said = tools.patch(path=str(keys), old_string="mine", new_string="another")
    assert said["status"] == "denied"
    assert keys.read_text() == "mine\n"


def test_a_long_result_can_be_read_by_its_path(tools: Tools) -> None:
    folder = paths.state_dir() / "results"
    folder.mkdir(parents=True)
    (folder / ("0" * 32)).write_text("long\nresult\n")
    assert tools.read_file(str(folder / ("0" * 32)), offset=2)["content"] == "2|result"


@pytest.mark.parametrize("tools", KINDS, indirect=True)
def test_replace(tools: Tools) -> None:
    tools.write_file("x.py", "def f():\r\n    return 1\r\n")
    tools.terminal("chmod 755 x.py")
    said = tools.patch(path="x.py", old_string="  return 1", new_string="  return 2")
    assert (said["success"], said["files_modified"]) == (True, ["x.py"])
    assert "+    return 2" in said["diff"]
    assert tools.terminal("stat -c %a x.py; tr '\\r' R <x.py")["output"] == "755\ndef f():R\n    return 2R\n"
    assert "not there" in tools.patch(path="x.py", old_string="nowhere", new_string="")["error"]
    tools.write_file("y", "a a\na\n")
    assert "3 times" in tools.patch(path="y", old_string="a", new_string="b")["error"]
    assert tools.patch(path="y", old_string="a", new_string="b", replace_all=True)["notes"]
    assert tools.read_file("y")["content"] == "1|b b\n2|b"


@pytest.mark.parametrize("tools", KINDS, indirect=True)
def test_several_files_by_a_patch(tools: Tools) -> None:
    tools.write_file("one", "1\n")
    tools.write_file("two", "2\n")
    said = tools.patch(
        mode="patch",
        patch="*** Begin Patch\n*** Update File: one\n@@\n-1\n+eins\n*** Delete File: two\n"
        "*** Add File: new/three\n+3\n*** End Patch\n",
    )
    assert (said["files_modified"], said["files_deleted"], said["files_created"]) == (["one"], ["two"], ["new/three"])
    assert tools.terminal("cat one new/three; ls")["output"] == "eins\n3\nnew\none\n"
    again = tools.patch(mode="patch", patch="--- a/one\n+++ b/one\n@@ -1 +1 @@\n-eins\n+uno\n")
    assert again["success"]
    assert tools.read_file("one")["content"] == "1|uno"


@pytest.mark.parametrize("tools", KINDS, indirect=True)
def test_a_patch_that_does_not_fit_changes_nothing(tools: Tools) -> None:
    tools.write_file("one", "1\n")
    said = tools.patch(
        mode="patch",
        patch="*** Begin Patch\n*** Update File: one\n@@\n-1\n+2\n"
        "*** Update File: missing\n@@\n-1\n+2\n*** End Patch\n",
    )
    assert "nothing was changed" in said["error"]
    assert tools.read_file("one")["content"] == "1|1"


@pytest.mark.parametrize("tools", KINDS, indirect=True)
def test_a_patch_that_fails_in_the_middle_is_taken_back(tools: Tools) -> None:
    """The third file cannot be written: the first is as it was, the second and the new directory are gone."""
    tools.terminal("echo 1 >a; chmod 600 a; echo kept >gone; chmod 640 gone; : >file")
    said = tools.patch(
        mode="patch",
        patch="*** Begin Patch\n*** Delete File: gone\n*** Update File: a\n@@\n-1\n+2\n*** Add File: new/b\n+b\n"
        "*** Add File: file/below\n+c\n*** End Patch\n",
    )
    assert said["error"]
    listed = tools.terminal("ls; stat -c '%a %n' a gone; cat a gone")["output"]
    assert listed == "a\nfile\ngone\n600 a\n640 gone\n1\nkept\n"


def test_a_refused_part_takes_the_whole_patch_back(tools: Tools, victim: Path) -> None:
    tools.write_file("one", "1\n")
    place = victim / ".ssh" / "authorized_keys"
    added = f"*** Add File: {place}\n+ssh-ed25519 AAAA"
    said = tools.patch(
        mode="patch", patch=f"*** Begin Patch\n*** Update File: one\n@@\n-1\n+2\n{added}\n*** End Patch\n"
    )
    assert said["status"] == "denied"
    assert not place.parent.exists()
    assert tools.read_file("one")["content"] == "1|1"


@pytest.mark.parametrize(
    "arguments",
    [
        {"mode": "other"},
        {"mode": "patch"},
        {"path": "x"},
        {"mode": "patch", "patch": "nonsense"},
        {"path": "", "old_string": "a", "new_string": "b"},
    ],
)
def test_ugly_arguments_of_patch(tools: Tools, arguments: dict[str, str]) -> None:
    assert tools.patch(**arguments)["error"]


def test_twenty_writers_of_one_file(tools: Tools) -> None:
    """Each patch sees what the one before it has left: none is lost."""
    tools.write_file("list", "begin\n")
    with ThreadPoolExecutor(20) as pool:
        patch = "*** Begin Patch\n*** Update File: list\n@@\n begin\n+line {}\n*** End Patch\n"
        said = list(pool.map(lambda n: tools.patch(mode="patch", patch=patch.format(n)), range(20)))
    assert all(each["success"] for each in said), json.dumps(said)
    lines = tools.read_file("list")["content"].splitlines()
    assert sorted(line.partition("|")[2] for line in lines) == sorted(["begin", *(f"line {n}" for n in range(20))])
