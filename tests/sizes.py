"""Which tests each size of ``tests/run`` holds: ``quick``, ``default``, ``all``; each has all of the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pytest

    from shellward.testing.conformance import Check
    from shellward.testing.trial import DependsOn

Size = Literal["quick", "default", "all"]
SIZES: tuple[Size, ...] = ("quick", "default", "all")

WHOLE = ("local-bash", "docker-bash", "modal")
"""Places at which the default size runs the whole suite: no sandbox, a container, a cloud."""

NEW: dict[str, tuple[DependsOn, ...]] = {
    "local-sh": ("shell", "host"),
    "docker-busybox": ("shell", "host"),
    "ssh-bash": ("transport", "host"),
    "ssh-container": ("transport",),
    "daytona": ("transport", "host"),
    "singularity-root": ("transport", "host"),
    "singularity-user": ("transport", "host"),
}
"""What a place has that no place in ``WHOLE`` has: the default size runs the checks that depend on it."""

COMBINED = ("local-busybox", "ssh-sh", "ssh-root", "modal-busybox", "singularity-fakeroot")
"""Places whose parts the places above have as well, in another combination: for ``all``."""

CLOUDS = ("modal-cloud", "daytona-cloud")
"""Real accounts: in no size. ``tests/run --cloud`` runs them."""

QUICK_PLACE = "local-bash"

LONG = (
    "ways_to_hide",
    "interrupt_at_any_moment",
    "living_client_keeps_its_lease",
    "keeps_its_sandbox",
    "aio_terminals",
    "much_is_typed",
    "leaks.",
    "next_command_is_not_hit",
    "client_is_not_hit",
    "no_zombies",
    "floods",
    "many_small_files",
)
"""Checks of seconds, alone or together, by a part of their names: not in ``quick``."""

OURS = ("sizes.", "interrupt_at_any_moment", "living_client_keeps_its_lease", "keeps_its_sandbox", "much_is_typed")
"""Long checks of code that all places share, by a part of their names: in the default size at ``WHOLE`` only."""


PROGRAMS = (
    "tests/cli/",
    "tests/examples/",
    "tests/mcp_server/",
    "tests/packaging/",
    "tests/ssh/",
    "unit/aio/",
    "unit/command/test_remember",
    "unit/command/test_work",
    "unit/environments/test_protocol",
    "unit/environments/test_terminal_holder",
    "unit/environments/test_truth_of_errors",
    "unit/mcp_client/",
    "unit/process_registry/",
    "unit/terminal_tool/",
    "unit/tools/test_discovery",
    "unit/tools/test_plugins",
)
"""Tests that start programs, or take whole seconds, by a part of their names: not in ``quick``."""


def size_of_check(place: str, check: Check) -> Size:
    """Return the smallest size that runs a check of the suite at a place.

    Raises:
        KeyError: the place is in no table here.
    """
    if place in COMBINED:
        return "all"
    if place not in WHOLE and (check.depends_on not in NEW[place] or any(each in check.name for each in OURS)):
        return "all"
    long = check.terms.slow or any(each in check.name for each in LONG)
    return "quick" if place == QUICK_PLACE and not long else "default"


def size_of(item: pytest.Item) -> Size | None:
    """Return the smallest size that runs a test; None: it needs a real account."""
    if item.get_closest_marker("cloud") is not None:
        return None
    if item.get_closest_marker("soak") is not None:
        return "all"
    call = getattr(item, "callspec", None)
    place = None if call is None else call.params.get("suite")
    if place is not None:
        return size_of_check(place.name, call.params["check"])
    if any(item.get_closest_marker(name) is not None for name in ("slow", "docker")):
        return "default"
    if any(each in item.nodeid for each in PROGRAMS):
        return "default"
    return "quick"
