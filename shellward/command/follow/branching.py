"""Blocks, branches, loops and returns: both ways are gone where it is not known which one a program takes."""

from __future__ import annotations

from abc import ABC

from shellward.command.follow.assigning import Assigning
from shellward.command.follow.nodes import Block, Choice, Const, Loop, Node, Return, Splat, Tried
from shellward.command.follow.things import Scope, elements, truth
from shellward.command.values import CUT

ROUNDS = 300
"""Rounds that a loop over known elements is followed."""
DEPTH = 12
"""Deepest chain of the program's own calls."""


class Returned(Exception):  # noqa: N818  # control flow inside this package
    """A function returns, and it is known that it does."""

    def __init__(self, value: object) -> None:
        self.value = value


class Branching(Assigning, ABC):
    """Goes through statements.

    Attributes:
        depth: calls of the program's own that lead here.
        unsure: branches and loops around what is walked, in which a return may not be one.
        maybe: branches around what is walked that may not be taken.
        reached: of the trees' nodes, those that were walked at least once.
    """

    depth: int
    unsure: int
    maybe: int
    reached: set[int]

    def _block(self, node: Block) -> object:
        value: object = None
        for at, item in enumerate(node.items):
            try:
                value = self.walk(item)
            except Returned:
                self._behind(node.items[at + 1 :])
                raise
        return value

    def _behind(self, items: list[Node]) -> None:
        """Walk what stands behind a return, once: whether it is come to may be known less well than it seems."""
        self.unsure += 1
        for item in items:
            if id(item) not in self.reached:
                self.reached.add(id(item))
                self.walk(item)
        self.unsure -= 1

    def _tried(self, node: Tried) -> object:
        try:
            value = self.walk(node.body)
        except Returned:
            self.walk(node.last)
            raise
        self.walk(node.last)
        return value

    def _choice(self, node: Choice) -> object:
        if node.repeats:
            return self._repeated(node)
        sure = truth(self.walk(node.test))
        if sure is not None and not isinstance(node.then, Block):
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
        return found[-1 if sure is not None else 0] if found else None

    def _repeated(self, node: Choice) -> object:
        for at in range(ROUNDS):
            sure = truth(self.walk(node.test))
            if sure is False or (at > 1 and (sure is None or isinstance(node.test, Const))):
                self.gap = self.gap or sure is not False  # it may go on
                break
            self.unsure += 1
            self.walk(node.then)
            self.unsure -= 1
        else:
            self.gap = True
        if node.other is not None:
            self.walk(node.other)
        return None

    def _loop(self, node: Loop) -> object:
        values, collected = elements(self.walk(node.values)), []
        before = self.scope
        if node.collects:
            self.scope = Scope({}, before)
        self.unsure += 1
        self.gap = self.gap or len(values) > ROUNDS
        for value in values[:ROUNDS]:
            self.assign(node.target, value, here=node.collects)
            if any(truth(self.walk(test)) is False for test in node.tests):
                continue
            if isinstance(node.body, Splat):
                collected += elements(self.walk(node.body.value))
            else:
                collected.append(self.walk(node.body))
        self.unsure -= 1
        self.scope = before
        if len(values) > ROUNDS:
            collected.append(CUT)
        return collected if node.collects else None

    def _return(self, node: Return) -> object:
        value = self.walk(node.value) if node.value is not None else None
        if not self.unsure:
            raise Returned(value)
        if value is not None:
            self.returned.append(value)
        return value
