"""Variables by whose value a program runs or loads something else: pagers, editors, start-up files, search paths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.command.loading import seek

if TYPE_CHECKING:
    from shellward.command.invocation import Invocation
    from shellward.command.running import Runner

LOADERS = frozenset(
    (
        *("LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "BASH_ENV", "ENV"),
        *("PYTHONSTARTUP", "PERL5OPT", "RUBYOPT", "NODE_OPTIONS", "PATH", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_PAGER"),
        *(
            "GIT_EXTERNAL_DIFF",
            "GIT_EDITOR",
            "GIT_SEQUENCE_EDITOR",
            "GIT_ASKPASS",
            "GIT_PROXY_COMMAND",
            "GIT_EXEC_PATH",
        ),
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_TEMPLATE_DIR"),
    )
)
"""Variables of which an assignment before a command is looked at as ``env`` is."""
_EDITS = ("VISUAL", "EDITOR")
BUILT_WITH = ("SHELL", "MAKE", "CC", "CXX", "CPP", "AR", "AS", "LD", "NM", "RANLIB", "STRIP", "RM", "FC", "LEX", "YACC",
              "INSTALL", "OBJCOPY", "PKG_CONFIG")  # fmt: skip
"""Variables that name the programs a build runs."""
_RUN_BY: dict[str, tuple[str, ...]] = {
    "git": (
        *("GIT_SSH_COMMAND", "GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "PAGER", "GIT_EDITOR", *_EDITS),
        *("GIT_SEQUENCE_EDITOR", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND"),
    ),
    **dict.fromkeys(("crontab", "visudo", "sudoedit", "vipw", "svn", "hg", "kubectl", "fc"), (*_EDITS, "SVN_SSH")),
    **dict.fromkeys(("man", "apropos", "whatis"), ("MANPAGER", "PAGER")),
    **dict.fromkeys(("psql", "mysql", "journalctl", "systemctl", "aws", "gh"), ("SYSTEMD_PAGER", "PAGER", *_EDITS)),
    "less": ("LESSOPEN", "LESSCLOSE", *_EDITS),
    "rsync": ("RSYNC_RSH",),
    "ssh": ("SSH_ASKPASS",),
    "sudo": ("SUDO_ASKPASS",),
    **dict.fromkeys(
        ("make", "gmake", "bmake", "configure", "cmake", "meson", "cargo", "go", "pip", "gem", "npm"), BUILT_WITH
    ),
    "xdg-open": ("BROWSER",),
}
"""Variables whose value a program runs, by program."""
_READ_BY = {"bash": "BASH_ENV", "sh": "ENV", "dash": "ENV", "ksh": "ENV", "ash": "ENV"}
"""The file that a shell reads first, by shell."""
_USUAL = re.compile(r"\|?\s*(?:/usr|/s?bin|/opt|/snap|/nix)/[^\s;|&`$()]*(?:\s+[\w%./=-]+)*\s*\Z")


def follow_variables(t: Runner, inv: Invocation) -> None:
    """Follow what a program runs or reads because a variable says so."""
    given = t.state.vars
    if not given and not inv.env:
        return
    for name in _RUN_BY.get(inv.name, ()):
        value = inv.env.get(name) or dict.get(given, name)
        if isinstance(value, str) and "/" in value and not _USUAL.match(value):
            given.get(name)  # it is from before, so it is shown
            t.run_text(value.lstrip("|- "), inv.span, via=(*inv.via, inv.name), quiet=True)
    start = _READ_BY.get(inv.name)
    if start is not None:
        value = inv.env.get(start) or dict.get(given, start)
        if isinstance(value, str) and "/" in value and (text := seek(t.state, value)):
            t.run_text(text, inv.span, via=(*inv.via, inv.name), quiet=True)


def loads(name: str, value: str) -> bool:
    """Tell whether an assignment before a command may make it load code: ``ENV=production`` does not."""
    return name in LOADERS and ("/" in value or "." in value or name in {"BASH_ENV", "LD_PRELOAD", "LD_AUDIT"})
