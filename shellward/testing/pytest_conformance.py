"""The suite in pytest: parametrisation with strict deviations. The only module here that imports pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shellward.testing.conformance import SUBJECTS, checks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from _pytest.mark.structures import ParameterSet

    from shellward.testing.place import Place


def parameters(place: Place, *, subjects: Sequence[str] = SUBJECTS, with_place: bool = False) -> list[ParameterSet]:
    """Make the parameters of a test that runs each check at ``place``.

    A deviation is a strict xfail with its reason; a slow check has the mark ``slow``; where pytest-timeout is
    installed, each check has its own limit.

    Args:
        place: where.
        subjects: only these groups.
        with_place: pairs of place and check instead of checks.
    """
    found = []
    for check in checks(place, subjects=subjects):
        marks = [pytest.mark.timeout(check.terms.limit)]
        if check.terms.slow:
            marks.append(pytest.mark.slow)
        if check.name in place.deviations:
            marks.append(pytest.mark.xfail(strict=True, reason=place.deviations[check.name]))
        values = (place, check) if with_place else (check,)
        name = f"{place.name}-{check.name}" if with_place else check.name
        found.append(pytest.param(*values, id=name, marks=marks))
    return found


def pairs(places: Iterable[Place], *, subjects: Sequence[str] = SUBJECTS) -> list[ParameterSet]:
    """Make pairs of place and check for several places, one place after the other."""
    return [each for place in places for each in parameters(place, subjects=subjects, with_place=True)]
