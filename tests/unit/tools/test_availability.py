"""check_fn: asked once, remembered for a while, and obeyed by listing and dispatch."""

import threading

import pytest

from shellward.tools.availability import Availability


def test_a_shared_check_runs_once_per_listing_and_is_remembered_for_a_while(runtime, add, names, clock) -> None:
    asked = []

    def check():
        asked.append(1)
        return True

    for number in range(20):
        add(f"t{number}", check_fn=check)
    assert len(names()) == 20
    assert len(asked) == 1
    names()
    clock.now += 29
    names(["demo"])
    assert len(asked) == 1
    clock.now += 2
    names()
    assert len(asked) == 2


def test_an_unavailable_tool_is_neither_listed_nor_called(add, names, call, clock) -> None:
    there = []
    add("t", check_fn=lambda: there)
    assert names() == []
    assert "not available" in call("t")["error"]
    there.append(1)
    assert names() == [], "the answer holds for a while"
    clock.now += 31
    assert names() == ["t"]
    assert call("t")["tool"] == "t"


def test_a_tool_that_went_away_is_refused_once_its_answer_is_old(add, names, call, clock) -> None:
    there = [1]
    add("t", check_fn=lambda: there)
    assert names() == ["t"]
    there.clear()
    clock.now += 31
    assert "not available" in call("t")["error"]


@pytest.mark.parametrize("problem", [ValueError("no key"), ImportError("no module"), KeyError("x")])
def test_an_exception_means_unavailable(runtime, add, names, call, problem) -> None:
    def check():
        raise problem

    add("t", check_fn=check)
    add("other")
    assert names() == ["other"]
    assert type(problem).__name__ in call("t")["error"]


def test_a_coroutine_is_no_yes(add, names) -> None:
    async def check():
        return True

    add("t", check_fn=check)
    assert names() == []


def test_refresh_asks_again(runtime, add, names) -> None:
    there = []
    add("t", check_fn=lambda: there)
    assert names() == []
    there.append(1)
    runtime.refresh()
    assert names() == ["t"]


def test_a_toolset_is_available_when_one_of_its_tools_is(runtime, add) -> None:
    add("a", "web", check_fn=lambda: False)
    assert not runtime.is_toolset_available("web")
    assert not runtime.registry.is_toolset_available("web")
    add("b", "web", check_fn=lambda: True)
    assert runtime.is_toolset_available("web")
    assert runtime.registry.is_toolset_available("web")
    assert not runtime.is_toolset_available("nothing")


def test_people_see_what_is_missing(runtime, add, monkeypatch) -> None:
    monkeypatch.delenv("DEMO_KEY", raising=False)
    monkeypatch.setenv("DEMO_URL", "x")
    add("t", check_fn=lambda: False, requires_env=["DEMO_KEY", "DEMO_URL"], emoji="🔧")
    (status,) = runtime.status()
    assert (status.available, status.missing_env, status.emoji) == (False, ("DEMO_KEY",), "🔧")
    assert status.requires_env == ("DEMO_KEY", "DEMO_URL")
    assert "not set: DEMO_KEY" in status.reason


def test_requires_env_alone_makes_nothing_unavailable(add, names, monkeypatch) -> None:
    monkeypatch.delenv("DEMO_KEY", raising=False)
    add("t", requires_env=["DEMO_KEY"])
    assert names() == ["t"]


def test_twenty_at_once_ask_once() -> None:
    asked = []
    begin = threading.Barrier(20)

    def check():
        asked.append(1)
        return True

    availability = Availability()

    def ask():
        begin.wait(10)
        assert availability.of(check).available

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(10)
    assert len(asked) == 1


def test_functions_that_are_gone_are_not_kept_for_ever(clock) -> None:
    availability = Availability(ttl=1.0, clock=clock)
    for number in range(2000):
        clock.now += 0.1
        availability.of(lambda number=number: number)
    assert len(availability._answers) < 400
    assert not availability._asking
