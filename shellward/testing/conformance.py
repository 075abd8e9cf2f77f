"""The suite as a whole: which checks there are, whether one concerns a place, and how to run one there.

A check is a public function of a ``checks_*`` module that takes a ``Trial`` and raises when the promise named
in its docstring is broken. Nothing here needs pytest; see ``pytest_conformance`` for that.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from shellward.testing.trial import Terms, Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from shellward.environments.environment import Environment
    from shellward.testing.place import Place
    from shellward.testing.trial import DependsOn

SUBJECTS = (
    "run",
    "syntax",
    "arguments",
    "stdin",
    "output",
    "stream",
    "aside",
    "state",
    "restarts",
    "hostile_shell",
    "markers",
    "descriptors",
    "timeouts",
    "trees",
    "interrupts",
    "clients",
    "processes",
    "process_faults",
    "terminals",
    "terminal_programs",
    "foreground",
    "held_terminals",
    "files",
    "trees_of_files",
    "atomic",
    "concurrency",
    "lifecycle",
    "leaks",
    "create",
    "faults",
    "powers",
    "aio",
    "aio_terminals",
    "sizes",
)
"""Names of the groups, in the order in which they run.

Each is the module ``shellward.testing.checks_<name>``.
"""


@dataclass(frozen=True)
class Check:
    """One check of the suite.

    Attributes:
        name: ``subject.function``, the stable name used in ``Place.deviations`` and in test ids.
        function: what does it.
        terms: what it needs.
        depends_on: what its outcome depends on: "shell", "transport" or "host".
    """

    name: str
    function: Callable[[Trial], None]
    terms: Terms
    depends_on: DependsOn

    @property
    def promise(self) -> str:
        """The first line of its docstring: the promise it holds the backend to."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    def why_not(self, place: Place) -> str:
        """Say why this check does not concern ``place``; empty when it does."""
        return next(filter(None, (need(place) for need in self.terms.needs)), "")


def checks(place: Place | None = None, *, subjects: Sequence[str] = SUBJECTS) -> list[Check]:
    """List the checks, in the order in which they should run.

    Args:
        place: leave out what does not concern this place (see ``left_out``). None: list all.
        subjects: only these groups.

    Raises:
        ValueError: ``place.deviations`` names a check that does not exist, or gives no reason.
    """
    found = []
    for subject in subjects:
        module = import_module(f"shellward.testing.checks_{subject}")
        for name, function in vars(module).items():
            if inspect.isfunction(function) and function.__module__ == module.__name__ and name[0] != "_":
                needed: Terms = getattr(function, "terms", Terms())
                found.append(Check(f"{subject}.{name}", function, needed, needed.depends_on or module.DEPENDS_ON))
    if place is None:
        return found
    if subjects == SUBJECTS:
        unknown = set(place.deviations) - {check.name for check in found}
        if unknown:
            raise ValueError(f"{place.name}: deviations name no check: {', '.join(sorted(unknown))}")
    if not all(place.deviations.values()):
        raise ValueError(f"{place.name}: a deviation needs a reason")
    return [check for check in found if not check.why_not(place)]


def left_out(place: Place) -> dict[str, str]:
    """Name the checks that do not concern ``place``, each with the reason."""
    return {check.name: why for check in checks() if (why := check.why_not(place))}


class Conformance(contextlib.AbstractContextManager["Conformance"]):
    """Runs checks at one place; harmless ones share one environment, which makes the suite quick.

    Not thread-safe. Leaving the ``with`` block closes everything.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._shared: Environment | None = None
        self._making = threading.Lock()

    def run(self, check: Check) -> None:
        """Run one check.

        After it the shared environment has to work as before; when the check failed, it is replaced, so that
        one failure does not make others.

        Raises:
            Exception: whatever the check raised; AssertionError when the promise is broken.
        """
        trial = Trial(self.place, self._share)
        try:
            with trial:
                check.function(trial)
            if trial.used_shared:
                self._works_still(check)
        except BaseException:
            with contextlib.suppress(Exception):
                self.close()
            raise

    def close(self) -> None:
        """Close the shared environment. Idempotent; a later check gets a new one."""
        shared, self._shared = self._shared, None
        if shared is not None:
            shared.close()

    def _share(self) -> Environment:
        with self._making:  # checks may ask for it in several threads at once
            if self._shared is None:
                self._shared = self.place.create()
            return self._shared

    def _works_still(self, check: Check) -> None:
        result = self._share().run("echo shellward-$((6 * 7))", timeout=10)
        assert (result.exit_code, result.stdout, result.stderr) == (0, "shellward-42\n", ""), (
            f"after {check.name} the environment does not work as before: {result}"
        )

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _value: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()
