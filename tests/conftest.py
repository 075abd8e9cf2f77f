"""What holds for every test: its size, the worker that it keeps to, and what a failure says."""

import gc
import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from sizes import CLOUDS, SIZES, size_of

# Jobs in the background, and under nohup, ignore these, and so would all that is started from here.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)

# Settings of whoever runs the tests: a TERMINAL_ENV of his would send them elsewhere.
for name in [*os.environ]:
    if name.startswith("TERMINAL_") or (name.startswith("SHELLWARD_") and "__" in name):
        del os.environ[name]

TOGETHER = {
    "unit/aio": "aio",  # they look for processes by name
    "unit/mcp_client": "mcp",  # one worker pays for the SDK, whose import takes a second or more
    "/ssh/": "ssh",  # they look for processes and files of one user
    "/singularity/": "singularity",
    "/packaging/test_wheel": "wheel",  # one worker makes the virtual environments, and one installs the inspector
    "/test_mcp_inspector": "inspector",
}
"""Parts of the names of tests that keep to one worker, and what their group is called."""

PARTS = {"local-bash": 8, "docker-bash": 8, "local-sh": 2, "docker-busybox": 2, "modal": 3, "daytona": 2}
"""Into how many groups the checks of a place go, by subject. One where a look at what is left sees all of a user's."""

LOGS = {
    "docker": os.environ.get("SHELLWARD_DOCKER_LOG", "/var/log/shellward-dockerd.log"),
    "ssh": os.environ.get("SHELLWARD_SSHD_DIR", "/tmp/shellward-sshd") + "/log",
}
"""Logs of services, by a word in the names of tests that use them."""


@pytest.hookimpl(tryfirst=True)  # before xdist takes the groups' names down
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        group = _group(item)
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))
    wanted = os.environ.get("SHELLWARD_TEST_SIZE")
    if wanted is not None:
        held = SIZES[: SIZES.index(wanted) + 1]  # type: ignore[arg-type]  # any other word is an error
        kept = [item for item in items if size_of(item) in held]
        config.hook.pytest_deselected(items=[item for item in items if size_of(item) not in held])
        items[:] = kept
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)


def _group(item: pytest.Item) -> str | None:
    """Return the name of the tests that keep to one worker with this one, and mark it for what it uses."""
    call = getattr(item, "callspec", None)
    place = None if call is None else call.params.get("suite")
    if place is not None:
        if place.name in CLOUDS:
            item.add_marker(pytest.mark.cloud)
        if "daemon_restarted" in item.name:
            item.add_marker(pytest.mark.alone)
        # Checks of one place share an environment.
        from shellward.testing.conformance import SUBJECTS  # not before its asserts are to be rewritten

        number = SUBJECTS.index(call.params["check"].name.partition(".")[0])
        return f"{place.name}-{number * PARTS.get(place.name, 1) // len(SUBJECTS)}"
    if together := next((TOGETHER[part] for part in TOGETHER if part in item.nodeid), None):
        return together
    if "/modal_backend/" in item.nodeid or "/daytona/" in item.nodeid:
        item.add_marker(pytest.mark.slow)  # a service, and SDKs that hold connections and threads from then on
        return "modal" if "/modal_backend/" in item.nodeid else "daytona"
    if item.get_closest_marker("docker") is not None:
        return item.path.stem
    return None


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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Attach what the services said last to the report of a failure."""
    report = yield
    if report.failed:
        for word, log in LOGS.items():
            if word in item.nodeid:
                report.sections.append((f"end of {log}", _end_of(log)))
    return report


def _end_of(log: str) -> str:
    try:
        return "\n".join(Path(log).read_text(errors="replace").splitlines()[-20:])
    except OSError as error:
        return str(error)


class FirstFailure:
    """Prints the first failure at once, with the command that runs this test by itself."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._told = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell of a failure when it is the first."""
        if not report.failed or self._told:
            return
        self._told = True
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        name = report.nodeid.rpartition("@")[0] or report.nodeid
        terminal.ensure_newline()
        terminal.section("the first failure", red=True)
        terminal.line(report.longreprtext)
        for title, text in report.sections:
            terminal.line(f"--- {title} ---\n{text[-4000:]}")
        terminal.line(f"by itself: tests/run --alone {shlex.quote(name)}")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Tell the first failure in the process that reports, not in its workers."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(FirstFailure(config), "first-failure")
