"""The same environments over asyncio: ``create`` and ``attach`` as coroutines, and what they return.

::

    async with await aio.create("local") as env:
        results = await asyncio.gather(*(env.run(f"make test-{n}") for n in range(8)))

The protocol, the pool of shells and the results are those of ``shellward.environments``. A command that runs
takes no thread: the event loop waits for its channel. ``aio.Terminal`` has the gate in front of it, and is what
programs should use that pass on commands of others.
"""

from typing import TYPE_CHECKING, Any

from shellward.aio.environment import Environment, attach, create, doctor, list_environments
from shellward.aio.session import Session
from shellward.aio.stream import Stream

if TYPE_CHECKING:
    from shellward.terminal_tool.aio import Terminal as Terminal

__all__ = ["Environment", "Session", "Stream", "Terminal", "attach", "create", "doctor", "list_environments"]


def __getattr__(name: str) -> Any:
    if name != "Terminal":
        raise AttributeError(f"module 'shellward.aio' has no attribute {name!r}")
    # A name for users only: the door stands above this room, which does not know it.
    from importlib import import_module

    return import_module("shellward.terminal_tool.aio").Terminal
