"""``shellward shell``: a person's interactive shell, or another program, at a terminal in any environment."""

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import click

from shellward.cli.complete import handles
from shellward.cli.run.options import Options, env_option, place_options, quiet_option, variable
from shellward.cli.say import FAILED, say
from shellward.core.errors import Unsupported

if TYPE_CHECKING:
    from shellward.environments.pty import PtySession
    from shellward.terminal_tool.guard import Terminal

_PATIENCE: Final = 15.0
"""Seconds after a signal in which an environment that is being made has to be there, to be removed."""
_EPILOG: Final = """\b
Examples:
  shellward shell
  shellward shell --env docker --image shellward/sandbox
  shellward shell --env docker --mount .:/src --cwd /src -- vim README.md
  shellward shell --attach docker:3a2fcccd4479
  shellward shell --record session.cast

Exit codes: the shell's own; 128 + n when signal n ended it, or this program; 20 the gate refused the command;
125 Shellward itself failed; 2 wrong usage."""


@click.command("shell", context_settings={"allow_interspersed_args": False}, epilog=_EPILOG)
@click.argument("words", metavar="[CMD...]", nargs=-1, type=click.UNPROCESSED)
@env_option
@click.option("--attach", metavar="HANDLE", shell_complete=handles, help="Use this environment, and leave it.")
@click.option("--keep", is_flag=True, help="Leave the environment to its lease, and print its handle on stderr.")
@click.option("--cwd", metavar="DIR", help="Directory to begin in.")
@click.option(
    "--env-var", "variables", multiple=True, type=variable, metavar="K=V", help="Variable; K alone passes ours on."
)
@click.option("--user", metavar="NAME", help="Run as this user.")
@click.option("--shell", metavar="SHELL", help="Shell to run; by default bash, else sh.")
@place_options
@click.option("--record", metavar="FILE", help="Record the session, for shellward replay.")
@click.option("--record-input", is_flag=True, help="Record what is typed, too: passwords as well.")
@quiet_option
def command(*, record: str | None, record_input: bool, **given: Any) -> int:
    """Open an interactive shell in an environment, or run CMD at a terminal there.

    The keys are yours, and so is what you type: the gate does not ask you about it. CMD itself passes the gate.
    The shell begins where the session of the environment stands; the terminal is put back as it was, on every way
    out.
    """
    from shellward.cli.at_terminal import Terminated, ending_by_signal

    if not (os.isatty(0) and os.isatty(1)):
        raise click.UsageError("shell needs a terminal; without one there is: shellward run")
    if record_input and record is None:
        raise click.UsageError("--record-input goes with --record")
    options = Options(**given).checked().placed()
    try:
        with ending_by_signal():
            return _carry_out(options, record, record_input=record_input)
    except Terminated as ended:
        return 128 + ended.number


def _carry_out(options: Options, record: str | None, *, record_input: bool) -> int:
    from shellward.cli.at_terminal import signals_held

    environment = _open(options)
    try:
        session = _session(environment, options)
        if record is not None:
            session.record(record, keep_input=record_input)
        status = _at(session)
        if options.keep:
            say(f"left {environment.handle}")
    except BaseException:
        with signals_held():
            (environment.detach if options.attach is not None else environment.close)()
        raise
    with signals_held():
        (environment.detach if options.leaves else environment.close)()
    return FAILED if status is None else status


def _at(session: "PtySession") -> int | None:
    """Lend this terminal to a session until it ends; returns the exit status."""
    from shellward.cli.at_terminal import Joined, OwnTerminal

    try:
        with OwnTerminal() as own:
            over = Joined(session, own).run()
        return session.wait(5.0) if over else None
    finally:
        with suppress(OSError):  # the file of a recording may be on a full disk; the terminal's end is not its
            session.close()


def _open(options: Options) -> "Terminal":
    """Make the environment, or find it, in another thread: what is being made must not be cut in two by a signal."""
    made: list[Terminal] = []
    failed: list[BaseException] = []

    def make() -> None:
        try:
            made.append(_made(options))
        except BaseException as error:  # noqa: BLE001  # raised again by the thread that waits
            failed.append(error)

    maker = threading.Thread(target=make, name="shellward-open", daemon=True)
    maker.start()
    try:
        maker.join()
    except BaseException:
        maker.join(_PATIENCE)
        for environment in made:
            (environment.detach if options.attach is not None else environment.close)()
        raise
    if failed:
        raise failed[0]
    return made[0]


def _made(options: Options) -> "Terminal":
    from shellward.terminal_tool.guard import Terminal

    if options.attach is None:
        return Terminal(options.made_of.kind, lasting=options.keep, **options.made_of.config)
    from shellward.cli.env.find import everything, find

    handle = options.attach
    if ":" not in handle:
        handle = find(handle, everything()).handle
    return Terminal.attach(handle, shell=options.shell)


def _session(environment: "Terminal", options: Options) -> "PtySession":
    from shellward.cli.at_terminal import own_size
    from shellward.environments.base import PtySize

    if options.keep and not environment.capabilities.attach:
        raise Unsupported("be kept", environment.kind, "they end with the program that made them")
    rows, columns = own_size()
    variables = {"TERM": os.environ.get("TERM", "xterm-256color"), **dict(options.variables)}
    call = options.call()
    return environment.pty(
        options.command if options.words else None,
        size=PtySize(rows=rows, columns=columns),
        cwd=options.cwd,
        env=variables,
        user=call.get("user"),
        by_person=True,
        emulate=False,
    )
