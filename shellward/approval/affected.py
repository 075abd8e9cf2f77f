"""Targets of a finding as people know them: absolute paths, links followed, ``..`` taken out.

Only for showing. What decides are the targets as they were found.
"""

import os
import re
from typing import Final

from shellward.approval.context import Context
from shellward.approval.guarded import real_path
from shellward.core.gate import Finding

_PATH_PACKS: Final = frozenset({"files", "disks"})
"""Packs whose findings' targets are paths, also where a word alone does not look like one."""
_OTHER_PATHS: Final = frozenset({"files.windows", "files.cmdlet", "disks.diskutil", "disks.zfs", "disks.lvm"})
"""Their rules about what has other names."""
_PATH_FORMS: Final = re.compile(r"(?:[/~]|\.\.?(?:/|\Z))")
_NAMED_ELSEWHERE: Final = re.compile(r"://|^[^/]*[:@]|^//|\$\(|^-|=/")
"""Hosts, addresses, options; and words of which only a part is known."""
_HOME: Final = re.compile(r"~(?=/|\Z)")


def absolute(finding: Finding, context: Context) -> tuple[str, ...]:
    """Return a finding's targets, paths among them as absolute ones.

    In this machine's own file system links are followed, up to the last name: a link that is itself the target is
    shown with where it leads.

    Args:
        finding: whose targets are to be shown.
        context: where it would happen.
    """
    here = context.backend == "local"
    return tuple(_absolute(target, finding, here=here) for target in finding.affects)


def _absolute(target: str, finding: Finding, *, here: bool) -> str:
    if not _is_path(target, finding):
        return target
    # Who would run it is not surely who asks: another user's ~ is not ours.
    path = _HOME.sub(lambda _: os.path.expanduser("~"), target) if here and not finding.via else target  # noqa: PTH111
    if path.startswith("~"):
        return path
    if not path.startswith("/"):
        if not finding.cwd.startswith("/"):
            return f"{target} (in a directory that is not known)"
        path = f"{finding.cwd}/{path}"
    try:
        return _real(path) if here else _normal(path)
    except (OSError, ValueError):  # nobody may look there, or no file can have such a name: as it is written
        return _normal(path)


def _is_path(target: str, finding: Finding) -> bool:
    if not target or "\0" in target or _NAMED_ELSEWHERE.search(target):
        return False
    if _PATH_FORMS.match(target):
        return True
    return finding.rule.partition(".")[0] in _PATH_PACKS and finding.rule not in _OTHER_PATHS


def _normal(path: str) -> str:
    return os.path.normpath("/" + path.lstrip("/"))


def _real(path: str) -> str:
    """Follow links: all of them where the path goes on behind the last name, else those before it."""
    directory, _, name = path.rpartition("/")
    if name in {"", ".", ".."}:
        return real_path(path)
    shown = os.path.join(real_path(directory or "/"), name)  # noqa: PTH118  # a string is what is wanted
    leads = real_path(shown)
    return shown if leads == shown else f"{shown} (a link to {leads})"
