"""Fixtures of the conformance lane: one ``Conformance`` per place, and guards that nothing is left behind."""

import os
from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("shellward.testing")

from shellward.testing.conformance import Conformance  # noqa: E402
from shellward.testing.leaks import assert_nothing_new, holdings  # noqa: E402
from shellward.testing.place import Place  # noqa: E402
from shellward.testing.trial import CLIENT_LEASE, eventually  # noqa: E402

from .places import why_absent  # noqa: E402


def required() -> set[str]:
    """Kinds that this lane promised (``SHELLWARD_TEST_REQUIRE=docker``): absent means failed, not skipped."""
    return set(filter(None, os.environ.get("SHELLWARD_TEST_REQUIRE", "").split(",")))


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Notes of environments are kept apart from those of whoever runs this; clients inherit it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHELLWARD_HOME", str(tmp_path_factory.mktemp("shellward")))
        yield


class Places:
    """The suite at the place of the test that runs now; it is closed, and looked after, when the place changes."""

    def __init__(self) -> None:
        self._now: Conformance | None = None
        self._before: dict[str, list[str]] = {}

    def leave_others(self, place: Place) -> None:
        """What a place needs may be started for it: nothing that the one before could have left behind."""
        if self._now is not None and self._now.place is not place:
            self.leave()

    def at(self, place: Place) -> Conformance:
        if self._now is None:
            self._before = holdings()
            self._now = Conformance(place)
        return self._now

    def leave(self) -> None:
        now, self._now = self._now, None
        if now is not None:
            now.close()
            assert_nothing_new(self._before, whose=f"by the environments at {now.place.name}")
            # What clients left that were killed has a lease to run out.
            eventually(lambda: not list(now.place.left_behind()), 2 * CLIENT_LEASE)
            assert list(now.place.left_behind()) == []


@pytest.fixture(scope="module")
def places() -> Iterator[Places]:
    kept = Places()
    yield kept
    kept.leave()


@pytest.fixture
def suite(request: pytest.FixtureRequest, places: Places) -> Conformance:
    place: Place = request.param
    places.leave_others(place)
    absent = why_absent(place)
    if absent and place.kind in required():
        pytest.fail(f"{place.name} was promised and is not there: {absent}")
    if absent:
        pytest.skip(absent)
    return places.at(place)
