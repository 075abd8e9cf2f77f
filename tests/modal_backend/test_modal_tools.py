"""The agent's tools in a sandbox of Modal's: each of them, with what it must answer."""

import pytest
from agents_at_work import Agent

from shellward.terminal_tool import close_tasks, register_task_environment
from shellward.testing.services.modal import ModalService

from .conftest import IMAGE


@pytest.mark.docker
def test_an_agent_with_all_tools(service: ModalService) -> None:
    register_task_environment("at-modal", "modal", image=IMAGE)
    agent = Agent("at-modal", "/tmp/work")
    try:
        agent.work()
        assert len(service.sandboxes()) == 1
    finally:
        close_tasks()
    assert agent.problems == []
    assert service.sandboxes() == []
