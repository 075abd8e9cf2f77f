"""Which kinds there are, and what is said of one that is not there or lacks its SDK."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from shellward.core.errors import ConfigError, MissingDependency, Unsupported
from shellward.environments import attach, create, doctor, list_environments, registry

WITHOUT = """
import sys
sys.modules[{sdk!r}] = None  # what a missing package looks like to an import
from shellward.core.errors import MissingDependency
from shellward.environments import attach, create, doctor
for call in (lambda: create({kind!r}, **{more!r}), lambda: attach({kind!r} + ":x")):
    try:
        call()
    except MissingDependency as error:
        print(isinstance(error, ImportError), error)
print(*[each for each in doctor() if each.kind == {kind!r}])
"""


def test_an_unknown_kind_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="unknown kind 'dokcer'; known are local, docker"):
        create("dokcer")
    with pytest.raises(ConfigError, match="unknown kind"):
        attach("nowhere:1")
    with pytest.raises(ConfigError, match="unknown kind"):
        list_environments("nowhere")


@pytest.mark.parametrize("handle", ["", "docker", "docker:", ":"])
def test_what_is_no_handle(handle: str) -> None:
    with pytest.raises(ConfigError, match=r"handle: .* is not of the form kind:id|unknown kind"):
        attach(handle)


def test_local_cannot_be_attached_to() -> None:
    with pytest.raises(Unsupported, match="local"):
        attach("local:1.x")


@pytest.mark.parametrize(("kind", "sdk"), [("docker", "docker"), ("ssh", "paramiko"), ("daytona", "daytona")])
def test_a_missing_sdk_is_answered_with_its_install_line(kind: str, sdk: str) -> None:
    code = WITHOUT.format(kind=kind, sdk=sdk, more={"host": "x"} if kind == "ssh" else {})
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    first, second, diagnosis = done.stdout.splitlines()
    what = {"docker": "the docker SDK", "daytona": "the Daytona SDK"}.get(sdk, sdk)
    assert first == second == f"True {what} is not installed; run: pip install 'shellward[{kind}]'"
    assert "works=False" in diagnosis
    assert f"pip install 'shellward[{kind}]'" in diagnosis


def test_no_other_backend_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(MissingDependency):
        create("docker")


def test_importing_the_room_imports_no_backend_and_no_sdk() -> None:
    code = "import sys, shellward.environments, shellward.environments.registry as r; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"docker", "paramiko", "requests", *registry.BACKENDS.values()}


def test_every_backend_is_diagnosed() -> None:
    diagnoses = {each.kind: each for each in doctor()}
    assert list(diagnoses) == list(registry.BACKENDS)
    assert diagnoses["local"].works
    assert all(each.works or each.advice for each in diagnoses.values())


@pytest.mark.parametrize("kind", registry.BACKENDS)
def test_a_backend_is_complete(kind: str) -> None:
    """Module, extra, a line in the tests' requirements, a place of the suite, a page: what a new one touches."""
    root = Path(__file__).parents[3]
    module = root / registry.BACKENDS[kind].replace(".", "/")
    assert module.with_suffix(".py").is_file() or (module / "__init__.py").is_file()
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert kind == "local" or kind in extras, f"pyproject.toml: extra {kind}"
    assert kind == "local" or f"[{kind}" in extras["all"][0] or f",{kind}" in extras["all"][0]
    lanes = re.findall(r"SHELLWARD_TEST_REQUIRE=(\S+)", (root / "tests" / "run").read_text())
    assert lanes, "tests/run requires nothing"
    assert any(kind in lane.split(",") for lane in lanes), f"tests/run: SHELLWARD_TEST_REQUIRE lacks {kind}"
    places = "".join(path.read_text() for path in (root / "tests" / "conformance").glob("*places*.py"))
    assert f'kind="{kind}"' in places, f"tests/conformance: no place of kind {kind}"
    page = root / "docs" / ("environments.md" if kind == "local" else f"{kind}.md")
    assert page.is_file(), f"docs/{kind}.md"
    explained = set(re.findall(r"`([a-z_]+)(?:=[^`]*)?`", page.read_text()))
    missing = set(_settings(kind)) - explained
    assert not missing, f"{page.name} does not explain {sorted(missing)}"


def _settings(kind: str) -> list[str]:
    """The settings that an error lists when one is unknown; nothing is made."""
    with pytest.raises(ConfigError) as caught:
        create(kind, **{"#": 1})
    return re.findall(r"\w+", str(caught.value).partition("known are ")[2])
