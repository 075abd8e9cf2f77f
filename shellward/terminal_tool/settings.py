"""Which environment programs get: just what they say, or what the settings say."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shellward.config import load
from shellward.config.environments import choose
from shellward.config.wording import say_once
from shellward.environments import registry

if TYPE_CHECKING:
    from shellward.config.loader import Loaded


def environment_of(named: str | None, given: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """Return the kind of an environment and its configuration.

    Args:
        named: a kind is taken as it stands, without the settings: a program that says ``docker`` gets no mounts that it
            has not asked for. Else a name in ``environments``; None: what ``terminal.env`` says.
        given: what the program says; it wins over the settings.

    Raises:
        ConfigError: there is no such kind or name, or the settings are wrong.
    """
    if named is not None and named in registry.BACKENDS:
        return named, given
    loaded = load(held=True)
    choice = choose(loaded, named).over(given)
    say_unused(loaded)
    return choice.kind, choice.config


def say_unused(loaded: "Loaded") -> None:
    """Say on stderr, once in this program, which variables are set and not used."""
    for each in loaded.unused:
        say_once(each)
