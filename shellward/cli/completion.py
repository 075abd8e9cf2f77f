"""``shellward completion``: print the script that a shell reads to complete our words. It is click's own."""

import click

from shellward.core.errors import ShellwardError

_SHELLS = ("bash", "zsh", "fish")


@click.command(
    "completion",
    epilog="""\b
Examples:
  echo 'eval "$(shellward completion bash)"' >>~/.bashrc
  echo 'eval "$(shellward completion zsh)"' >>~/.zshrc
  shellward completion fish >~/.config/fish/completions/shellward.fish
""",
)
@click.argument("shell", type=click.Choice(_SHELLS))
def command(shell: str) -> None:
    """Print the completion script of a shell."""
    from click.shell_completion import get_completion_class

    from shellward.cli.main import root

    found = get_completion_class(shell)
    if found is None:
        raise ShellwardError(f"this version of click has no completion for {shell}")
    made = found(root, {}, "shellward", "_SHELLWARD_COMPLETE")
    # Not source(): for bash that starts one to look at its version, and this may be printed for another machine.
    click.echo(made.source_template % made.source_vars())
