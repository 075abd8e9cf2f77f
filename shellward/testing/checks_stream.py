"""Output while the command runs: ``stream`` and ``on_output``."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from shellward.core.types import Chunk, Result, StreamName
from shellward.testing.trial import at_most, raises

if TYPE_CHECKING:
    from shellward.testing.trial import Trial

DEPENDS_ON = "transport"


def chunks_then_the_result(t: Trial) -> None:
    """``stream`` gives chunks as they come, then the Result as its last item, and as ``.result``."""
    with t.env.stream("echo a; sleep 0.1; echo b >&2; sleep 0.1; echo c; (exit 3)") as stream:
        items = list(stream)
    *chunks, last = items
    assert all(isinstance(chunk, Chunk) for chunk in chunks)
    assert [(chunk.stream, chunk.data) for chunk in chunks if isinstance(chunk, Chunk)] == [
        (StreamName.STDOUT, b"a\n"),
        (StreamName.STDERR, b"b\n"),
        (StreamName.STDOUT, b"c\n"),
    ]
    assert isinstance(last, Result)
    assert (last.exit_code, last.stdout, last.stderr) == (3, "a\nc\n", "b\n")
    assert stream.result is last


def first_byte_is_quick(t: Trial) -> None:
    """The first byte is there within 50 ms of being printed (best of five: the machine may be busy)."""
    best = 1.0
    for _ in range(5):
        arrived: list[float] = []
        for item in t.env.stream("sleep 0.2; printf x; sleep 0.2"):
            arrived.append(time.monotonic())
            if isinstance(item, Result):
                best = min(best, abs(arrived[-1] - arrived[0] - 0.2))
        assert len(arrived) == 2
    assert best < 0.05, f"chunk and end are {best * 1000:.0f} ms off from 200 ms"


def nothing_is_held_back(t: Trial) -> None:
    """A prompt without a newline is seen while the command still runs."""
    stream = t.env.stream("printf 'name? '; sleep 20", timeout=30)
    with stream, at_most(3, "the first chunk"):
        first = next(iter(stream))
        assert isinstance(first, Chunk)
        assert first.text == "name? "


def chunks_are_all_of_it(t: Trial) -> None:
    """Together the chunks are the whole output, beyond any cap."""
    total = 0
    result = None
    for item in t.env.stream("head -c 5000000 /dev/zero | tr '\\0' x"):
        if isinstance(item, Chunk):
            total += len(item.data)
            assert len(item.text) == len(item.data)
        else:
            result = item
    assert total == 5_000_000
    assert result is not None
    assert result.truncated


def slow_reader_slows_the_command(t: Trial) -> None:
    """A reader that takes its time loses nothing and is not flooded: the command waits."""
    root = t.directory()
    stream = t.session().stream(f"head -c 30000000 /dev/zero; echo done >{root}/done")
    iterator = iter(stream)
    first = next(iterator)
    assert isinstance(first, Chunk)
    time.sleep(0.7)
    assert t.env.run(f"ls {root}").stdout == "", "30 MB were taken in without a reader"
    total = len(first.data) + sum(len(item.data) for item in iterator if isinstance(item, Chunk))
    assert total == 30_000_000
    assert t.env.run(f"cat {root}/done").stdout == "done\n"


def closing_early_cancels(t: Trial) -> None:
    """``close()`` before the end cancels the command inside; the session works on."""
    sleeper, session = t.sleeper(), t.session()
    session.run("X=kept").check()
    stream = session.stream(f"echo started; {sleeper.command} & {sleeper.command}")
    assert isinstance(next(iter(stream)), Chunk)
    sleeper.assert_alive(t.env, 2)
    with at_most(3, "closing a stream"):
        stream.close()
    sleeper.assert_gone(t.env)
    assert session.run("echo $X").stdout == "kept\n"
    stream.close()


def leaving_the_block_cancels(t: Trial) -> None:
    """A ``with`` block left early, by break or by an exception, cancels the command too."""
    sleeper = t.sleeper()
    with t.env.stream(f"echo one; {sleeper.command}") as stream:
        for _ in stream:
            break
    sleeper.assert_gone(t.env)
    with raises(KeyError), t.env.stream(f"echo one; {sleeper.command}") as stream:
        for _ in stream:
            raise KeyError
    sleeper.assert_gone(t.env)
    assert t.env.run("echo ok").stdout == "ok\n"


def dropped_stream_blocks_nobody(t: Trial) -> None:
    """A stream that is forgotten before its end blocks no other call, and ``close`` ends its command."""
    env, sleeper = t.fresh(), t.sleeper()
    stream = env.stream(f"echo one; {sleeper.command}")
    next(iter(stream))
    del stream
    with at_most(5, "a command after a forgotten stream"):
        assert env.run("echo ok", timeout=4).stdout == "ok\n"
    with at_most(5, "close"):
        env.close()
    sleeper.assert_gone(env, 2)


def limit_in_a_stream(t: Trial) -> None:
    """A time limit ends a stream with what was printed and a Result that says so."""
    items = list(t.env.stream("echo early; sleep 30", timeout=0.7))
    assert isinstance(items[0], Chunk)
    assert items[0].text == "early\n"
    last = items[-1]
    assert isinstance(last, Result)
    assert (last.exit_code, last.timed_out, last.stdout) == (124, True, "early\n")


def limit_while_nobody_reads(t: Trial) -> None:
    """The limit holds for the command also when the reader is slow: it does not run on inside."""
    sleeper = t.sleeper()
    stream = t.env.stream(f"echo one; {sleeper.command}", timeout=0.5)
    iterator = iter(stream)
    next(iterator)
    time.sleep(1.5)
    last = list(iterator)[-1]
    assert isinstance(last, Result)
    assert last.timed_out
    sleeper.assert_gone(t.env)


def callback_in_the_callers_thread(t: Trial) -> None:
    """``on_output`` is called with each chunk as it comes, in the caller's thread."""
    seen: list[tuple[str, int]] = []
    result = t.env.run(
        "echo a; sleep 0.2; echo b >&2",
        on_output=lambda chunk: seen.append((chunk.text, threading.get_ident())),
    )
    assert seen == [("a\n", threading.get_ident()), ("b\n", threading.get_ident())]
    assert result.output == "a\nb\n"


def failing_callback_is_the_callers_error(t: Trial) -> None:
    """When ``on_output`` raises, the caller gets that exception, the command ends, and the session lives."""
    sleeper = t.sleeper()

    def fail(_chunk: Chunk) -> None:
        raise RuntimeError("stop")

    with at_most(5, "a failing callback"), raises(RuntimeError):
        t.env.run(f"echo one; {sleeper.command}", on_output=fail)
    sleeper.assert_gone(t.env)
    assert t.env.run("echo ok").output == "ok\n"


def callback_may_use_the_environment(t: Trial) -> None:
    """``on_output`` may itself run a command: it is an overlapping run, not a deadlock."""
    inner: list[str] = []
    with at_most(8, "a command within a callback"):
        t.env.run(
            "echo a",
            on_output=lambda chunk: inner.append(t.env.run(f"printf {chunk.text}").stdout),
            timeout=7,
        )
    assert inner == ["a"]
