"""``.env`` beside the settings: variables for those who keep them in a file. Only ``TERMINAL_*`` is for us.

What is in there for others (keys, tokens) is neither kept nor put into the environment. ``SHELLWARD_*`` is not read
from it either: a variable is its user's own word and loosens the gate at once, and a command may have written a file.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from shellward.core.errors import ConfigError

_LINE: Final = re.compile(r"\s*(?:export\s+)?((?:TERMINAL|SHELLWARD)_\w+)\s*=\s*(.*?)\s*", re.ASCII)
_QUOTED: Final = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_COMMENT: Final = re.compile(r"(?:^|\s)#.*")


def read_variables(file: Path) -> Mapping[str, tuple[str, str]]:
    """Read the variables whose names are ours, or like ours.

    Args:
        file: lines of ``NAME=value``, with ``export`` before it or not, the value in quotes or not.

    Returns:
        Name to text and source (``<file>:<line>``); empty when there is no such file. The last of one name holds.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from None
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if (match := _LINE.fullmatch(line)) is not None:
            found[match[1]] = (_value(match[2]), f"{file}:{number}")
    return found


def _value(text: str) -> str:
    if (quoted := _QUOTED.match(text)) is not None:
        return quoted[1] if quoted[1] is not None else quoted[2]
    return _COMMENT.sub("", text).rstrip()
