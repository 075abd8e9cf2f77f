"""The agent's tools in a sandbox of Daytona's: each of them, with what it must answer."""

from pathlib import Path

import pytest
from agents_at_work import Agent

from shellward.terminal_tool import close_tasks, register_task_environment


@pytest.mark.usefixtures("service")
def test_an_agent_with_all_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELLWARD_HOME", str(tmp_path))
    register_task_environment("at-daytona", "daytona", auto_stop=60)
    agent = Agent("at-daytona", "/tmp/work")
    try:
        agent.work()
    finally:
        close_tasks()
    assert agent.problems == []
