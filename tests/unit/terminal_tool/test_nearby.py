"""What earlier commands left in the file system decides what later ones do: scripts, links, programs found by name."""

from collections.abc import Callable
from pathlib import Path

import pytest

from shellward import ApprovalDenied, Result, Terminal
from shellward.approval import ApprovalRequest, register_approval_callback

Refused = Callable[[Callable[[], Result]], ApprovalDenied]


@pytest.mark.parametrize(
    "steps",
    [
        ["echo 'rm -rf {victim}' >{tmp}/s", "sh {tmp}/s"],
        ["cd {tmp}; echo 'rm -rf {victim}' >s.sh; chmod +x s.sh", "./s.sh"],
        ["echo 'rm -rf {victim}' >{tmp}/s", ". {tmp}/s"],
        ["echo 'f() {{ rm -rf {victim}; }}' >{tmp}/s", ". {tmp}/s", "f"],
        ["""echo 'import shutil; shutil.rmtree("{victim}")' >{tmp}/s.py""", "python3 {tmp}/s.py"],
        ["printf 'all:\\n\\trm -rf {victim}\\n' >{tmp}/Makefile", "cd {tmp}; make"],
        ["echo 'rm -rf {victim}' >{tmp}/a; cp {tmp}/a {tmp}/b", "sh {tmp}/b"],
        [
            "mkdir {tmp}/bin; echo 'rm -rf {victim}' >{tmp}/bin/tool; chmod +x {tmp}/bin/tool",
            "PATH={tmp}/bin:$PATH",
            "tool",
        ],
        ["ln -s {parent} {tmp}/link", "rm -rf {tmp}/link/tree"],
        ["ln -s {victim} {tmp}/link", "cd {tmp}", "rm -rf link/*"],
    ],
)
def test_what_was_written_before_counts(
    terminal: Terminal, victim: Path, tmp_path: Path, refused: Refused, steps: list[str]
) -> None:
    *before, last = (step.format(victim=victim, parent=victim.parent, tmp=tmp_path) for step in steps)
    for step in before:
        terminal.run(step)
    refused(lambda: terminal.run(last))


def test_a_name_that_hash_ties_to_a_program(bash: Terminal, victim: Path, tmp_path: Path, refused: Refused) -> None:
    bash.run(f"echo 'rm -rf {victim}' >{tmp_path}/s; chmod +x {tmp_path}/s")
    bash.run(f"hash -p {tmp_path}/s ls")
    refused(lambda: bash.run("ls"))


def test_input_that_became_a_script(terminal: Terminal, victim: Path, tmp_path: Path, refused: Refused) -> None:
    terminal.run(f"cat >{tmp_path}/s", stdin=f"rm -rf {victim}\n")
    refused(lambda: terminal.run(f"sh {tmp_path}/s"))


def test_a_file_that_was_moved_in(terminal: Terminal, victim: Path, tmp_path: Path, refused: Refused) -> None:
    terminal.write_file(tmp_path / "s", f"rm -rf {victim}\n")
    refused(lambda: terminal.run(f"sh {tmp_path}/s"))


def test_the_function_that_hides_how_it_is_read(bash: Terminal, victim: Path, tmp_path: Path, refused: Refused) -> None:
    bash.run("cat() { :; }; command() { :; }; alias ln=true")
    bash.write_file(tmp_path / "s", f"rm -rf {victim}\n")
    refused(lambda: bash.run(f"sh {tmp_path}/s"))


def test_the_newest_text_counts_each_time(bash: Terminal, victim: Path, tmp_path: Path, refused: Refused) -> None:
    script = tmp_path / "s"
    bash.write_file(script, "echo one\n")
    assert bash.run(f"sh {script}").stdout == "one\n"
    script.write_text(f"rm -rf {victim}\n")
    refused(lambda: bash.run(f"sh {script}"))
    script.write_text("echo two\n")
    assert bash.run(f"sh {script}").stdout == "two\n"


def test_a_script_that_changes_while_a_person_is_asked(bash: Terminal, victim: Path, tmp_path: Path) -> None:
    script = tmp_path / "s"
    script.write_text(f"rm -rf {victim}/none\n")
    shown: list[str] = []

    def swap(request: ApprovalRequest) -> str:
        shown.append(request.command)
        script.write_text(f"rm -rf {victim}\n")
        return "once" if len(shown) == 1 else "deny"

    with register_approval_callback(swap), pytest.raises(ApprovalDenied):
        bash.run(f"sh {script}")
    assert f"rm -rf {victim}/none\n" in shown[0]
    assert f"rm -rf {victim}\n" in shown[1]
    assert victim.exists()


def test_an_approval_is_for_this_text_of_the_script(
    bash: Terminal, victim: Path, tmp_path: Path, refused: Refused
) -> None:
    script = tmp_path / "s"
    script.write_text(f"rm -rf {victim}/none\n")
    with register_approval_callback(lambda _: "session"):
        bash.run(f"sh {script}")
    bash.run(f"sh {script}")
    script.write_text(f"rm -rf {victim}\n")
    refused(lambda: bash.run(f"sh {script}"))


def test_what_a_script_does_twice_is_still_found(bash: Terminal, tmp_path: Path, refused: Refused) -> None:
    """The lines that stand for files do nothing by themselves, but must not hide the same deed of the command."""
    profile = tmp_path / "home" / ".profile"
    profile.parent.mkdir(exist_ok=True)
    bash.run("HOME=$PWD/home")
    profile.write_text("true\n")
    refused(lambda: bash.run("sh ~/.profile; echo x >~/.profile"))


def test_what_was_there_before_is_the_users(victim: Path, tmp_path: Path) -> None:
    script = tmp_path / "s"
    script.write_text(f"rm -rf {victim}/none; echo done\n")
    with Terminal("local", cwd=str(tmp_path)) as terminal:
        terminal._judge._places._since += 60
        assert terminal.run("sh s").stdout == "done\n"


def test_a_new_script_that_is_too_long_is_a_finding(bash: Terminal, tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "s").write_text("#" * 100_000 + "\ntrue\n")
    error = refused(lambda: bash.run("sh s"))
    assert [finding.rule for finding in error.decision.findings] == ["unknown.new-file"]


def test_programs_of_machine_code_are_not_read(bash: Terminal, tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(Path("/bin/true").read_bytes() + bytes(100_000))
    (tmp_path / "p").chmod(0o755)
    assert bash.run("./p").exit_code == 0


@pytest.mark.parametrize("command", ["python3 t.py", "sh t.sh a b", "./t.sh", "make -f t.mk", "cat t.sh"])
def test_ordinary_new_files_run_unasked(bash: Terminal, tmp_path: Path, command: str) -> None:
    (tmp_path / "t.py").write_text("import os, sys\nprint(os.getcwd(), sys.argv)\n")
    (tmp_path / "t.sh").write_text("#!/bin/sh\nset -e\necho 'it''s' \"$@\"\n")
    (tmp_path / "t.sh").chmod(0o755)
    (tmp_path / "t.mk").write_text("all:\n\t@echo made\n")
    assert bash.run(command).exit_code == 0


@pytest.mark.parametrize("name", ["it's here", "a\nb", "$(touch x)", "*", "-f", "END"])
def test_odd_names_of_scripts(bash: Terminal, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("echo ran\n: END END_\n")
    result = bash.run(["sh", f"./{name}"])
    assert result.stdout == "ran\n"
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("signal", ["USR1", "TERM", "WINCH", "SIGHUP"])
def test_a_trap_on_any_signal_may_change_what_names_mean(
    bash: Terminal, victim: Path, refused: Refused, signal: str
) -> None:
    bash.run(f"trap 'ls() {{ rm -rf {victim}; }}' {signal}")
    error = refused(lambda: bash.run("ls"))
    assert [finding.rule for finding in error.decision.findings] == ["unknown.session-state"]


def test_a_trap_that_tidies_up_changes_nothing(bash: Terminal) -> None:
    bash.run("trap 'rm -f /tmp/lock.$$' INT TERM")
    bash.run("trap 'X=1' EXIT")
    assert bash.run("ls").exit_code == 0
