"""Comparing two approval sections: what one of them lets pass that the other does not. Pure.

A setting whose direction is not known counts as looser when it changes, so a new one is safe until somebody has
thought about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import msgspec

from shellward.config.schema import ApprovalSection, RuleSpec

_ORDERS: Final = MappingProxyType(
    {
        "mode": ("manual", "smart", "off"),
        "low_severity": ("deny", "ask", "allow"),
        "contained": ("none", "low", "medium", "high"),
        "queue": ("off", "auto", "on"),
    }
)
"""Values from the strictest to the loosest."""
_NEUTRAL: Final = frozenset({"timeout"})
"""Settings that let nothing pass: who does not answer has denied, sooner or later."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One change of a setting.

    Attributes:
        key: dotted name.
        old: what goes, as plain data; None when something is only added.
        new: what comes; None when something is only taken away.
        looser: whether something may pass then that did not before.
    """

    key: str
    old: object
    new: object
    looser: bool

    def __str__(self) -> str:
        def text(value: object) -> str:
            return msgspec.json.encode(value).decode()

        if self.old is None or self.new is None:
            return f"{'+' if self.old is None else '-'} {self.key}: {text(self.new if self.old is None else self.old)}"
        return f"~ {self.key}: {text(self.old)} -> {text(self.new)}"


def differences(old: ApprovalSection, new: ApprovalSection) -> tuple[Difference, ...]:
    """List what changes from one section to another, in the order of the schema."""
    found: list[Difference] = []
    for name in ApprovalSection.__struct_fields__:
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        key = f"approval.{name}"
        if name in {"command_allowlist", "rules", "packs"}:
            found += _of_lists(key, before, after)
        elif name == "reviewer":
            found += [
                Difference(f"{key}.{each}", getattr(before, each), getattr(after, each), looser=True)
                for each in before.__struct_fields__
                if getattr(before, each) != getattr(after, each)
            ]
        else:
            found.append(Difference(key, before, after, looser=_loosens(name, before, after)))
    return tuple(found)


def looser(old: ApprovalSection, new: ApprovalSection) -> tuple[Difference, ...]:
    """List what lets something pass that did not before; empty when the new section is as strict or stricter."""
    return tuple(found for found in differences(old, new) if found.looser)


def strictest(old: ApprovalSection, new: ApprovalSection) -> ApprovalSection:
    """Take over from a new section what is no looser: its prohibitions hold, its permissions do not.

    Returns:
        The new section itself when nothing in it is looser.
    """
    if not looser(old, new):
        return new
    values: dict[str, Any] = {}
    for name in ApprovalSection.__struct_fields__:
        before, after = getattr(old, name), getattr(new, name)
        if name == "command_allowlist":
            value: Any = tuple(entry for entry in before if entry in after)
        elif name == "rules":
            kept = [rule for rule in before if rule.action != "allow" or rule in after]
            value = (*kept, *(rule for rule in after if rule.action != "allow" and rule not in kept))
        elif name == "packs":
            value = (*before, *(pack for pack in after if pack not in before))
        elif name == "reviewer" or _loosens(name, before, after):
            value = before
        else:
            value = after
        values[name] = value
    return ApprovalSection(**values)


def _loosens(name: str, old: object, new: object) -> bool:
    if old == new or name in _NEUTRAL:
        return False
    order = _ORDERS.get(name)
    return order is None or order.index(str(new)) > order.index(str(old))


def _of_lists(key: str, old: Sequence[object], new: Sequence[object]) -> list[Difference]:
    """Compare lists in which the order says nothing: what allows must not come, what finds or forbids must not go."""

    def allows(item: object) -> bool:
        return item.action == "allow" if isinstance(item, RuleSpec) else key.endswith("command_allowlist")

    gone = [Difference(key, _plain(item), None, looser=not allows(item)) for item in old if item not in new]
    come = [Difference(key, None, _plain(item), looser=allows(item)) for item in new if item not in old]
    return [*gone, *come]


def _plain(item: object) -> object:
    return msgspec.to_builtins(item)
