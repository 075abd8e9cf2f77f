"""Memory stays flat: gigabytes of output and of files, measured in a client process of their own."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from shellward.testing.trial import terms

if TYPE_CHECKING:
    from shellward.testing.trial import Trial

DEPENDS_ON = "transport"

GROWTH = 64 * 2**20
"""Bytes by which the client may grow (SPEC A)."""
LOG_GROWTH = 16 * 2**20
"""The same for the log of a background process (SPEC C)."""
_ALL_OUTPUT = 2e9
_OUTPUT = int(float(os.environ.get("SHELLWARD_TEST_OUTPUT_GB", _ALL_OUTPUT / 1e9)) * 1e9)
_PEAK = "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024"


def _flat(t: Trial, body: str, *, within: float = 280, growth: int = GROWTH, warm: str = "pass") -> list[str]:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    said = t.client_says(
        "with make() as env:\n    env.run('echo warm; exit 1')\n    env.read_file('/etc/passwd')\n"
        f"    {warm}\n"
        f"    before = {_PEAK}\n{lines}\n    say('grown', {_PEAK} - before)\n",
        within=within,
    ).splitlines()
    grown = int(said[-1].split()[1])
    assert grown < growth, f"the client grew by {grown / 2**20:.0f} MB"
    return said[:-1]


def hundred_megabytes_are_flat(t: Trial) -> None:
    """100 MB of output leave the client's memory where it was, in the quick lane already."""
    said = _flat(
        t,
        "r = env.run('head -c 100000000 /dev/zero')\nsay(r.exit_code, r.truncated, os.path.getsize(r.full_output))",
    )
    assert said[0].split()[:2] == ["0", "True"]
    assert int(said[0].split()[2]) <= 64 * 2**20 + 4096, "more than KEPT_OUTPUT was kept unasked"


def fifty_megabyte_line_and_input(t: Trial) -> None:
    """50 MB of input from a generator, echoed back, are flat too."""
    _flat(
        t,
        "r = env.run('cat', stdin=(b'x' * 65536 for _ in range(800)), full_output=False)\n"
        "assert r.exit_code == 0 and r.truncated, r",
    )


@terms(slow=True, limit=300)
def output_of_gigabytes(t: Trial) -> None:
    """Memory stays flat (under 64 MB growth) for a command that prints without end; the status is right."""
    said = _flat(
        t,
        f"n = 0\nfor item in env.stream('head -c {_OUTPUT} /dev/zero; (exit 7)', full_output=False):\n"
        "    n += len(getattr(item, 'data', b''))\nsay(n, item.exit_code, item.truncated)",
    )
    assert said[0] == f"{_OUTPUT} 7 True"


@terms(slow=True, limit=300)
def full_output_of_a_gigabyte(t: Trial) -> None:
    """Everything that was printed is in the file when asked for, and memory stays flat."""
    with tempfile.TemporaryDirectory() as directory:
        size = 500_000_000
        path = Path(directory, "all")
        _flat(
            t,
            f"r = env.run('head -c {size} /dev/zero', full_output={str(path)!r})\nassert r.exit_code == 0, r",
        )
        assert path.stat().st_size == size


@terms(slow=True, limit=300)
def hundred_megabytes_at_a_terminal(t: Trial) -> None:
    """100 MB at a terminal (at a cloud 10 MB) come whole, and leave the client's memory where it was."""
    size = min(100_000_000, t.place.large_file // 10)
    said = _flat(
        t,
        "n = [0]\ndef count(chunk):\n    n[0] += len(chunk.data)\n"
        f"r = env.run('yes | head -c {size}', pty=True, on_output=count, max_output=0, full_output=False)\n"
        "say(r.exit_code, n[0])",
    )
    assert said == [f"0 {size // 2 * 3}"]  # a terminal ends each line with two


@terms(slow=True, limit=600)
def log_of_a_gigabyte(t: Trial) -> None:
    """A background process's log of 1 GB, read at its end and followed whole, costs the client less than 16 MB."""
    size = t.place.large_file
    said = _flat(
        t,
        f"p = env.start('head -c {size} /dev/zero', stdin=b'')\nassert p.wait(280).exit_code == 0\n"
        "say(len(p.log(limit=1 << 20).data), sum(len(piece) for piece in p.follow()))\np.remove()",
        within=580,
        growth=LOG_GROWTH,
        warm="w = env.start('echo warm'); w.wait(20); w.log(); list(w.follow()); w.remove()",
    )
    assert said == [f"{1 << 20} {size}"]


@terms(slow=True, limit=600)
def file_of_a_gigabyte(t: Trial) -> None:
    """A file of 1 GB (at a cloud 100 MB) goes up and comes down, byte for byte, without being held in memory.

    It is smaller where SHELLWARD_TEST_OUTPUT_GB is below its default.
    """
    size = int(t.place.large_file * min(1, _OUTPUT / _ALL_OUTPUT))
    with tempfile.TemporaryDirectory(prefix="shellward-check-") as directory:
        source, back = Path(directory, "source"), Path(directory, "back")
        block = hashlib.sha256(b"x").digest() * 32_768
        digest = hashlib.sha256()
        with source.open("wb") as file:
            for _ in range(size // len(block)):
                file.write(block)
                digest.update(block)
        said = _flat(
            t,
            f"env.upload({str(source)!r}, '/tmp/shellward-gigabyte')\n"
            "say(env.run('sha256sum </tmp/shellward-gigabyte').stdout.split()[0])\n"
            f"env.download('/tmp/shellward-gigabyte', {str(back)!r})\nenv.run('rm /tmp/shellward-gigabyte')",
            within=580,
        )
        assert said == [digest.hexdigest()]
        source.unlink()
        with back.open("rb") as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == digest.hexdigest()
