"""The entry point: the table of commands, and what becomes of an error that a command lets pass."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NoReturn

import click

from shellward.cli.lazy import Entry, LazyGroup
from shellward.cli.say import BROKEN_PIPE, FAILED, NO, OK, USAGE, fail, print_json, say
from shellward.core.errors import ShellwardError
from shellward.core.interrupts import held

COMMANDS: Final = {
    "run": Entry("shellward.cli.run", "Run a command, here or in a sandbox."),
    "start": Entry("shellward.cli.process.start", "Start a command in the background."),
    "ps": Entry("shellward.cli.process.ps", "List background processes."),
    "logs": Entry("shellward.cli.process.logs", "Print what a background process prints."),
    "send": Entry("shellward.cli.process.send", "Type into a background process."),
    "attach": Entry("shellward.cli.process.attach", "Join the terminal of a background process."),
    "wait": Entry("shellward.cli.process.wait", "Wait for the end of a background process."),
    "kill": Entry("shellward.cli.process.kill", "End a background process with its tree."),
    "rm": Entry("shellward.cli.process.rm", "Remove background processes with their output."),
    "top": Entry("shellward.cli.process.top", "Show what runs in the background."),
    "shell": Entry("shellward.cli.shell", "Open an interactive shell in an environment."),
    "replay": Entry("shellward.cli.replay", "Play a recording of a terminal."),
    "env": Entry("shellward.cli.env", "List and remove environments."),
    "check": Entry("shellward.cli.check", "Explain what the gate says of a command."),
    "approvals": Entry("shellward.cli.approvals", "Answer questions of running programs."),
    "rules": Entry("shellward.cli.rules", "List, show and test rules."),
    "audit": Entry("shellward.cli.audit", "Show or verify the audit log."),
    "hook": Entry("shellward.cli.hook", "Answer PreToolUse hooks of other agents."),
    "mcp": Entry("shellward.cli.mcp", "Serve the agent's tools to MCP clients."),
    "agent-demo": Entry("shellward.cli.agent_demo", "Watch a model work in a sandbox."),
    "config": Entry("shellward.cli.config", "Show the settings and where each comes from."),
    "doctor": Entry("shellward.cli.doctor", "Say which kinds of environment work here."),
    "completion": Entry("shellward.cli.completion", "Print the completion script of a shell."),
}
"""A new command is one module with a click object named ``command``, one line here, one section in docs/cli.md."""

_INTERRUPTED = 130


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if not value or ctx.resilient_parsing:
        return
    from shellward import __version__

    python = ".".join(str(part) for part in sys.version_info[:3])
    click.echo(f"shellward {__version__} (Python {python}, {os.uname().sysname} {os.uname().machine})")
    ctx.exit()


root = LazyGroup(
    name="shellward",
    table=COMMANDS,
    help="Run shell commands anywhere, safely.",
    epilog="""\b
Examples:
  shellward run 'make test && echo ok'
  shellward run --env docker --image shellward/sandbox -- make test
  shellward start 'make serve'
  shellward logs -f ID
  shellward env ls
  shellward check 'rm -rf /srv'
  shellward doctor

Each command has a --help of its own.""",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_version,
            help="Show the version and exit.",
        ),
    ],
)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit. A command returns its exit code; None is 0.

    Args:
        arguments: words after the program's name; None: those of this process.
    """
    _fill_standard_descriptors()
    words = list(sys.argv[1:] if arguments is None else arguments)
    code = _run(words)
    try:
        sys.stdout.flush()
    except (OSError, AttributeError, ValueError):  # nobody reads it, or there is no stdout
        _forget_stdout()
    sys.exit(code)


def _fill_standard_descriptors() -> None:
    """Put something in the place of closed standard streams, before a pipe of ours gets such a number.

    Reading gives the end at once; writing fails as it does on a closed descriptor.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


def _run(words: list[str]) -> int:
    try:
        code = root.main(words, prog_name="shellward", standalone_mode=False)
    except BaseException as error:  # noqa: BLE001  # each has its exit code
        options = words[: words.index("--")] if "--" in words else words
        code = _INTERRUPTED
        with suppress(KeyboardInterrupt), held():  # a second Ctrl-C adds nothing
            code = _explain(error, as_json="--json" in options)
        # Agents run the tool when their hook fails with any other status, and it may have failed before it began.
        return USAGE if words[:1] == ["hook"] else code
    return code if isinstance(code, int) else OK


def _explain(error: BaseException, *, as_json: bool) -> int:
    match error:
        case click.exceptions.NoArgsIsHelpError():
            click.echo(error.ctx.get_help() if error.ctx else "", err=True)
            return USAGE
        case click.ClickException():
            return _refusal(error, as_json=as_json)
        case click.Abort() | KeyboardInterrupt():
            say("interrupted")
            return _INTERRUPTED
        case BrokenPipeError() | SystemExit():  # the latter is what click makes of the former
            _forget_stdout()
            return BROKEN_PIPE
        case ShellwardError() | OSError():
            return fail(error, as_json=as_json)
        case Exception() if not os.environ.get("SHELLWARD_TRACEBACK"):
            return _bug(error, as_json=as_json)
    raise error


def _refusal(error: click.ClickException, *, as_json: bool) -> int:
    message = error.format_message()
    wrong = isinstance(error, click.UsageError)
    if as_json:
        print_json({"error": message, "kind": "UsageError" if wrong else "Refused"})
    elif wrong:
        context = error.ctx if isinstance(error, click.UsageError) else None
        path = context.command_path if context is not None else "shellward"
        message = message.rstrip(".")
        say(f"{message[:1].lower()}{message[1:]}; see: {path} --help")
    else:
        say(message)
    return USAGE if wrong else NO


def _bug(error: Exception, *, as_json: bool) -> int:
    message = f"internal error: {type(error).__name__}: {error} (SHELLWARD_TRACEBACK=1 shows where)"
    if as_json:
        print_json({"error": message, "kind": "InternalError"})
    else:
        say(message)
    return FAILED


def _forget_stdout() -> None:
    """Keep the interpreter from complaining at exit about what it cannot write any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
