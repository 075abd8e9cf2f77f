"""Exit statuses of programs, as their manuals give them. Data, not code."""

from collections.abc import Mapping
from typing import Final

_NO_MATCH: Final = {1: "nothing matched; not an error", 2: "an error, for instance a file that cannot be read"}
_DIFFERENT: Final = {1: "the files differ; not an error", 2: "an error: a file is missing or cannot be compared"}
_FALSE: Final = {1: "the condition is false; not an error", 2: "an error in the expression"}
_ISSUES: Final = {1: "it found problems in what it checked; it ran as it should", 2: "it could not run as it should"}
_NOT_FOUND: Final = {1: "no such command was found; not an error"}
_NO_PROCESS: Final = {1: "no process matched; not an error"}
_COMPRESSED: Final = {1: "an error", 2: "a warning; the work was done"}

_CURL: Final = {
    1: "the protocol is not supported",
    2: "curl could not start",
    3: "the URL is malformed",
    5: "the proxy's name could not be resolved",
    6: "the host's name could not be resolved",
    7: "no connection to the host (refused, or no route)",
    16: "an error of HTTP/2",
    18: "only a part was transferred",
    22: "the server answered with an HTTP error (400 or above)",
    23: "the output could not be written",
    26: "a local file could not be read",
    27: "out of memory",
    28: "it took longer than its time limit",
    33: "the server does not support ranges",
    35: "the TLS handshake failed",
    37: "the local file could not be read",
    43: "an internal error: bad argument",
    45: "the network interface could not be used",
    47: "too many redirects",
    51: "the server's certificate is not for this host",
    52: "the server closed the connection without an answer",
    53: "the cryptography engine was not found",
    55: "sending failed",
    56: "receiving failed: the connection broke",
    58: "a problem with the local certificate",
    60: "the server's certificate could not be verified",
    63: "the file is larger than allowed",
    67: "the server refused the login",
    77: "the certificates of authorities could not be read",
    78: "the remote file does not exist",
    92: "an error in an HTTP/2 stream",
}
_WGET: Final = {
    2: "an error in the options or settings",
    3: "a local file could not be written or read",
    4: "a failure of the network (name, route or connection)",
    5: "the TLS verification failed",
    6: "the server refused the login",
    7: "an error of the protocol",
    8: "the server answered with an error (404 and the like)",
}
_RSYNC: Final = {
    1: "an error in the options",
    2: "the two sides speak different protocol versions",
    3: "a source or destination could not be used",
    5: "the connection to the server could not begin",
    6: "the log file could not be written",
    10: "an error of the socket",
    11: "a file could not be read or written (a full disk?)",
    12: "the other side ended the connection; is rsync there, and its shell silent?",
    20: "ended by a signal",
    23: "some files were not transferred because of errors; the others were",
    24: "some source files vanished during the transfer; the others were transferred",
    25: "the limit of deletions was reached",
    30: "it took longer than its time limit",
    35: "no connection to the server within the time limit",
}
_PYTEST: Final = {
    1: "some tests failed",
    2: "the run was interrupted, or tests could not be collected",
    3: "an internal error of pytest",
    4: "an error in how pytest was called",
    5: "no tests were collected",
}
_TAR: Final = {1: "some files changed while they were read, or differ; the archive was made", 2: "a fatal error"}
_UNZIP: Final = {
    1: "warnings; the work was done",
    2: "the archive is damaged",
    3: "the archive is badly damaged",
    9: "the archive was not found",
    10: "an error in the options",
    11: "no file in it matched",
    50: "the disk is full",
    82: "it is encrypted, and the password is wrong",
}
_SYSTEMCTL: Final = {
    1: "the unit failed, or the operation did",
    3: "the unit is not running; not an error",
    4: "there is no such unit",
    5: "there is no such unit",
}
_XARGS: Final = {
    123: "one of the commands it ran failed",
    124: "a command it ran ended with 255",
    125: "a command it ran was killed",
    126: "the command cannot be run",
    127: "the command was not found",
}
_DOCKER: Final = {
    125: "docker itself failed; the command did not run",
    126: "the command in the container cannot be run",
    127: "the command was not found in the container",
}
_JQ: Final = {
    1: "the last value was false or null; not an error",
    2: "an error in the options, or the input cannot be read",
    3: "an error in the filter",
    4: "there was no output",
    5: "an error while the filter ran, or the input is no JSON",
}

PROGRAMS: Final[Mapping[str, Mapping[int, str]]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep"), _NO_MATCH),
    **dict.fromkeys(("diff", "cmp", "sdiff", "diff3", "colordiff", "zdiff"), _DIFFERENT),
    **dict.fromkeys(("test", "[", "[["), _FALSE),
    **dict.fromkeys(("pgrep", "pkill", "pidof", "killall"), _NO_PROCESS),
    **dict.fromkeys(("which", "type", "command"), _NOT_FOUND),
    **dict.fromkeys(
        ("mypy", "ruff", "flake8", "shellcheck", "eslint", "pylint", "yamllint", "black", "prettier"), _ISSUES
    ),
    **dict.fromkeys(("gzip", "gunzip", "zcat"), _COMPRESSED),
    **dict.fromkeys(("pytest", "py.test"), _PYTEST),
    **dict.fromkeys(("docker", "podman"), _DOCKER),
    "curl": _CURL,
    "wget": _WGET,
    "rsync": _RSYNC,
    "tar": _TAR,
    "unzip": _UNZIP,
    "systemctl": _SYSTEMCTL,
    "xargs": _XARGS,
    "jq": _JQ,
    "find": {1: "some paths could not be read, or a test failed; what it printed holds for the others"},
    "ls": {
        1: "a minor problem, such as a subdirectory that cannot be read",
        2: "a path does not exist or cannot be read",
    },
    "du": {1: "some directories could not be read; the figures hold for the others"},
    "ssh": {255: "ssh itself failed: no connection, or the login was refused"},
    "scp": {255: "the connection failed, or the login was refused"},
    "sftp": {255: "the connection failed, or the login was refused"},
    "timeout": {124: "the command took longer than its time limit", 137: "the command was killed after its time limit"},
    "make": {1: "not everything is up to date (-q)", 2: "a recipe failed; the lines above say which"},
    "patch": {1: "some hunks did not fit", 2: "an error: a file or the patch cannot be read"},
    "expr": {1: "the result is empty or 0; not an error", 2: "an error in the expression"},
    "ping": {1: "no answer came", 2: "an error, for instance an unknown host"},
    "getent": {1: "an error in the arguments", 2: "the name is not in the database; not an error"},
    "apt-get": {100: "an error; the lines above say which"},
    "apt": {100: "an error; the lines above say which"},
    "terraform": {2: "the plan has changes; not an error"},
    "let": {1: "the value is 0; not an error"},
}
"""Program to status to what it means."""

GIT: Final[Mapping[tuple[str, int], str]] = {
    ("diff", 1): "there are differences; not an error",
    ("grep", 1): "nothing matched; not an error",
    ("merge", 1): "there are conflicts to resolve",
    ("rebase", 1): "there are conflicts to resolve, or it could not go on",
    ("cherry-pick", 1): "there are conflicts to resolve",
    ("stash", 1): "there are conflicts, or there is nothing stashed",
    ("apply", 1): "the patch does not fit",
    ("am", 1): "the patch does not fit",
    ("merge-base", 1): "no; not an error",
    ("show-ref", 1): "there is no such reference; not an error",
    ("check-ignore", 1): "none of the paths is ignored; not an error",
    ("ls-remote", 2): "no reference matched; not an error",
    ("ls-files", 1): "a path is not tracked",
    ("config", 1): "the key is not set; not an error",
    ("commit", 1): "nothing was committed: nothing to commit, or a hook refused",
    ("push", 1): "a reference was rejected",
    ("bisect", 125): "this commit cannot be tested",
    ("", 128): "a fatal error of git; the last line says which",
    ("", 129): "an error in the options",
}
"""Subcommand and status to what it means; an empty subcommand is any."""

NEEDS: Final[Mapping[tuple[str, int], frozenset[str]]] = {
    ("jq", 1): frozenset({"-e", "--exit-status"}),
    ("jq", 4): frozenset({"-e", "--exit-status"}),
    ("command", 1): frozenset({"-v", "-V"}),
    ("make", 1): frozenset({"-q", "--question"}),
    ("terraform", 2): frozenset({"-detailed-exitcode"}),
    ("git diff", 1): frozenset({"--exit-code", "--quiet", "--no-index", "--check"}),
    ("git merge-base", 1): frozenset({"--is-ancestor"}),
    ("git config", 1): frozenset({"--get", "--get-all", "get"}),
    ("git ls-files", 1): frozenset({"--error-unmatch"}),
    ("git ls-remote", 2): frozenset({"--exit-code"}),
}
"""Options without which a status says nothing of the kind."""

GENERAL: Final[Mapping[int, str]] = {
    126: "the command was found but cannot be run: no permission, or no program",
    127: "the command was not found",
}
SIGNALS: Final[Mapping[str, str]] = {
    "SIGKILL": "killed, often because memory ran out",
    "SIGSEGV": "it crashed",
    "SIGABRT": "it aborted itself",
    "SIGTERM": "it was asked to end",
    "SIGINT": "it was interrupted",
    "SIGPIPE": "what read its output had ended; often not an error",
    "SIGXCPU": "it used more processor time than allowed",
    "SIGXFSZ": "it wrote a larger file than allowed",
}
