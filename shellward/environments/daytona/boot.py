"""What is typed at a new terminal of the toolbox, so that it becomes a channel.

The toolbox starts an interactive login shell at a terminal, and that is all it has that is fast, has an input, and
passes on bytes as they come. But a terminal has one stream of output, changes bytes, and its websocket is cut when more
than 256 messages wait for who reads it (pty/websocket.go in Daytona's daemon). So a channel without a terminal is two:

    data      its input is the process's standard input, its output the standard output
    control   its input are requests, a letter each; its output is the standard error

Both are set to pass bytes on unchanged. The process itself has pipes, in a session of its own. ``dd`` moves the bytes,
48 reads of 4 KiB at a time, a turn; then the script says so and waits for the reader to ask for the next one. Two turns
may be under way, at most 192 messages, since the kernel may cut each read in two.

    o, e      the reader has taken a turn of standard output, of standard error
    x N       end of the standard input, after N bytes
    q         everything is to end
"""

from collections.abc import Mapping, Sequence

from shellward.core.errors import ConfigError
from shellward.environments.base import PtySize
from shellward.environments.encoding import assignments, encode_text, quote, script


def typed(key: str) -> bytes:
    """Return the line for whatever login shell there is; what it starts reads a script up to a line with the key."""
    read = f't=;while IFS= read -r l;do case $l in {key}) break;;esac;t=$t$l$n;done;eval "$t"'
    inner = f'stty raw -echo;n=$(printf "\\nx");n=${{n%x}};printf "\\036{key}\\0";{read}'
    return f" exec sh -c '{inner}'\n".encode()


def ready(key: str) -> bytes:
    """Return the bytes after which the script is awaited."""
    return b"\x1e" + key.encode() + b"\0"


def lines(text: bytes, key: str) -> bytes:
    """Return a script as the typed line reads it."""
    return text + b"\n" + key.encode() + b"\n"


def data(argv: Sequence[str], env: Mapping[str, str], cwd: str, *, directory: str, key: str, scratch: str) -> bytes:
    """Return the script of the first terminal.

    Args:
        argv: the process.
        env: its variables, on top of the sandbox's.
        cwd: its directory.
        directory: for FIFOs, the same for both terminals.
        key: what only both ends know; it is before the words that are among the output.
        scratch: the environment's directory; without it there is no environment.

    Raises:
        ConfigError: a variable's name or value is none, or there is no program.
    """
    head = b"k=%s d=%s s=%s\n" % (quote(key.encode()), _path(directory), _path(scratch))
    start = b"\n".join(
        [
            *_variables(env),
            b"cd -- " + _path(cwd) + b" || exit 126",
            b"unset k d s t l n",
            b"exec " + b" ".join(_words(argv)),
        ]
    )
    return head + b"b=" + quote(start) + b"\n" + script("daytona.data.sh").encode()


def control(*, directory: str, key: str) -> bytes:
    """Return the script of the second terminal."""
    head = b"k=%s d=%s\n" % (quote(key.encode()), _path(directory))
    return head + script("daytona.control.sh").encode()


def terminal(argv: Sequence[str], env: Mapping[str, str], cwd: str, *, size: PtySize, key: str, scratch: str) -> bytes:
    """Return the script of a channel with a terminal.

    The toolbox tells the end of its shell past the output that still waits. So the shell tells the end itself, among
    the output, and stays until the reader has answered with ``heard``.
    """
    lines_ = [
        b"shellward_k=%s shellward_p=$PATH shellward_d=%s" % (quote(key.encode()), _path(scratch)),
        b"stty sane;stty rows %d cols %d 2>/dev/null" % (size.rows, size.columns),
        script("daytona.terminal.sh").encode(),
        *_variables(env),
        b"cd -- " + _path(cwd) + b" || shellward_end 126",
        b"unset t l n",
        # As a child, so that a signal that ends it becomes an exit status.
        b" ".join(_words(argv)),
        b'shellward_end "$?"',
    ]
    return b"\n".join(lines_)


def heard(key: str) -> bytes:
    """Return the line that tells the script of a terminal that its last words have come."""
    return key.encode() + b"\n"


def far(key: str, scratch: str, size: PtySize) -> bytes:
    """Return the script that gives a terminal a size, where the toolbox would not."""
    place = _path(f"{scratch}/tty.{key}")
    return b'stty rows %d cols %d <"$(cat -- %s)"' % (size.rows, size.columns, place)


def _variables(env: Mapping[str, str]) -> list[bytes]:
    return [b"export " + name + b"=" + quote(value) for name, value in assignments(env)]


def _words(argv: Sequence[str]) -> list[bytes]:
    if not argv:
        raise ConfigError("a command given as a list needs at least the program's name")
    return [quote(encode_text(word, "an argument")) for word in argv]


def _path(path: str) -> bytes:
    return quote(encode_text(path, "a path"))
