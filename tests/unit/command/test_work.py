"""What a command line may cost: work is counted, grows with the text and not faster, and what is left over asks."""

import importlib.util
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shellward.approval import detect_dangerous_command, engine
from shellward.approval.engine import program_names
from shellward.approval.expressions import expression
from shellward.approval.patterns import RULES
from shellward.command.trace import trace
from shellward.command.work import FOLLOWING, JUDGING, READING, TooMuch, Work

_SPEC = importlib.util.spec_from_file_location("shapes", Path(__file__).parents[3] / "benchmarks" / "shapes.py")
shapes = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(shapes)

SIZE = 128 * 1024


def calls(text):
    """Count what is called: it does not depend on the machine."""
    count = 0

    def note(_frame, event, _argument):
        nonlocal count
        count += event in {"call", "c_call"}

    detect_dangerous_command(text)  # what is imported or remembered at the first time does not count
    sys.setprofile(note)
    try:
        detect_dangerous_command(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", shapes.NAMES)
def test_twice_the_text_is_at_most_twice_the_work(name):
    half, whole = calls(shapes.shape(name, 4096)), calls(shapes.shape(name, 8192))
    assert whole <= 2.2 * half + 200


@pytest.fixture(scope="module")
def _all_compiled():
    """Expressions are compiled when they are needed, or often asked: none of that is to fall into what is counted."""
    for rule in RULES:
        for text in filter(None, (rule.regex, rule.unless)):
            for _ in range(200):
                expression(text).occurs_in("")


@pytest.mark.usefixtures("_all_compiled")
@pytest.mark.parametrize("word", ["/srv/a", "a=b", "-e 'f(x);'", "$x"])
def test_no_program_reads_its_words_again_for_each_of_them(word):
    slow = []
    for name in sorted(program_names()):
        half, whole = calls(f"{name} {f'{word} ' * 40}"), calls(f"{name} {f'{word} ' * 80}")
        if whole > 2.6 * half + 200:
            slow.append((name, half, whole))
    assert not slow


@pytest.mark.slow
@pytest.mark.parametrize("name", shapes.NAMES)
def test_no_text_costs_more_than_was_granted(name):
    # Even the cheapest call is a fraction of a unit: this bounds them all, and a runaway would be far above.
    assert calls(shapes.shape(name, SIZE)) < 12 * (READING + FOLLOWING + JUDGING)


_COLLECTED = """
import gc, sys
from shellward.approval import detect_dangerous_command
detect_dangerous_command("true")
text, begun = sys.stdin.read(), []
gc.collect()
gc.callbacks.append(lambda phase, info: begun.append(len(gc.get_objects(0))) if phase == "start" else None)
if sys.argv[1] == "frozen":
    gc.freeze()
if sys.argv[1] == "off":
    gc.disable()
frozen = gc.get_freeze_count()
kept = detect_dangerous_command(text)
print(max(begun, default=0) < 50_000, gc.isenabled(), frozen == gc.get_freeze_count())
"""


def test_whether_objects_are_frozen_is_asked_until_some_are(monkeypatch):
    """To count them walks over all: a third of a second where there are some millions."""
    asked = []

    def counted():
        asked.append(1)
        return 3

    monkeypatch.setattr(engine._Frozen, "seen", False)
    monkeypatch.setattr(engine.gc, "get_freeze_count", counted)
    for letter in "abc":
        detect_dangerous_command("git " + letter * 20_000)
    assert asked == [1]


@pytest.mark.parametrize(
    ("how", "young", "enabled"), [("usual", True, True), ("off", True, False), ("frozen", False, True)]
)
def test_what_a_large_text_makes_is_not_looked_through(how, young, enabled):
    """Unless the program has frozen objects, which stay frozen."""
    text = shapes.shape("different files", SIZE)
    words = [sys.executable, "-c", _COLLECTED, how]
    done = subprocess.run(words, input=text, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.split() == [str(young), str(enabled), "True"]


@pytest.mark.parametrize("name", ["pipes", "parentheses", "script lines", "here-documents", "different removals"])
def test_what_is_too_much_asks(name):
    found = detect_dangerous_command(shapes.shape(name, 4 * SIZE))
    assert found
    assert any(finding.rule == "structure.too-much" for finding in found.findings)


@pytest.mark.parametrize(
    "name", ["cp lines", "different files", "words", "python here-document", "here-document to a file", "backticks"]
)
def test_what_is_only_long_passes(name):
    assert not detect_dangerous_command(shapes.shape(name, SIZE))


@pytest.mark.parametrize("name", ["pipes", "parentheses", "growing assignments", "nested $(", "stray )"])
@pytest.mark.parametrize("command", ["rm -rf /", "sudo rm -rf --no-preserve-root /", "dd if=/dev/zero of=/dev/sda"])
def test_nobody_hides_behind_too_much(name, command):
    assert detect_dangerous_command(f"{shapes.shape(name, SIZE)}\n{command}\n").never_allow


@pytest.mark.parametrize("first", ["cp a b\n", "curl -o b http://h/b\n", "tar cf b.tar a\n"])
def test_what_a_line_copies_does_not_make_other_commands_dearer(first):
    after = "".join(f"c{number} one two three four five six seven\n" for number in range(400))
    none, alone, without, both = (trace(text).work.left for text in ("", first, after, first + after))
    assert without - both <= none - alone + 400


def test_what_stands_before_too_much_is_judged():
    found = detect_dangerous_command("rm -rf /srv; " + shapes.shape("pipes", SIZE))
    assert {"files.rm-recursive", "structure.too-much"} <= {finding.rule for finding in found.findings}


def test_spending():
    work = Work(2)
    work.spend(2)
    with pytest.raises(TooMuch):
        work.spend(1)
    work.grant(3)
    assert work.left == 3


def test_names_that_are_worked_out_are_not_followed_within_each_other():
    code = "import os as o;" + "getattr(o,'sys'+'tem')('rm" * 40
    before = time.process_time()
    assert detect_dangerous_command(f'python3 -c "{code}"') is not None
    assert time.process_time() - before < 5  # it took minutes


@pytest.mark.parametrize(
    ("before", "piece", "after"),
    [
        ("python3 -c 'import socket; ", "exec", "'"),
        ("python3 -c 'import socket; ", ".", "'"),
        ("python3 -c 'import socket; ", "recv ", "'"),
        ("python3 -c 'import socket; ", ".recv(", "'"),
        ("python3 -c '", "os.chmod(", "'"),
        ("python3 -c 'import os\n", "a\\", "'"),
        ("ruby -e 'delete_all ", "A.b.", "'"),
        ("perl -e '", "/*\\", "'"),
        ("php -r 'array_map ", "\\/", "'"),
        ("php -r 'array_map ", "/[", "'"),
        ("julia -e '", "rm_rf", "'"),
        ("groovy -e '", "eachFile", "'"),
        ("groovy -e '", '\\"|', "'"),
        ("emacs --batch --eval '(shell-command ", "((/", "'"),
        ("expect -c 'exec ", '"\\', "'"),
        ("awk '{system( print getline ", "A x=b", "'}"),
        ("awk '{", "print ", "}'"),
        ("awk '{system( getline ", '\\"-', "'}"),
        ("curl -H '", "auth", "' x.example"),
        ("rsync a h", ":/", ""),
        ("npx ", "knex ", ""),
        ("lftp -e '", "mirror ", "'"),
        ("psql -c '", "COPY ", "'"),
        ("psql -c '", "\\copy ", "'"),
        ("sqlite3 a '", ".o |", "'"),
        ("gdb -ex '", "p (", "'"),
        ("vim -c '", ":g/x/", "'"),
        ("psql -c 'GRANT ", "ALTER USER ", "'"),
    ],
)
def test_one_piece_again_and_again_ends_soon(before, piece, after):
    began = time.process_time()
    detect_dangerous_command(before + piece * (64 * 1024 // len(piece)) + after)
    assert time.process_time() - began < 3
