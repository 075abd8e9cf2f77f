"""The rules that find dangers, as a list for people."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shellward.approval.rule import Rule


@dataclass(frozen=True, slots=True)
class Known:
    """One rule.

    Attributes:
        id: ``pack.name``.
        description: one phrase.
        severity: lower-case word; empty when it is not said.
        details: everything else that the rule says of itself.
    """

    id: str
    description: str
    severity: str = ""
    details: Mapping[str, object] = field(default_factory=dict)


def known_rules(packs: Sequence[str] = ()) -> Iterator[Known]:
    """Yield every rule, in the order in which they are listed.

    Args:
        packs: files of the user's own packs, which come last.
    """
    from shellward.approval.detect import DANGEROUS_PATTERNS

    own: list[Rule] = []
    if packs:
        from shellward.approval.packs import rules_of

        own = rules_of(packs)
    for number, item in enumerate([*DANGEROUS_PATTERNS, *own]):
        regex, description, *_ = item
        rule = str(getattr(item, "id", f"pattern.{number}"))
        severity = getattr(item, "severity", None)
        names = ("commands", "why", "must", "must_not", "never_allow")
        details = {name: getattr(item, name) for name in names if hasattr(item, name)}
        yield Known(rule, description, severity.name.lower() if severity else "", {"regex": regex, **details})
