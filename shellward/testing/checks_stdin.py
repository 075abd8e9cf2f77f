"""Law 4: a command has its own stdin (default: empty), never the control stream."""

from __future__ import annotations

import errno
import hashlib
import io
import tempfile
import time
from typing import TYPE_CHECKING

from shellward.testing.trial import at_most, raises

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shellward.testing.trial import Trial

DEPENDS_ON = "transport"

_BYTES = bytes(range(256))


def default_is_empty(t: Trial) -> None:
    """A reader of stdin without any sees the end at once."""
    session = t.session()
    for command in (
        "cat; echo end",
        "read x; echo end",
        "sh -c cat; echo end",
        "head -c 5; echo end",
        "wc -c; echo end",
    ):
        with at_most(3, command):
            assert session.run(command, timeout=5).stdout.endswith("end\n"), command
    assert session.run(["cat"], timeout=5).stdout == ""


def reader_in_the_background(t: Trial) -> None:
    """A background reader cannot eat what is meant for the shell."""
    session = t.session()
    session.run("cat >/dev/null & cat <&0 >/dev/null & echo started")
    for number in range(20):
        assert session.run(f"echo {number}", timeout=5).stdout == f"{number}\n"


def text_and_bytes(t: Trial) -> None:
    """``stdin`` takes str (as UTF-8) and bytes, with NUL and what is not UTF-8."""
    assert t.env.run("cat", stdin="é\n").stdout == "é\n"
    assert t.env.run("cat", stdin=_BYTES).stdout_bytes == _BYTES
    assert t.env.run("wc -c", stdin=b"").stdout.strip() == "0"
    assert t.env.run("wc -c", stdin="").stdout.strip() == "0"
    assert t.env.run("cat", stdin=b"no newline").stdout == "no newline"


def files_and_iterables(t: Trial) -> None:
    """``stdin`` takes a binary file object (from where it stands) and any iterable of bytes."""
    data = _BYTES * 4000
    assert t.env.run("cat", stdin=io.BytesIO(b"0123456789")).stdout == "0123456789"
    with tempfile.TemporaryFile() as file:
        file.write(b"skipped" + data)
        file.seek(7)
        assert t.env.run("wc -c", stdin=file).stdout.strip() == str(len(data))
    chunks = (data[start : start + 7777] for start in range(0, len(data), 7777))
    result = t.env.run("cat", stdin=chunks, max_output=10 * len(data))
    assert result.stdout_bytes == data
    assert t.env.run("cat", stdin=[b"", b"a", b"", b"b"]).stdout == "ab"
    assert t.env.run("cat", stdin=[]).stdout == ""


def large_input_arrives_whole(t: Trial) -> None:
    """20 MB of input arrive whole, for a shell line and for a list."""
    data = hashlib.sha256(b"x").digest() * 655_360
    for command in ("sha256sum", ["sha256sum"]):
        with at_most(30, "20 MB of input"):
            result = t.env.run(command, stdin=data)
        assert result.stdout.split()[0] == hashlib.sha256(data).hexdigest()


def input_and_output_at_once(t: Trial) -> None:
    """A command that answers while it reads does not deadlock, with megabytes in both directions."""
    data = b"0123456789abcdef" * 262_144
    with at_most(30, "cat of 4 MB"):
        result = t.env.run("cat", stdin=data, max_output=8 * 2**20)
    assert result.stdout_bytes == data
    with at_most(30, "cat of 4 MB to both"):
        result = t.env.run("tee /dev/stderr", stdin=data, max_output=8 * 2**20)
    assert result.stdout_bytes == data
    assert result.stderr_bytes == data


def unread_input_is_dropped(t: Trial) -> None:
    """What a command does not read is gone: it does not block, is no error, and is never run as commands."""
    session, root = t.session(), t.directory()
    poison = f"first\ntouch {root}/poison\nexit 9\n".encode() * 100_000
    for command in ("true", "read x; echo $x", "head -c 6", "exec 0<&-", "exec true"):
        with at_most(8, command):
            result = session.run(command, stdin=poison, timeout=7)
        assert (result.exit_code, result.timed_out) == (0, False), command
    assert session.run(f"ls {root}").stdout == ""
    assert session.run("cat").stdout == ""


def input_goes_to_the_first_reader(t: Trial) -> None:
    """The parts of a command share one stdin, as in any shell."""
    result = t.session().run("read a; read b; echo $b-$a; cat", stdin="1\n2\nrest\n")
    assert result.stdout == "2-1\nrest\n"


def slow_input_is_interactive(t: Trial) -> None:
    """Input is passed on as it comes, not only when it is complete."""

    def drops() -> Iterator[bytes]:
        for number in range(3):
            yield f"{number}\n".encode()
            time.sleep(1)

    seen: list[float] = []
    start = time.monotonic()
    result = t.env.run(
        "while read x; do echo got $x; done",
        stdin=drops(),
        on_output=lambda _chunk: seen.append(time.monotonic() - start),
        timeout=10,
    )
    assert result.stdout == "got 0\ngot 1\ngot 2\n"
    assert seen[0] < 0.9, "the first line has to be answered before the second is sent"


def input_that_never_ends_ends_with_the_command(t: Trial) -> None:
    """A command may end before its input does; the source is not drained."""
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while taken < 10_000:
            taken += 1
            yield b"y\n" * 5000

    with at_most(8, "head of an endless input"):
        result = t.env.run("head -n 3", stdin=endless(), timeout=7)
    assert (result.stdout, result.exit_code) == ("y\ny\ny\n", 0)
    assert taken < 10_000


def limit_holds_while_input_waits(t: Trial) -> None:
    """The time limit holds when the command does not take its input."""
    with at_most(1.5 + 1, "a command that does not read"):
        result = t.env.run("sleep 30", stdin=b"x" * 5_000_000, timeout=1.5)
    assert result.timed_out
    assert t.env.run("echo ok").stdout == "ok\n"


def failing_input_is_the_callers_error(t: Trial) -> None:
    """When the source of input raises, the caller gets that exception, the command ends.

    The session lives.
    """
    sleeper = t.sleeper()

    def broken() -> Iterator[bytes]:
        yield b"some\n"
        raise RuntimeError("the source is broken")

    with at_most(10, "a broken source"), raises(RuntimeError):
        t.env.run(f"cat; {sleeper.command}", stdin=broken(), timeout=20)
    sleeper.assert_gone(t.env, 2)
    assert t.env.run("cat; echo ok").stdout == "ok\n"


def input_that_cannot_be_kept(t: Trial) -> None:
    """A command gets all of its input, or does not run: OSError, where the sandbox has no room to keep it."""
    session, root = t.session(), t.directory()
    for before in ("true", "set -e", "set +e; set -u"):
        session.run(before).check()
        place, _, number = session.run("readlink /proc/self/fd/0", stdin="x").stdout.strip().rpartition(".")
        links = " ".join(f"{place}.{int(number) + more}" for more in range(1, 10))
        session.run(f"for f in {links}; do ln -s /dev/full $f; done").check()
        for data in (b"x", b"x" * 100_000, "é" * 100):
            with raises(OSError) as caught:
                session.run(f"cat; echo ran >>{root}/ran", stdin=data)
            assert caught.value.errno == errno.ENOSPC, caught.value
            assert "nothing has run" in str(caught.value)
        session.run(f"rm -f {links}").check()
        assert session.run("cat; echo $?", stdin="all of it\n").stdout == "all of it\n0\n"
    assert session.run(f"ls {root}").stdout == ""


def wrong_kind_of_input(t: Trial) -> None:
    """What is not input is refused with TypeError before anything runs."""
    root = t.directory()
    with raises(TypeError):
        t.env.run(f"touch {root}/ran", stdin=7)  # type: ignore[arg-type]
    assert t.env.run(f"ls {root}").stdout == ""
