"""Which engine is meant: by DOCKER_HOST, DOCKER_CONTEXT, the current context or a setting, as with docker itself."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from shellward.core.errors import ConfigError, EnvironmentUnavailable
from shellward.environments.docker.engine import connect

pytestmark = pytest.mark.docker
NOT_THERE = "tcp://127.0.0.1:9"  # the SDK leaks a socket when a path is not there
Tell = Callable[..., None]


def usual_host() -> str:
    """Where the engine is that all other tests use."""
    engine = connect()
    adapter = engine.api.adapters.get("http+docker://")
    engine.close()
    return f"unix://{adapter.socket_path}" if adapter else engine.api.base_url.replace("http", "tcp", 1)


def write(directory: Path, name: str, meta: str) -> None:
    path = directory / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest() / "meta.json"
    path.parent.mkdir(parents=True)
    path.write_text(meta)


@pytest.fixture
def tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tell:
    """Tell docker's clients which engine to take; ``works`` and ``broken`` are contexts, ``HOST`` is the engine's."""
    host = usual_host()
    for name, address in {"works": host, "broken": NOT_THERE}.items():
        endpoint = {"Host": address, "SkipTLSVerify": False}
        write(tmp_path, name, json.dumps({"Name": name, "Metadata": {}, "Endpoints": {"docker": endpoint}}))
    write(tmp_path, "damaged", "{")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))

    def told(current: str | None, **variables: str) -> None:
        (tmp_path / "config.json").write_text(json.dumps({"currentContext": current} if current else {}))
        for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, host if value == "HOST" else value)

    return told


@pytest.mark.parametrize(
    ("current", "variables", "setting"),
    [
        ("works", {}, None),
        ("broken", {"DOCKER_CONTEXT": "works"}, None),
        ("broken", {"DOCKER_CONTEXT": "broken"}, "works"),
        ("broken", {"DOCKER_HOST": "HOST"}, None),
        ("broken", {"DOCKER_HOST": "HOST", "DOCKER_CONTEXT": "no-such"}, None),
        ("broken", {"DOCKER_HOST": "HOST"}, "default"),
        ("works", {"DOCKER_HOST": "", "DOCKER_CONTEXT": ""}, None),
        ("broken", {"DOCKER_HOST": NOT_THERE}, "works"),
    ],
)
def test_what_leads_to_the_engine(tell: Tell, current: str, variables: dict[str, str], setting: str | None) -> None:
    tell(current, **variables)
    engine = connect(setting)
    assert engine.ping()
    engine.close()


@pytest.mark.parametrize(
    ("current", "variables", "setting"),
    [
        ("broken", {}, None),
        ("works", {"DOCKER_CONTEXT": "broken"}, None),
        ("works", {"DOCKER_CONTEXT": "works"}, "broken"),
        ("works", {"DOCKER_HOST": NOT_THERE}, None),
        ("works", {"DOCKER_HOST": NOT_THERE, "DOCKER_CONTEXT": "works"}, None),
        ("works", {"DOCKER_HOST": NOT_THERE}, "default"),
    ],
)
def test_no_other_engine_takes_over(tell: Tell, current: str, variables: dict[str, str], setting: str | None) -> None:
    tell(current, **variables)
    with pytest.raises(EnvironmentUnavailable, match=f"no Docker engine answers at {NOT_THERE}"):
        connect(setting)


@pytest.mark.parametrize(
    ("current", "variables", "setting"),
    [("no-such", {}, None), (None, {"DOCKER_CONTEXT": "no-such"}, None), ("works", {}, "no-such")],
)
def test_a_missing_context(tell: Tell, current: str, variables: dict[str, str], setting: str | None) -> None:
    tell(current, **variables)
    with pytest.raises(ConfigError, match="there is no context 'no-such'; see: docker context ls"):
        connect(setting)


def test_a_damaged_context(tell: Tell) -> None:
    tell("damaged")
    with pytest.raises(ConfigError, match="'damaged' cannot be read"):
        connect()


def test_contexts_without_a_config_file(tell: Tell, tmp_path: Path) -> None:
    tell(None, DOCKER_CONTEXT="works")
    (tmp_path / "config.json").unlink()
    with pytest.raises(ConfigError, match=r"'works'; the docker SDK looks for contexts beside docker's config\.json"):
        connect()
