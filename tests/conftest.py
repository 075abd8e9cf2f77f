"""What holds for every test: slow ones come last, and what looks at the same things keeps to one worker."""

import gc
import signal

import pytest

# Jobs in the background, and under nohup, ignore these, and so would all that is started from here.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)

CLOUDS = ("modal-cloud", "daytona-cloud")
SLOW_PLACES = (
    "local-busybox",  # the quick lane has busybox in a container
    *("ssh-sh", "ssh-root", "ssh-container"),  # further users of a server that it reaches already
    *("daytona", "modal", "modal-busybox"),  # loopback services
    *CLOUDS,
)

LONG = (
    "ways_to_hide",
    "interrupt_at_any_moment",
    "living_client_keeps_its_lease",
    "keeps_its_sandbox",
    "aio_terminals",
    "much_is_typed",
)
"""Checks of ten seconds and more, alone or together: in the quick lane at one place of a kind."""
TOGETHER = {
    "unit/aio": "aio",  # they look for processes by name
    "unit/mcp_client": "mcp",  # one worker pays for the SDK, whose import takes a second or more
    "/ssh/": "ssh",  # they look for processes and files of one user
    "/singularity/": "singularity",
}
"""Parts of the names of tests that keep to one worker, and what their group is called."""
FIRST_PLACES = ("local-bash", "docker-bash")


@pytest.hookimpl(tryfirst=True)  # before xdist takes the groups' names down
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        call = getattr(item, "callspec", None)
        place = None if call is None else call.params.get("suite")
        if place is not None:
            group = place.name  # one suite, so one environment that most of its checks share
            _mark(item, place.name)
        elif together := next((TOGETHER[part] for part in TOGETHER if part in item.nodeid), None):
            group = together
        elif "/modal_backend/" in item.nodeid or "/daytona/" in item.nodeid:
            group = "modal" if "/modal_backend/" in item.nodeid else "daytona"
            item.add_marker(pytest.mark.slow)  # a service, and SDKs that hold connections and threads from then on
        elif item.get_closest_marker("docker") is not None:
            group = item.path.stem
        else:
            continue
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)


def _mark(item: pytest.Item, place: str) -> None:
    """Mark a check of the suite for the lanes that it belongs to."""
    if place in SLOW_PLACES or (place not in FIRST_PLACES and any(each in item.name for each in LONG)):
        item.add_marker(pytest.mark.slow)
    if place in CLOUDS:
        item.add_marker(pytest.mark.cloud)
    if "daemon_restarted" in item.name:
        item.add_marker(pytest.mark.alone)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Stop when groups are asked for and have no effect: tests would then end each other's processes."""
    # Most tests collect garbage to see what they have left; what is there before the first is none of theirs.
    gc.collect()
    gc.freeze()
    if not getattr(session.config.option, "loadgroup", False):
        return
    for item in session.items:
        if item.get_closest_marker("xdist_group") is not None and "@" not in item.nodeid:
            pytest.exit("this pytest and this pytest-xdist lose the groups of tests; see pyproject.toml", 3)
