"""One request to an OpenAI-compatible endpoint, with a time limit for all of it."""

import json
import os
import queue
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from shellward.config.schema import ReviewerSection
from shellward.core.errors import MissingDependency

if TYPE_CHECKING:
    import ssl

_MAX_ANSWER: Final = 64 * 1024
"""Bytes of an answer that are read; a verdict is a few hundred."""
_SHUT_RDWR: Final = 2
"""As in <sys/socket.h>; this room does not import sockets, it only ends the one it was given."""


class NoAnswerError(Exception):
    """There is no verdict to be had; the message says why."""


class Endpoint:
    """Where ``/chat/completions`` is. Safe to share between threads.

    Args:
        settings: address, key and time limit.

    Raises:
        MissingDependency: httpx is not installed.
    """

    def __init__(self, settings: ReviewerSection) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingDependency("httpx", "llm") from None
        self._settings = settings
        secure = settings.base_url.lower().startswith("https:")
        self._verify: ssl.SSLContext | bool = httpx.create_ssl_context() if secure else False

    def post(self, body: dict[str, Any]) -> dict[str, Any]:
        """Send one request.

        httpx limits each single wait; a server that sends a byte now and then passes those. So the request
        runs in a thread of its own, and when time is up its socket is shut down, which ends that thread.

        Args:
            body: the request, as JSON.

        Returns:
            The decoded answer.

        Raises:
            NoAnswerError: time was up, or the answer is none.
        """
        sockets: list[Any] = []
        answers: queue.SimpleQueue[dict[str, Any] | NoAnswerError] = queue.SimpleQueue()
        deadline = time.monotonic() + self._settings.timeout

        def work() -> None:
            try:
                answers.put(self._exchange(body, sockets))
            except NoAnswerError as error:
                answers.put(error)
            except Exception as error:  # noqa: BLE001  # whatever goes wrong in there is no verdict
                answers.put(NoAnswerError(f"the request failed: {type(error).__name__}"))

        worker = threading.Thread(target=work, name="shellward-reviewer", daemon=True)
        worker.start()
        try:
            answer = answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            _shut_down(sockets)
            raise NoAnswerError(f"the endpoint took longer than {self._settings.timeout:g} seconds") from None
        worker.join()
        if isinstance(answer, NoAnswerError):
            raise answer
        return answer

    def _exchange(self, body: dict[str, Any], sockets: list[Any]) -> dict[str, Any]:
        import httpx

        settings = self._settings
        key = os.environ.get(settings.api_key_env, "") if settings.api_key_env else ""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        url = settings.base_url.rstrip("/") + "/chat/completions"
        content = json.dumps(body).encode()

        def trace(event: str, info: dict[str, Any]) -> None:
            if event in {"connection.connect_tcp.complete", "connection.start_tls.complete"}:
                sockets.append(info["return_value"].get_extra_info("socket"))

        data = b""
        try:
            with (
                httpx.Client(timeout=settings.timeout, follow_redirects=False, verify=self._verify) as client,
                client.stream("POST", url, content=content, headers=headers, extensions={"trace": trace}) as response,
            ):
                if response.status_code != httpx.codes.OK:
                    raise NoAnswerError(f"the endpoint answered HTTP {response.status_code}")
                for chunk in response.iter_bytes():
                    data += chunk
                    if len(data) > _MAX_ANSWER:
                        raise NoAnswerError("the endpoint's answer is too long")
            message = json.loads(data)
        except httpx.TimeoutException:
            raise NoAnswerError(f"the endpoint took longer than {settings.timeout:g} seconds") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise NoAnswerError(f"the endpoint cannot be reached: {type(error).__name__}") from None
        except (ValueError, RecursionError):
            raise NoAnswerError("the endpoint's answer is not JSON") from None
        if not isinstance(message, dict):
            raise NoAnswerError("the endpoint's answer has an unknown form")
        return message


def _shut_down(sockets: list[Any]) -> None:
    """End a request that another thread is waiting in: closing would not wake it, shutting down does."""
    for socket in reversed(sockets):
        try:
            socket.shutdown(_SHUT_RDWR)
        except (OSError, AttributeError):
            continue
