"""The public MCP inspector's command line, which shares no code with the SDK that the server is made of."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcpserver import ROOT, TRANSPORTS, Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
TOKEN = "a-token-of-32-characters-at-least"
Inspect = Callable[..., Any]


@pytest.fixture(scope="module")
def program() -> list[str]:
    """The inspector; installed when it is not there."""
    script = ROOT / "tests" / "services" / "mcp-inspector"
    done = subprocess.run([script, "install"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [*done.stdout.split(), "--cli"]


def inspector(program: list[str], *words: str) -> Inspect:
    def inspect(method: str, *more: str, status: int = 0) -> Any:
        done = subprocess.run(
            [*program, *words, "--method", method, *more],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == status, (done.stdout, done.stderr)
        return json.loads(done.stdout)

    return inspect


@pytest.fixture(params=[f"{transport}-{era}" for transport in TRANSPORTS for era in ("legacy", "modern")])
def inspect(request: pytest.FixtureRequest, program: list[str], place: Place) -> Iterator[Inspect]:
    transport, _, era = request.param.partition("-")
    era_words = ("--protocol-era", era)
    if transport == "stdio":
        given = (
            word for name in ("SHELLWARD_HOME", "PYTHONPATH") for word in ("-e", f"{name}={place.environment[name]}")
        )
        yield inspector(program, *era_words, *given, *place.words())
        return
    with place.http(SHELLWARD_MCP_TOKEN=TOKEN) as (url, _):
        yield inspector(program, *era_words, url, "--header", f"Authorization: Bearer {TOKEN}")


def test_inspector(inspect: Inspect, place: Place) -> None:
    listed = inspect("tools/list", "--strict")
    assert {"terminal", "process", "read_file", "patch"} <= {tool["name"] for tool in listed["tools"]}
    result = inspect("tools/call", "--tool-name", "terminal", "--tool-arg", "command=echo hello; exit 3")
    assert result["structuredContent"] == {"output": "hello\n", "exit_code": 3, "error": None}
    assert not result["isError"]
    (template,) = inspect("resources/templates/list")["resourceTemplates"]
    assert template["uriTemplate"] == "shellward://screen/{session_id}"
    refused = inspect("tools/call", "--tool-name", "terminal", "--tool-arg", "command=touch there", status=5)
    assert refused["isError"]
    assert not Path(place.work / "there").exists()


def test_inspector_without_its_token(program: list[str], place: Place) -> None:
    with place.http(SHELLWARD_MCP_TOKEN=TOKEN) as (url, _):
        done = subprocess.run(
            [*program, url, "--method", "tools/list"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert done.returncode != 0
    assert "terminal" not in done.stdout
