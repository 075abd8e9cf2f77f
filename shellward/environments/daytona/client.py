"""The way to Daytona: the SDK, found when it is used; its errors turned into ours."""

import os
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

from shellward.core.errors import EnvironmentUnavailable, MissingDependency
from shellward.environments.daytona.config import KIND, DaytonaConfig

_OURS: Final = "https://app.daytona.io/api"
_KEY: Final = "make one at https://app.daytona.io/dashboard/keys and set DAYTONA_API_KEY (or api_key)"
_WORDS: Final = 300
PAUSES: Final = (0.2, 0.5, 1.0, 2.0)
"""Seconds between two tries of what Daytona refuses for now."""
FOR_NOW: Final = (429, 500, 502, 503, 504)
"""Statuses of a refusal that may not be one a moment later."""
CHANGING: Final = 20.0
"""Seconds for which a sandbox that is just changing is asked again to be deleted."""
_CONFLICT: Final = 409
_PATIENCE: Final = 10.0
CONNECT: Final = 10.0
ANSWER: Final = 20.0
"""Seconds for a connection, and of silence until a call of the API is given up where the SDK would wait for ever."""
T = TypeVar("T")
_quiet = threading.Lock()
"""Filters of warnings are the whole process's."""


def sdk() -> Any:
    """Import the Daytona SDK.

    Raises:
        MissingDependency: it is not installed.
    """
    try:
        import daytona
    except ImportError as error:
        raise MissingDependency("the Daytona SDK", KIND) from error
    return daytona


class Client:
    """A client of the SDK's, with what it does not offer: an end.

    Attributes:
        api: the SDK's ``Daytona``.
        key: what it authenticates with.
        url: of the API.
    """

    def __init__(self, settings: DaytonaConfig) -> None:
        daytona = sdk()
        self.key = settings.api_key or os.environ.get("DAYTONA_API_KEY") or ""
        self.url = settings.api_url or os.environ.get("DAYTONA_API_URL") or _OURS
        target = settings.target or os.environ.get("DAYTONA_TARGET")
        if not self.key:
            raise EnvironmentUnavailable(f"no credentials for Daytona: {_KEY}")
        # The rest of what it could read from the directory's .env files is not asked for. It waits by asking: a socket
        # for events would be one more connection per environment, and would be there for the moment of creation alone.
        config = daytona.DaytonaConfig(
            api_key=self.key, api_url=self.url, target=target, use_deprecated_polling=True, otel_enabled=False
        )
        with _quiet, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            self.api = daytona.Daytona(config)
        for rest in self._rest():
            rest.request = partial(_in_time, rest.request)
            keywords = rest.pool_manager.connection_pool_kw
            keywords["retries"] = _no_silence_twice(keywords.get("retries"))

    def _rest(self) -> Iterator[Any]:
        """What makes the HTTP calls below the SDK: to the API, and to sandboxes' daemons (0.226)."""
        for part in ("_api_client", "_toolbox_api_client"):
            rest = getattr(getattr(self.api, part, None), "rest_client", None)
            if rest is not None:
                yield rest

    def close(self) -> None:
        """Close its connections. The SDK leaves that to the garbage collector (0.226)."""
        for rest in self._rest():
            rest.pool_manager.clear()
        http = getattr(self.api, "_http_client", None)
        if http is not None:
            http.close()


def _in_time(request: Callable[..., Any], *args: Any, _request_timeout: Any = None, **more: Any) -> Any:
    """Make a call with a time limit, also where the SDK gives it none, and with one of its own for the connection."""
    limit = _request_timeout or ANSWER
    if not isinstance(limit, tuple):
        limit = (min(CONNECT, limit), limit)
    return request(*args, _request_timeout=limit, **more)


def _no_silence_twice(usual: Any) -> Any:
    """Repeat what the SDK would, but for two things.

    A call whose answer did not come in time: four times that is no limit. And one that may have been carried out: the
    SDK sends a command again when its connection ended without an answer (0.226).
    """
    import urllib3

    usual = usual or urllib3.Retry.DEFAULT

    class Patient(type(usual)):  # type: ignore[misc]  # the SDK's own
        def increment(self, *args: Any, **more: Any) -> Any:
            error = more.get("error")
            if isinstance(error, urllib3.exceptions.TimeoutError):
                raise error
            return super().increment(*args, **more)

        def _is_read_error(self, err: Exception) -> bool:
            return urllib3.Retry._is_read_error(self, err)  # noqa: SLF001  # what the SDK's own overrides

    return Patient(total=usual.total, raise_on_status=usual.raise_on_status)


@contextmanager
def mapped(what: str) -> Iterator[None]:
    """Turn what the SDK raises into our errors, with the cause kept and with what to do."""
    daytona = sdk()
    try:
        yield
    except daytona.DaytonaError as error:
        raise EnvironmentUnavailable(explained(error, what)) from error


def again(doing: Callable[[], T], *, until: float = 0.0) -> T:
    """Do something that a server may refuse for now, a few times. Only what may be done twice.

    Args:
        doing: what.
        until: by the monotonic clock; up to then also what is refused because the sandbox is just changing.

    Raises:
        DaytonaError: also when it was refused each time.
    """
    daytona = sdk()
    tries = 0
    while True:
        try:
            return doing()
        except daytona.DaytonaError as error:
            changing = getattr(error, "status_code", None) == _CONFLICT and time.monotonic() < until
            if not changing and (not for_now(error) or tries >= len(PAUSES)):
                raise
            time.sleep(rest(error, tries))
            tries += 1


def rest(error: Any, tries: int) -> float:
    """Seconds to wait after an error before the next try; at least what the server asks for."""
    return max(PAUSES[min(tries, len(PAUSES) - 1)], _asked_for(error))


def for_now(error: Any) -> bool:
    """Whether a call may succeed a moment later: it was refused, or its connection broke off."""
    from urllib3.exceptions import ProtocolError

    if getattr(error, "status_code", None) in FOR_NOW:
        return True
    return any(isinstance(each, ProtocolError) for each in _causes(error))


def unsent(error: Any) -> bool:
    """Whether there was no connection for a call: nothing of it was done."""
    from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

    return any(isinstance(each, NewConnectionError | ConnectTimeoutError) for each in _causes(error))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        reason = getattr(error, "reason", None)  # of urllib3's MaxRetryError
        if isinstance(reason, BaseException):
            yield reason
        error = error.__cause__ or error.__context__


def _asked_for(error: Any) -> float:
    """Seconds that a server asks us to wait."""
    text = str({key.lower(): value for key, value in (error.headers or {}).items()}.get("retry-after", ""))
    return min(float(text), _PATIENCE) if text.isdecimal() else 0.0


def explained(error: Any, what: str) -> str:
    """Say in one line what an error of the SDK's means and what to do."""
    said = short(str(error))
    advice = _advice(error, said)
    return f"{what}: {advice} ({said})" if advice else f"{what}: {said}"


def _advice(error: Any, said: str) -> str:
    daytona = sdk()
    quota = re.search(r"\blimit exceeded|\bquota\b", said, re.IGNORECASE) is not None
    broken = getattr(error, "status_code", None) in (500, 502, 503, 504)
    unreachable = isinstance(error, daytona.DaytonaConnectionError) or "Max retries exceeded" in said
    cases = (
        (
            isinstance(error, daytona.DaytonaAuthenticationError),
            f"Daytona does not accept the API key (expired or revoked?): {_KEY}",
        ),
        (
            isinstance(error, daytona.DaytonaRateLimitError),
            "Daytona's rate limit is reached; wait a little, or ask for fewer at once",
        ),
        (quota, "the organization's quota is used up: end sandboxes (shellward env ls), or have it raised"),
        (
            isinstance(error, daytona.DaytonaForbiddenError),
            "this API key may not do that; give it the permission in Daytona's dashboard",
        ),
        (
            isinstance(error, daytona.DaytonaSpotEvictedError),
            "Daytona has evicted the sandbox; create a new environment",
        ),
        (isinstance(error, daytona.DaytonaNotFoundError), "not there any more, or never was"),
        (broken, "Daytona does not work just now; try again later"),
        (unreachable, "Daytona cannot be reached; is the network there, and is DAYTONA_API_URL right?"),
        (
            isinstance(error, daytona.DaytonaTimeoutError),
            "Daytona did not get ready in time; see its state in the dashboard",
        ),
    )
    return next((words for holds, words in cases if holds), "")


def short(text: str) -> str:
    """Put what Daytona says on one line."""
    return " ".join(text.split())[:_WORDS]
