"""What a rule is. Rules are data in patterns/; engine.py applies them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shellward.command.options import Arguments, arguments
from shellward.command.values import OPEN, known_part, labels
from shellward.core.cached import cached
from shellward.core.gate import Severity

if TYPE_CHECKING:
    from shellward.approval.paths import Kind
    from shellward.command.invocation import Invocation


@dataclass
class Call:
    """One resolved simple command as rules see it; its options are sorted when first asked for.

    Attributes:
        inv: the command as the tracer found it.
        name: the program's base name, or an effect such as ``>`` or ``@run``.
        base: the directory that the line starts in, when what is below it is somebody's work; else empty.
    """

    inv: Invocation
    base: str = ""
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.inv.name.removesuffix(".exe")

    def kind(self, word: str) -> Kind:
        """Say what kind of place an operand names: what is below the base is as if it were named from there."""
        from shellward.approval.paths import Kind, classify

        cwd, base = self.inv.cwd, self.base
        if base and word:
            if word[0] not in "/~\ue000" and (cwd == base or cwd.startswith(f"{base}/")):
                found = classify(word, cwd[len(base) + 1 :] or ".")
                if found is not Kind.PARENT:
                    return found
            elif word.startswith(f"{base}/"):
                return classify(word[len(base) + 1 :], ".")
        return classify(word, cwd)

    @property
    def argv(self) -> list[str]:
        """The resolved words."""
        return self.inv.argv

    @cached
    def args(self) -> Arguments:
        """The words with options in canonical form."""
        if self.name[:1] in "@><":
            return Arguments(self.name, operands=self.argv[1:], path=True)
        return arguments(self.name, self.argv)

    @cached
    def form(self) -> str:
        """The canonical form that regular expressions match, unknown pieces left out."""
        form = self.args.form()
        return re.sub(" {2,}", " ", known_part(form)) if OPEN in form else form

    @cached
    def labels(self) -> list[str]:
        """The labels of all unknown pieces in the words."""
        return [label for word in self.argv for label in labels(word)]

    @cached
    def paths(self) -> list[str]:
        """The operands as paths from the working directory of that moment."""
        from shellward.approval.paths import absolute

        return [absolute(word, self.inv.cwd) for word in self.args.operands]

    @cached
    def written(self) -> str:
        """Where an effect writes: a well-known file when the path is a pattern of one; empty when it says nothing."""
        from shellward.approval.paths import absolute, well_known

        return well_known(absolute(self.argv[1], self.inv.cwd)) if len(self.argv) > 1 else ""


Check = Callable[[Call], "bool | tuple[str, ...]"]
"""A predicate; a tuple names what is affected."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One entry of a pack.

    Attributes:
        id: ``pack.name``; never changes once published.
        commands: names it applies to, separated by blanks.
        regex: must match the canonical form of the command; empty when ``when`` decides alone.
        description: one phrase for a person.
        severity: see Severity.
        why: what can be lost, one sentence.
        must: command lines that must be found by this rule.
        must_not: command lines that must not be found by this rule.
        when: a check for what an expression cannot say.
        unless: an expression that takes the finding back.
        never_allow: nobody can approve it.
    """

    id: str
    commands: str
    regex: str
    description: str
    severity: Severity
    why: str
    must: tuple[str, ...]
    must_not: tuple[str, ...] = ()
    when: Check | None = None
    unless: str = ""
    never_allow: bool = False

    def __iter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204
        """Yield regex, description and the rest, so that a rule reads like the pair people know."""
        yield self.regex or rf"^(?:{'|'.join(map(re.escape, self.commands.split()))})\b"
        yield self.description
        yield self.id
        yield self.severity

    def __getitem__(self, index: int) -> object:
        return tuple(self)[index]


def cli(  # noqa: D417, PLR0917
    id: str, tools: str, verbs: str, description: str, why: str, must: tuple[str, ...], must_not: tuple[str, ...] = (),  # noqa: A002
    *, severity: Severity = Severity.MEDIUM, unless: str = "",
) -> Rule:  # fmt: skip
    """Make a rule for a tool whose grammar is a path of words: one of ``verbs`` stands among the words.

    Args:
        verbs: an expression for one word, or words joined by blanks (``kv delete``).
    """
    regex = rf"^\S+(?: (?!-)\S+)*? (?:{verbs})(?= |$)"
    return Rule(id, tools, regex, description, severity, why, must, must_not, unless=unless)
