"""Law 2: a command that prints things that look like markers cannot fool the session, nor lose its own text.

The suite does not know what the markers look like. So it lets commands collect everything that a command can
learn of the machinery around it, and print that back, on both streams, from several commands in a row.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from shellward.testing.trial import at_most, bash, python, quoted, same_machine, terms

if TYPE_CHECKING:
    from shellward.environments.session import Session
    from shellward.testing.trial import Trial

DEPENDS_ON = "shell"

_LEARN = """set; env; export -p; trap; alias; umask; ls -l /proc/self/fd /proc/$$/fd
tr '\\0' '\\n' </proc/$$/environ; tr '\\0' '\\n' </proc/$$/cmdline; tr '\\0' '\\n' </proc/self/cmdline
for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done
cat /proc/$$/maps | tail -n 3; echo $_ $0 $- $! $? $$ "$@"
"""
_LEARN_BASH = """declare -p; declare -f; shopt; caller; history
printf '%s\\n' "${BASH_SOURCE[@]}" "${FUNCNAME[@]}" "$BASH_COMMAND" "$BASH_EXECUTION_STRING"
"""


def _learn(t: Trial, session: Session, root: str) -> bytes:
    text = _LEARN + (_LEARN_BASH if t.place.shell == "bash" else "")
    session.run(f"{{ {text}}} >{root}/learned 2>&1", timeout=20)
    return t.env.read_file(f"{root}/learned")


def everything_learned_is_printed_back(t: Trial) -> None:
    """What a command learns of its surroundings, printed back by later ones.

    Arrives as text and ends nothing.
    """
    session, root = t.session(), t.directory()
    for _ in range(3):
        learned = _learn(t, session, root)
        assert len(learned) > 500
        for command in (f"cat {root}/learned; (exit 5)", f"cat {root}/learned >&2; (exit 5)"):
            with at_most(10, "printing it back"):
                result = session.run(command, timeout=9, max_output=10**7)
            assert result.exit_code == 5
            assert result.output_bytes == learned
        after = session.run("echo after")
        assert (after.exit_code, after.output) == (0, "after\n")


def learned_now_is_printed_now(t: Trial) -> None:
    """The same within one command: what it can know of its own framing does not end it early."""
    session, root = t.session(), t.directory()
    text = _LEARN + (_LEARN_BASH if t.place.shell == "bash" else "")
    result = session.run(
        f"{{ {text}}} >{root}/now 2>&1; cat {root}/now; cat {root}/now >&2; echo END; (exit 6)", timeout=20
    )
    assert result.exit_code == 6
    assert result.stdout.endswith("END\n")
    assert session.run("echo after").output == "after\n"


def every_descriptor_is_written_to(t: Trial) -> None:
    """A command that writes rubbish and what it learned to every descriptor it has.

    No wrong status, no hang.
    """
    session, root = t.session(), t.directory()
    _learn(t, session, root)
    script = (
        "for f in /proc/self/fd/*; do n=${f##*/}; case $n in 0|1|2) ;; *) "
        f'(eval "cat {root}/learned >&$n") 2>/dev/null; (eval "echo rubbish >&$n") 2>/dev/null;; '
        "esac; done; (exit 4)"
    )
    with at_most(10, "rubbish on every descriptor"):
        result = session.run(script, timeout=9)
    assert result.exit_code == 4
    with at_most(8, "the next command"):
        assert session.run("/bin/echo after", timeout=7).stdout.endswith("after\n")


def output_repeats_our_own_bytes(t: Trial) -> None:
    """Lines shaped as sentinels of all kinds, with and without newline, are output like any other."""
    session, root = t.session(), t.directory()
    draw = random.Random(7)  # noqa: S311  # the same every time
    lines = []
    for length in (8, 16, 24, 32, 40, 64):
        token = "".join(draw.choices("0123456789abcdef", k=length))
        lines += [
            f"__SHELLWARD_{token}__",
            f"shellward:{token}:0:/tmp",
            f"\x1e{token} 0 /\x1e",
            f"\x00{token}\x00 0\x00/\x00",
            f"\x1b]133;D;0\x07{token}",
            f"<<<{token}>>>",
            f"{token} 0",
            f"exit {token}",
            f"\x02{token}\x03\x04",
        ]
    text = "\n".join(lines)
    t.env.write_file(f"{root}/lines", text)
    result = session.run(f"cat {root}/lines; cat {root}/lines >&2; (exit 3)")
    assert (result.exit_code, result.stdout, result.stderr) == (3, text, text)


def random_bytes(t: Trial) -> None:
    """Two megabytes of random bytes come back exactly, and end nothing."""
    data = random.Random(11).randbytes(2_000_000)  # noqa: S311  # the same every time
    root = t.directory()
    t.env.write_file(f"{root}/random", data)
    result = t.env.run(f"cat {root}/random; (exit 3)", max_output=10**7)
    assert (result.exit_code, result.stdout_bytes) == (3, data)


def exit_status_cannot_be_forged(t: Trial) -> None:
    """A command cannot end its own record early: what it prints last is not taken for its status."""
    session, root = t.session(), t.directory()
    learned = _learn(t, session, root).decode("utf-8", "replace").splitlines()
    words = sorted({word for line in learned for word in line.split() if 12 <= len(word) <= 80})[:400]
    text = "\n".join(f"{word} 0 /" for word in words)
    t.env.write_file(f"{root}/forged", text)
    result = session.run(f"cat {root}/forged; printf '\\n'; cat {root}/forged >&2; sleep 0.2; echo real; (exit 9)")
    assert result.exit_code == 9
    assert result.stdout.endswith("real\n")


@terms(python, same_machine)
def parents_descriptors_are_written_to(t: Trial) -> None:
    """A child that writes old rubbish to the shell's own descriptors, through /proc, wedges nothing."""
    session, root = t.session(), t.directory()
    _learn(t, session, root)
    program = f"""
import os
shell = os.environ["SHELL_PID"]
learned = open({root + "/learned"!r}, "rb").read()[:4000]
learned = b"#" + learned.replace(b"\\n", b"\\n#")  # a shell that reads it as commands must do no harm
for name in os.listdir(f"/proc/{{shell}}/fd"):
    if int(name) > 2:
        try:
            fd = os.open(f"/proc/{{shell}}/fd/{{name}}", os.O_WRONLY | os.O_NONBLOCK)
            os.write(fd, learned + b"\\n#rubbish\\n")
        except OSError:
            pass
"""
    t.env.write_file(f"{root}/program.py", program)
    with at_most(12, "rubbish through /proc"):
        session.run(f"SHELL_PID=$$ python3 {quoted(root + '/program.py')}; (exit 4)", timeout=6)
    for _ in range(3):  # whoever may write to a shell's input can spoil a command, but not the session
        with at_most(8, "the next command"):
            last = session.run("/bin/echo after", timeout=7)
    assert (last.exit_code, last.stdout) == (0, "after\n")


@terms(bash)
def history_of_framing(t: Trial) -> None:
    """What bash itself remembers (``fc``, ``history``, ``$_``) is no way to forge an end."""
    session = t.session()
    session.run("set -o history", timeout=5)
    for number in range(3):
        assert session.run(f"history; fc -l 2>/dev/null; echo {number} $_; (exit 2)", timeout=5).exit_code == 2
