"""What a shell at a terminal is started with: the session's state, then the command. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shellward.core.errors import ConfigError
from shellward.environments.encoding import DIALECTS, UNREAD_STATUS, dialect_of, encode_text, quote, script, unread

TERM: Final = "xterm-256color"
"""What our screen understands, and nearly every sandbox knows."""
_LOCALE: Final = (
    b'if [ -z "${LC_ALL-}${LC_CTYPE-}${LANG-}" ]&&{ [ -d /usr/lib/locale/C.utf8 ]||[ -d /usr/lib/locale/C.UTF-8 ];}\n'
    b"then export LC_CTYPE=C.UTF-8;fi\n"
)
"""Our screen is UTF-8, and so are programs that are told of it. Containers mostly tell nothing: then glibc takes ASCII,
where musl takes UTF-8. Of its two directories, the second is Debian's before glibc 2.35. As in scripts/terminal.sh."""
_MOST_TEXT: Final = 100_000
"""Bytes: one argument of a program holds 128 KiB (execve(2)), and the session's own part is in it, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtTerminal:
    """What is to run at a terminal.

    Attributes:
        text: a shell line.
        cwd: absolute directory to run it in.
        env: variables for it.
        mark: value of SHELLWARD_COMMAND, by which its processes are found.
        shell: program of the session's shell.
        saved: where the session's state is saved, without the number at its end; None: there is none.
        number: of the state that is meant; None: the newest.
    """

    text: str
    cwd: str
    env: Mapping[str, str]
    mark: str
    shell: str
    saved: str | None = None
    number: int | None = None


def argv_of(wanted: AtTerminal) -> list[str]:
    """Return the program and arguments that run it.

    Raises:
        ConfigError: the command, or a variable, is none that a shell can take.
    """
    text = encode_text(wanted.text)
    if len(text) > _MOST_TEXT:
        raise ConfigError(f"command: at a terminal at most {_MOST_TEXT} bytes, not {len(text)}; write it to a file")
    begin = _begin(wanted, text).decode("utf-8", "surrogateescape")
    program = wanted.shell.split()
    if dialect_of(wanted.shell).name == "bash":
        return [*program, "--noprofile", "--norc", "-c", begin, "shellward"]
    return [*program, "-c", begin, "shellward"]


def _begin(wanted: AtTerminal, text: bytes) -> bytes:
    variables = {"TERM": TERM, **wanted.env, "SHELLWARD_COMMAND": wanted.mark}
    exports = b"".join(
        b"export %s=%s\n" % (_name(name), quote(encode_text(value, f"env {name}"))) for name, value in variables.items()
    )
    enter = b"cd -- " + quote(encode_text(wanted.cwd, "cwd")) + b"||exit 125\n"
    evaluate = b'eval "$__sw_X"' + quote(text) + b"\n"
    # What the session knew of another terminal's size is none of this one's.
    after = b"unset COLUMNS LINES\n" + exports + _LOCALE + enter
    if wanted.saved is None:
        return b"__sw_X=\n" + after + evaluate
    return _state(wanted.saved, wanted) + after + b'if [ -n "$__sw_o" ];then set "-$__sw_o";fi\n' + evaluate


def _name(name: str) -> bytes:
    if not (name.isascii() and name.isidentifier()):
        raise ConfigError(f"env: {name!r} is not a name that a shell variable can have")
    return name.encode()


def _state(saved: str, wanted: AtTerminal) -> bytes:
    """Take over the state of the session, as a subshell of it does, and give the terminal back to the streams."""
    bash = dialect_of(wanted.shell).name == "bash"
    dialect = DIALECTS["bash" if bash else "sh"]
    place = b"__sw_from=%s __sw_to=%s\n" % (
        quote(encode_text(saved)),
        b"" if wanted.number is None else b"%d" % wanted.number,
    )
    restore = script("restore.bash.sh" if bash else "restore.posix.sh").encode()
    refuse = b"command printf %%s %s;exit %d" % (quote(unread(wanted.mark)), UNREAD_STATUS)
    out, err = dialect.out, dialect.err
    return b"".join(
        (
            script("bash.sh" if bash else "posix.sh").encode(),
            b"__sw_f= __sw_m=-\n",
            place,
            restore,
            b"\nexec >&" + out + b" 2>&" + err + b" " + out + b">&- " + err + b">&-\n",
            b"trap - EXIT 62\n",
            b'if [ -z "$__sw_i" ];then ' + refuse + b";fi\n",
            b"__sw_f= __sw_m=-\n",
        )
    )
