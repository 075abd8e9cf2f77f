"""docs/backend.md: its example is a backend, and keeps what the suite asks of one."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shellward import ApprovalDenied, Terminal
from shellward.core.errors import ConfigError, EnvironmentUnavailable, Unsupported
from shellward.environments import create, registry
from shellward.testing.conformance import Check, Conformance, checks
from shellward.testing.place import Place, local_processes

PAGE = Path(__file__).parents[3] / "docs" / "backend.md"
MODULE, USE = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
NAME = "through"
HERE = ["nice", "-n", "1"]
PLACE = Place(
    name=NAME,
    kind=NAME,
    config={"command": HERE},
    processes=local_processes,
    same_machine=True,
    lease=False,
    wrong_settings={"command": 7, "colour": "blue"},
)
# Not those of time limits: they measure, and are run at every place of the repository's own.
CHECKS = [
    pytest.param(each, id=each.name, marks=() if each.name.startswith("run.") else pytest.mark.slow)
    for each in checks(PLACE, subjects=("run", "state", "output", "files"))
]


@pytest.fixture(scope="module", autouse=True)
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("backend")
    (folder / f"{NAME}.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setitem(registry.BACKENDS, NAME, NAME)
        yield
    sys.modules.pop(NAME, None)


@pytest.fixture(scope="module")
def suite(known: None) -> Iterator[Conformance]:
    del known
    with Conformance(PLACE) as conformance:
        yield conformance


@pytest.mark.parametrize("check", CHECKS)
def test_it_keeps_what_every_backend_does(suite: Conformance, check: Check) -> None:
    suite.run(check)


def test_as_it_is_used(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.py").write_text(MODULE)
    done = subprocess.run([sys.executable, "-c", USE], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("/usr\n\n", "")


def test_the_gate_is_in_front_of_it() -> None:
    with Terminal(NAME, command=HERE) as place, pytest.raises(ApprovalDenied):
        place.run("git push --force origin main")


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(EnvironmentUnavailable, match="no-such-program"):
        create(NAME, command=["no-such-program"])
    with pytest.raises(EnvironmentUnavailable, match="cannot"):
        create(NAME, command=["sh", "-c", "echo cannot >&2; exit 1"])
    with pytest.raises(ConfigError, match="colour"):
        create(NAME, command=HERE, colour="blue")
    with create(NAME, command=HERE) as place, pytest.raises(Unsupported):
        place.pty("true")
