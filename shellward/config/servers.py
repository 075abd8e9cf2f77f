"""The table ``mcp_servers``: each wrong key is named with its server, and what belongs together is checked."""

import re
import typing
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from shellward.config.schema import McpServer
from shellward.config.wording import hint, plain
from shellward.core.errors import ConfigError

NAME: Final = re.compile(r"(?!.*__)[A-Za-z0-9](?:[A-Za-z0-9_-]{0,30}[A-Za-z0-9])?")
"""Names of servers. Their tools are called ``mcp__<server>__<tool>``: where a name ends must be plain, or one server
could offer a tool of another's name."""
_KEY: Final = "mcp_servers"
_OF_PROGRAMS: Final = ("args", "env", "cwd")
_OF_ADDRESSES: Final = ("headers",)


def checked_servers(value: object, source: str, *, strict: bool = True) -> dict[str, McpServer]:
    """Convert the table of servers.

    Args:
        value: what was read; None for an empty table.
        source: where it stands, as ``<file>:<line>``, ``$VARIABLE`` or ``argument``.
        strict: whether text is taken for text only.

    Raises:
        ConfigError: one line that names the key.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{source}: {_KEY}: must be a mapping of names to servers")
    found = {}
    for name, entries in value.items():
        where = _line(value, name, source)
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ConfigError(
                f"{where}: {_KEY}.{name}: a server's name is 1 to 32 letters, digits, '-' or single '_' in between"
            )
        found[name] = _server(entries, f"{_KEY}.{name}", where, strict=strict)
    return found


def _server(entries: object, key: str, source: str, *, strict: bool) -> McpServer:
    if isinstance(entries, McpServer):
        return entries
    if not isinstance(entries, Mapping):
        raise ConfigError(f"{source}: {key}: must be a mapping with command or url")
    known = typing.get_type_hints(McpServer, include_extras=True)
    given: dict[str, Any] = {}
    for name, value in entries.items():
        where = _line(entries, name, source)
        if name not in known:
            raise ConfigError(f"{where}: {key}.{name}: unknown setting{hint(str(name), known)}")
        if known[name] == dict[str, str]:
            given[name] = _texts(value, f"{key}.{name}", where, strict=strict)
        else:
            given[name] = _converted(value, known[name], f"{key}.{name}", where, strict=strict)
    server = McpServer(**given)
    _check_whole(server, key, source)
    return server


def _check_whole(server: McpServer, key: str, source: str) -> None:
    if bool(server.command) == bool(server.url):
        raise ConfigError(f"{source}: {key}: needs {'only one of' if server.url else 'one of'} command and url")
    wrong = _OF_ADDRESSES if server.command else _OF_PROGRAMS
    for name in wrong:
        if getattr(server, name):
            raise ConfigError(f"{source}: {key}.{name}: is for servers with {'url' if server.command else 'command'}")
    if server.url and not server.url.startswith(("http://", "https://")):
        raise ConfigError(f"{source}: {key}.url: must begin with http:// or https:// (got {server.url!r:.60})")


def _texts(value: object, key: str, source: str, *, strict: bool) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{source}: {key}: must be a mapping of names to texts")
    return {
        str(name): _converted(text, str, f"{key}.{name}", _line(value, name, source), strict=strict)
        for name, text in value.items()
    }


def _converted(value: object, wanted: Any, key: str, source: str, *, strict: bool) -> Any:
    try:
        return msgspec.convert(value, wanted, strict=strict)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        inner = place.rstrip("`").replace("[...]", "[]")
        raise ConfigError(f"{source}: {key}{inner}: {plain(problem, wanted, value)}") from None


def _line(tree: Any, name: object, source: str) -> str:
    """Return where an entry stands: its own line, where the file's reader has kept that."""
    if hasattr(tree, "lc") and name in tree.lc.data:
        return f"{source.rpartition(':')[0]}:{tree.lc.key(name)[0] + 1}"
    return source
