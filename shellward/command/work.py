"""How much work one command line may cost, counted and not timed, so that the same text always gives the same answer.

A unit is about a microsecond of a machine of today. What would cost more than the limit is not followed to its end,
and says so: that is a finding of its own, so nothing passes because it is long.
"""

from __future__ import annotations

READING = 40_000
"""Units for reading the submitted text; what is left of them is for following."""
FOLLOWING = 34_000
"""Units for following what was read, texts for inner shells included; what is left of them is for judging."""
JUDGING = 14_000
"""Units for applying the rules to what would run."""


class TooMuch(Exception):  # noqa: N818  # control flow inside this package and the rules' engine
    """The command line costs more than the limit."""


class Work:
    """Counts down.

    Args:
        limit: units at the beginning.

    Attributes:
        left: units that are left; whoever works takes from it, and asks ``spend`` at the places where it may stop.
    """

    __slots__ = ("left",)

    def __init__(self, limit: int = READING) -> None:
        self.left = limit

    def grant(self, units: int) -> None:
        """Add units for the next stage to what the stage before left over."""
        self.left = max(self.left, 0) + units

    def spend(self, units: int) -> None:
        """Take units.

        Raises:
            TooMuch: none were left.
        """
        self.left -= units
        if self.left < 0:
            raise TooMuch
