"""The whole suite, at every place."""

import pytest

from shellward.testing.conformance import Check, Conformance
from shellward.testing.pytest_conformance import pairs

from .places import PLACES


@pytest.mark.parametrize(("suite", "check"), pairs(PLACES), indirect=["suite"])
def test_conformance(suite: Conformance, check: Check) -> None:
    suite.run(check)
