"""What a session's shell is told so that a background process begins: pure text. The scripts are in scripts/.

A background process is a directory in the sandbox, and a supervisor that runs beside it there (supervise.sh).
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from shellward.environments.encoding import encode_text, printf_escape, quote, script

_MOST_INLINE: Final = 100_000
"""Bytes of a command that a shell gets as an argument: Linux takes 128 KiB in one (execve(2), MAX_ARG_STRLEN)."""

_MOST_LINES: Final = 2000
"""Bytes of a command that a shell reads itself, byte by byte."""

ABSENT: Final = "absent"
_LOOK: Final = f'if [ ! -e "$__sw_a" ];then command printf %s {ABSENT};exit 141;fi'
"""To send all of the supervisor each time would take a shell longer than to fork."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What turns a command into a background process.

    Attributes:
        root: directory in the sandbox that holds the directories of processes.
        shared: other users of the sandbox have theirs there, too.
        id: of the process; its directory's name.
        record: facts for other clients, in JSON, that go into the file ``owner``.
        program: the session's shell, when it is not bash.
        stdin: what standard input holds; None: it stays open, to be written to.
        ttl: seconds for which it keeps its sandbox alive.
        size: rows and columns of its terminal; None: it has none.
        following: ids of processes to come: their directories are made when this one has started, where nobody
            waits for that. In bash alone.
        tidy: remove what killed clients have left of that kind.
        merge_stderr: its standard error goes into its standard output.
        install: put the supervisor into the root, where it is not there yet. Without this ``ABSENT`` is all that is
            said, and nothing is done, where it is not there.
    """

    root: str
    shared: bool
    id: str
    record: bytes
    program: str = "sh"
    stdin: bytes | None = None
    ttl: float = 0.0
    size: tuple[int, int] | None = None
    following: tuple[str, ...] = ()
    tidy: bool = False
    merge_stderr: bool = False
    install: bool = True

    @property
    def directory(self) -> str:
        """The directory of the process."""
        return f"{self.root}/{self.id}"

    def text(self, command: str, *, words: bool, bash: bool) -> str:
        """Return the shell text that starts ``command``; it prints ``ok PID START`` when the process is there.

        Args:
            command: what to run, as ``Call.text`` has it.
            words: it is one program with its arguments, past functions and the like.
            bash: the session's shell is bash.
        """
        before = "exec 2>&1;" if self.merge_stderr else ""
        run = _word(encode_text(before + self._run(command, words=words, bash=bash)))
        place = _word(encode_text(self.directory))
        supervisor = f"{self.root}/.supervise-{_version()}"
        holder = f"{self.root}/.terminal-{_holder_version()}.sh"
        kind = "open" if self.stdin is None else "file" if self.stdin else "none"
        shell = "" if words else '"$BASH"' if bash else _word(encode_text(self.program))
        lines = [
            "__sw_S=$SHELLOPTS __sw_B=$BASHOPTS;builtin set +euxvfCk" if bash else "__sw_S=$-;set +euxvfC",
            f"__sw_d={place} __sw_k={'' if words else 1} __sw_a={_word(encode_text(supervisor))} __sw_n={kind}",
            f"__sw_p={shell} __sw_t={_word(encode_text(holder)) if self.size else ''}",
            f"__sw_e={int(self.ttl)} __sw_x={1 if len(run) > _MOST_LINES else ''}",
            _install(self.root, supervisor, shared=self.shared) if self.install else _LOOK,
            _install_holder(holder) if self.size else "",
            script("launch.bash.sh" if bash else "launch.posix.sh"),
            "command printf '%s\\n' '{} {}' >\"$__sw_d/size\" || exit".format(*self.size) if self.size else "",
            f"__sw_i={_word(printf_escape(self.stdin or b''))}",
            f"__sw_u={_word(self.record)}",
            f"__sw_c={_word(encode_text(command))}",
            f"__sw_q={run}",
            script("launch.sh"),
            *((f"__sw_w=({self._coming()}) __sw_g={1 if self.tidy else ''}",) if bash else ()),
            script("launch.go.bash.sh" if bash else "launch.go.posix.sh"),
        ]
        return "\n".join(lines)

    def _coming(self) -> str:
        return " ".join(_word(encode_text(f"{self.root}/{name}")) for name in self.following)

    def _run(self, command: str, *, words: bool, bash: bool) -> str:
        place = quote(encode_text(self.directory)).decode("utf-8", "surrogateescape")
        if words:
            return f". {place}/umask\nexec {command.removeprefix('(exec ').removesuffix(')')}"
        if len(command.encode("utf-8", "surrogateescape")) > _MOST_INLINE:
            command = f". {place}/command"
        return command if bash else f"__sw_d={place}\n{script('restore.process.sh')}{command}"


def _word(data: bytes) -> str:
    return quote(data).decode("utf-8", "surrogateescape")


@cache
def _version() -> str:
    return hashlib.sha256(script("supervise.sh").encode()).hexdigest()[:8]


@cache
def _holder() -> tuple[str, str]:
    return script("terminal.sh"), (files(__package__) / "scripts" / "terminal.py").read_text(encoding="ascii")


@cache
def _holder_version() -> str:
    return hashlib.sha256("".join(_holder()).encode()).hexdigest()[:8]


def _install_holder(path: str) -> str:
    """Return the text that puts the terminal holder into the root, where it is not there yet; the script comes last."""
    shell, python = (_word(text.encode()) for text in _holder())
    script_path, python_path = (_word(encode_text(place)) for place in (path, f"{path.removesuffix('.sh')}.py"))
    return (
        f"if [ ! -e {script_path} ];then command printf %s {python} >{python_path}.$$"
        f" && command -p mv -f {python_path}.$$ {python_path} && command printf %s {shell} >{script_path}.$$"
        f" && command -p mv -f {script_path}.$$ {script_path};fi || exit"
    )


def _install(root: str, supervisor: str, *, shared: bool) -> str:
    """Return the text that makes the root with the supervisor in it, where it is not there yet."""
    place, mode = _word(encode_text(root)), "1777" if shared else "700"
    path = _word(encode_text(supervisor))
    bells = "777" if shared else "700"  # not sticky: a FIFO of somebody else's could not be opened (protected_fifos)
    body = _word(script("supervise.sh").encode())
    return (
        f"if [ ! -e {path} ];then (export LC_ALL=C;umask 022;command -p mkdir -p -- {place} {place}/.bells"
        f" && command -p chmod {mode} {place} && command -p chmod {bells} {place}/.bells"
        f" && command printf %s {body} >{path}.$$ && command -p mv -f {path}.$$ {path});fi || exit"
    )
