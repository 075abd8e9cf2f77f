"""Programs at a guarded terminal that are no shells, or have ways out: a line is judged as its reader reads it."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from shellward import ApprovalDenied, Terminal
from shellward.approval.ways_out import ways_out

Refused = Callable[[Callable[[], object]], ApprovalDenied]
VIM = "vim -u NONE -N -i NONE"


def needs(program: str) -> None:
    """Skip without a program; fail where it was promised."""
    if shutil.which(program) is None:
        (pytest.fail if "programs" in os.environ.get("SHELLWARD_TEST_REQUIRE", "").split(",") else pytest.skip)(program)


@pytest.mark.parametrize(
    ("program", "keys", "line"),
    [
        ("vim", ":!run", "run"),
        ("vim", "ihello\x1b:w !run", "cat buffer | run"),
        ("vi", ":r !run", "run"),
        ("vim", "!!run", "cat buffer | run"),
        ("vim", "!Grun", "cat buffer | run"),
        ("vim", ":py3 code", "python3 -c 'code'"),
        ("less", "!run", "run"),
        ("more", "5!run", "run"),
        ("man", "|arun", "run"),
        ("less", "#run", "run"),
        ("ed", "r !run", "run"),
        ("ed", "x\x7f1,$w !run", "run"),
        ("gdb", "she run", "run"),
        ("gdb", "!run", "run"),
        ("gdb", "pipe p 1 | run", "run"),
        ("gdb", "py code", "python3 -c 'code'"),
        ("gdb", 'p system("run")', "run"),
        ("sqlite3", ".she run", "run"),
        ("sqlite3", ".sys run", "run"),
        ("sqlite3", ".once |run", "cat buffer | run"),
        ("psql", "\\! run", "run"),
        ("psql", "\\o |run", "run"),
        ("psql", "copy t to program 'run'", "run"),
        ("mysql", "\\! run", "run"),
        ("ftp", "get x |run", "run"),
        ("perl", "!!run", "run"),
    ],
)
def test_ways_out_are_told(program: str, keys: str, line: str) -> None:
    found = ways_out(program, keys)
    assert line in [each.strip() for each in found.lines]
    assert not found.unknown


@pytest.mark.parametrize(
    ("program", "keys"),
    [
        ("vim", ":call system(x)"),
        ("vim", ":\x1b[A"),
        ("vim", ":so x"),
        ("vim", ":set shell=x"),
        ("less", "!\x10"),
        ("ed", "\x1b[A"),
        ("gdb", "source x"),
        ("sqlite3", "select load_extension('x');"),
        ("psql", "\\i x"),
    ],
)
def test_what_cannot_be_told_is_unknown(program: str, keys: str) -> None:
    assert ways_out(program, keys).unknown


@pytest.mark.parametrize(
    ("program", "keys"),
    [("vim", "ihello\x1b[A\x1b:wq"), ("vim", ":!run\x1b:q"), ("less", "/word"), ("ed", "1,$p"), ("gdb", "bt"),
     ("sqlite3", ".tables"), ("psql", "\\dt"), ("vim", "i\x1b:%s/a/b/g")],
)  # fmt: skip
def test_what_stays_inside_is_nothing(program: str, keys: str) -> None:
    found = ways_out(program, keys)
    assert not found.lines
    assert not found.unknown


@pytest.mark.parametrize(
    ("program", "keys"),
    [
        *(
            ("vim", f":{each}")
            for each in (
                "call delete('x')",
                "let F=function('sys'.'tem')",
                "for i in [1]|call delete('x')|endfor",
                "if delete('x')",
                "eva delete('x')",
                "pu=delete('x')",
                "%s/x/\\=delete('x')/",
                "g/x/call delete('x')",
                "g/x/norm @a",
                "cex system('x')",
                "te",
                "vert term",
                "tabe|te",
                "so x",
                "ru x",
                "norm @a",
                "argdo exe 'x'",
                "py3f x",
                "tcl exec x",
                "mzscheme x",
                "let &sh='x'",
                "set sp=;x",
                "set vfile=x",
                "set fex=system('x')",
                "redir! > x",
                "au! x * !x",
                "com X !x",
                "ab x y",
                "lcd x",
                "w %:h/x",
                "!rm -rf %",
                "!!",
                "X",
                "Man x",
                "e `=delete('x')`",
                "noa sil @a",
                "syn include x",
                "packadd x",
            )
        ),
        ("vim", "@a"),
        ("vim", "5@:"),
        ("vim", "q:"),
        ("vim", "Q"),
        ("vim", "gQ"),
        ("vim", '"=delete(1)'),
        ("vim", ":\x06"),
        ("vim", "i\x12=delete('x')"),
        ("vim", "i\x0f:call delete('x')"),
        ("vim", "i\x1b[z:call delete('x')"),
        ("ex", "call delete('x')"),
        ("sqlite3", ".l x"),
        ("sqlite3", ".ar -xf x"),
        ("sqlite3", ".r |x"),
        ("sqlite3", ".cd /"),
        ("sqlite3", ".once -e"),
        ("sqlite3", ".nosuch x"),
        ("sqlite3", "select writefile(x, y);"),
        ("gdb", "sh x"),
        ("gdb", "python"),
        ("gdb", "pi"),
        ("gdb", "guile"),
        ("gdb", 'eval "she%s x", "ll"'),
        ("gdb", "alias a=shell"),
        ("gdb", 'interpreter-exec console "shell x"'),
        ("gdb", "define x"),
        ("gdb", "thread apply all source x"),
        ("gdb", "dump memory x 0 1"),
        ("gdb", "set logging file x"),
        ("gdb", 'call unlink("x")'),
        ("gdb", 'p $f("x")'),
        ("gdb", "with print pretty -- source x"),
        ("psql", "\\e"),
        ("psql", "\\gexec"),
        ("psql", "\\setenv PSQL_EDITOR x"),
        ("psql", "\\o |:x"),
        ("psql", ":x"),
        ("psql", "\\lo_import x"),
        ("mysql", "\\e"),
        ("mysql", "edit"),
        ("mysql", "select sys_exec('x');"),
        ("perl", "o pager=|x"),
        ("perl", "= x y"),
        ("perl", "!-1"),
        ("perl", "rerun"),
        ("lftp", "source x"),
        ("lftp", "alias a !x"),
        ("lftp", "queue !x"),
        ("ftp", "$x"),
        ("ftp", "lcd x"),
        ("mail", "set PAGER=x"),
        ("lldb", "command alias s platform shell"),
        ("lldb", "com so x"),
        ("lldb", "br com add -o 'x'"),
        ("lldb", "session save x"),
        ("lldb", 'expr (int)unlink("x")'),
        ("less", "!rm %"),
        ("less", "!!"),
    ],
)
def test_what_no_table_says_to_stay_inside_is_unknown(program: str, keys: str) -> None:
    assert ways_out(program, keys).unknown


@pytest.mark.parametrize(
    ("program", "keys", "line"),
    [
        ("vim", ":w FILE", "cat buffer >FILE"),
        ("vim", ":wq! ~/.bashrc", "cat buffer >~/.bashrc"),
        ("vim", ":up >> FILE", "cat buffer >FILE"),
        ("vim", ":sav! FILE", "cat buffer >FILE"),
        ("vim", ":mks! FILE", "cat buffer >FILE"),
        ("vim", ":w !sh", "cat buffer | sh"),
        ("vim", "!!sh", "cat buffer | sh"),
        ("vim", "Vjj!sh", "cat buffer | sh"),
        ("vim", ":'<,'>!sh", "cat buffer | sh"),
        ("vim", ":g/x/!run", "run"),
        ("vim", ":noa keepj sil !run", "run"),
        ("vim", ":e +!run FILE", "run"),
        ("vim", ":e `run`", "run"),
        ("vim", ":grepa x; run", "grep  x; run"),
        ("less", "s~/.bashrc", "cat buffer >~/.bashrc"),
        ("less", "-o~/.bashrc", "cat buffer >~/.bashrc"),
        ("less", "|$sh", "cat buffer | sh"),
        ("ed", "w !sh", "cat buffer | sh"),
        ("ed", "1,$w FILE", "cat buffer >FILE"),
        ("sqlite3", ".sh run", "run"),
        ("sqlite3", ".o FILE", "cat buffer >FILE"),
        ("sqlite3", ".i |run t", "run t"),
        ("sqlite3", "select writefile('FILE', 1);", "cat buffer >FILE"),
        ("sqlite3", "vacuum into 'FILE';", "cat buffer >FILE"),
        ("gdb", "tar rem | run", "run"),
        ("gdb", "start ; run", "true ; run"),
        ("gdb", 'call fp("run")', "run"),
        ("psql", "\\echo `run`", "run"),
        ("psql", "\\g FILE", "cat buffer >FILE"),
        ("psql", "\\copy t to 'FILE'", "cat buffer >FILE"),
        ("mysql", "select 1;system run", "run"),
        ("mysql", "tee FILE", "cat buffer >FILE"),
        ("perl", "{ code", "perl -e 'code'"),
        ("lftp", "shell run", "run"),
        ("ftp", "get x FILE", "cat buffer >FILE"),
        ("lldb", "pl sh run", "run"),
        ("mail", "~| run", "run"),
    ],
)
def test_writes_filters_and_abbreviations_are_told(program: str, keys: str, line: str) -> None:
    assert line in [each.strip() for each in ways_out(program, keys).lines]


@pytest.mark.parametrize(
    "keys",
    [
        ":w",
        ":wq",
        ":q!",
        ":e!",
        ":%s/a|b/c/g",
        ":g/a/d",
        ":set nu et sw=4",
        ":5",
        ":sort u",
        ":h x",
        ":noh",
        ":wqa",
        ":r x",
        ":1,5m 9",
        ":echo 1 + 2",
        "dd",
        "yyp",
        "/x!y",
        "ciw",
        "gg=G",
        '"ayy',
    ],
)
def test_everyday_commands_of_vi_ask_nothing(keys: str) -> None:
    assert not ways_out("vim", keys).unknown
    assert ways_out("vim", keys).lines == ()


def test_what_is_inserted_is_no_command_and_the_mode_goes_on_with_the_next_line() -> None:
    first = ways_out("vim", "oNote: a@b says")
    assert (first.lines, first.unknown, first.mode) == ((), False, "insert")
    second = ways_out("vim", "def f(x): call(x)", first.mode)
    assert (second.lines, second.unknown, second.mode) == ((), False, "insert")
    third = ways_out("vim", "end\x1b:@a", second.mode)
    assert third.unknown
    assert ways_out("vim", ":call delete('x')", "insert").unknown  # it is none where nothing can be inserted


@pytest.mark.parametrize(
    ("program", "keys"),
    [
        ("gdb", each)
        for each in (
            "bt",
            "p x",
            "p f(3)",
            "b main if x > 1",
            "info locals",
            "c",
            "x/10x $sp",
            "set var x=1",
            "run",
            "list 5,10",
        )
    ]
    + [("psql", each) for each in ("\\dt+ public.*", "\\x", "\\timing on", "\\c other", "select a::int from t;", "\\q")]
    + [("sqlite3", each) for each in (".tables", ".schema t", ".mode csv", ".headers on", ".q", ".dump", "select 1;")]
    + [("mysql", each) for each in ("show tables;", "use db", "\\s", "select 1\\G")]
    + [("perl", each) for each in ("n", "s", "c 5", "l", "T", "b 7")]
    + [("lftp", each) for each in ("ls", "cd x", "get x", "exit")]
    + [("lldb", each) for each in ("bt", "c", "p x", "b main", "frame variable")],
)
def test_everyday_lines_of_consoles_ask_nothing(program: str, keys: str) -> None:
    from shellward.approval import detect_dangerous_command

    ways = ways_out(program, keys)
    assert not ways.unknown
    assert [line for line in ways.lines if detect_dangerous_command(line).findings] == []


@pytest.mark.parametrize(
    "piece",
    [
        ":",
        "!",
        ":!",
        " \\!",
        "|a",
        "system(",
        ".once |",
        ":te ",
        "`",
        "program '",
        "\\set ",
        "\\o (",
        "pipe p ",
        "x\x7f",
    ],
)
def test_long_lines_take_no_time(piece: str) -> None:
    import time

    text = piece * (131_072 // len(piece))
    for program in ("vim", "less", "ed", "gdb", "sqlite3", "psql", "mysql", "perl"):
        began = time.process_time()
        ways_out(program, text)
        assert time.process_time() - began < 0.5, program
    for program in ("vim", "less", "ed", "gdb", "sqlite3", "psql", "mysql", "perl"):
        assert ways_out(program, ":" + text).unknown, program


PROGRAMS = {
    "vim": (VIM, "~", ":!rm -rf {victim}\r", ":set nu\r"),
    "less": ("less FILE", "text", "!rm -rf {victim}\r", "/text\r"),
    "ed": ("ed FILE", "5", "!rm -rf {victim}\r", "p\r"),
    "gdb": ("gdb -q -nx", "(gdb)", "shell rm -rf {victim}\r", "echo fine\\n\r"),
    "sqlite3": ("sqlite3", "sqlite>", ".shell rm -rf {victim}\r", "select 1;\r"),
    "perl": ("perl -de0", "DB<1>", "!!rm -rf {victim}\r", "print 1\r"),
}


@pytest.mark.parametrize("case", [f"{name}{inside}" for name in PROGRAMS for inside in ("", " in a shell")])
def test_a_way_out_of_a_real_program_is_judged(
    bash: Terminal, tmp_path: Path, victim: Path, refused: Refused, case: str
) -> None:
    program, _, inside = case.partition(" ")
    needs(program)
    command, begun, bad, good = PROGRAMS[program]
    (tmp_path / "FILE").write_text("text\n")
    with bash.pty(None if inside else command, env={"PS1": "$ "}) as session:
        if inside:
            session.write(f"{command}\r")
        assert session.wait_for(begun, 30)
        session.write(good)
        refused(lambda: session.write(bad.format(victim=victim)))


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("python3", "import shutil; shutil.rmtree('{victim}')"),
        ("node", "require('fs').rmSync('{victim}', {{recursive: true}})"),
        ("sh", "rm -rf {victim}"),
    ],
)
def test_an_interpreter_inside_a_shell_reads_its_own_language(
    bash: Terminal, victim: Path, refused: Refused, program: str, code: str
) -> None:
    needs(program)
    with bash.pty(env={"PS1": "$ "}) as session:
        session.write(f"{program}\r")
        assert session.wait_for({"python3": ">>>", "node": ">", "sh": "$"}[program], 30)
        refused(lambda: session.write(code.format(victim=victim) + "\r"))
        session.write("\x03")


@pytest.mark.parametrize(
    "case",
    [
        ("vim", VIM, "~", ["i:call delete('{victim}', 'rf')\x1b", '0"ay$', "@a\r"]),
        ("vim", VIM, "~", ["irm -rf {victim}\x1b", "!!sh\r"]),
        ("vim", VIM, "~", ["q:", "icall delete('{victim}', 'rf')\r"]),
        ("vim", f"{VIM} -E", "Ex", ["call delete('{victim}', 'rf')\r"]),
        ("nano", "nano FILE", "text", ["\x14", "rm -rf {victim}\r"]),
        ("script", "script -q /dev/null", "[$#]", ["rm -rf {victim}\r"]),
        ("sqlite3", "sqlite3", "sqlite>", [".sh rm -rf {victim}\r"]),
        ("gdb", "gdb -q -nx", "gdb", ['eval "shell rm -rf %s", "{victim}"\r']),
        ("tclsh", "tclsh", "%", ["rm -rf {victim}\r"]),
        ("tclsh", "tclsh", "%", ["exec sh -c {{rm -rf {victim}}}\r"]),
        ("bash", "bash -c 'exec -a cat bash --norc -i'", "[$#]", ["rm -rf {victim}\r"]),
        ("bash", None, "[$#]", ["exec -a less bash --norc\r", "rm -rf {victim}\r"]),
        ("bash", None, "[$#]", ['bind \'"z":"rm -rf {victim}\\C-m"\'\r', "z"]),
        ("vim", None, "[$#]", [VIM + "\r:call delete('{victim}', 'rf')\r"]),
    ],
)
def test_other_ways_are_judged_at_a_real_terminal(
    bash: Terminal, tmp_path: Path, victim: Path, refused: Refused, case: tuple[str, str | None, str, list[str]]
) -> None:
    program, command, begun, steps = case
    needs(program)
    (tmp_path / "FILE").write_text("text\n")

    def act() -> None:
        for keys in steps:
            session.write(keys.format(victim=victim))
            session.screen(quiet=0.2)

    with bash.pty(command, env={"PS1": "$ "}) as session:
        assert session.wait_for(re.compile(begun), 30)
        refused(act)


def test_a_program_that_is_just_starting_is_counted_with(bash: Terminal, victim: Path, refused: Refused) -> None:
    with bash.pty(env={"PS1": "$ "}) as session:
        refused(lambda: session.write(f"python3\rimport shutil; shutil.rmtree('{victim}')\r"))


def test_the_sandbox_is_asked_once_for_each_line_and_never_for_other_keys() -> None:
    from shellward.approval.brought import Brought, Look, look
    from shellward.terminal_tool.audience import Audience
    from shellward.terminal_tool.front import Readers
    from shellward.terminal_tool.typed import TypedInput
    from shellward.terminal_tool.typed_keys import TypedKeys

    asked = []

    def front() -> Readers:
        asked.append(1)
        return Readers(like_shell=True, known_shell=True)

    def looked(text: str, stdin: str | None) -> Look:
        return look(text, cwd="/a", brought=Brought(stdin=stdin))

    own = TypedInput(lambda text: looked("bash", text), lambda _: None, (), by_caller=True)
    keys = TypedKeys(Audience(own, frozenset({"bash"}), looked, lambda _: None, front))
    for data in (b"l", b"s", b"x\x7f", b"\x1b[D", b"\x01", b"\x03", b"echo "):
        keys(data)
    assert asked == []
    keys(b"\r")
    keys(b"one\r")
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("words", "shell", "interpreters", "others"),
    [
        ("-bash", True, set(), set()),
        ("/bin/sh -i", True, set(), set()),
        ("python3.12 -q", False, {"python3.12"}, set()),
        ("/usr/bin/vim x", False, set(), {"vim"}),
        ("cat", True, set(), set()),
        ("ssh host python3", True, {"python3"}, set()),
        ("git log", True, set(), set()),
        ("bash --norc -c line", True, set(), set()),
        ("vim -u NONE -es", False, set(), {"vim", "ex"}),
    ],
)
def test_programs_are_sorted_by_how_they_read(
    words: str, shell: bool, interpreters: set[str], others: set[str]
) -> None:
    from shellward.terminal_tool.front import readers_of

    found = readers_of([["", *words.split()]])
    assert (found.like_shell, set(found.interpreters), set(found.others)) == (shell, interpreters, others)
    assert found.known_shell == (words in {"-bash", "/bin/sh -i", "ssh host python3"})
    assert readers_of([]).like_shell


@pytest.mark.parametrize(
    ("file", "words", "known_shell", "data"),
    [
        ("/usr/bin/bash", "less", True, True),
        ("/home/me/less", "less", False, False),
        ("/usr/bin/less (deleted)", "less", False, False),
        ("/usr/bin/cat", "cat", False, True),
        ("/home/me/cat", "cat", False, False),
        ("/usr/bin/app", "cat", False, False),
        ("/usr/bin/busybox", "vi x", False, True),
        ("/usr/bin/busybox", "sh", True, True),
        ("/usr/bin/nano", "nano x", False, False),
        ("/usr/bin/tmux", "tmux", True, False),
        ("/usr/bin/vim.basic", "vim", False, True),
    ],
)
def test_a_name_alone_makes_no_program_harmless(file: str, words: str, known_shell: bool, data: bool) -> None:
    from shellward.terminal_tool.front import readers_of

    found = readers_of([[file, *words.split()]])
    assert (found.known_shell, found.data) == (known_shell, data)
    assert found.like_shell or data
