"""What is said to a host's login shell to start a process; what keeps and ends an environment there is in keeping.py.

A login shell may be any: bash, dash, fish, tcsh. It is given one line that means the same to all of them; that starts
``sh``, which reads from its standard input what else there is. So variables, which may hold secrets, are on no command
line, and what the login shell's own files print is told apart.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Final

from shellward.core.errors import ConfigError
from shellward.environments.encoding import assignments, encode_text, quote
from shellward.environments.keeping import SANDBOX, mark

COMMAND: Final = "exec sh -c 'IFS= read -r l && eval \"$l\"'"
"""For the login shell. No quote, newline or backslash in it that one of them would take differently."""


def sync_of(key: str) -> bytes:
    """Return the bytes after which the output of a process begins."""
    return b"\x1e" + key.encode() + b"\0"


def boot(text: bytes, key: str) -> bytes:
    """Return the first bytes of standard input: a script, which ``sh`` reads whole before it runs it."""
    stop = b"." + key.encode()
    read = (
        b"n=$(printf '\\nx');n=${n%x};t=;while IFS= read -r l&&[ \"$l\" != " + stop + b' ];do t=$t$l$n;done;eval "$t"\n'
    )
    return read + text + b"\n" + stop + b"\n"


def new_key() -> str:
    """Make what nobody else can know or print."""
    return secrets.token_hex(16)


def sync(key: str, *, tty: bool = False) -> bytes:
    """Return the line of shell that tells where the output begins; at a terminal, both streams are one."""
    text = quote(b"\\036" + key.encode() + b"\\0")
    return b"printf " + text + (b"\n" if tty else b";printf " + text + b" >&2\n")


def start(argv: Sequence[str], env: Mapping[str, str], cwd: str, scratch: str, *, stay: bool = False) -> bytes:
    """Return the script that becomes a process of an environment.

    Args:
        argv: program and arguments.
        env: its variables, on top of those of a login.
        cwd: its directory.
        scratch: the environment's directory.
        stay: run it as a child, so that a signal that ends it becomes an exit status.

    Raises:
        ConfigError: a variable's name or value is none, or there is no program.
    """
    if not argv:
        raise ConfigError("a command given as a list needs at least the program's name")
    variables = {**env, SANDBOX: f"{mark(scratch)};"}
    words = [quote(encode_text(word, "an argument")) for word in argv]
    place = quote(encode_text(scratch, "a path"))
    gone = b"printf 'the environment has ended: its directory %s is gone\\n' " + place + b" >&2;exit 125"
    lines = [
        b"if [ ! -d " + place + b" ];then " + gone + b";fi",
        # On a full disk this fails, and all that is lost is that a hidden descendant may outlive the environment.
        b'echo "$$" 2>/dev/null >>' + place + b"/holders",
        *(b"export " + name + b"=" + quote(value) for name, value in assignments(variables)),
        b"cd -- " + quote(encode_text(cwd, "a path")) + b" || exit 126",
        b"unset n t l",
        # Traps are not inherited by what is started: a key that interrupts is for that alone.
        b"trap : INT QUIT\n" + b" ".join(words) + b'\nexit "$?"' if stay else b"exec " + b" ".join(words),
    ]
    return b"\n".join(lines)


def quoted(path: str) -> bytes:
    """Quote a path for a script."""
    return quote(encode_text(path, "a path"))
