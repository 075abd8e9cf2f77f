"""A click group that imports a command when it is used, so that --help and completion start at once."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click


class Entry(NamedTuple):
    """Where a command is, and its line in the list of commands.

    Attributes:
        module: has the click object under the name ``command``.
        help: a few words, at most one line of a terminal.
    """

    module: str
    help: str


class LazyGroup(click.Group):
    """A group whose commands are in a table.

    Args:
        table: name to entry, in the order of ``--help``.
    """

    def __init__(self, *args: Any, table: Mapping[str, Entry], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """See click. No command is imported for it."""
        del ctx
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """See click. Imports the command's module."""
        del ctx
        entry = self._table.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = import_module(entry.module).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """See click. A name that is not there is answered with the one that may have been meant."""
        from difflib import get_close_matches

        name = args[0]
        if name not in self._table and not name.startswith("-") and not ctx.resilient_parsing:
            close = get_close_matches(name, self._table, 1)
            advice = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(self._table)}"
            raise click.UsageError(f"no such command: {name!r}; {advice}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """See click. The lines come from the table."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self._table.items()])
