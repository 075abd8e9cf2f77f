"""Values that a shell completes: kinds of environment and handles. The engine is imported only then."""

import click
from click.shell_completion import CompletionItem


def kinds(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a kind of environment."""
    del ctx, param
    from shellward.environments.registry import BACKENDS

    return [CompletionItem(kind) for kind in BACKENDS if kind.startswith(incomplete)]


def environments(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a kind of environment, or a name in the settings."""
    from shellward.config import load
    from shellward.core.errors import ConfigError

    try:
        named = load().config.environments
    except ConfigError:  # it is told when the command is run
        named = {}
    found = [
        CompletionItem(name, help=str(table["kind"])) for name, table in named.items() if name.startswith(incomplete)
    ]
    return kinds(ctx, param, incomplete) + found


def handles(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the handle of an environment that is there now. Without its kind: a colon ends words in bash."""
    del ctx, param
    from shellward.cli.env.find import everything, fits, short

    found = [info for info in everything(quiet=True) if fits(info, incomplete)]
    return [CompletionItem(short(info).partition(":")[2], help=info.image) for info in found]
