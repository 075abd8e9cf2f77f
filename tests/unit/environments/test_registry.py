"""Which kinds there are, and what is said of one that is not there or lacks its SDK."""

import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from shellward.core.errors import ConfigError, MissingDependency, Unsupported, install_line
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
    assert first == second == f"True {what} is not installed; run: {install_line(kind)}"
    assert "works=False" in diagnosis
    assert install_line(kind) in diagnosis


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


@pytest.mark.parametrize("kind", registry.BACKENDS)
def test_settings_are_checked_without_making_anything(kind: str) -> None:
    registry.check(kind, {"host": "h"} if kind == "ssh" else {})
    with pytest.raises(ConfigError, match=f"{kind}: unknown setting '#'"):
        registry.check(kind, {"#": 1})


def test_values_are_checked_without_making_anything() -> None:
    with pytest.raises(ConfigError, match="docker: pull"):
        registry.check("docker", {"pull": "often"})


@pytest.mark.parametrize(
    "said", [None, '{"url": "file://%s", "dir_info": {}}', '{"url": "file:///x.whl", "archive_info": {}}']
)
def test_an_install_line_works_from_a_checkout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str | None
) -> None:
    root = Path(__file__).parents[3]

    def installed(name: str) -> SimpleNamespace:
        if said is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return SimpleNamespace(read_text=lambda _: said.replace("%s", str(root)))

    monkeypatch.setattr(importlib.metadata, "distribution", installed)
    monkeypatch.chdir(root)
    assert install_line("ssh") == "pip install '.[ssh]'"
    monkeypatch.chdir(tmp_path)
    assert install_line("ssh") == f"pip install '{root}[ssh]'"


def test_an_install_line_where_there_is_no_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = SimpleNamespace(read_text=lambda _: json.dumps({"url": tmp_path.as_uri(), "dir_info": {}}))
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: told)
    assert install_line("ssh") == "pip install 'shellward[ssh]'"
