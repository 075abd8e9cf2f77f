"""Blocks, branches, loops and returns: both ways are gone where it is not known which one a program takes."""

from __future__ import annotations

from abc import ABC
from typing import Any

from shellward.command.follow.assigning import Assigning
from shellward.command.follow.methods import MISSING
from shellward.command.follow.nodes import Block, Choice, Const, Jump, Loop, Node, Raise, Return, Splat, Tried, Yield
from shellward.command.follow.things import MOST, Scope, elements, known, text, truth
from shellward.command.values import CUT, unknown

ROUNDS = 300
"""Rounds that a loop over known elements is followed."""
DEPTH = 12
"""Deepest chain of the program's own calls."""


class Returned(Exception):  # noqa: N818  # control flow inside this package
    """A function returns, and it is known that it does."""

    def __init__(self, value: object) -> None:
        self.value = value


class Jumped(Exception):  # noqa: N818
    """A loop ends, or goes on with its next round."""

    def __init__(self, *, again: bool) -> None:
        self.again = again


class Raised(Exception):  # noqa: N818
    """The program raises, and it is known that it does."""


class Branching(Assigning, ABC):
    """Goes through statements.

    Attributes:
        depth: calls of the program's own that lead here.
        unsure: branches and loops around what is walked, in which a return may not be one.
        within: how unsure it was where the innermost loop of the function began a round; None outside of loops.
        jumps: breaks that were walked so far.
        skips: jumps to the next round that may have been done in this one, so that the rest of it may be left out.
        ends: the same for breaks, in all rounds.
        reached: of the trees' nodes, those that were walked at least once.
        yielded: what the function at hand has made so far, one by one.
    """

    depth: int
    unsure: int
    within: int | None
    jumps: int
    skips: int
    ends: int
    reached: set[int]
    yielded: list[object]

    def block(self, node: Block) -> object:
        """Statements, one after the other."""
        value: object = None
        for at, item in enumerate(node.items):
            try:
                value = self.walk(item)
            except (Returned, Jumped, Raised):
                self._behind(node.items[at + 1 :])
                raise
        return value

    def _behind(self, items: list[Node]) -> None:
        """Walk what is not come to, once: whether that is so may be known less well than it seems."""
        items = [item for item in items if id(item) not in self.reached]
        if not items:
            return
        kept, self.journal = self.journal, []
        gap = self.gap
        self.unsure += 1
        self.maybe += self.language == "python"
        for item in items:
            self.reached.add(id(item))
            self.walk(item)
        self.maybe -= self.language == "python"
        self.unsure -= 1
        journal, self.journal = self.journal, kept
        if self.language == "python":
            put_back(journal)
        else:
            self.gap = self.gap or gap

    def tried(self, node: Tried) -> object:
        """``try``, its handlers and what is done at last."""
        try:
            try:
                value = self.walk(node.body)
            except Raised:
                value = None
                self.gap = True  # by whom it is caught is not worked out
            except (Returned, Jumped):
                self._behind([node.caught])
                raise
            self.walk(node.caught)
        except (Returned, Jumped, Raised):
            self.walk(node.last)
            raise
        self.walk(node.last)
        return value

    def choice(self, node: Choice) -> object:
        """``if``, ``a if b else c``, ``while``: both ways where it is not known which."""
        if node.repeats:
            return self._repeated(node)
        sure = truth(self.walk(node.test))
        if sure is not None and (self.language == "python" or not isinstance(node.then, Block)):
            chosen, left_out = (node.then, node.other) if sure else (node.other, node.then)
            if left_out is not None:
                self._behind([left_out])
            return self.walk(chosen) if chosen is not None else None
        ways = [way for way in (node.then, node.other) if way is not None]
        if sure:
            ways.reverse()  # what is done counts, and comes last
        values = []
        for at, way in enumerate(ways):
            taken = sure is not None and at == len(ways) - 1 and (sure or node.other is not None)
            if not taken and self.depth > 3 and id(way) in self.reached:
                continue  # a function that calls itself would never end
            self.reached.add(id(way))
            self.unsure += not taken
            self.maybe += not taken
            values.append(self.walk(way))
            self.unsure -= not taken
            self.maybe -= not taken
        if self.depth > 3 and not values and ways:
            return self.walk(ways[-1]) if self.depth < DEPTH - 2 else None
        found = [value for value in values if value is not None]
        if self.language == "python" and not isinstance(node.then, Block) and len(found) > 1:
            return self.either(found[1:], found[0])
        return found[-1 if sure is not None else 0] if found else None

    def either(self, others: list[object], value: object) -> object:
        """Return what stands for a value when it may be another one, and note that it may."""
        texts = [text(one) for one in (value, *others) if isinstance(one, str)]
        plain = [one for one in (value, *others) if not isinstance(one, str)]
        if any(one != texts[0] for one in texts) or any(
            isinstance(one, list | dict) and one is not value for one in plain
        ):
            self.gap = True
            for one in texts[:4]:
                for other in texts[:4]:
                    if one != other:
                        self.may_be(one, other)
        elif any(isinstance(one, int | float) and one != value for one in plain) or (texts and plain):
            return unknown("code")
        return value

    def _repeated(self, node: Choice) -> object:
        before, start, jumps, broken, doubt = self.within, self.left, self.jumps, False, self.language != "python"
        ends, self.ends = self.ends, 0
        for at in range(ROUNDS):
            sure = truth(self.walk(node.test))
            endless = isinstance(node.test, Const) and self.jumps == jumps
            costly = (start - self.left) * 3 > start
            if sure is False or (at > 1 and (sure is None or endless or costly)):
                self.gap = self.gap or sure is not False  # it may go on
                break
            doubt = doubt or sure is None
            self.unsure += doubt
            broken = self._round(node.then)
            self.unsure -= doubt
            if broken:
                break
        else:
            self.gap = True
        self.maybe -= self.ends
        self.within, self.ends = before, ends
        if node.other is not None:
            (self._behind if broken else self._walk_all)([node.other])
        return None

    def _round(self, body: Node) -> bool:
        """Walk the body of a loop once; tell whether it ends the loop."""
        self.within = self.unsure
        skips, self.skips = self.skips, 0
        try:
            self.walk(body)
        except Jumped as jump:
            return not jump.again
        finally:
            self.maybe -= self.skips
            self.skips = skips
        return False

    def _walk_all(self, items: list[Node]) -> None:
        for item in items:
            self.walk(item)

    def loop(self, node: Loop) -> object:
        """``for``, and what collects values like it."""
        listed = self.walk(node.values)
        values, collected, broken = elements(listed), [], False
        doubt = self.language != "python" or not (known(listed) or (isinstance(listed, list) and "*" not in values))
        before, within = self.scope, self.within
        ends, self.ends = self.ends, 0
        count = len(values)
        if node.collects:
            self.scope = Scope({}, before)
        self.unsure += doubt
        self.gap = self.gap or len(values) > ROUNDS
        try:
            for value in values[:ROUNDS]:
                self.assign(node.target, value, here=node.collects)
                if any(truth(self.walk(test)) is False for test in node.tests):
                    continue
                if isinstance(node.body, Splat):
                    collected += elements(self.walk(node.body.value))
                elif node.collects:
                    collected.append(self.walk(node.body))
                elif broken := self._round(node.body):
                    break
        finally:
            self.unsure -= doubt
            self.maybe -= self.ends
            self.scope, self.within, self.ends = before, within, ends
        self.gap = self.gap or (len(values) != count and self.language == "python")  # it changed under the loop
        if len(values) > ROUNDS:
            collected.append(CUT)
        if node.other is not None:
            (self._behind if broken else self._walk_all)([node.other])
        return collected if node.collects else None

    def jump(self, node: Jump) -> object:
        """``break`` and ``continue``."""
        self.jumps += not node.again
        if self.within is None or self.unsure != self.within:
            if self.within is not None and self.journal is None:  # what follows may be left out
                self.maybe += 1
                self.skips += node.again
                self.ends += not node.again
            return None
        raise Jumped(again=node.again)

    def raise_(self, node: Raise) -> object:
        """``raise``."""
        self._walk_all(node.parts)
        if not self.unsure:
            raise Raised
        return None

    def return_(self, node: Return) -> object:
        """``return``."""
        value = self.walk(node.value) if node.value is not None else None
        if not self.unsure:
            raise Returned(value)
        if value is not None and (self.journal is None or self.language != "python"):
            self.returned.append(value)
        return value

    def yield_(self, node: Yield) -> object:
        """``yield``."""
        value = self.walk(node.value)
        self.gap = self.gap or (self.unsure > 0 and self.journal is None)
        if self.journal is None and len(self.yielded) < MOST:
            self.yielded += elements(value) if node.each else [value]
        return None


def put_back(journal: list[tuple[Any, object, object]]) -> None:
    """Undo changes, the last one first."""
    for holder, key, value in reversed(journal):
        if isinstance(holder, list):
            holder[:] = value
        elif key is None:
            holder.clear()
            holder.update(value)
        elif value is MISSING:
            holder.pop(key, None)
        else:
            holder[key] = value
