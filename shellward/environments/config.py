"""Configuration of environments: typed, and one clear line for what is wrong in it."""

import re
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from shellward.core.errors import ConfigError

T = TypeVar("T", bound="BaseConfig")


class BaseConfig(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What every kind of environment takes.

    Attributes:
        cwd: directory to begin in; None: the backend's own.
        env: variables for every command.
        shell: ``auto`` (bash where there is one, else sh), or a shell's name or path.
    """

    cwd: str | None = None
    env: dict[str, str] = msgspec.field(default_factory=dict)
    shell: str = "auto"


def parse_config(into: type[T], config: Mapping[str, object], kind: str) -> T:
    """Check a configuration.

    Raises:
        ConfigError: a key is unknown, or a value has the wrong type or form; names the key.
    """
    values = {key: str(value) if hasattr(value, "__fspath__") else value for key, value in config.items()}
    known = into.__struct_fields__
    for key in values:
        if key not in known:
            raise ConfigError(f"{kind}: unknown setting {key!r}{_suggest(key, known)}")
    try:
        return msgspec.convert(values, into)
    except msgspec.ValidationError as error:
        message = str(error)
        place = re.search(r" - at `\$\.([^`]+)`$", message)
        key = place[1] if place else "configuration"
        raise ConfigError(f"{kind}: {key}: {message[: place.start()] if place else message}") from None


def _suggest(key: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(key, known, 1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(sorted(known))}"
