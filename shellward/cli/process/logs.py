"""``shellward logs``: what a process has printed, from any place in it, and as it comes."""

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import click

from shellward.cli.process import ids

if TYPE_CHECKING:
    from shellward.process_registry import ProcessRegistry

_PIECE: Final = 1 << 20


@click.command(
    "logs",
    epilog="""\b
Examples:
  shellward logs p3f2
  shellward logs -f p3f2
  shellward logs --tail 20 --grep error p3f2
  shellward logs --offset 1000000 p3f2
""",
)
@click.argument("name", metavar="ID", shell_complete=ids)
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes, until the process has ended.")
@click.option("--offset", type=int, metavar="BYTES", help="Begin at this byte; below 0: so many before the end.")
@click.option("--tail", type=click.IntRange(0), metavar="LINES", help="Only so many lines of what is there.")
@click.option("--grep", metavar="REGEX", help="Only lines in which this is found.")
@click.option("--stderr", is_flag=True, help="Standard error instead of standard output.")
def command(name: str, *, follow: bool, offset: int | None, tail: int | None, grep: str | None, stderr: bool) -> None:
    """Print the output of a process, byte for byte. Nothing of it is held in memory as a whole."""
    from shellward.cli.process import registry

    if offset is not None and tail is not None:
        raise click.UsageError("--offset and --tail do not go together")
    try:
        wanted = None if grep is None else re.compile(os.fsencode(grep))
    except re.error as error:
        raise click.BadParameter(f"--grep: {error}") from error
    stream = "stderr" if stderr else "stdout"
    with registry() as known:
        entry = known.find(name)
        at = _begin(known, entry.id, stream, tail) if tail is not None else offset or 0
        pieces = known.follow(entry.id, at, stream) if follow else known.whole(entry.id, at, stream)
        for piece in pieces if wanted is None else _lines(pieces, wanted):
            view = memoryview(piece)
            while view:
                view = view[os.write(1, view) :]


def _begin(known: "ProcessRegistry", name: str, stream: str, tail: int) -> int:
    """Offset at which the last lines begin."""
    log = known.log(name, None, 0, stream)
    if tail == 0:
        return log.size
    at, found = log.size, 0
    while at > 0:
        first = max(0, at - _PIECE)
        data = known.log(name, first, at - first, stream).data
        end = len(data) - 1 if at == log.size else len(data)  # the newline at the very end ends a line
        while (place := data.rfind(b"\n", 0, end)) >= 0:
            found += 1
            if found == tail:
                return first + place + 1
            end = place
        at = first
    return 0


def _lines(pieces: Iterable[bytes], wanted: re.Pattern[bytes]) -> Iterator[bytes]:
    """Yield the lines in which something is found. One that is too long to hold is looked at in parts."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if wanted.search(line):
                yield line + b"\n"
        if len(rest) > _PIECE:
            if wanted.search(rest):
                yield rest
            rest = b""
    if rest and wanted.search(rest):
        yield rest
