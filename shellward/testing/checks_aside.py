"""Commands that are waited for with a limit, ended by others, and set aside from their session; files in parts."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from shellward.testing.trial import at_most, raises

if TYPE_CHECKING:
    from shellward.testing.trial import Trial

DEPENDS_ON = "transport"


def waiting_has_a_limit(t: Trial) -> None:
    """``Stream.wait`` gives a command up to its limit, and it goes on; what it has printed can be seen meanwhile."""
    with t.env.stream("echo begun; sleep 1; echo end; (exit 3)") as stream:
        with at_most(0.9, "a wait of 0.2 s"):
            assert stream.wait(0.2) is None
        assert stream.so_far() == ("begun\n", False)
        result = stream.wait()
        assert result is not None
        assert (result.exit_code, result.output) == (3, "begun\nend\n")
        assert stream.wait(0) is result


def others_can_end_it(t: Trial) -> None:
    """``Stream.end`` from another thread ends the whole tree, and says how it ended; afterwards it ends nothing."""
    for reason, status in (("interrupt", 130), ("killed", 143)):
        sleeper = t.sleeper()
        stream = t.env.stream(f"{sleeper.command} & {sleeper.command}")
        threading.Timer(0.5, stream.end, (reason, "TERM")).start()
        with at_most(5, "the end"):
            result = stream.wait()
        assert result is not None
        assert (result.exit_code, result.interrupted) == (status, reason == "interrupt")
        sleeper.assert_gone(t.env)
        assert not stream.end()
    assert t.env.run("echo on").stdout == "on\n"


def set_aside(t: Trial) -> None:
    """A command that is set aside goes on; its session has the state from before it, and keeps what comes after."""
    env = t.fresh()
    env.run("cd /; export A=before; B=plain").check()
    stream = env.stream("cd /tmp; A=inside; echo begun; sleep 1.5; echo end")
    assert stream.wait(0.3) is None
    stream.set_aside()
    file = stream.keep_all()
    assert env.run("echo $A $B $PWD; cd /usr; A=after").stdout == "before plain /\n"
    assert env.cwd == "/usr"
    result = stream.wait()
    assert result is not None
    assert (result.exit_code, result.output) == (0, "begun\nend\n")
    assert result.full_output == file
    assert file is not None
    assert file.read_text() == "begun\nend\n"
    assert env.run("echo $A $B $PWD").stdout == "after plain /usr\n"


def set_aside_again_and_again(t: Trial) -> None:
    """Each session that follows takes over from the one before; nothing is left of those whose command has ended."""
    env = t.fresh()
    streams = []
    for number in range(3):
        env.run(f"A{number}={number}").check()
        streams.append(env.stream("sleep 0.5"))
        streams[-1].set_aside()
    assert env.run("echo $A0 $A1 $A2").stdout == "0 1 2\n"
    for stream in streams:
        result = stream.wait()
        assert result is not None
        assert result.exit_code == 0
    assert env.run("echo $A0 $A1 $A2").stdout == "0 1 2\n"


def output_of_a_process_in_order(t: Trial) -> None:
    """``start(merge_stderr=True)`` keeps both streams of a process in one, in order."""
    process = t.env.start("echo a; echo b >&2; echo c; (exit 4)", merge_stderr=True)
    t.defer(process.remove)
    assert process.wait(20).exit_code == 4
    assert (process.log().text, process.log(stream="stderr").text) == ("a\nb\nc\n", "")


def lines_of_a_file(t: Trial) -> None:
    """``read_lines`` reads some lines of a file, and says how long it is; a last line without an end counts."""
    directory = t.directory()
    path = f"{directory}/a b\nc"
    t.env.write_file(path, b"one\ntwo\xff\nthree")
    part = t.env.read_lines(path, 2, 1)
    assert (part.data, part.size, part.lines) == (b"two\xff\n", 14, 3)
    assert t.env.read_lines(path, 3).data == b"three"
    assert t.env.read_lines(path, 4).data == b""
    assert t.env.read_lines(path, most=5).data == b"one\nt"
    t.env.write_file(path, b"")
    assert t.env.read_lines(path).lines == 0
    with raises(FileNotFoundError):
        t.env.read_lines(f"{directory}/missing")
    with raises(IsADirectoryError):
        t.env.read_lines(directory)
