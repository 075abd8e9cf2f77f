"""Applying the rules: from the commands that would run to findings. Rules are looked up by command name."""

from __future__ import annotations

import gc
import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

from shellward.approval.checks.verbs import destroys
from shellward.approval.checks.writing import BEGINS_AT_HOME
from shellward.approval.effects import EFFECTS, effects
from shellward.approval.expressions import expression
from shellward.approval.inner import Deed, deed, shorten, write
from shellward.approval.paths import ordinary
from shellward.approval.patterns import RULES
from shellward.approval.rule import Call, Rule
from shellward.command import handlers
from shellward.command.containers import IN_NEW_CONTAINER
from shellward.command.invocation import Invocation
from shellward.command.known import NOTHING
from shellward.command.optionspecs import SAME
from shellward.command.syntax import Problem
from shellward.command.trace import trace
from shellward.command.values import show
from shellward.command.work import JUDGING, TooMuch, Work
from shellward.core.gate import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shellward.command.known import Known
    from shellward.command.syntax import Span
    from shellward.command.trace import Trace

_DRY = frozenset(
    (
        "--dry-run",
        "--dryrun",
        "--dry_run",
        "--what-if",
        "--whatif",
        "-WhatIf",
        "--noop",
        "--no-act",
        "--simulate",
        "--just-print",
        "--plan-only",
        "--preview",
        "--pretend",
        "--no-execute",
        "--preview-only",
        "--why-run",
    )
)
_LONG = 1_024
"""Characters of a command from which on objects are not collected while it is followed."""
_LARGE = 16_384
"""Characters of one that makes so many objects that they are not even looked through once afterwards."""
_REAL = frozenset(("none", "false", "no", "0"))
_HELP = frozenset(("--help", "-help", "--usage"))
_KEEP_HELP = frozenset(("psql", "mysql", "mariadb", "@sql", "@run", "find"))
_PREFIXED = re.compile(r"(mkfs|mke2fs|newfs)[._]\w+$")
_FILE_SYSTEMS = ("bfs", "btrfs", "cramfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fat", "jfs", "minix", "msdos",
                 "nilfs2", "ntfs", "ocfs2", "reiserfs", "udf", "vfat", "xfs")  # fmt: skip
"""What programs named ``mkfs.`` make; a pattern in command position may mean one of them."""


def index(rules: Iterable[Rule]) -> dict[str, tuple[Rule, ...]]:
    """Sort rules by the names of commands that they apply to."""
    table: dict[str, list[Rule]] = {}
    for rule in rules:
        for name in rule.commands.split():
            table.setdefault(name, []).append(rule)
    for alias, name in SAME.items():
        base = name.partition(" ")[0]
        if base in table:
            table.setdefault(alias, []).extend(rule for rule in table[base] if rule not in table.get(alias, []))
    return {name: tuple(found) for name, found in table.items()}


_INDEX = index(RULES)
_ANY = _INDEX["@any"]
"""Rules of tools that have none of their own."""
_CALM = frozenset(("cp", "ln", "install", "tee", ">", ">>"))
_NOT_CALM = re.compile(r"^[/~\ue000-]|^[\"']|\.\.|\.git|\.husky|\.(?:ssh|gnupg|aws|kube|config)/|^[A-Za-z]:|\\").search
"""Copies between names of the working directory concern no rule; most of what is copied is that."""
Packs = Mapping[str, tuple[Rule, ...]]
"""Rules of the user's own packs, by the names of commands that they apply to."""
NO_PACKS: Packs = MappingProxyType({})


@lru_cache(maxsize=1)
def program_names() -> frozenset[str]:
    """List the programs that a glob in command position may mean."""
    names = {*_INDEX, *handlers.names(), *EFFECTS, *(f"mkfs.{made}" for made in _FILE_SYSTEMS)}
    return frozenset(name for name in names if name[:1] not in "@<>")


def rules_for(name: str) -> tuple[Rule, ...]:
    """List the rules of a command name."""
    found = _INDEX.get(name)
    if found is None and "." in name:
        match = _PREFIXED.match(name)
        base = match.group(1) if match else name.removesuffix(".exe")
        found = _INDEX.get(base)
    if found is None and _is_cmdlet(name):
        found = _INDEX.get("Remove-*")
    return found or ()


_CMDLET = re.compile(
    r"(?:Remove|Stop|Restart|Disable|Clear|Uninstall|Reset|Revoke|Unregister|Suspend|Dismount|Format)-(?!(?:Variable|Job|Alias|TypeData|Host|Transcript|Event|EventLog|PSSession|Module|PSBreakpoint)$)[A-Z]\w+$"
)


def _is_cmdlet(name: str) -> bool:
    """Tell whether a name is a cmdlet of PowerShell that takes something away."""
    return name[:1].isupper() and "-" in name and _CMDLET.match(name) is not None


_OWN_TOOLS = frozenset(("poetry", "pipenv", "pdm", "hatch", "rye", "uv", "bundle"))
"""They run what the project itself brings along."""


def _is_unruled(inv: Invocation) -> bool:
    """Tell whether a program without rules takes something away by the words of its path."""
    name = inv.name
    if name in _INDEX or name in EFFECTS or not destroys(inv.argv) or not _OWN_TOOLS.isdisjoint(inv.via):
        return False
    return name not in handlers.names() and not (len(name) > 3 and name[:-1] in _INDEX)  # a slip of the hand: awss


_AGAIN = 16_384
"""Characters that are read when beginning once more behind an unfinished quote."""
_GRAVE = re.compile(
    r"(?<![\w.-])(?:rm|dd|mkfs[.\w]*|wipefs|shred|mv|chmod|chown|find|cp|tee|cat)[ \t]+(?:[^\s;&|()<>]+[ \t]+){0,6}?"
    r"(?:of=)?[\"']?(?:/[\"'*]{0,2}(?=[\s;&|)<>]|\Z)|~/?|/(?:etc|usr|bin|home|boot|var|dev)\b)"
)
"""Text that may be a command of the never-allow list, when it stands in what is too much to be followed."""


def is_harmless(call: Call) -> bool:
    """Tell whether a command only prints help or only says what it would do."""
    argv = call.argv
    if call.name[:1] in "@><" or call.name in _KEEP_HELP:
        return False
    if not _HELP.isdisjoint(argv):
        for word in argv[1:]:
            if word == "--":
                break
            if word in _HELP:
                return True
    if len(argv) > 1 and (
        argv[1] in {"help", "--version"}
        or (argv[-1] in {"help", "-h"} and (call.args.path or call.args.subs or len(argv) == 2))
    ):
        return True
    for option in call.args.options:
        name, equals, value = option.partition("=")
        if name in _DRY and not (equals and value.lower() in _REAL):
            return True
    return False


def apply(rule: Rule, call: Call) -> tuple[str, ...] | None:
    """Apply one rule; return what is affected, None when it does not match."""
    if rule.regex and not expression(rule.regex).occurs_in(call.form):
        return None
    if rule.unless and expression(rule.unless).occurs_in(call.form):
        return None
    if rule.when is None:
        return tuple(word for word in call.args.operands[:8] if word)
    result = rule.when(call)
    if not result:
        return None
    return result if isinstance(result, tuple) else ()


def _taken_back(rules: Iterable[Rule], call: Call) -> bool:
    """Tell whether one of the rules says of itself that it does not mean this."""
    return any(rule.unless and expression(rule.unless).occurs_in(call.form) for rule in rules)


_OF_THE_CONTAINER = ("files.", "system.users", "system.write", "system.startup", "system.service",
                     "packages.remove", "packages.apt-remove")  # fmt: skip
"""Findings about files, users and services: in a container that was just made of an image, nothing is lost."""


def _place(inv: Invocation) -> tuple[str, ...]:
    """Return what an effect of a command has to know of where that command runs."""
    return (IN_NEW_CONTAINER,) if IN_NEW_CONTAINER in inv.notes else ()


def _judge(inv: Invocation, found: dict[Deed, Finding], work: Work, packs: Packs, base: str) -> None:
    """Apply the rules of one command and of its effects."""
    work.spend(20 + (len(inv.argv) >> 1))
    call = Call(inv, base)
    rules = rules_for(inv.name) or (_ANY if _is_unruled(inv) else ())
    if inv.name in packs:
        rules = (*rules, *packs[inv.name])
    if rules or inv.name in EFFECTS:
        if is_harmless(call):
            return
        for effect in effects(call):
            _judge(
                Invocation(
                    effect[0], effect, inv.span, None, inv.stdin, (*inv.via, inv.name), {}, inv.cwd, _place(inv)
                ),
                found,
                work,
                packs,
                base,
            )
    inner, argv = "", tuple(inv.argv) if rules else ()
    if rules and IN_NEW_CONTAINER in inv.notes:
        rules = tuple(rule for rule in rules if not rule.id.startswith(_OF_THE_CONTAINER))
    matched = [(rule, affects) for rule in rules if (affects := apply(rule, call)) is not None]
    if rules and not matched and destroys(inv.argv) and call.args.path and not _taken_back(rules, call):
        matched = [(rule, ()) for rule in _ANY]
    for rule, affects in matched:
        work.left -= 10
        inner = inner or shorten(write(argv))
        finding = Finding(
            rule.id,
            rule.description,
            rule.severity,
            inv.span,
            inner,
            tuple(show(a) for a in affects),
            rule.why,
            rule.never_allow,
            inv.via,
            inv.cwd,
            argv,
        )
        # The same words elsewhere (another directory, ssh) are another deed, and need an answer of their own.
        found.setdefault(deed(finding), finding)


def _problems(problems: list[Problem], found: dict[Deed, Finding]) -> None:
    texts = {
        "too-deep": (
            "structure.too-deep",
            "nested deeper than can be followed",
            "What stands deeper is not known.",
        ),
        "too-much": (
            "structure.too-much",
            "asks for more steps than can be followed",
            "What would run after that is not known.",
        ),
    }
    for problem in problems:
        if problem.kind in texts:
            rule, description, why = texts[problem.kind]
            finding = Finding(rule, description, Severity.MEDIUM, problem.span, "", (), why)
            found.setdefault(deed(finding), finding)


def judge(traced: Trace, packs: Packs = NO_PACKS) -> tuple[Finding, ...]:
    """Find what is dangerous about a traced command line, in order of the text."""
    found: dict[Deed, Finding] = {}
    seen: set[tuple[str, ...]] = set()
    work = traced.work
    base = ordinary(traced.state.start)
    work.grant(JUDGING)
    for inv in traced.invocations:
        name = inv.name
        known = name in _INDEX or name in EFFECTS or name in packs
        if not known and "." not in name and not _is_cmdlet(name) and not _is_unruled(inv):
            continue
        calm = name in _CALM and inv.cwd == "." and not any(map(_NOT_CALM, inv.argv))
        if calm and BEGINS_AT_HOME.isdisjoint(inv.via):
            continue
        key = (*inv.argv, inv.cwd, inv.stdin or "", *inv.via, *inv.into, *inv.notes)
        if key in seen:
            continue
        seen.add(key)
        try:
            _judge(inv, found, work, packs, base)
        except TooMuch:
            traced.problems.append(Problem("too-much", inv.span))
            break
    if traced.problems:
        _problems(traced.problems, found)
    return tuple(sorted(found.values(), key=lambda finding: finding.span)) if found else ()


def find(
    command: str,
    cwd: str | None,
    aliases: Mapping[str, str] | None = None,
    known: Known = NOTHING,
    stdin: str | None = None,
    *,
    packs: Packs = NO_PACKS,
) -> tuple[Trace, tuple[Finding, ...]]:
    """Trace a command line and judge it; what follows an unfinished quote is judged as well."""

    def follow(text: str) -> Trace:
        return trace(text, cwd=cwd, aliases=aliases, names=program_names, known=known, stdin=stdin)

    paused = len(command) > _LONG and gc.isenabled()
    if paused:  # a large tree is all alive: collecting it again and again takes half of the time
        gc.disable()
    try:
        traced = follow(command)
        findings = judge(traced, packs)
    finally:
        if paused:
            _resume(aged=len(command) > _LARGE)
    if not traced.problems:
        return traced, findings
    there = {deed(f)[:3] for f in findings}
    for start, end in _again(command, traced.problems):
        rest = follow(command[start:end])
        for finding in judge(rest, packs):
            if deed(finding)[:3] not in there:
                there.add(deed(finding)[:3])
                findings += (shift(finding, start),)
    return traced, findings


class _Frozen:
    """Whether the program has frozen objects, which are to stay so. To ask walks over all of them: once is enough."""

    seen = False


def _resume(*, aged: bool) -> None:
    """Go on collecting objects; ``aged``: those that are there count as old, which takes no time."""
    if aged and not _Frozen.seen:
        _Frozen.seen = gc.get_freeze_count() > 0
        if not _Frozen.seen:
            gc.freeze()
            gc.unfreeze()
    gc.enable()


def _again(command: str, problems: list[Problem]) -> Iterator[Span]:
    """Say where to begin once more: behind an unfinished quote, and at what nobody may run in text not followed."""
    for problem in problems:
        if problem.kind == "unterminated" and problem.what in {"'", '"', "`", "$'"}:
            start = problem.span[0] + len(problem.what)
            yield start, start + _AGAIN
            break
    if any(problem.kind in {"too-much", "too-deep"} for problem in problems):
        yield from ((match.start(), match.end() + 80) for match in islice(_GRAVE.finditer(command), 32))


def takes_orders(traced: Trace, label: str) -> bool:
    """Tell whether what a line reads decides what it does: a shell, an interpreter or a database reads it, or xargs.

    Args:
        traced: the line, followed with an unknown standard input.
        label: of the marker that stood for the input.
    """
    for inv in traced.invocations:
        if any(label in word for word in inv.argv):
            return True
        reads = inv.name in EFFECTS and inv.stdin is not None and label in inv.stdin
        if reads and any(label in word for effect in effects(Call(inv)) for word in effect):
            return True
    return False


def shift(finding: Finding, by: int) -> Finding:
    """Move a finding's span."""
    from dataclasses import replace

    return replace(finding, span=(finding.span[0] + by, finding.span[1] + by))
