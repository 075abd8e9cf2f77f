"""Answers to a question: one table of what each key means, at the terminal, in ``approvals watch`` and in forms. Pure.

A key that means no in any common tool never allows. What allows more than this once is confirmed with one more key,
after what it covers was shown. A key that is not in the table does nothing, Enter above all.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from shellward.approval.context import Answer, ApprovalRequest, Scope

ESCAPE: Final = "\x1b"
INTERRUPT: Final = "\x03"
"""Ctrl-C."""
END: Final = "\x04"
"""Ctrl-D."""
YES: Final = "y"
"""Confirms what allows more than this once; any other key goes back to the question."""
SHOW_ALL: Final = "e"
"""Shows everything and asks again; decides nothing."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer that a person may give.

    Attributes:
        name: as forms and the terminal call it.
        keys: those that stand for it; the first one is shown.
        kind: allow or deny.
        scope: how long an allowance holds.
        part: True when it covers the findings' commands in any line, not exactly this line.
    """

    name: str
    keys: tuple[str, ...]
    kind: Literal["allow", "deny"]
    scope: Scope = "once"
    part: bool = False

    @property
    def wide(self) -> bool:
        """Whether it allows more than this once, so that it has to be confirmed."""
        return self.kind == "allow" and self.scope != "once"

    def answer(self, by: str) -> Answer:
        """Return it as an answer of somebody."""
        return Answer(self.kind, self.scope, self.part, by=by)


DENY: Final = Choice("deny", ("n", "N", "q", "Q", ESCAPE, INTERRUPT, END), "deny")
CHOICES: Final = (
    DENY,
    Choice("allow once", (YES,), "allow"),
    Choice("allow this command for this session", ("s",), "allow", "session"),
    Choice("allow this command always", ("a",), "allow", "always"),
    Choice("allow this part for this session", ("p",), "allow", "session", part=True),
    Choice("allow this part always", ("P",), "allow", "always", part=True),
)
_BY_KEY: Final = MappingProxyType({key: choice for choice in CHOICES for key in choice.keys})


def offered(request: ApprovalRequest) -> tuple[Choice, ...]:
    """Return the answers to a question, denial first: a part only where there is one that is narrow enough."""
    return tuple(choice for choice in CHOICES if not choice.part or request.part)


def by_key(typed: str, request: ApprovalRequest) -> Choice | None:
    """Return what a key means; None for one that does nothing.

    Several characters that came at once (a paste, a key that is held down) never allow. They deny when each of them
    does, or when Ctrl-C is among them.
    """
    if len(typed) == 1:
        choice = _BY_KEY.get(typed)
        return choice if choice in offered(request) else None
    denies = INTERRUPT in typed or (bool(typed) and set(typed) <= set(DENY.keys))
    return DENY if denies else None


def by_name(name: object, request: ApprovalRequest) -> Choice | None:
    """Return the answer of that name; None for what is none, or was not offered."""
    return next((choice for choice in offered(request) if choice.name == name), None)


def covers(choice: Choice, request: ApprovalRequest) -> str:
    """Say in words what a choice would remember; empty when it remembers nothing."""
    if not choice.wide:
        return ""
    return request.part if choice.part else request.exact
