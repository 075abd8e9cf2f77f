"""``search_files``: with ripgrep where it is (docker), with find and grep where it is not."""

import pytest
from tooling import ALL_KINDS, KINDS, Tools


@pytest.fixture
def tree(tools: Tools) -> Tools:
    tools.terminal(
        "mkdir -p src/deep .git node_modules; echo 'def one(): pass' >src/a.py;"
        "printf 'x\\ndef two()\\ny\\n' >src/deep/b.py; echo 'def three' >'src/with space:7:.txt';"
        "echo 'def no' >.git/x; echo 'def no' >node_modules/x; echo def >-dash;"
        "printf 'def\\0' >src/binary; echo 'def hidden' >.hidden"
    )
    return tools


@pytest.mark.parametrize("tools", ALL_KINDS, indirect=True)
def test_contents(tree: Tools) -> None:
    found = tree.search_files("def (one|two)")
    assert found["matches"] == [
        {"path": "src/a.py", "line": 1, "content": "def one(): pass"},
        {"path": "src/deep/b.py", "line": 2, "content": "def two()"},
    ]
    assert (found["total_count"], found["truncated"]) == (2, False)
    everything = {each["path"] for each in tree.search_files("^def")["matches"]}
    assert everything == {"src/a.py", "src/deep/b.py", "src/with space:7:.txt", "-dash", ".hidden"}
    assert {each["path"] for each in tree.search_files("def", file_glob="*.py")["matches"]} == {
        "src/a.py",
        "src/deep/b.py",
    }
    assert tree.search_files("def", path="src/a.py")["total_count"] == 1
    assert tree.search_files("def", path="src/deep")["matches"][0]["path"] == "src/deep/b.py"
    assert tree.search_files("nowhere") == {"matches": [], "total_count": 0, "truncated": False}


@pytest.mark.parametrize("tools", ALL_KINDS, indirect=True)
def test_forms_of_the_answer(tree: Tools) -> None:
    around = tree.search_files("two", context=1)
    assert [(each["line"], each.get("context", False)) for each in around["matches"]] == [
        (1, True),
        (2, False),
        (3, True),
    ]
    assert tree.search_files("def", path="src", output_mode="files_only")["files"][0] == "src/a.py"
    assert tree.search_files("[xy]", path="src/deep", output_mode="count")["counts"] == [
        {"path": "src/deep/b.py", "count": 2}
    ]
    page = tree.search_files("^def", limit=2)
    assert (len(page["matches"]), page["total_count"], page["truncated"]) == (2, 5, True)
    assert len(tree.search_files("^def", limit=2, offset=4)["matches"]) == 1


@pytest.mark.parametrize("tools", ALL_KINDS, indirect=True)
def test_names(tree: Tools) -> None:
    assert tree.search_files("*.py", target="files")["files"] == ["src/a.py", "src/deep/b.py"]
    assert tree.search_files("*", target="files", path="src/deep")["files"] == ["src/deep/b.py"]
    assert tree.search_files("*.none", target="files")["files"] == []


@pytest.mark.parametrize("tools", ALL_KINDS, indirect=True)
def test_ugly_arguments(tree: Tools) -> None:
    assert "failed" in tree.search_files("(")["error"]
    assert "No such file" in tree.search_files("x", path="missing")["error"]
    for arguments in (
        {"pattern": ""},
        {"pattern": "a\nb"},
        {"pattern": "x", "target": "y"},
        {"pattern": "x", "output_mode": "y"},
    ):
        assert tree.search_files(**arguments)["error"]
    assert tree.search_files("-e def; $(id)")["matches"] == []


@pytest.mark.parametrize("tools", KINDS, indirect=True)
def test_many_files(tools: Tools) -> None:
    tools.terminal("for i in $(seq 1 1500); do echo needle $i >f$i; done")
    found = tools.search_files("needle", limit=10)
    assert len(found["matches"]) == 10
    assert found["truncated"]
