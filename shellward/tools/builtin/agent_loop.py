"""Registers what an agent's loop answers, so that its schemas can be listed."""

from functools import partial

from shellward.tools.agent_loop import AGENT_LOOP, stub
from shellward.tools.registry import registry


def _answer(name: str, args: dict[str, object]) -> str:
    del args
    return stub(name)


for _name, (_toolset, _schema) in AGENT_LOOP.items():
    registry.register(_name, _toolset, _schema, partial(_answer, _name))
