"""What goes wrong at the loopback Daytona on purpose, and the key that is let in."""

from typing import Any, Final

KEY: Final = "loopback-key"
"""The API key that is let in."""


class Faults:
    """What goes wrong on purpose.

    Attributes:
        unavailable: so many calls are answered with 503.
        limited: so many are answered with 429.
        status: the next ``times`` calls are answered with this status, and with a body that has ``error`` alone.
        times: see ``status``.
        after: so many calls that match go well first.
        lost: so many calls are carried out, and their connections break before the answer.
        delay: seconds before each answer.
        cut: so many bytes of an upload are taken before its connection breaks; 0: all of them.
        match: the calls that the ones above concern have this in ``METHOD /path``.
        expired: no key is let in.
        quota: no sandbox is made.
        create: why new sandboxes fail; empty: they do not.
        hang: new sandboxes never get ready; for the first two seconds they cannot be deleted either.
        slow: seconds that a sandbox takes to start; it cannot be deleted meanwhile.
        late: seconds after which the list tells of a sandbox that was made or removed.
        lag: seconds for which what a terminal says waits; the word of its end does not, and overtakes it.
    """

    def __init__(self) -> None:
        self.unavailable = 0
        self.limited = 0
        self.delay = 0.0
        self.expired = False
        self.quota = False
        self.create = ""
        self.hang = False
        self.match = ""
        self.cut = 0
        self.status = 0
        self.times = 1
        self.after = 0
        self.lost = 0
        self.slow = 0.0
        self.late = 0.0
        self.lag = 0.0

    def set(self, values: dict[str, Any]) -> None:
        """Change some.

        Raises:
            AttributeError: there is no such fault.
        """
        for key, value in values.items():
            getattr(self, key)
            setattr(self, key, value)

    def parse(self, text: str) -> None:
        """Change one by what stands on a command line: ``unavailable=2``, ``expired``.

        Raises:
            ValueError: there is no such fault, or it has no such value.
        """
        name, _, value = text.partition("=")
        kind = type(vars(self).get(name))
        if kind not in (int, float, bool, str):
            raise ValueError(f"there is no fault {name!r}; there are {', '.join(vars(self))}")
        setattr(self, name, value in ("", "1", "true") if kind is bool else kind(value))
