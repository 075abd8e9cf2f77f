"""The shell scripts and Dockerfiles of the repository: they parse, they are clean, they name no server."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("images", "tests", ".ci", "benchmarks")


def is_shell(path: Path) -> bool:
    with path.open("rb") as file:
        return re.match(rb"#!.*\b(ba|da)?sh\b", file.readline()) is not None


def found() -> list[Path]:
    return sorted(path for room in ROOMS for path in (ROOT / room).rglob("*") if path.is_file())


SCRIPTS = [path for path in found() if is_shell(path)]
RECIPES = [*SCRIPTS, *(path for path in found() if path.name in {"Dockerfile", "packages.txt"})]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_search_finds_what_is_known_to_be_there() -> None:
    known = {".ci/run", "images/build", "tests/run", "tests/services/docker-engine"}
    assert known <= {name(path) for path in SCRIPTS}
    assert {"images/sandbox/Dockerfile", "images/sandbox/packages.txt"} <= {name(path) for path in RECIPES}


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_script_parses(script: Path) -> None:
    subprocess.run(["bash", "-n", script], check=True)


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_script_is_executable(script: Path) -> None:
    assert os.access(script, os.X_OK)


@pytest.mark.parametrize("script", SCRIPTS, ids=name)
def test_script_passes_shellcheck(script: Path) -> None:
    done = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("recipe", RECIPES, ids=name)
def test_recipe_names_no_server(recipe: Path) -> None:
    """Packages come from where the machine itself gets them: a named mirror works on some machines only."""
    text = recipe.read_text()
    assert not re.findall(r"\b(?:https?|ftp)://\S+|\b[\w-]+(?:\.[\w-]+)*\.(?:org|com|net|io/)\b\S*", text)


@pytest.mark.parametrize("script", [".ci/nightly", "tests/run --cloud"])
def test_real_accounts_without_credentials_are_a_failure_at_once(script: str) -> None:
    variables = {"PATH": os.environ["PATH"], "MODAL_TOKEN_ID": "only-half"}
    done = subprocess.run(
        ["bash", *script.split()], cwd=ROOT, env=variables, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 1
    assert "no credentials" in done.stderr
    assert "making .venv" not in done.stderr


def test_no_two_scripts_of_a_control_shell_define_the_same_function() -> None:
    """They are all read by one shell: the one that is read last would take the place of the other's."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "shellward" / "environments" / "scripts").glob("*.sh")):
        for name in set(re.findall(r"^(sw_\w+)\(\)", path.read_text(encoding="utf-8"), re.MULTILINE)):
            found.setdefault(name, []).append(path.name)
    assert found
    assert {name: where for name, where in found.items() if len(where) > 1} == {}
