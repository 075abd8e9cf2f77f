"""Answers that come by HTTP: never more of one than a message may be long.

What the SDK reads whole, it reads whatever its size is; a stream of events it limits itself.
"""

from collections.abc import AsyncIterator, Mapping

import httpx2

from shellward.mcp_client import lines

_EVENTS = "text/event-stream"
_PLAIN = "identity"
_ACCEPT = "accept-encoding"


class _Limited(httpx2.AsyncByteStream):
    """A body that ends with an error when it is too long, or was compressed though nobody asked for that."""

    def __init__(self, body: httpx2.AsyncByteStream, encoding: str) -> None:
        self._body = body
        self._encoding = encoding

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Give the pieces as they come.

        Raises:
            httpx2.StreamError: see above; the SDK makes an error of the call's of it.
        """
        if self._encoding:
            raise httpx2.StreamError(f"an answer in the encoding {self._encoding!r}, which was not asked for")
        size = 0
        async for piece in self._body:
            size += len(piece)
            if size > lines.LONGEST:
                raise httpx2.StreamError(f"an answer of more than {lines.LONGEST >> 20} MiB")
            yield piece

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._body.aclose()


def limit(response: httpx2.Response) -> None:
    """Limit what is read of an answer whose headers have come."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == _EVENTS and response.request.method != "DELETE":  # whose answer the SDK reads whole
        return
    body = response.stream
    if isinstance(body, httpx2.AsyncByteStream):
        encodings = {each.strip().lower() for each in response.headers.get("content-encoding", "").split(",")}
        response.stream = _Limited(body, ", ".join(sorted(encodings - {"", _PLAIN})))


def accepting(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers of a request which ask for answers that are not compressed: those have no size before."""
    return {name: value for name, value in headers.items() if name.lower() != _ACCEPT} | {_ACCEPT: _PLAIN}
