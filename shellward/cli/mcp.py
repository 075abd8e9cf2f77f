"""``shellward mcp``: serves the agent's tools to MCP clients, until they go or a signal comes."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from shellward.cli.run.options import Options, env_option, place_options
from shellward.cli.say import print_json, say
from shellward.core.errors import ConfigError

_EPILOG = """\b
Examples:
  shellward mcp
  shellward mcp --env docker --image shellward/sandbox --mount .:/src --cwd /src
  shellward mcp --toolsets reading
  shellward mcp --http --port 8931
  claude mcp add shellward -- shellward mcp

Exit codes: 0 the client has gone; 128 + n when signal n ended it; 125 it could not begin; 2 wrong usage."""
_TOKEN = "SHELLWARD_MCP_TOKEN"  # noqa: S105  # the name of the variable
_HOST = "127.0.0.1"
_PORT = 8931
_OF_HTTP = ("host", "port", "token_file", "origins", "as_json")
_FLAGS = {
    "mounts": "mount",
    "settings": "set",
    "token_file": "token-file",
    "origins": "allow-origin",
    "as_json": "json",
}
_OF_PLACE = ("image", "mounts", "network", "memory", "cpus", "settings")


@click.command("mcp", epilog=_EPILOG)
@click.option("--toolsets", multiple=True, metavar="NAME,..", help="Whose tools to offer (default: coding).")
@env_option
@place_options
@click.option("--cwd", metavar="DIR", help="Directory to begin in.")
@click.option(
    "--task",
    default="mcp",
    metavar="NAME",
    help="Name of the task whose environment and processes it has (default: mcp).",
)
@click.option("--http", is_flag=True, help="Serve over HTTP, at /mcp, in place of stdin and stdout.")
@click.option("--host", metavar="NAME", help=f"With --http: where to listen ({_HOST}).")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help=f"With --http: port ({_PORT}); 0: a free one.",
)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help=f"With --http: clients must send what is in it; else in ${_TOKEN}.",
)
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="URL",
    help="With --http: a web page that may use it, such as https://app.example.com (repeatable).",
)
@click.option("--json", "as_json", is_flag=True, help="With --http: print the URL as JSON on stdout, too.")
def command(**given: Any) -> int:
    """Serve the agent's tools to MCP clients: over stdin and stdout, or over HTTP.

    Every command passes the gate. What it finds dangerous is asked of the user through the client, where the client
    can do that; else of whoever keeps shellward approvals watch open; else it is refused.
    """
    from shellward import mcp_server

    names = tuple(name for each in given["toolsets"] for name in each.split(",") if name)
    served = mcp_server.Served(toolsets=names or ("coding",), task=given["task"])
    _prepare(served.task, given)
    if not given["http"]:
        _refuse(_OF_HTTP, given, "--http")
        if sys.stdin is not None and sys.stdin.isatty():
            say("this speaks MCP with a program on stdin and stdout; Ctrl-C ends it")
        return mcp_server.serve_stdio(served)
    address = mcp_server.Address(
        host=given["host"] or _HOST,
        port=_PORT if given["port"] is None else given["port"],
        token=_token(given["token_file"]),
        origins=given["origins"],
    )

    def started(url: str) -> None:
        say(f"serving MCP at {url}")
        if given["as_json"]:
            print_json({"url": url, "pid": os.getpid()})
        if not address.token:
            say(f"whoever can log in to this machine can use it; set {_TOKEN} to ask for a token")

    _leave_terminal()
    return mcp_server.serve_http(served, address, started)


def _prepare(task: str, given: dict[str, Any]) -> None:
    """Say which environment the task gets, where that is not left to the settings."""
    if given["kind"] is None:
        _refuse((*_OF_PLACE, "cwd"), given, "--env")
        return
    from shellward.terminal_tool import register_task_environment

    options = Options(words=(), kind=given["kind"], **{name: given[name] for name in _OF_PLACE})
    chosen = options.placed().made_of
    if given["cwd"]:
        chosen = chosen.over({"cwd": given["cwd"]})
    register_task_environment(task, chosen.kind, **chosen.config)


def _refuse(names: tuple[str, ...], given: dict[str, Any], without: str) -> None:
    """Refuse options that mean nothing without another one."""
    for name in names:
        if given[name] is not None and given[name] is not False and given[name] != ():
            raise click.UsageError(f"--{_FLAGS.get(name, name)} goes with {without}")


def _token(file: Path | None) -> str:
    """Return what clients must send; empty when none is asked for. One that is given and empty is a mistake.

    Raises:
        ConfigError: it is given, and is empty.
    """
    if file is not None:
        token, where = file.read_text(encoding="utf-8", errors="replace").strip(), f"--token-file: {file}"
    elif (given := os.environ.get(_TOKEN)) is not None:
        token, where = given.strip(), f"{_TOKEN} is set, and"
    else:
        return ""
    if not token:
        raise ConfigError(f"{where} is empty: put a token there, or leave it out to ask for none")
    return token


def _leave_terminal() -> None:
    """Read nothing from this terminal: who is asked sits at a client, or keeps the queue open."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
