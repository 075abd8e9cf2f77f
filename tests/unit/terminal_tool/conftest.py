"""A guarded local environment whose dangerous commands are about files that a test can look at.

These tests run for real, on the machine of whoever runs them, and they have to fail when the door is taken away or
broken: then everything in here is executed. So no command may harm anything but ``victim``, whether it is refused
or not. To see them fail, take the door away in a throw-away container, never on a machine that somebody uses.
"""

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tooling import Tools

from shellward import ApprovalDenied, Result, Terminal


@pytest.fixture
def victim() -> Iterator[Path]:
    """A directory that a dangerous command would remove: outside of what counts as scratch, by its judged path."""
    place = Path.home() / ".shellward-tests" / f"victim-{secrets.token_hex(8)}"
    (place / "tree").mkdir(parents=True)
    (place / "tree" / "file").write_text("precious")
    yield place / "tree"
    import shutil

    shutil.rmtree(place)


@pytest.fixture(params=["auto", "sh"])
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    with Terminal("local", shell=request.param, cwd=str(tmp_path)) as made:
        yield made


@pytest.fixture
def bash(tmp_path: Path) -> Iterator[Terminal]:
    with Terminal("local", cwd=str(tmp_path)) as made:
        yield made


@pytest.fixture
def refused(victim: Path) -> Callable[[Callable[[], Result]], ApprovalDenied]:
    """Check that something is refused, and that nothing of it has run."""

    def check(act: Callable[[], object]) -> ApprovalDenied:
        with pytest.raises(ApprovalDenied) as caught:
            act()
        assert (victim / "file").read_text() == "precious"
        return caught.value

    return check


@pytest.fixture(autouse=True)
def no_tasks_left(own_home: Path) -> Iterator[None]:
    """End what the tools of a test have opened, before leaks are looked for."""
    del own_home
    yield
    from shellward.terminal_tool import close_tasks

    close_tasks()


@pytest.fixture
def tools(request: pytest.FixtureRequest, tmp_path: Path, nothing_leaks: None) -> Iterator[Tools]:
    """The tools of a task; a test says with KINDS or ALL_KINDS where."""
    del nothing_leaks
    made = Tools(f"t{secrets.token_hex(4)}", getattr(request, "param", "local"), tmp_path)
    yield made
    made.close()
