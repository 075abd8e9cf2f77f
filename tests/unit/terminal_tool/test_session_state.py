"""A command means what the session makes of it: names that earlier commands defined, directories, other shells."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shellward import ApprovalDenied, Terminal
from shellward.approval import register_approval_callback

Refused = Callable[[Callable[[], object]], ApprovalDenied]

CARRIED = [
    ("X=rm", "$X -rf {victim}"),
    ("export X=rm Y=-rf", "$X $Y {victim}"),
    ('f() {{ rm -rf "$1"; }}', "f {victim}"),
    ('f() {{ g "$1"; }}; g() {{ rm -rf "$1"; }}', "f {victim}"),
    ("alias gone='rm -rf'", "gone {victim}"),
    ("set -- rm -rf {victim}", '"$@"'),
    ("D={victim}", 'rm -rf "$D"'),
    ("D=/; false && D=/tmp", "rm -rf $D/{victim}"),
    ("false && X=echo; Z=1", "$X rm -rf {victim}"),
    ("eval 'h() {{ rm -rf {victim}; }}'", "h"),
    ("C='rm -rf {victim}'", 'eval "$C"'),
    ("C='rm -rf {victim}'", 'sh -c "$C"'),
    ("read -r X <<'E'\nrm\nE", "$X -rf {victim}"),
    ("ls() {{ rm -rf {victim}; }}", "ls"),
]


@pytest.mark.parametrize(("first", "then"), CARRIED)
def test_what_earlier_commands_defined_counts(
    terminal: Terminal, victim: Path, refused: Refused, first: str, then: str
) -> None:
    terminal.run(first.format(victim=victim))
    terminal.run("true")  # one that changes nothing stands between
    error = refused(lambda: terminal.run(then.format(victim=victim)))
    assert error.decision.findings


def test_what_a_file_defined_counts(bash: Terminal, victim: Path, refused: Refused) -> None:
    """In bash: other shells cannot print their functions."""
    bash.run(f"printf 'k() {{ rm -rf {victim}; }}' >lib.sh; . ./lib.sh")
    assert refused(lambda: bash.run("k")).decision.findings


def test_a_person_sees_what_a_name_stands_for(bash: Terminal, victim: Path, refused: Refused) -> None:
    bash.run("unused=1; X=rm")
    decision = refused(lambda: bash.run(f"$X -rf {victim}")).decision
    assert decision.command == f"X=rm\n$X -rf {victim}"
    start, end = decision.findings[0].span
    assert decision.command[start:end] == f"$X -rf {victim}"
    assert decision.normalized.startswith("X=rm\n")


def test_an_approval_does_not_cover_another_meaning(bash: Terminal, victim: Path, refused: Refused) -> None:
    from shellward.approval import register_approval_callback

    bash.run(f"t() {{ rm -rf {victim}/none; }}")
    with register_approval_callback(lambda _: "session"):
        bash.run("t")
    bash.run("t")
    bash.run(f"t() {{ rm -rf {victim}; }}")
    refused(lambda: bash.run("t"))


@pytest.mark.parametrize("shell", ["session", "pool"])
def test_state_belongs_to_its_session(bash: Terminal, victim: Path, refused: Refused, shell: str) -> None:
    bash.run("X=rm")
    if shell == "session":
        assert bash.session("other").run(f"echo ${{X:-none}} {victim}").stdout == f"none {victim}\n"
        return
    busy = threading.Thread(target=bash.run, args=("sleep 1",))
    busy.start()
    time.sleep(0.3)
    refused(lambda: bash.run(f"$X -rf {victim}"))
    busy.join()


def test_a_command_begins_with_the_state_that_was_looked_at(bash: Terminal, victim: Path) -> None:
    """One that overlaps is judged by what the session knew; what another does meanwhile is not for it."""
    bash.run("X=echo")
    looked, go = threading.Event(), threading.Event()
    judge = bash._judge
    original = judge.check
    said: list[str] = []

    def slow(shell, call):  # type: ignore[no-untyped-def]
        passed = original(shell, call)
        if call.text.startswith("$X"):
            looked.set()
            go.wait(20)
        return passed

    judge.check = slow  # type: ignore[method-assign]
    busy = threading.Thread(target=bash.run, args=("sleep 0.7; X=rm",))
    busy.start()
    time.sleep(0.2)
    late = threading.Thread(target=lambda: said.append(bash.run(f"$X -rf {victim}").stdout))
    late.start()
    assert looked.wait(20)
    busy.join()  # the session's X is rm now
    go.set()
    late.join()
    assert said == [f"-rf {victim}\n"]
    assert victim.exists()


def test_a_session_of_the_same_name_cannot_hide_what_another_knows(
    bash: Terminal, victim: Path, refused: Refused
) -> None:
    one, two = bash.session("same"), bash.session("same")
    two.run("true")
    one.run("X=rm")
    two.run("X=echo; Y=1")
    refused(lambda: one.run(f"$X -rf {victim}"))
    one.close()
    two.close()


def test_state_of_a_session_that_another_client_left(bash: Terminal, victim: Path, refused: Refused) -> None:
    with bash.session("left") as before:
        before.run(f"f() {{ rm -rf {victim}; }}")
    refused(lambda: bash.session("left").run("f"))


def test_state_that_cannot_be_read_is_a_finding(bash: Terminal, refused: Refused) -> None:
    bash.run("X=1")
    for file in Path(bash._default.directory).glob("default.bash.*"):
        file.unlink()
    error = refused(lambda: bash.run("echo $X"))
    assert [finding.rule for finding in error.decision.findings] == ["unknown.session-state"]


def test_state_that_was_not_saved_whole_is_a_finding(bash: Terminal, refused: Refused) -> None:
    bash.run("X=1")
    for file in Path(bash._default.directory).glob("default.bash.*"):
        file.write_bytes(file.read_bytes()[:-20])
    error = refused(lambda: bash.run("echo $X"))
    assert [finding.rule for finding in error.decision.findings] == ["unknown.session-state"]


def test_after_a_shell_is_lost(bash: Terminal, victim: Path, refused: Refused) -> None:
    bash.run("X=rm")
    bash.run("kill -KILL $$")
    refused(lambda: bash.run(f"$X -rf {victim}"))
    bash.run("exit 3")
    refused(lambda: bash.run(f"$X -rf {victim}"))


def test_a_shell_is_not_believed_that_it_had_nothing_to_save(bash: Terminal, victim: Path, refused: Refused) -> None:
    """What tells the shell so is a variable like any other."""
    bash.run("X=echo")
    with register_approval_callback(lambda _: True):  # it is asked about, being a name of ours
        bash.run("__sw_l=1; X=rm")
    error = refused(lambda: bash.run(f"$X -rf {victim}"))
    assert error.decision.findings[-1].rule == "unknown.session-state"


@pytest.mark.parametrize("event", ["DEBUG", "ERR"])
def test_a_trap_that_changes_names_makes_them_unknown(
    bash: Terminal, victim: Path, refused: Refused, event: str
) -> None:
    bash.run("X=echo")
    bash.run(f"trap 'echo once' {event}")
    assert "known" in bash.run("echo known").stdout
    bash.run(f"trap 'X=rm' {event}")
    refused(lambda: bash.run(f"$X -rf {victim}"))


def test_programs_and_nothing_else_leave_the_state_as_it_was(bash: Terminal) -> None:
    bash.run("X=1; ls")
    before = bash._default.saved
    for command in ("ls", "true", "echo x"):
        bash.run(command)
    assert bash._default.saved == before
    bash.run("X=2")
    assert bash.run("echo $X").stdout == "2\n"


# -- directories ---------------------------------------------------------------------------------------------


def test_the_real_directory_counts(terminal: Terminal, victim: Path, refused: Refused) -> None:
    terminal.run(f"ln -s {victim.parent} here; cd here")
    refused(lambda: terminal.run("rm -rf tree"))
    refused(lambda: terminal.run("rm -rf ./*"))


@pytest.mark.parametrize(
    "line",
    [
        "ln -s {outside} in; cd in; rm -rf ./tree",
        "ln -sf {outside} in && rm -rf in/tree",
        "ln --symbolic {outside} in; rm -rf ./in/./tree/",
        "mkdir d; ln -s {outside} d; rm -rf d/{name}/tree",
        "ln -s {outside} a; ln -s a b; cd b && rm -rf tree",
    ],
)
def test_a_link_that_the_line_makes(terminal: Terminal, victim: Path, refused: Refused, line: str) -> None:
    refused(lambda: terminal.run(line.format(outside=victim.parent, name=victim.parent.name)))


@pytest.mark.parametrize("cwd", ["{link}", "link", "link/../{name}", "{victim}/.."])
def test_a_directory_for_one_command(terminal: Terminal, victim: Path, refused: Refused, cwd: str) -> None:
    base = Path(terminal.cwd)
    (base / "link").symlink_to(victim.parent)
    cwd = cwd.format(link=base / "link", victim=victim, name=victim.parent.name)
    if "/../" in cwd:
        cwd = f"link/../{victim.parent.name}"
        (base / victim.parent.name).symlink_to(victim.parent)
    refused(lambda: terminal.run("rm -rf tree", cwd=cwd))


def test_a_link_that_is_turned_round_after_the_look(bash: Terminal, victim: Path, tmp_path: Path) -> None:
    (tmp_path / "mine" / "tree").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "mine")
    judge, original = bash._judge, bash._judge.check

    def turn(shell, call):  # type: ignore[no-untyped-def]
        passed = original(shell, call)
        link.unlink()
        link.symlink_to(victim.parent)
        return passed

    judge.check = turn  # type: ignore[method-assign]
    bash.run("rm -rf tree", cwd=str(link))
    assert victim.exists()
    assert not (tmp_path / "mine" / "tree").exists()


@pytest.mark.parametrize(
    "command",
    [
        "__sw_e() {{ rm -rf {victim}; }}",
        "alias __sw='rm -rf {victim}'",
        "__sw_X='rm -rf {victim};'",
        "eval '__sw''_r() {{ :; }}'",
    ],
)
def test_the_sessions_own_names_are_not_taken_over(
    terminal: Terminal, victim: Path, refused: Refused, command: str
) -> None:
    error = refused(lambda: terminal.run(command.format(victim=victim)))
    assert "unknown.session-own" in [finding.rule for finding in error.decision.findings]
    assert terminal.run("echo on; grep -c __sw_ /dev/null || true").stdout == "on\n0\n"


def test_a_session_that_is_not_known_says_the_way_out(bash: Terminal) -> None:
    bash.run("trap 'X=1' DEBUG")
    with pytest.raises(ApprovalDenied, match="In a new session nothing of that holds"):
        bash.run("ls")
    assert bash.session().run("echo on").stdout == "on\n"
