"""Output as bytes and text: encodings, the cap and the file with everything, floods."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from shellward.core.limits import HEAD_SHARE, MAX_OUTPUT
from shellward.testing.trial import at_most

if TYPE_CHECKING:
    from shellward.core.types import Chunk
    from shellward.testing.trial import Trial

DEPENDS_ON = "transport"

_NOTE = 600  # characters that the line about what was left out may take


def bytes_out_are_exact(t: Trial) -> None:
    """NUL and invalid UTF-8 come out as they were printed; in ``stdout`` each bad byte is U+FFFD."""
    session, root = t.session(), t.directory()
    every = bytes(range(256)) * 3
    t.env.write_file(f"{root}/every", every)
    result = session.run(f"cat {root}/every; cat {root}/every >&2")
    assert result.stdout_bytes == every
    assert result.stderr_bytes == every
    assert result.stdout == every.decode("utf-8", "replace")
    assert session.run(r"printf 'a\000b\377c\303'").stdout == "a\0b\ufffdc\ufffd"


def characters_are_never_broken(t: Trial) -> None:
    """UTF-8 is not broken at chunk borders: each byte of a character is printed on its own, with a pause."""
    text = "aé€😀z"
    pieces = "; sleep 0.03; ".join(f"printf '\\{byte:03o}'" for byte in text.encode())
    chunks: list[Chunk] = []
    result = t.env.run(pieces, on_output=chunks.append)
    assert result.stdout == text
    assert "".join(chunk.text for chunk in chunks) == text
    assert b"".join(chunk.data for chunk in chunks) == text.encode()


def characters_in_large_output(t: Trial) -> None:
    """UTF-8 is not broken at any buffer's border: 400 KB of characters of every width, at four offsets."""
    text = "é€😀a" * 40_000
    root = t.directory()
    for offset in range(4):
        t.env.write_file(f"{root}/text", "x" * offset + text)
        chunks: list[Chunk] = []
        result = t.env.run(f"cat {root}/text", on_output=chunks.append, max_output=10**6)
        assert result.stdout == "x" * offset + text
        assert "".join(chunk.text for chunk in chunks) == "x" * offset + text


def cap_keeps_head_and_tail(t: Trial) -> None:
    """Beyond the cap (50,000 characters).

    Head 40 %, tail 60 %, and a line between that says what is left out.
    """
    session = t.session()
    result = session.run("i=10000; while [ $i -lt 50000 ]; do echo line$i; i=$((i+1)); done", timeout=60)
    everything = "".join(f"line{i}\n" for i in range(10_000, 50_000))
    assert result.exit_code == 0
    assert result.truncated
    assert MAX_OUTPUT * 0.9 <= len(result.stdout) <= MAX_OUTPUT + _NOTE
    head, tail = int(MAX_OUTPUT * HEAD_SHARE), int(MAX_OUTPUT * (1 - HEAD_SHARE))
    assert result.stdout.startswith(everything[: int(head * 0.95)])
    assert result.stdout.endswith(everything[-int(tail * 0.95) :])
    assert result.full_output is not None
    assert str(result.full_output) in result.stdout
    assert result.full_output.read_text() == everything
    assert len(result.stdout_bytes) <= MAX_OUTPUT
    assert str(result.full_output).encode() not in result.stdout_bytes


def cap_is_chosen_by_the_caller(t: Trial) -> None:
    """``max_output`` is per call, in characters, and exact output just under it is left alone."""
    small = t.env.run("printf '%01000d' 7", max_output=100)
    assert small.truncated
    assert len(small.stdout_bytes) <= 100
    assert small.stdout.endswith("7")
    exact = t.env.run("printf '%0100d' 7", max_output=100)
    assert (exact.stdout, exact.truncated, exact.full_output) == ("0" * 99 + "7", False, None)
    wide = t.env.run("printf '€€€€€€€€€€'", max_output=10)
    assert (wide.stdout, wide.truncated) == ("€" * 10, False)
    large = t.env.run("head -c 300000 /dev/zero | tr '\\0' x", max_output=300_000)
    assert (large.stdout, large.truncated) == ("x" * 300_000, False)


def cut_is_between_characters(t: Trial) -> None:
    """The cap does not cut a character in two."""
    root = t.directory()
    t.env.write_file(f"{root}/wide", "😀€" * 5000)
    for cap in range(95, 105):
        result = t.env.run(f"cat {root}/wide", max_output=cap)
        assert result.truncated
        assert "\ufffd" not in result.stdout, cap


def each_stream_has_its_cap(t: Trial) -> None:
    """The cap is per stream: a flood on stderr does not hide what was said on stdout."""
    result = t.env.run("echo said; head -c 400000 /dev/zero | tr '\\0' e >&2; echo more")
    assert result.stdout == "said\nmore\n"
    assert result.truncated
    assert len(result.stderr) <= MAX_OUTPUT + _NOTE
    assert len(result.output) <= MAX_OUTPUT + _NOTE


def full_output_where_it_was_asked_for(t: Trial) -> None:
    """``full_output``: a path gets everything, also when it is little; True a file; False none."""
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory, "all of it")
        result = t.env.run("echo a; echo b >&2", full_output=target)
        assert result.full_output == target
        assert sorted(target.read_text().split()) == ["a", "b"]
        result = t.env.run("head -c 400000 /dev/zero | tr '\\0' x", full_output=target)
        assert target.read_bytes() == b"x" * 400_000
    kept = t.env.run("echo little", full_output=True)
    assert kept.full_output is not None
    assert kept.full_output.read_text() == "little\n"
    none = t.env.run("head -c 400000 /dev/zero", full_output=False)
    assert (none.truncated, none.full_output) == (True, None)


def kept_files_go_with_the_environment(t: Trial) -> None:
    """The file of a truncated command's output lives until ``close``."""
    env = t.fresh()
    first = env.run("head -c 400000 /dev/zero").full_output
    second = env.run("head -c 400000 /dev/zero").full_output
    assert first
    assert second
    assert first != second
    assert first.exists()
    assert second.exists()
    assert first.stat().st_mode & 0o077 == 0, "others on this machine must not read it"
    env.close()
    assert not first.exists()
    assert not second.exists()


def many_short_lines(t: Trial) -> None:
    """200,000 short lines arrive whole and in order."""
    script = "i=0; while [ $i -lt 200000 ]; do echo $i; i=$((i+1)); done"
    with at_most(30, "200,000 lines"):
        result = t.session().run(script, max_output=2_000_000)
    assert result.stdout == "".join(f"{i}\n" for i in range(200_000))


def one_endless_line(t: Trial) -> None:
    """20 MB without a newline are no harder than with."""
    total = 0

    def count(chunk: object) -> None:
        nonlocal total
        total += len(chunk.data)  # type: ignore[attr-defined]

    with at_most(30, "20 MB"):
        result = t.env.run("head -c 20000000 /dev/zero", on_output=count, full_output=False)
    assert (result.exit_code, total) == (0, 20_000_000)


def both_streams_flood(t: Trial) -> None:
    """Megabytes on both streams at once do not deadlock and do not mix."""
    with at_most(30, "two floods"):
        result = t.env.run(
            "(head -c 3000000 /dev/zero | tr '\\0' e >&2) & head -c 3000000 /dev/zero | tr '\\0' o; wait",
            max_output=4_000_000,
        )
    assert result.stdout == "o" * 3_000_000
    assert result.stderr == "e" * 3_000_000


def terminal_sequences_are_only_bytes(t: Trial) -> None:
    """Escape sequences, carriage returns, form feeds and the like are passed on untouched."""
    text = "\x1b[2J\x1b]0;title\x07\r\f\v\b\x1bc\x1b[?1049h\x04\x1a\x03\n"
    root = t.directory()
    t.env.write_file(f"{root}/raw", text)
    assert t.env.run(f"cat {root}/raw").stdout == text


def status_after_a_flood(t: Trial) -> None:
    """The exit status is right after megabytes of output, and the next command's output is only its own."""
    session = t.session()
    for status in (0, 5):
        result = session.run(f"head -c 2000000 /dev/zero; printf end; (exit {status})")
        assert result.exit_code == status
        assert result.stdout.endswith("end")
        assert session.run("echo next").output == "next\n"
