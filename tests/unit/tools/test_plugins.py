"""Plugins, as users have them: processes of their own, real entry points, real folders."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shellward.config import load
from shellward.core.errors import ConfigError

TOOL = """
from shellward.tools.registry import registry
registry.register({name!r}, "plugged", {{"description": "From {name}"}}, lambda args: '"{name} ran"')
"""
OWN = ["execute_code", "patch", "process", "read_file", "search_files", "terminal", "write_file"]
"""What Shellward's own entry point brings; what these tests are about is beside it."""
SHOW = (
    f"OWN = {OWN}"
    """
import json, logging
logging.basicConfig()
import shellward.tools as tools
from shellward.tools.registry import registry
listed = [each["function"]["name"] for each in tools.get_tool_definitions()]
names = [name for name in listed if name not in OWN]
origins = {name: str(registry.get(name).origin) for name in names}
print(json.dumps({"names": names, "origins": origins, "call": [tools.handle_function_call(name) for name in names],
    "own": {name: str(registry.get(name).origin) for name in listed if name in OWN}}))
"""
)


def distribution(site: Path, name: str, points: str, **modules: str) -> None:
    """Install a distribution by hand: its modules and its metadata."""
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[shellward.tools]\n{points}\n")
    for module, text in modules.items():
        path = site / (module.replace("__", "/") + ("__init__.py" if module.endswith("__") else ".py"))
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


@pytest.fixture
def show(tmp_path, own_home):
    """Say what a fresh process lists; returns that and what it logged."""
    site = tmp_path / "site"
    site.mkdir()
    own_home.mkdir()

    def run(settings: str = "", cwd: Path | None = None) -> tuple[dict, str]:
        (own_home / "config.yaml").write_text(settings)
        done = subprocess.run(
            [sys.executable, "-c", SHOW],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=cwd or tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])},
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr

    run.site, run.home = site, own_home
    return run


def test_a_module_a_package_and_a_function(show) -> None:
    distribution(show.site, "demo-module", "one = demo_module", demo_module=TOOL.format(name="one"))
    distribution(
        show.site,
        "demo-package",
        "two = demo_package",
        demo_package__="",
        demo_package__inside=TOOL.format(name="two"),
    )
    function = "def add(registry):\n    registry.register('three', 'plugged', {}, lambda args: '3')\n"
    distribution(show.site, "demo-function", "three = demo_function:add", demo_function=function)
    found, log = show()
    assert found["names"] == ["one", "read_result", "three", "two"]
    assert found["origins"] == {"one": "plugin", "two": "plugin", "three": "plugin", "read_result": "core"}
    assert '"one ran"' in found["call"]
    assert log == ""


def test_one_that_fails_costs_no_other(show) -> None:
    distribution(show.site, "demo-bad", "a = demo_bad", demo_bad=TOOL.format(name="half") + "1/0\n")
    distribution(show.site, "demo-gone", "b = not_there", other="")
    distribution(show.site, "demo-good", "c = demo_good", demo_good=TOOL.format(name="good"))
    found, log = show()
    assert found["names"] == ["good", "read_result"]
    assert "ZeroDivisionError" in log
    assert "not_there" in log


def test_they_can_be_switched_off(show) -> None:
    distribution(show.site, "demo-module", "one = demo_module", demo_module=TOOL.format(name="one"))
    assert show("tools:\n  plugins: false\n")[0]["names"] == ["read_result"]


def test_shellwards_own_entry_point_is_no_plugin(show) -> None:
    distribution(show.site, "shellward", "terminal = shellward.terminal_tool.tools")
    found, log = show("tools:\n  plugins: false\n")
    assert found["own"] == dict.fromkeys(OWN, "core")
    assert log == ""


def test_folders_are_loaded_on_request_only(show, tmp_path) -> None:
    project = tmp_path / "project"
    (project / ".shellward" / "tools").mkdir(parents=True)
    (project / ".shellward" / "tools" / "mine.py").write_text(TOOL.format(name="of_project"))
    (project / "below").mkdir()
    (show.home / "tools").mkdir()
    (show.home / "tools" / "mine.py").write_text(TOOL.format(name="of_user"))
    assert show(cwd=project)[0]["names"] == ["read_result"]
    assert show("tools:\n  user_folder: true\n", project)[0]["names"] == ["of_user", "read_result"]
    found = show("tools:\n  project_folder: true\n", project / "below")[0]
    assert found["names"] == ["of_project", "read_result"]
    assert found["origins"]["of_project"] == "plugin"
    both = show("tools:\n  project_folder: true\n  user_folder: true\n", project)[0]
    assert both["names"] == ["of_project", "of_user", "read_result"]


def test_a_project_cannot_switch_its_own_folder_on(own_home, tmp_path) -> None:
    own_home.mkdir()
    (own_home / "config.yaml").write_text("project_files: true\n")
    (tmp_path / ".shellward.yaml").write_text("tools:\n  project_folder: true\n")
    with pytest.raises(ConfigError, match=r"tools\.project_folder cannot be set by a project"):
        load(cwd=tmp_path)


def test_a_core_tool_is_not_replaced_by_a_plugin(show) -> None:
    distribution(show.site, "demo-module", "one = demo_module", demo_module=TOOL.format(name="read_result"))
    found, log = show()
    assert found["origins"] == {"read_result": "core"}
    assert "is refused" in log


def test_settings_that_cannot_be_read_are_said_by_both(show) -> None:
    script = SHOW.replace("listed = [", "print(tools.handle_function_call('read_result'))\nlisted = [")
    (show.home / "config.yaml").write_text("tools:\n  plugin: true\n")
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60, env={**os.environ}
    )
    assert "unknown setting" in json.loads(done.stdout)["error"]
    assert "ConfigError" in done.stderr


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{}", "auto"),
        ("{tool_search: true}", "auto"),
        ("{tool_search: false}", "off"),
        ("{tool_search: {enabled: true}}", "on"),
        ("{tool_search: {enabled: false}}", "off"),
        ("{tool_search: {enabled: on}}", "on"),
        ("{tool_search: {enabled: auto, threshold_pct: 5}}", "auto"),
    ],
)
def test_older_forms_of_the_setting(own_home, text, wanted) -> None:
    own_home.mkdir()
    (own_home / "config.yaml").write_text(f"tools: {text}\n")
    assert load().config.tools.tool_search.enabled == wanted


def test_importing_the_package_does_not_import_tools() -> None:
    script = (
        "import sys, shellward; assert not [m for m in sys.modules if m.startswith('shellward.tools')]; "
        "import shellward.tools.registry; "
        "heavy = {'jsonschema_rs', 'sqlite3', 'asyncio', 'importlib.metadata', 'ruamel.yaml'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
