"""From a request to the bytes that a warm shell reads. Pure; the other direction is protocol.py.

A command travels as data: quoted for ``eval``, or as a counted string that bash reads in blocks. It is never
spliced into the framing, so a syntax error in it is its own.
"""

import errno
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from importlib.resources import files
from typing import Final

from shellward.core.errors import ConfigError

UNKEPT: Final = 500
"""Added to an errno by the scripts: not the directory is wrong, but standard input cannot be kept whole."""
UNREAD_STATUS: Final = 125
"""Exit status of what stands in a command's place that cannot begin with its session's state; see ``unread``."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One command for a warm shell.

    Attributes:
        text: a shell line, any number of lines long.
        cwd: absolute path to run it in, for this command alone.
        env: variables for this command alone.
        stdin: short standard input, carried along.
        stdin_file: name in the sandbox to read standard input from (with ``stdin``: to keep it in).
        merge_stderr: standard error goes where standard output goes.
        subshell: run it in a subshell, so that it leaves no trace in this shell.
        state: with ``subshell``: where the state to begin with is saved, without the number at its end.
        state_number: number of the state that is meant, when it is to be no other; without it the command does not run.
        traceless: with ``subshell``: its status is nobody's either, and ``$?`` stays as it was.
        holding: whether the shell holds that state itself, so that it is not read; None: it is read in the subshell.
    """

    text: str
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes | None = None
    stdin_file: str | None = None
    merge_stderr: bool = False
    subshell: bool = False
    state: str | None = None
    state_number: int | None = None
    traceless: bool = False
    holding: "Holding | None" = None


class Holding(Enum):
    """How the shell itself stands to the state that a subshell begins with.

    Attributes:
        HELD: it holds it already.
        TAKEN: it is to take it over with this command, and to hold it from then on.
    """

    HELD = auto()
    TAKEN = auto()


def unread(mark: str) -> bytes:
    """Return what is printed in place of a command that cannot begin with its session's state, and so does not.

    Args:
        mark: of that command, so that no other output is taken for it by accident.
    """
    return f"shellward: the state of the session could not be read; nothing has run ({mark})\n".encode()


@cache
def script(name: str) -> str:
    """Return a file of scripts/ without its comments and indentation, to be short on the wire."""
    text = (files(__package__) / "scripts" / name).read_text(encoding="ascii")
    lines = (line.strip() for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("#"))


def encode_text(text: str, what: str = "a command") -> bytes:
    """Encode what goes to a shell; surrogates stand for the bytes they came from (PEP 383).

    Raises:
        ConfigError: it holds a NUL, which no shell and no program's argument can.
    """
    data = text.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise ConfigError(f"{what} cannot hold a NUL character (at offset {data.index(0)})")
    return data


def quote(data: bytes) -> bytes:
    """Quote for any POSIX shell."""
    return b"'" + data.replace(b"'", b"'\\''") + b"'"


_ESCAPE = {byte: b"\\x%02x" % byte for byte in range(128, 256)} | {0x27: b"\\'", 0x5C: b"\\\\"}
_NOT_PLAIN = re.compile(rb"['\\\x80-\xff]")


def quote_ascii(data: bytes) -> bytes:
    """Quote for bash in pure ASCII, so that characters are bytes in whatever locale the user has set."""
    if data.isascii():
        return quote(data)
    return b"$'" + _NOT_PLAIN.sub(lambda match: _ESCAPE[match[0][0]], data) + b"'"


_PRINTF = {byte: b"\\0%03o" % byte for byte in (0, *range(128, 256))} | {0x5C: b"\\\\"}
_NOT_PRINTF = re.compile(rb"[\x00\\\x80-\xff]")


def printf_escape(data: bytes) -> bytes:
    """Escape bytes for ``printf %b`` (POSIX printf, "%b"), in ASCII and without NUL."""
    return _NOT_PRINTF.sub(lambda match: _PRINTF[match[0][0]], data)


def join(argv: Sequence[str]) -> str:
    """Quote an argument vector into a shell line that runs it as it stands, past functions and builtins."""
    if not argv:
        raise ConfigError("a command given as a list needs at least the program's name")
    words = [quote(encode_text(word, "an argument")) for word in argv]
    # exec knows no "--" in dash, and env does everywhere.
    before = b"env -- " if argv[0].startswith("-") else b""
    return (b"(exec " + before + b" ".join(words) + b")").decode("utf-8", "surrogateescape")


def assignments(env: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Encode variables for a shell, unquoted.

    Raises:
        ConfigError: a name is none that a shell knows, or a value holds a NUL.
    """
    pairs = []
    for name, value in env.items():
        if not _NAME.match(name):
            raise ConfigError(f"env: {name!r} is not a name that a shell variable can have")
        pairs.append((name.encode(), encode_text(value, f"env {name}")))
    return pairs


def _place(path: bytes, number: int | None) -> bytes:
    return b"__sw_from=%s __sw_to=%s\n" % (path, b"" if number is None else b"%d" % number)


class Dialect:
    """How one family of shells is spoken to: bash, or any other POSIX shell."""

    name = "sh"
    out, err = b"8", b"9"
    call = b"command "
    # With "command", since a syntax error in a plain eval ends a POSIX shell.
    evaluate = b"\\command eval"
    hide = b" 7>&8 8>&- 9>&-"
    _forget = b"__sw_f=;"

    def quote(self, data: bytes) -> bytes:
        """Quote a word."""
        return quote(data)

    def boot(self, *, key: bytes, mark: str, state: str) -> bytes:
        """Return what a newly started shell reads first.

        Args:
            key: the channel's key, for the marker that says the shell is ready.
            mark: beginning of SHELLWARD_COMMAND, which marks the processes of this session.
            state: where the session's state is saved, without the number at its end; empty: nowhere.
        """
        ready = (
            self.call + b"printf '\\036" + key + b"\\0' >&" + self.err + b"\n",
            self.call
            + b"printf '\\036"
            + key
            + b' R %s %s %s %s %s\\0\' "$$" "$PPID" "${__sw_v:--}" "${__sw_i:--}" "$PWD" >&'
            + self.out,
            b"\n",
        )
        traps = b"trap '__sw_x \"$@\"' EXIT\ntrap 'exit 124' 62\n"
        parts = (
            self._definitions(),
            self._state(self.quote(encode_text(state)), mark.encode()),
            self._begin(),
            traps,
        )
        return b"".join(parts + ready)

    def _definitions(self) -> bytes:
        return script("posix.sh").encode()

    def _state(self, path: bytes, mark: bytes) -> bytes:
        place = b"__sw_f=" + path + b" __sw_m=" + mark + b"\n"
        restore = self._restore(path) if path != b"''" else b""
        return place + restore + place  # the saved state holds those of the shell that saved it

    def _restore(self, path: bytes, number: int | None = None) -> bytes:
        return _place(path, number) + script("restore.posix.sh").encode()

    def _begin(self) -> bytes:
        return b"case $(readlink /proc/$$/exe 2>/dev/null) in *busybox*)__sw_v=busybox;;*)__sw_v=-;;esac\n"

    def command(self, request: Request, *, nonce: bytes, count: int, mark: str) -> bytes:
        """Return what makes the shell run ``request`` as its command number ``count``.

        Args:
            request: the command.
            nonce: for the end marker.
            count: number of the command in this shell.
            mark: beginning of SHELLWARD_COMMAND.
        """
        text = self.evaluate + b' "$__sw_X"' + self.quote(self.wrapped(request, count, mark))
        line = b"__sw_r %d;" % count + text + self._redirections(request)
        if stdin := self._stdin(request):
            line = b"if " + stdin + b"then " + line + b";else __sw_r %d;fi" % count
        return line + b";{ \\__sw_b;} 2>/dev/null\n\\__sw_e " + nonce + b' "$@"||exit 125\n'

    def _stdin(self, request: Request) -> bytes:
        if request.stdin is None or request.stdin_file is None:
            return b""
        place = self.quote(encode_text(request.stdin_file))
        return b"__sw_d " + place + b" " + quote(printf_escape(request.stdin)) + b";"

    def _redirections(self, request: Request, source: bytes | None = None) -> bytes:
        if source is None:
            source = b"/dev/null" if request.stdin_file is None else self.quote(encode_text(request.stdin_file))
        errors = self.out if request.merge_stderr else self.err
        return b" <" + source + b" >&" + self.out + b" 2>&" + errors + self.hide

    def wrapped(self, request: Request, count: int, mark: str) -> bytes:
        """Return the command's text with what must stand around it: directory, variables, state, subshell."""
        text = encode_text(request.text)
        if not (request.cwd is not None or request.env or request.subshell):
            return text
        # "command eval", since assignments before "builtin eval" are not exported, and before a plain eval they
        # stay in a POSIX shell.
        values = [name + b"=" + self.quote(value) for name, value in assignments(request.env)]
        run = b" ".join([*values, b'\\command eval "$__sw_X"' + self.quote(text)])
        first = b""
        if request.subshell:
            if request.state:
                first, before = self._take_over(request, request.state, f"{mark}.{count};")
                run = before + run
            run = b"(" + run + (b")||\\__sw_y_" if request.traceless else b")")
        if request.cwd is not None:
            run = self._with_cwd(request.cwd, run)
        # Read as one, before there are aliases of the state's.
        return b"{ " + first + run + b"\n}" if first else run

    def _with_cwd(self, cwd: str, run: bytes) -> bytes:
        place = self.quote(encode_text(cwd))
        enter = self.call + b"cd -- " + place + b" 2>/dev/null"
        wrong = b"if [ ! -e %s ];then __sw_q=%d;elif [ ! -d %s ];then __sw_q=%d;else __sw_q=%d;fi" % (
            place,
            errno.ENOENT,
            place,
            errno.ENOTDIR,
            errno.EACCES,
        )
        return b"__sw_p=$PWD __sw_P=${OLDPWD-};if " + enter + b";then " + run + b";else " + wrong + b";fi"

    def _take_over(self, request: Request, state: str, mark: str) -> tuple[bytes, bytes]:
        """Return what gives a command its state: what comes before its subshell, and what comes first in that."""
        lines = [self._read(state, request.state_number), *self._took_over(mark)]
        if request.cwd is not None:
            lines.append(
                self.call + b"cd -- " + self.quote(encode_text(request.cwd)) + b" 2>/dev/null||" + self._refuse(mark)
            )
        return b"", b"\n".join(lines) + b"\n"

    def _read(self, state: str, number: int | None) -> bytes:
        return b"__sw_i=\n" + self._restore(self.quote(encode_text(state)), number).rstrip()

    def _refuse(self, mark: str) -> bytes:
        return b"{ " + self.call + b"printf %%s %s >&2;exit %d;}" % (quote(unread(mark)), UNREAD_STATUS)

    def _took_over(self, mark: str) -> list[bytes]:
        call = self.call
        return [
            b'if [ -z "$__sw_i" ];then ' + self._refuse(mark) + b";fi",
            call + b"trap - EXIT 62",
            self._forget + b"export SHELLWARD_COMMAND=" + quote(mark.encode()),
            b'if [ -n "$__sw_o" ];then set "-$__sw_o";fi',
        ]


class Busybox(Dialect):
    """busybox ash: an error below "command eval" makes its subshells go on as if they were the shell itself (1.35).

    So a plain eval it is: a syntax error costs the shell, not the state.
    """

    evaluate = b"\\eval"


_REPORT: Final = b'FUNCNEST= \\__sw_e "$@"||\\builtin exit 125'
_AFTER: Final = b'FUNCNEST= __sw_E=43 \\__sw_e "$@"\n'
_PROGRAM: Final = re.compile(rb"""([A-Za-z0-9_./+:-]+)(?: [\]A-Za-z0-9_./ :,@%+="'*?\[^~-]*)?\Z""")
_PROGRAM_MOST: Final = 1000
_NO_PROGRAMS: Final = frozenset(
    b". : alias bg bind break builtin caller case cd command compgen complete compopt continue coproc declare dirs"
    b" disown do done elif else enable esac eval exec exit export fc fg fi for function getopts hash help history if in"
    b" jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return select set shift shopt"
    b" source suspend test then time times trap type typeset ulimit umask unalias unset until wait while".split()
)
"""Builtins of bash that may change the state, and its keywords."""


def only_program(text: bytes) -> bytes | None:
    """Return the first word of a command that can only run a program, unless that word is an alias or a function.

    It is one simple command, it assigns nothing and expands nothing but file names.
    """
    found = _PROGRAM.match(text) if len(text) < _PROGRAM_MOST else None
    return found[1] if found is not None and found[1] not in _NO_PROGRAMS else None


def _kind(program: bytes) -> bytes:
    """Say to bash.sh what the first word of such a command is."""
    if b"/" in program:
        return b"/"
    return b"=" if program in (b"true", b"false", b"echo") else b"-"


class Bash(Dialect):
    """bash: the command is read in blocks, functions and every option are kept."""

    name = "bash"
    out, err = b"250", b"251"
    call = b"\\builtin "
    hide = b""
    _forget = b""

    def quote(self, data: bytes) -> bytes:
        """Quote a word in ASCII."""
        return quote_ascii(data)

    def boot(self, *, key: bytes, mark: str, state: str) -> bytes:
        """As of any shell, but read in blocks, and evaluated at the top level."""
        text = super().boot(key=key, mark=mark, state=state)
        return b'\\builtin read -r -N %d __sw_h;\\builtin eval "$__sw_h"\n' % len(text) + text

    def _definitions(self) -> bytes:
        return script("bash.sh").encode()

    def _state(self, path: bytes, mark: bytes) -> bytes:
        place = b"__sw_f=" + path + b" __sw_m=" + mark + b"\nreadonly __sw_f __sw_m\n"
        return place + (self._restore(path) if path != b"''" else b"")

    def _restore(self, path: bytes, number: int | None = None) -> bytes:
        # The alias has the name of a function in the saved state.
        free = b"\\builtin unalias __sw 2>/dev/null\n"
        return free + _place(path, number) + script("restore.bash.sh").encode()

    def _begin(self) -> bytes:
        return script("begin.bash.sh").encode()

    def _take_over(self, request: Request, state: str, mark: str) -> tuple[bytes, bytes]:
        match request.holding:
            case None:
                return super()._take_over(request, state, mark)
            case Holding.HELD:
                return b"", self.call + b"trap - EXIT 62\n"
            case Holding.TAKEN:
                first = [b"__sw_K=^0 __sw_H=$PWD", self._read(state, request.state_number), b"\\__sw_h_", b""]
                return b"\n".join(first), b"\n".join([*self._took_over(mark), b""])

    def wrapped(self, request: Request, count: int, mark: str) -> bytes:
        """As of any shell, but for what a shell that holds the state may run without a subshell: bash.sh decides."""
        if request.holding is Holding.HELD and not (request.cwd is not None or request.env or request.traceless):
            text = encode_text(request.text)
            if not (request.merge_stderr or request.stdin_file) and only_program(text):
                return text
        return super().wrapped(request, count, mark)

    def command(self, request: Request, *, nonce: bytes, count: int, mark: str) -> bytes:
        """As of any shell, but the text comes after the line, as a counted string."""
        text = self.wrapped(request, count, mark)
        if not text.isascii():
            text = self.call + b"eval " + self.quote(text)
        # The empty line: after an unbalanced quote in eval, bash 5.2 misreads the line that comes next.
        begin = b"\n__sw_N=1;" if request.traceless else b"\n"
        read = b"\\__sw_r %d %d" % (len(text), count)
        end = _AFTER + b"exit 125 #%s\n" % nonce
        if not (request.merge_stderr or request.stdin_file):
            if program := only_program(text):
                read += b" %s %s" % (_kind(program), program)
            return begin + read + b";__sw\n" + text + end
        before, stdin = b"", b""
        if request.stdin is not None and request.stdin_file is not None:
            data = printf_escape(request.stdin)
            stdin = b"%08d" % len(data) + data
            before = b"\\__sw_d " + self.quote(encode_text(request.stdin_file)) + b";"
        run = b';\\builtin eval "$__sw_X$__sw_c"' + self._redirections(request)
        if before:
            source = b'"${__sw_in:-/dev/null}"'
            run = b';\\builtin eval "${__sw_D-$__sw_X$__sw_c}"' + self._redirections(request, source)
        return begin + before + read + run + b";" + _REPORT + b"\n" + stdin + text + end


DIALECTS = {"bash": Bash(), "sh": Dialect(), "busybox": Busybox()}


def dialect_of(shell: str) -> Dialect:
    """Return how to speak to a shell, by its program name (``/usr/bin/bash``, ``dash``, ``busybox sh``)."""
    program = shell.split(maxsplit=1)[0].rpartition("/")[2] if shell else "sh"
    return DIALECTS["bash" if program.startswith("bash") else "sh"]
