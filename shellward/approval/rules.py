"""The user's own rules: allow, ask, deny, by glob, regex, first words or finding, per backend and task. Pure.

The two directions are not mirror images. What denies or asks may match too much, so it is held against every
reading of the command. What allows must not: it covers one finding at a time, only where that finding's
command is a single simple command, and its ``*`` stops at everything the shell acts on. ``git push *`` does
not allow ``git push; rm -rf /``.
"""

import functools
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from shellward.approval.context import Context, Detected
from shellward.approval.wrapped import leaves, privileged, whole
from shellward.config.schema import RuleSpec
from shellward.core.gate import Finding

_ACTIVE: Final = ";|&<>()`$\n\r"
"""Characters that an allowing wildcard never stands for: each lets a second command begin, or hides one."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the user, and where it stands (for ``shellward rules list``).

    Attributes:
        index: its place in ``approval.rules``, from 0.
        spec: as written.
    """

    index: int
    spec: RuleSpec

    @property
    def name(self) -> str:
        """What people know it by: its place and what it says."""
        return f"approval.rules[{self.index}] ({describe(self.spec)})"


class Rules:
    """A set of rules, ready to be asked.

    Args:
        specs: as in the settings, checked (``shellward.config`` has done that).
    """

    def __init__(self, specs: Sequence[RuleSpec] = ()) -> None:
        self.all = tuple(Rule(index, spec) for index, spec in enumerate(specs))
        self._by_action = {
            action: tuple(rule for rule in self.all if rule.spec.action == action)
            for action in ("allow", "ask", "deny")
        }

    def denying(self, detected: Detected, context: Context) -> Rule | None:
        """Return the first rule that denies the command, or None."""
        return self._catching("deny", detected, context)

    def asking(self, detected: Detected, context: Context) -> Rule | None:
        """Return the first rule that wants a person asked, or None."""
        return self._catching("ask", detected, context)

    def allowing(self, finding: Finding, context: Context) -> Rule | None:
        """Return the first rule that allows one finding, or None."""
        return next(
            (r for r in self._by_action["allow"] if _applies(r.spec, context) and _allows(r.spec, finding)),
            None,
        )

    def _catching(self, action: str, detected: Detected, context: Context) -> Rule | None:
        rules = [rule for rule in self._by_action[action] if _applies(rule.spec, context)]
        if not rules:
            return None
        texts = tuple(dict.fromkeys(_readings(detected, context)))
        return next((rule for rule in rules if _catches(rule.spec, detected, texts)), None)


def describe(spec: RuleSpec) -> str:
    """Say a rule in a few words."""
    parts: list[str] = [spec.action]
    if spec.rule is not None:
        parts.append(spec.rule)
    if spec.glob is not None:
        parts.append(spec.glob)
    if spec.regex is not None:
        parts.append(f"/{spec.regex}/")
    if spec.argv is not None:
        parts.append(f"{shlex.join(spec.argv)} ...")
    if spec.backend:
        parts.append(f"on {', '.join(spec.backend)}")
    if spec.task:
        parts.append(f"for task {', '.join(spec.task)}")
    return " ".join(parts) + (f": {spec.note}" if spec.note else "")


def _applies(spec: RuleSpec, context: Context) -> bool:
    return (not spec.backend or context.backend in spec.backend) and (
        not spec.task or any(fnmatchcase(context.task, pattern) for pattern in spec.task)
    )


def _readings(detected: Detected, context: Context) -> Iterator[str]:
    """Yield every text that a denying or asking rule is held against: as written, and as it would run."""
    from shellward.command.invocation import quote
    from shellward.command.trace import trace

    for call in trace(detected.command, cwd=context.cwd).invocations:
        if call.name[:1] not in "@<>":  # those are effects, not programs
            words = [quote(word) for word in call.argv[1:]]
            yield " ".join([*map(quote, call.argv[:1]), *words])
            yield " ".join([call.name, *words])
    for text in (detected.normalized, detected.command):
        yield text.strip()
        yield from split_commands(text)
    for finding in detected.findings:
        yield finding.inner


def _catches(spec: RuleSpec, detected: Detected, texts: Sequence[str]) -> bool:
    if spec.rule is None:
        return any(_catches_text(spec, text) for text in texts)
    return any(fnmatchcase(f.rule, spec.rule) and _catches_text(spec, f.inner) for f in detected.findings)


def _catches_text(spec: RuleSpec, text: str) -> bool:
    if spec.glob is not None and not fnmatchcase(text, spec.glob):
        return False
    if spec.regex is not None and not _regex(spec.regex).search(text):
        return False
    if spec.argv is None:
        return True
    argv = _argv(text) or text.split()
    head = argv[: len(spec.argv)]
    return tuple(head) == spec.argv or (bool(head) and (head[0].rpartition("/")[2], *head[1:]) == spec.argv)


def _allows(spec: RuleSpec, finding: Finding) -> bool:
    if finding.never_allow or (spec.rule is not None and not fnmatchcase(finding.rule, spec.rule)):
        return False
    # What is allowed here is not allowed on another host, and not as another user unless the rule says so.
    if leaves(finding):
        return False
    user = privileged(finding)
    if spec.glob is None and spec.regex is None and spec.argv is None:
        return not user
    text = f"{user} {finding.inner}" if user else finding.inner
    return whole(finding) and is_simple(text) and _matches_whole(spec, text)


def _matches_whole(spec: RuleSpec, text: str) -> bool:
    return (
        (spec.glob is None or _narrow(spec.glob).fullmatch(text) is not None)
        and (spec.regex is None or _regex(spec.regex).fullmatch(text) is not None)
        and (spec.argv is None or tuple((_argv(text) or [])[: len(spec.argv)]) == spec.argv)
    )


def _argv(text: str) -> list[str] | None:
    try:
        return shlex.split(text)
    except ValueError:
        return None


@functools.lru_cache(maxsize=1024)
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@functools.lru_cache(maxsize=1024)
def _narrow(glob: str) -> re.Pattern[str]:
    """Compile a glob whose wildcards match no character that the shell acts on.

    Each part between stars is tried once, leftmost first (as ``fnmatch.translate`` does), so that many stars
    take no exponential time.
    """
    passive = f"[^{re.escape(_ACTIVE)}]"
    first, *others = _segments(glob, passive)
    if not others:
        return re.compile(first)
    middle = "".join(f"(?>{passive}*?{part})" for part in others[:-1])
    return re.compile(f"{first}{middle}{passive}*{others[-1]}")


def _segments(glob: str, passive: str) -> list[str]:
    """Translate the parts between stars; a star in brackets is a star."""
    parts, at = [""], 0
    while at < len(glob):
        char = glob[at]
        close = glob.find("]", at + 2) if char == "[" else -1
        if close > 0:
            parts[-1] += _class(glob[at + 1 : close], passive)
            at = close
        elif char != "*":
            parts[-1] += passive if char == "?" else re.escape(char)
        elif not (len(parts) > 1 and not parts[-1]):
            parts.append("")
        at += 1
    return parts


def _class(inside: str, passive: str) -> str:
    body = re.escape(inside.removeprefix("!")).replace(r"\-", "-")
    pattern = f"(?={passive})[{'^' if inside.startswith('!') else ''}{body}]"
    try:
        re.compile(pattern)
    except re.error:  # a range such as [z-a] matches nothing
        return "(?!)"
    return pattern


def suggest(finding: Finding, context: Context) -> RuleSpec | None:
    """Build the narrowest rule that would allow a finding: this id, this very command, this backend.

    Returns:
        None where no rule of that kind can: nobody may allow it, or its command is more than a simple one.
    """
    if finding.never_allow or leaves(finding) or not whole(finding) or not is_simple(finding.inner):
        return None
    literal = re.sub(r"([*?\[])", r"[\1]", f"{privileged(finding)} {finding.inner}".lstrip())
    return RuleSpec(action="allow", rule=finding.rule, glob=literal, backend=(context.backend,))


def is_simple(text: str) -> bool:
    """Whether ``text`` is surely one simple command: no operator, redirection or substitution outside quotes.

    In doubt it is not: a newline may end a comment, and ``$'..'`` has quotes of its own.
    """
    places, open_quote = _operators(text)
    return bool(text.strip()) and not places and not open_quote and "\n" not in text and "$'" not in text


def split_commands(text: str) -> list[str]:
    """Split a line at its unquoted operators, roughly: for rules that may match too much."""
    pieces, start = [], 0
    for place in [*_operators(text)[0], len(text)]:
        if piece := text[start:place].strip(" \t\n\r;|&(){}`$!"):
            pieces.append(piece)
        start = place + 1
    return pieces


def _operators(text: str) -> tuple[list[int], str]:
    """List where unquoted operators stand, and substitutions in double quotes; and the quote left open."""
    places, quote, at = [], "", 0
    while (match := _INTERESTING.search(text, at)) is not None:
        at, char = match.end(), match[0]
        if quote == "'":
            quote = "" if char == "'" else quote
        elif char == "\\":
            at += 1
        elif char == quote:
            quote = ""
        elif char in "'\"":
            quote = quote or char
        elif char in "`$" or not quote:
            places.append(match.start())
    return places, quote


_INTERESTING: Final = re.compile(r"['\"\\;|&<>()`\n\r]|\$(?=[({])")
