"""Remembered approvals: what exactly one covers, and where they are kept for a session or for good.

An approval covers what was shown, no more. It holds for the same normalised line with no finding that was not
shown (*exact*), or for one resolved inner command with the same targets in whatever line (*part*); in both
cases in the same kind of environment, at the same target and working directory, reaching no further than it
did.
"""

import os
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from shellward.approval.context import Context, Detected
from shellward.approval.live import look
from shellward.approval.reach import Reach
from shellward.approval.wrapped import leaves, privileged, whole
from shellward.config.schema import AllowEntry
from shellward.core.errors import ConfigError
from shellward.core.gate import Finding, Severity

if TYPE_CHECKING:
    from shellward.approval.accepted import Accepted

_NEVER_PARTS: Final = frozenset({"unknown", "user", "structure", "remote"})
"""Packs whose findings are only approved with the whole line: what they do depends on what is around them."""
_SETS_STATE: Final = re.compile(
    r"\S\s*\(\s*\)|(?:^|[\s;|&(){}`])(?:[A-Za-z_]\w*(?:\[[^]]{0,99}\])?\+?=|[A-Za-z_]\w*\[[^]]{100}"
    r"|(?:export|declare|typeset|local|readonly|set|unset|read|alias|unalias|source|\.|eval|shopt|trap|enable|hash"
    r"|function|mapfile|readarray|getopts|printf\s+-v|env)(?:\s|$))"
)
"""Whatever may change what a later command means. Too wide on purpose: then only the whole line is remembered."""
_MAX_SESSIONS: Final = 1000
_AS_THEY_ARE: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One remembered approval. None in a field means: not looked at (only a person's own entry can say that).

    Attributes:
        command: the normalised line, or with ``part`` the resolved inner command.
        part: which of the two.
        rules: rule ids that were shown.
        affects: with ``part``, the targets that were shown.
        backend: kind of environment.
        target: which one.
        cwd: working directory; with ``part``, the one that the inner command would run in.
        reach: powers the environment had.
    """

    command: str
    part: bool = False
    rules: frozenset[str] | None = None
    affects: frozenset[str] = frozenset()
    backend: str | None = None
    target: str | None = None
    cwd: str | None = None
    reach: frozenset[str] | None = None

    def covers(self, finding: Finding, detected: Detected, context: Context, reach: Reach) -> bool:
        """Whether this approval answers one finding of a command."""
        if finding.never_allow or not self._same_place(context, reach):
            return False
        if self.rules is not None and finding.rule not in self.rules:
            return False
        if not self.part:
            same_place = self.cwd is None or self.cwd == (context.cwd or "")
            return same_place and detected.normalized == self.command
        return (
            finding.inner == self.command
            and frozenset(finding.affects) == self.affects
            and (self.cwd is None or self.cwd == finding.cwd)
            and _stands_alone(finding, detected)
        )

    def _same_place(self, context: Context, reach: Reach) -> bool:
        return (
            (self.backend is None or self.backend == context.backend)
            and (self.target is None or self.target == context.target)
            and (self.reach is None or reach.within(self.reach))
        )

    def describe(self, paths: Mapping[str, str] = _AS_THEY_ARE) -> str:
        """Say in words what it covers; a person sees this before saying yes.

        Args:
            paths: how targets are to be shown, where that is not as they were found.
        """
        what = f"`{self.command}` inside any line" if self.part else f"exactly `{self.command}`"
        if self.part and self.affects:
            what += f", touching only {', '.join(paths.get(each, each) for each in sorted(self.affects))}"
        where = " ".join(filter(None, (self.backend, self.target))) or "any environment"
        return f"{what}; in {self.cwd or 'any directory'}, {where}"

    def entry(self) -> dict[str, object]:
        """Return it as an entry of ``command_allowlist``."""
        fields: dict[str, object] = {"command": self.command}
        if self.part:
            fields |= {"part": True, "affects": sorted(self.affects)}
        for name, value in (("backend", self.backend), ("target", self.target), ("cwd", self.cwd)):
            if value is not None:
                fields[name] = value
        for name, several in (("rules", self.rules), ("reach", self.reach)):
            if several is not None:
                fields[name] = sorted(several)
        return fields

    @classmethod
    def of_entry(cls, entry: str | AllowEntry) -> "Grant":
        """Read an entry of ``command_allowlist``; a bare string is one normalised line, anywhere."""
        if isinstance(entry, str):
            return cls(command=entry)
        return cls(
            command=entry.command,
            part=entry.part,
            rules=None if entry.rules is None else frozenset(entry.rules),
            affects=frozenset(entry.affects),
            backend=entry.backend,
            target=entry.target,
            cwd=entry.cwd,
            reach=None if entry.reach is None else frozenset(entry.reach),
        )


def exact(detected: Detected, findings: Sequence[Finding], context: Context, reach: Reach) -> Grant:
    """Build the approval of a whole line, as it was shown."""
    return Grant(
        command=detected.normalized,
        rules=frozenset(finding.rule for finding in findings),
        backend=context.backend,
        target=context.target,
        cwd=context.cwd or "",
        reach=reach.powers,
    )


def _stands_alone(finding: Finding, detected: Detected) -> bool:
    """Whether an inner command means here what it means alone: same user and host, nothing set before it."""
    return (
        whole(finding)
        and not leaves(finding)
        and not privileged(finding)
        and not _SETS_STATE.search(detected.command)
        and not _SETS_STATE.search(detected.normalized)
    )


def parts(detected: Detected, findings: Sequence[Finding], context: Context, reach: Reach) -> tuple[Grant, ...]:
    """Build the narrow rules that would answer the same findings in another line.

    Args:
        detected: the command that was shown.
        findings: those that still need an answer.
        context: where and for whom it would run.
        reach: what the environment can touch.

    Returns:
        One per inner command; empty when any finding is too bad, is about no command that can be shown, or its effect
        is not fully said by its inner command and targets.
    """
    made: dict[tuple[str, frozenset[str], str], set[str]] = {}
    for finding in findings:
        pack = finding.rule.partition(".")[0]
        if pack in _NEVER_PARTS or finding.severity >= Severity.CRITICAL:
            return ()
        if finding.inner.startswith("@"):  # a form that many commands have is not the command that was shown
            return ()
        if not finding.affects or not finding.cwd.startswith("/") or not _stands_alone(finding, detected):
            return ()
        made.setdefault((finding.inner, frozenset(finding.affects), finding.cwd), set()).add(finding.rule)
    return tuple(
        Grant(
            command=inner,
            part=True,
            rules=frozenset(rules),
            affects=affects,
            backend=context.backend,
            target=context.target,
            cwd=cwd,
            reach=reach.powers,
        )
        for (inner, affects, cwd), rules in made.items()
    )


class Grants:
    """Approvals to look in: an index by command. Does not change once it is built.

    Args:
        grants: all of them.
    """

    def __init__(self, grants: Iterable[Grant] = ()) -> None:
        index: dict[str, list[Grant]] = {}
        for grant in grants:
            index.setdefault(grant.command, []).append(grant)
        self._index: Mapping[str, Sequence[Grant]] = index

    def covering(self, finding: Finding, detected: Detected, context: Context, reach: Reach) -> Grant | None:
        """Return an approval that answers ``finding``, or None."""
        if not self._index:
            return None
        # A part is only found by the inner command, an exact one only by the whole line.
        candidates = (*self._index.get(detected.normalized, ()), *self._index.get(finding.inner, ()))
        return next((grant for grant in candidates if grant.covers(finding, detected, context, reach)), None)


class GrantStore:
    """Where approvals are kept while a program runs. Safe to share between threads.

    Args:
        allowlist: ``approval.command_allowlist`` as loaded.
        file: the settings file that ``always`` is written to.
        follow: what other programs write there, or take out, holds here too.
        accepted: which settings a person has accepted; None: whatever is in the file.
    """

    def __init__(
        self,
        allowlist: Sequence[str | AllowEntry] = (),
        file: Path | None = None,
        *,
        follow: bool = False,
        accepted: "Accepted | None" = None,
    ) -> None:
        self._lock = threading.Lock()
        self._always = [Grant.of_entry(entry) for entry in allowlist]
        self._sessions: dict[str, list[Grant]] = {}
        self._views: dict[str, Grants] = {}
        self._file = file
        self._accepted = accepted
        self._follow = follow and file is not None
        self._state = self._look() if self._follow else None

    def view(self, session: str) -> Grants:
        """Return the approvals that hold in a session now."""
        if self._follow and (state := self._look()) != self._state:
            self._reload(state)
        view = self._views.get(session)
        if view is not None:
            return view
        with self._lock:
            view = Grants([*self._always, *self._sessions.get(session, ())])
            if len(self._views) >= _MAX_SESSIONS:
                self._views.clear()
            self._views[session] = view
            return view

    def _look(self) -> tuple[object, ...]:
        files = [self._file or "", *([self._accepted.path] if self._accepted is not None else [])]
        return tuple(look(os.fspath(file)) for file in files)  # at each decision about a finding

    def _reload(self, state: tuple[object, ...]) -> None:
        from shellward.config.loader import allowlist

        assert self._file is not None  # noqa: S101  # else nothing is followed
        with self._lock:
            self._state = state
            try:
                entries = allowlist(self._file) if self._accepted is None else self._accepted.hold().command_allowlist
            except ConfigError:
                return  # somebody is in the middle of changing it, or will be told at the next start
            self._always = [Grant.of_entry(entry) for entry in entries]
            self._views.clear()

    def remember(self, grants: Iterable[Grant], session: str | None) -> None:
        """Keep approvals.

        Args:
            grants: what was approved.
            session: for this session; None for good, in ``command_allowlist``.

        Raises:
            ConfigError: the settings file cannot be changed; nothing is remembered then.
        """
        grants = list(grants)
        if session is None and self._file is not None:
            from shellward.config.edit import append

            now = datetime.now(UTC).isoformat(timespec="seconds")
            entries = [grant.entry() | {"added": now} for grant in grants]
            with self._accepted.allowing(entries) if self._accepted is not None else nullcontext():
                for entry in entries:
                    append(self._file, ("approval", "command_allowlist"), entry)
        with self._lock:
            if session is None:
                self._always += grants
            else:
                self._sessions.setdefault(session, []).extend(grants)
            self._views.clear()

    def forget(self, session: str | None) -> None:
        """Drop what was approved for a session; None: for any."""
        with self._lock:
            if session is None:
                self._sessions.clear()
            else:
                self._sessions.pop(session, None)
            self._views.clear()
