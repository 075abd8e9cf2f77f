"""The same environments over asyncio: ``create`` and ``attach`` as coroutines, and what they return.

::

    async with await aio.create("local") as env:
        results = await asyncio.gather(*(env.run(f"make test-{n}") for n in range(8)))

The protocol, the pool of shells and the results are those of ``shellward.environments``. A command that runs
takes no thread: the event loop waits for its channel.
"""

from shellward.aio.environment import Environment, attach, create, doctor, list_environments
from shellward.aio.session import Session
from shellward.aio.stream import Stream

__all__ = ["Environment", "Session", "Stream", "attach", "create", "doctor", "list_environments"]
