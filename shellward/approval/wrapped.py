"""What stands around an inner command, as far as it changes what that command does. Data and two questions.

The same words do something else behind ``ssh`` or ``sudo``, so what was allowed for the bare command is not
allowed there. A wrapper that is not listed counts as one that leads out of this environment.
"""

from typing import Final

from shellward.approval.inner import SHOWN
from shellward.command.values import LIMIT
from shellward.core.gate import Finding

_INSIDE: Final = frozenset(
    {
        *(
            "bash",
            "sh",
            "dash",
            "ash",
            "ksh",
            "zsh",
            "busybox",
            "eval",
            "command",
            "builtin",
            "exec",
            "source",
            ".",
            "$",
        ),
        *(
            "link",
            "time",
            "timeout",
            "nice",
            "ionice",
            "nohup",
            "setsid",
            "stdbuf",
            "xargs",
            "parallel",
            "find",
            "fd",
        ),
        *("watch", "flock", "strace", "script", "git", "make", "sed", "awk", "gawk", "mawk", "python", "python3"),
        *("perl", "ruby", "node", "env"),
    }
)
"""Wrappers that run it here, as the same user."""
_PRIVILEGED: Final = frozenset({"sudo", "sudo-rs", "doas", "su", "pkexec", "run0", "runuser", "gosu", "setpriv"})
"""Wrappers that run it here, as somebody else."""


_WORKED_OUT: Final = LIMIT // 2
"""Characters up to which a command is surely not a piece of a text that was cut when it was worked out."""


def _wrappers(finding: Finding) -> tuple[str, ...]:
    # An effect (``> /etc/x`` of tee) names the program it is an effect of as its last wrapper.
    return finding.via[:-1] if finding.inner[:1] in {"@", ">", "<"} else finding.via


def leaves(finding: Finding) -> bool:
    """Whether the inner command runs outside of this environment, or might."""
    return not set(_wrappers(finding)) <= _INSIDE | _PRIVILEGED


def privileged(finding: Finding) -> str:
    """Return the outermost wrapper that changes the user, or an empty text."""
    return next((name for name in _wrappers(finding) if name in _PRIVILEGED), "")


def whole(finding: Finding) -> bool:
    """Whether the inner command is known, and is shown in full: people can say yes to that."""
    return len(finding.inner) <= SHOWN and (bool(finding.line) or known(finding, finding.inner))


def known(finding: Finding, text: str) -> bool:
    """Whether ``text``, written for an inner command, is all of it."""
    return bool(finding.inner.strip()) and "$(" not in text and len(text) <= _WORKED_OUT
