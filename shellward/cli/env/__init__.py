"""``shellward env``: the environments that are there, of every client."""

from typing import Final

from shellward.cli.lazy import Entry, LazyGroup

COMMANDS: Final = {
    "ls": Entry("shellward.cli.env.ls", "List environments."),
    "rm": Entry("shellward.cli.env.rm", "Remove environments."),
    "prune": Entry("shellward.cli.env.prune", "Remove environments that nobody owns any more."),
}

command = LazyGroup(
    name="env",
    table=COMMANDS,
    help="List and remove environments, whoever made them.",
    epilog="""\b
Examples:
  shellward env ls
  shellward env rm 3a2f
  shellward env prune --dry-run
""",
    no_args_is_help=True,
)
