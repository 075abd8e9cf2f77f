"""Serves the calls of a script: two FIFOs in the sandbox, at the other end of an ordinary command.

A line of JSON is a call, a line of JSON is its answer. What comes from the sandbox is not trusted: only permitted tools
are called, so many times, with lines of a limited length.
"""

import contextvars
import json
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self

from shellward.core.errors import ApprovalDenied, EnvironmentUnavailable
from shellward.core.types import Chunk
from shellward.terminal_tool.stubs import ANSWERS, CALLS
from shellward.tools.answers import error

if TYPE_CHECKING:
    from shellward.terminal_tool.guard import Terminal

LONGEST: Final = 16 << 20
"""Bytes of one call."""
_JOIN: Final = 5.0
# Because of descriptor 3 no open waits for the script. When the answers are over and so is the script, both cats end.
_BRIDGE: Final = '(exec 3<>"$c"; cat <"$c" 3>&- & cat 1<>"$a" 3>&-; exec 3>&-; wait)'


class Server:
    """Answers the calls of one script, from entering to leaving it as a context.

    Args:
        terminal: where the script runs.
        folder: in the sandbox, with the FIFOs.
        call: calls a tool: name and arguments to JSON.
        permitted: names of the tools that may be called.
        most: how many calls are answered.

    Attributes:
        count: calls that came.
    """

    def __init__(
        self,
        terminal: "Terminal",
        folder: str,
        call: Callable[[str, object], str],
        permitted: frozenset[str],
        most: int,
    ) -> None:
        self.count = 0
        self._terminal = terminal
        self._folder = folder
        self._call = call
        self._permitted = permitted
        self._most = most
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._over = False
        context = contextvars.copy_context()  # approvals ask, and turns are had, as in the script's own call
        self._thread = threading.Thread(target=context.run, args=(self._serve,), name="shellward-rpc", daemon=True)

    def __enter__(self) -> Self:
        self._session = self._terminal.session()
        try:
            places = {"c": f"{self._folder}/{CALLS}", "a": f"{self._folder}/{ANSWERS}"}
            self._stream = self._session.stream(_BRIDGE, stdin=self._outgoing(), env=places, full_output=False)
        except BaseException:
            self._answers.put(None)
            self._session.close()
            raise
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over = True
        self._answers.put(None)
        self._thread.join(_JOIN)
        with suppress(EnvironmentUnavailable):  # it is gone, and the bridge with it
            if self._thread.is_alive():  # something that the script has left behind holds it
                self._stream.end("killed", "TERM")
                self._thread.join(_JOIN)
            self._stream.close()
            self._session.close()

    def _outgoing(self) -> Iterator[bytes]:
        while (line := self._answers.get()) is not None:
            yield line

    def _serve(self) -> None:
        buffer = bytearray()
        with suppress(EnvironmentUnavailable, ApprovalDenied):  # the script's own stream says so, too
            for item in self._stream:
                if not isinstance(item, Chunk) or item.stream != "stdout":
                    continue
                buffer += item.data
                while (end := buffer.find(b"\n")) >= 0:
                    line = bytes(buffer[:end])
                    del buffer[: end + 1]
                    self._answers.put(self._answered(line) + b"\n")
                if len(buffer) > LONGEST:
                    buffer.clear()
                    self._answers.put(
                        error(f"a call of more than {LONGEST >> 20} MiB was not carried out").encode() + b"\n"
                    )

    def _answered(self, line: bytes) -> bytes:
        self.count += 1
        if self._over:
            return error("the script is over").encode()
        if self.count > self._most:
            return error(f"a script may call tools {self._most} times; this call was not carried out").encode()
        try:
            asked: Any = json.loads(line)
            name, args = asked["name"], asked["args"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return error("that is no call of a tool").encode()
        if not isinstance(name, str) or name not in self._permitted:
            return error(
                f"{name}: a script cannot call this; it may call {', '.join(sorted(self._permitted))}"
            ).encode()
        answer = self._call(name, args)
        return answer.encode() if "\n" not in answer else json.dumps(json.loads(answer)).encode()
