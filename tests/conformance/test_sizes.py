"""The sizes of tests/run: every check runs in the default size, and no place, test or check is in none."""

import pytest
import sizes

from shellward.testing import conformance
from shellward.testing.conformance import Check
from shellward.testing.place import Place

from .places import ALL_PLACES, CLOUD

EVERYWHERE = [place for place in ALL_PLACES if place not in CLOUD]
PAIRS = [(place, check) for place in EVERYWHERE for check in conformance.checks(place)]


def held(size: sizes.Size) -> list[tuple[Place, Check]]:
    smaller = sizes.SIZES[: sizes.SIZES.index(size) + 1]
    return [(place, check) for place, check in PAIRS if sizes.size_of_check(place.name, check) in smaller]


def test_every_place_is_in_a_size() -> None:
    named = {*sizes.WHOLE, *sizes.NEW, *sizes.COMBINED}
    assert {place.name for place in EVERYWHERE} == named
    assert len(named) == len(sizes.WHOLE) + len(sizes.NEW) + len(sizes.COMBINED), "a place is in two tables"


def test_all_holds_every_check_of_every_place() -> None:
    assert held("all") == PAIRS


def test_the_default_size_holds_every_check() -> None:
    missing = {check.name for _, check in PAIRS} - {check.name for _, check in held("default")}
    assert missing == set()


@pytest.mark.parametrize("name", sizes.WHOLE)
def test_the_default_size_holds_the_whole_suite_at_a_place_of_each_kind(name: str) -> None:
    (place,) = (place for place in EVERYWHERE if place.name == name)
    assert [check for where, check in held("default") if where is place] == conformance.checks(place)


@pytest.mark.parametrize(("name", "depends"), sizes.NEW.items())
def test_the_default_size_holds_what_depends_on_the_place(name: str, depends: tuple[str, ...]) -> None:
    (place,) = (place for place in EVERYWHERE if place.name == name)
    ran = {check.name for where, check in held("default") if where is place}
    wanted = {check.name for check in conformance.checks(place) if check.depends_on in depends}
    assert ran == {name for name in wanted if not any(part in name for part in sizes.OURS)}


def test_the_quick_size_is_a_part_of_the_default_size() -> None:
    quick, default = held("quick"), held("default")
    assert len(quick) > 200
    assert all(pair in default for pair in quick)


def test_every_check_says_what_it_depends_on() -> None:
    assert {check.depends_on for check in conformance.checks()} == {"shell", "transport", "host"}


@pytest.mark.parametrize("part", sorted({*sizes.LONG, *sizes.OURS}))
def test_each_part_of_a_name_is_in_one(part: str) -> None:
    assert any(part in check.name for check in conformance.checks())
