"""``shellward start``: a command in the background, which outlives this program."""

from typing import TYPE_CHECKING, Any

import click

from shellward.cli.complete import handles
from shellward.cli.run.options import Options, duration, env_option, place_options, quiet_option, variable

if TYPE_CHECKING:
    from shellward.environments.base import PtySize


@click.command(
    "start",
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
Examples:
  shellward start 'make serve'
  shellward start --json -- python3 -m http.server
  shellward start --env docker --image shellward/sandbox -- ./long-job
  id=$(shellward start 'read x; echo got $x'); shellward send $id hello
""",
)
@click.argument("words", metavar="CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
@env_option
@click.option("--attach", metavar="HANDLE", shell_complete=handles, help="Start it in this environment.")
@click.option("--cwd", metavar="DIR", help="Directory to run in.")
@click.option("--env-var", "variables", multiple=True, type=variable, metavar="K=V", help="Variable (repeatable).")
@click.option("--user", metavar="NAME", help="Run as this user.")
@place_options
@click.option("--task", default="", metavar="ID", help="Task that it belongs to.")
@click.option("--no-stdin", is_flag=True, help="Its input is empty, instead of what 'send' gives it.")
@click.option("--pty", "pty", is_flag=True, help="Give it a terminal, of this one's size where there is one.")
@click.option("--notify", is_flag=True, help="Tell programs that listen of its end, once.")
@click.option("--ttl", type=duration, metavar="TIME", help="Keep it and its sandbox so long without a client (24h).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with session_id.")
@quiet_option
def command(*, task: str, no_stdin: bool, pty: bool, notify: bool, ttl: float | None, **given: Any) -> None:
    """Start a command in the background and print its id. It goes on when this program is gone.

    One word is a shell line; several words are a program and its arguments. The gate is asked as in 'run'.
    """
    from shellward.cli.process import record, registry
    from shellward.cli.say import print_json
    from shellward.core.interrupts import held
    from shellward.core.limits import PROCESS_TTL
    from shellward.process_registry.reaper import reap

    options = Options(**given).checked().placed()
    with registry() as known:
        if options.attach is None and options.kind == "local":
            reap(known)  # what nobody owns any more goes when something new comes
        with held():  # what was made for this alone must not stay, however often Ctrl-C is pressed
            environment = _environment(options)
            known.use(environment)
            try:
                entry = known.start(
                    options.command,
                    environment=environment,
                    cwd=options.cwd,
                    env=dict(options.variables),
                    user=options.user if options.attach is not None or options.kind == "local" else None,
                    stdin=b"" if no_stdin else None,
                    pty=_size() if pty else None,
                    task=task,
                    notify=notify,
                    ttl=PROCESS_TTL if ttl is None else ttl,
                )
            except BaseException:
                known.release(environment)
                environment.close() if options.attach is None else environment.detach()
                raise
            known.release(environment)
            _leave(environment)
    if options.as_json:
        print_json(record(entry))
    else:
        click.echo(entry.id)


def _size() -> "PtySize":
    from shellward.cli.at_terminal import own_size
    from shellward.environments.base import PtySize

    rows, columns = own_size()
    return PtySize(rows=rows, columns=columns)


def _environment(options: Options) -> Any:
    from shellward.terminal_tool.guard import Terminal

    if options.attach is None:
        return Terminal(options.made_of.kind, lasting=True, **options.made_of.config)
    handle = options.attach
    if ":" not in handle:
        from shellward.cli.env.find import everything, find

        handle = find(handle, everything()).handle
    return Terminal.attach(handle)


def _leave(environment: Any) -> None:
    from shellward.process_registry.places import leave

    leave(environment)
