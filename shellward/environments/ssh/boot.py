"""What is said to a host's login shell to start a process, and the scripts that keep and end an environment there.

A login shell may be any: bash, dash, fish, tcsh. It is given one line that means the same to all of them; that starts
``sh``, which reads from its standard input what else there is. So variables, which may hold secrets, are on no command
line, and what the login shell's own files print is told apart.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Final

from shellward.core.errors import ConfigError
from shellward.environments.encoding import assignments, encode_text, quote, script

COMMAND: Final = "exec sh -c 'IFS= read -r l && eval \"$l\"'"
"""For the login shell. No quote, newline or backslash in it that one of them would take differently."""

SANDBOX: Final = "SHELLWARD_SANDBOX"
"""Variable in every process of an environment."""
WATCHDOG: Final = "SHELLWARD_WATCHDOG"
"""Variable in the processes that wait for the end of its lease."""
_END: Final = b"__SHELLWARD_END__"


def mark(scratch: str) -> str:
    """Return the name of an environment in its processes' variables."""
    return scratch.rpartition("-")[2]


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


def setup(name: str, kept: bytes, cwd: str | None, lease: int) -> bytes:
    """Return the script that makes an environment's directory, and its watchdog.

    It prints the path of the directory and that of ``cwd``, each on a line of its own.
    """
    values = b"i=%s k=%s c=%s s=%d\n" % (
        quote(name.encode()),
        quote(kept),
        quote(encode_text(cwd or "", "cwd")),
        lease,
    )
    return values + script("ssh.setup.sh").encode() + watch()


def watch() -> bytes:
    """Return the lines that start a watchdog; they need ``i``, ``d`` and ``s`` (see ``setup``)."""
    program = f'{_sweeper()}{script("lease.sh")}sw_end SHELLWARD_SANDBOX="$6;" "$7"\n'.encode()
    # By standard input: what is on a command line is in everybody's way who looks at the process table.
    run = (
        b"(trap '' HUP;cd /;"
        + WATCHDOG.encode()
        + b'="$i;" exec sh -c \'eval "$(cat)"\' shellward "$d/lease" "$s" "" "" "$d/processes" "$i" "$d")'
    )
    return run + b" <<'" + _END + b"' >/dev/null 2>&1 &\n" + program + _END + b"\n"


def revive(scratch: str, lease: int) -> bytes:
    """Return the script that sees whether an environment is there, and starts its watchdog again where that is gone.

    It prints what was kept of its settings; nothing when there is no such environment.
    """
    values = b"i=%s d=%s s=%d\n" % (quote(mark(scratch).encode()), quote(scratch.encode()), lease)
    look = b'if [ ! -O "$d" ] || [ ! -f "$d/config" ];then exit 0;fi\ncat -- "$d/config"\n'
    return values + look + _sweeper().encode() + b'if ! sw_watched "$i";then\n' + watch() + b"fi\n"


def end(scratch: str) -> bytes:
    """Return the script that ends an environment with all that is in it; it prints ``ended``, or ``none``."""
    values = b"i=%s d=%s\n" % (quote(mark(scratch).encode()), quote(scratch.encode()))
    last = (
        b'if [ -O "$d" ];then w=ended;else w=none;fi\nsw_unwatch "$i"\nsw_end SHELLWARD_SANDBOX="$i;" "$d"\necho "$w"\n'
    )
    return values + _sweeper().encode() + last


def usage(scratch: str) -> bytes:
    """Return the script that says what an environment's processes use."""
    return b"i=%s\n" % quote(mark(scratch).encode()) + (script("kill.sh") + script("usage.sh")).encode()


def _sweeper() -> str:
    return script("kill.sh") + script("sweep.sh")


def quoted(path: str) -> bytes:
    """Quote a path for a script."""
    return quote(encode_text(path, "a path"))
