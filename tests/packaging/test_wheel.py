"""What users get: the wheel, in a new virtual environment, in an empty directory, with and without extras."""

import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import shellward

ROOT = Path(__file__).parents[2]
INSTALL_LINE = "pip install 'shellward[docker]'"
RUN_AT_A_LOOPBACK_SERVICE = """
import sys
import shellward
from shellward import environments
assert shellward.__file__.startswith(sys.argv[2]), shellward.__file__
with environments.create(sys.argv[1]) as env:
    print(env.run("echo $((6 * 7))").stdout, end="")
"""
SERVICES = {
    "modal": lambda url: {"MODAL_SERVER_URL": url, "MODAL_TOKEN_ID": "ak-x", "MODAL_TOKEN_SECRET": "as-x"},
    "daytona": lambda url: {"DAYTONA_API_URL": f"{url}/api", "DAYTONA_API_KEY": "loopback-key"},
}
TRY_DOCKER = """
from shellward import MissingDependency, environments
try:
    environments.create("docker", image="shellward/sandbox")
except MissingDependency as error:
    print(error)
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Installed:
    """A virtual environment and an empty directory to use it in."""

    venv: Path
    directory: Path

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        # No PYTHONPATH, no virtual environment around: only what was installed. PIP_* and the like stay.
        environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
        return subprocess.run(
            [self.venv / "bin" / program, *arguments],
            cwd=self.directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


def install(directory: Path, requirement: str) -> Installed:
    venv = directory / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    empty = directory / "empty"
    empty.mkdir()
    installed = Installed(venv, empty)
    done = installed.run("python", "-m", "pip", "install", "-q", requirement)
    assert done.returncode == 0, done.stderr
    return installed


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution as an index would have it."""
    directory = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--outdir", directory, ROOT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = directory.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(tmp_path_factory.mktemp("plain"), str(wheel))


@pytest.fixture(scope="module")
def with_docker(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(tmp_path_factory.mktemp("docker"), f"{wheel}[docker]")


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "shellward/py.typed" in names
    assert {name.split("/")[0] for name in names} == {
        "shellward",
        f"shellward-{shellward.__version__}.dist-info",
    }
    packed = {name for name in names if name.startswith("shellward/")}
    source = (path for path in (ROOT / "shellward").rglob("*") if path.is_file())
    assert packed == {str(path.relative_to(ROOT)) for path in source if "__pycache__" not in path.parts}


def test_import(plain: Installed) -> None:
    done = plain.run("python", "-W", "error", "-c", "import shellward; print(shellward.__version__)")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{shellward.__version__}\n", "")


def test_version(plain: Installed) -> None:
    done = plain.run("shellward", "--version")
    assert done.returncode == 0, done.stderr
    assert shellward.__version__ in done.stdout


def test_help(plain: Installed) -> None:
    done = plain.run("shellward", "--help")
    assert done.returncode == 0, done.stderr
    assert "run" in done.stdout


def test_local_command_runs(plain: Installed) -> None:
    done = plain.run("shellward", "run", "--", "echo out; echo err >&2; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_mcp_without_its_extra_answers_with_the_install_line(plain: Installed) -> None:
    done = plain.run("shellward", "mcp")
    assert (done.returncode, done.stdout) == (125, "")
    assert "pip install 'shellward[mcp]'" in done.stderr


def test_docker_without_its_extra_answers_with_the_install_line(plain: Installed) -> None:
    done = plain.run("python", "-c", TRY_DOCKER)
    assert done.returncode == 0, done.stderr
    assert INSTALL_LINE in done.stdout


def test_command_line_without_the_extra_answers_with_the_install_line(plain: Installed) -> None:
    done = plain.run("shellward", "run", "--env", "docker", "--", "true")
    assert done.returncode != 0
    assert INSTALL_LINE in done.stderr
    assert "Traceback" not in done.stderr


def test_docker_with_its_extra_can_be_imported(with_docker: Installed) -> None:
    done = with_docker.run("python", "-c", "import docker, shellward.environments.docker")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", SERVICES)
def test_a_loopback_service_without_its_extra_answers_with_the_install_line(plain: Installed, kind: str) -> None:
    service = f"shellward.testing.services.{kind}"
    done = plain.run("python", "-m", service)
    assert done.returncode != 0
    assert f"pip install 'shellward[{kind}]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert plain.run("python", "-m", service, "--help").returncode == 0


@pytest.mark.docker
@pytest.mark.parametrize("kind", SERVICES)
def test_a_loopback_service_of_the_wheel_serves(wheel: Path, tmp_path: Path, kind: str) -> None:
    """With the SDKs of the tests' own environment: they are many, and not what is looked at here."""
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "site")
    empty = tmp_path / "empty"
    empty.mkdir()
    variables = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "SHELLWARD_HOME": str(tmp_path / "home")}
    module = f"shellward.testing.services.{kind}"
    fault = {"modal": "TaskExecStart=unavailable,times=1", "daytona": "unavailable=1"}[kind]
    with subprocess.Popen(
        [sys.executable, "-m", module, "--until-eof", "--fault", fault],
        cwd=empty,
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as service:
        assert service.stdin is not None
        assert service.stdout is not None
        url = service.stdout.readline().strip()
        assert url
        done = subprocess.run(
            [sys.executable, "-c", RUN_AT_A_LOOPBACK_SERVICE, kind, str(tmp_path / "site")],
            cwd=empty,
            env={**variables, **SERVICES[kind](url)},
            capture_output=True,
            text=True,
            check=False,
        )
        service.stdin.close()
        assert service.wait(30) == 0
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr
