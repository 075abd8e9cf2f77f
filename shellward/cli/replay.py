"""``shellward replay``: play a recording of a terminal."""

import re
import time
from typing import TYPE_CHECKING, Final

import click

from shellward.cli.run.options import duration
from shellward.cli.say import say

if TYPE_CHECKING:
    from shellward.terminal.asciicast import Player

_CLIPBOARD: Final = re.compile("\x1b\\]52;[^\x07\x1b]*(?:\x07|\x1b\\\\)")
"""A recording has no business with the clipboard of whoever watches it."""

_EPILOG: Final = """\b
Examples:
  shellward replay session.cast
  shellward replay --speed 4 --idle-limit 1s session.cast
  shellward replay --jump 5m session.cast"""


@click.command("replay", epilog=_EPILOG)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--speed", type=click.FloatRange(0, min_open=True), default=1.0, metavar="N", help="N times as fast.")
@click.option("--jump", type=duration, metavar="TIME", help="Begin so far in: 90, 90s, 5m.")
@click.option("--idle-limit", type=duration, metavar="TIME", help="Wait so long at the most between two outputs.")
def command(file: str, *, speed: float, jump: float | None, idle_limit: float | None) -> int:
    """Play FILE, a recording of shellward or asciinema, on this terminal. Ctrl-C ends it."""
    from shellward.cli.at_terminal import Terminated, ending_by_signal, own_size
    from shellward.terminal.asciicast import Player

    player = Player(file)
    rows, columns = own_size()
    if player.rows > rows or player.columns > columns:
        say(f"{file} was recorded at {player.columns}x{player.rows}, this terminal is {columns}x{rows}")
    try:
        with ending_by_signal():
            _play(player, speed, jump or 0.0, idle_limit)
    except Terminated as ended:
        return 128 + ended.number
    return 0


def _play(player: "Player", speed: float, jump: float, idle_limit: float | None) -> None:
    from shellward.cli.at_terminal import OwnTerminal

    with OwnTerminal(raw=False) as own:
        before, due = jump, time.monotonic()
        for event in player:
            if event.code != "o":
                continue
            if event.time > jump:
                pause = event.time - before
                due += (pause if idle_limit is None else min(pause, idle_limit)) / speed
                before = event.time
                time.sleep(max(0.0, due - time.monotonic()))
            own.write(_CLIPBOARD.sub("", event.data).encode("utf-8", "replace"))
