"""A new command is analysed once on its way through the gate, whichever call it comes by."""

from collections import Counter
from pathlib import Path

import pytest
from tooling import KINDS, Tools

from shellward import Terminal
from shellward.approval import brought, detect, engine

_FIND = engine.find


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each text is analysed."""
    seen: Counter[str] = Counter()

    def counted(command: str, *args: object, **named: object) -> object:
        seen[command] += 1
        return _FIND(command, *args, **named)

    for module in (engine, brought, detect):
        monkeypatch.setattr(module, "find", counted)
    return seen


@pytest.mark.parametrize(
    "command", ["true 1", "cd /", "X=1", "echo $HOME | cat", "python3 -c 'print(1)'"], ids=lambda text: text[:8]
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_command_of_the_terminal_tool(kind: str, command: str, analysed: Counter[str], tmp_path: Path) -> None:
    tools = Tools("once", kind, tmp_path)
    tools.terminal("cd .")  # the first command of a task opens its place
    analysed.clear()
    assert tools.terminal(command)["exit_code"] == 0
    assert tools.terminal("true 2")["exit_code"] == 0
    # Where a program is a link, as in a virtual environment, the command is read with that, too.
    plain = {text: count for text, count in analysed.items() if not text.startswith("/bin/ln ")}
    assert plain == {command: 1, "true 2": 1}
    assert set(analysed.values()) == {1}
    tools.close()


@pytest.mark.parametrize("at", ["folder", "absolute"])
def test_with_a_directory_of_its_own(analysed: Counter[str], tmp_path: Path, at: str) -> None:
    tools = Tools("once", "local", tmp_path)
    tools.terminal("mkdir folder; ln -s folder link")
    analysed.clear()
    where = {"folder": "link", "absolute": f"{tools.folder}/folder"}[at]
    assert tools.terminal("pwd -P", workdir=where)["output"] == f"{tools.folder}/folder\n"
    assert analysed == {"pwd -P": 1}


def test_the_first_command_of_a_task(analysed: Counter[str], tmp_path: Path) -> None:
    tools = Tools("once", "local", tmp_path)
    assert tools.terminal("true 3")["exit_code"] == 0
    assert analysed == {"true 3": 1}


def test_what_it_meant_before_does_not_count_for_another_state(analysed: Counter[str], tmp_path: Path) -> None:
    tools = Tools("once", "local", tmp_path)
    for value in ("one", "two"):
        tools.terminal(f"X={value}")
        assert tools.terminal("echo $X; true")["output"] == f"{value}\n"
    assert analysed["echo $X; true"] == 2


@pytest.mark.parametrize("how", ["run", "stream", "start", "session"])
def test_a_command_of_an_environment(analysed: Counter[str], tmp_path: Path, how: str) -> None:
    with Terminal("local", cwd=str(tmp_path)) as terminal:
        match how:
            case "run":
                terminal.run("true 4")
            case "stream":
                terminal.stream("true 4").close()
            case "start":
                terminal.start("true 4").wait(10)
            case "session":
                with terminal.session("other") as session:
                    session.run("true 4")
    assert analysed == {"true 4": 1}


@pytest.mark.parametrize("through_link", [False, True])
def test_a_command_of_an_agents_hook(analysed: Counter[str], tmp_path: Path, *, through_link: bool) -> None:
    from shellward.approval.context import Context
    from shellward.approval.gatekeeper import Gate
    from shellward.config.schema import Config
    from shellward.terminal_tool.places import seen_here

    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    (tmp_path / "there" / "new.sh").write_text("rm -rf /srv/a")
    place = str(tmp_path / ("link" if through_link else "there"))
    gate, context = Gate(Config(), terminal=False), Context(cwd=place)
    found = gate.find("true 5", context)
    assert seen_here(found, place, gate.packs, since=0) is found
    assert through_link or analysed == {"true 5": 1}
    new = seen_here(gate.find("sh new.sh", context), place, gate.packs, since=0)
    assert new.findings
    gate.close()
