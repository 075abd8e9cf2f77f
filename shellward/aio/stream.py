"""A running command as an asynchronous iterator."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Self

from shellward.core.errors import beside
from shellward.core.types import Chunk, Result


class Stream(AsyncIterator[Chunk | Result]):
    """A command's Chunks as they come, and at last its Result. Made by ``stream``; begins when first asked.

    Close it (``aclose``, or an ``async with`` block) before its end, or cancel the task that waits for it,
    and the command is ended inside the sandbox. One task iterates.

    Attributes:
        result: the Result once the command is over, else None.
    """

    def __init__(self, items: AsyncGenerator[Chunk | Result, None]) -> None:
        self.result: Result | None = None
        self._items = items

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Chunk | Result:
        item = await anext(self._items)
        if isinstance(item, Result):
            self.result = item
        return item

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with beside(error):
            await self.aclose()

    async def aclose(self) -> None:
        """End the command, if it still runs, with its whole process tree. Idempotent."""
        await self._items.aclose()
