"""The user's own rules: allow, ask, deny, by glob, regex, first words or finding, per backend and task. Pure.

The two directions are not mirror images. What denies or asks may match too much, so it is held against every
reading of the command. What allows must not: it covers one finding at a time, only where that finding's
command is a single simple command, and its ``*`` stops at everything the shell acts on. ``git push *`` does
not allow ``git push; rm -rf /``. A call of a server's tool is read by no shell: there it stops at nothing.

Both are held against the whole text, however little of it is shown.
"""

import functools
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, TypeAlias

from shellward.approval.context import Context, Detected
from shellward.approval.inner import in_full, too_long, unread
from shellward.approval.wrapped import known, leaves, privileged
from shellward.command.values import show
from shellward.config.schema import RuleSpec
from shellward.core.gate import Finding

_ACTIVE: Final = ";|&<>()`$\n\r"
"""Characters that an allowing wildcard never stands for: each lets a second command begin, or hides one."""


_Reading: TypeAlias = tuple[str, tuple[str, ...]]
"""A text that a rule is held against, and its words; none where they are not known."""


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
        # What is allowed here is not allowed on another host.
        if finding.never_allow or leaves(finding):
            return None
        covered = _Covered(finding)
        return next((r for r in self._by_action["allow"] if _applies(r.spec, context) and covered.by(r.spec)), None)

    def _catching(self, action: str, detected: Detected, context: Context) -> Rule | None:
        rules = [rule for rule in self._by_action[action] if _applies(rule.spec, context)]
        if not rules:
            return None
        every = any(rule.spec.rule is None for rule in rules)
        readings = tuple(dict.fromkeys(_readings(detected, context))) if every else ()
        return next((rule for rule in rules if _catches(rule.spec, detected, readings)), None)


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


def _readings(detected: Detected, context: Context) -> Iterator[_Reading]:
    """Yield every text that a denying or asking rule is held against: as written, and as it would run."""
    from shellward.command.invocation import quote
    from shellward.command.trace import trace

    for call in trace(detected.command, cwd=context.cwd).invocations:
        if call.name[:1] not in "@<>":  # those are effects, not programs
            words = [quote(word) for word in call.argv[1:]]
            yield " ".join([*map(quote, call.argv[:1]), *words]), tuple(call.argv)
            yield " ".join([call.name, *words]), (call.name, *call.argv[1:])
    for text in dict.fromkeys((detected.normalized, detected.command)):
        yield text.strip(), ()
        yield from ((piece, ()) for piece in split_commands(text))
    for finding in detected.findings:
        yield in_full(finding), finding.argv


def _catches(spec: RuleSpec, detected: Detected, readings: Sequence[_Reading]) -> bool:
    if spec.rule is None:
        # The end of code that was not worked out may be just what the rule is about.
        return any(_catches_text(spec, text, words) for text, words in readings) or any(map(unread, detected.findings))
    return any(fnmatchcase(f.rule, spec.rule) and _catches_finding(spec, f) for f in detected.findings)


def _catches_finding(spec: RuleSpec, finding: Finding) -> bool:
    if too_long(finding):  # what is not known may be just what the rule is about; words at the front are known
        return spec.argv is None or _begins(finding.argv, spec.argv)
    return _catches_text(spec, in_full(finding), finding.argv)


def _catches_text(spec: RuleSpec, text: str, words: Sequence[str]) -> bool:
    if spec.glob is not None and not fnmatchcase(text, spec.glob):
        return False
    if spec.regex is not None and not _regex(spec.regex).search(text):
        return False
    if spec.argv is None:
        return True
    return _begins(words or _argv(text) or text.split(), spec.argv)


def _begins(words: Sequence[str], wanted: tuple[str, ...]) -> bool:
    head = tuple(map(show, words[: len(wanted)]))
    return head == wanted or (bool(head) and (head[0].rpartition("/")[2], *head[1:]) == wanted)


class _Covered:
    """Says which allowing rules cover a finding; its text is written and read once, and only when one asks."""

    def __init__(self, finding: Finding) -> None:
        self._finding = finding
        self._user = privileged(finding)

    def by(self, spec: RuleSpec) -> bool:
        """Whether a rule covers it: as another user only when the rule says so."""
        if spec.rule is not None and not fnmatchcase(self._finding.rule, spec.rule):
            return False
        if spec.glob is None and spec.regex is None and spec.argv is None:
            return not self._user
        text = self._text
        return (
            bool(text)
            and (spec.glob is None or self._globbed(spec.glob, text))
            and (spec.regex is None or _regex(spec.regex).fullmatch(text) is not None)
            and (spec.argv is None or self._words(len(spec.argv)) == spec.argv)
        )

    @functools.cached_property
    def _text(self) -> str:
        """The whole of it; empty where that is not surely one command that is known."""
        if self._finding.line:
            return self._finding.line
        text = in_full(self._finding)
        text = f"{self._user} {text}" if self._user else text
        return text if known(self._finding, text) and is_simple(text) else ""

    def _globbed(self, glob: str, text: str) -> bool:
        if self._finding.line:
            return _covers_call(glob, self._finding.argv)
        return _narrow(glob).fullmatch(text) is not None

    def _words(self, count: int) -> tuple[str, ...]:
        if not self._finding.argv:
            return tuple((_argv(self._text) or [])[:count])
        user = (self._user,) if self._user else ()
        return (*user, *map(show, self._finding.argv[:count]))[:count]


def _covers_call(glob: str, words: Sequence[str]) -> bool:
    """Whether a glob covers a call, word by word, so that no argument passes for another tool's name.

    ``mcp * list *`` does not cover ``mcp mail send '{"to": "x list y"}'``. The glob's last part stands for the rest.
    """
    from shellward.approval.brought import line_of

    parts = glob.split(" ")
    written = [line_of([word]) for word in words]
    for at, word in enumerate(written[:-1]):
        size = word.count(" ") + 1
        if len(parts) <= size:
            return fnmatchcase(" ".join(written[at:]), " ".join(parts))
        if not fnmatchcase(word, " ".join(parts[:size])):
            return False
        del parts[:size]
    return fnmatchcase(written[-1], " ".join(parts))


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
