"""The way to the SDK: imported when it is used, called on its own event loop, its errors turned into ours."""

import asyncio
import concurrent.futures
import dataclasses
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from shellward.core.errors import EnvironmentUnavailable, MissingDependency, install_line

T = TypeVar("T")

_CLOSE_LIMIT: Final = 5.0
_WINDOW: Final = 2 << 20
_GET_ONE: Final = "make one with `modal token new`, or set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET"


def sdk() -> Any:
    """Import the modal SDK.

    Raises:
        MissingDependency: it is not installed.
    """
    try:
        import modal
    except ImportError as error:
        raise MissingDependency("the modal SDK", "modal") from error
    narrow()
    return modal


def narrow() -> None:
    """Let each stream of a sandbox's run a few MiB ahead of its reader, where the SDK lets it run 64.

    All that a flood has printed by the end of its command has to be read before that is known to have ended. The SDK
    has no setting for it (1.6); tests/modal_backend would see it change.
    """
    from modal.sandbox import _task_command_router_client

    router: Any = _task_command_router_client
    usual = router.create_channel_config
    if getattr(usual, "narrowed", False):
        return

    def narrowed(**more: Any) -> Any:
        return dataclasses.replace(usual(**more), http2_stream_window_size=_WINDOW)

    narrowed.narrowed = True  # type: ignore[attr-defined]  # once is enough
    router.create_channel_config = narrowed


def loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of the SDK, in a thread of its own; what runs in it calls the SDK without a detour.

    The SDK has no public name for it (1.6); tests/modal_backend would see it change.
    """
    from modal._utils.async_utils import synchronizer

    found: asyncio.AbstractEventLoop = synchronizer._get_loop(start=True)  # noqa: SLF001  # see above
    return found


def call(work: Coroutine[Any, Any, T], limit: float | None, what: str) -> T:
    """Carry out something on the SDK's loop, and wait for it.

    Args:
        work: uses the SDK's ``.aio`` methods.
        limit: seconds; then it is cancelled. The SDK's own patience with a network that is away is a minute and more.
        what: it is, for what is said.

    Raises:
        EnvironmentUnavailable: the time was up, or Modal refuses; says what to do.
    """
    future = asyncio.run_coroutine_threadsafe(work, loop())
    with mapped(what):
        try:
            return future.result(limit)
        except TimeoutError as error:
            if future.done() and not future.cancelled():
                raise
            future.cancel()
            raise EnvironmentUnavailable(
                f"{what}: no answer from Modal for {limit:g} s; is {server()} reachable from here?"
            ) from error
        except BaseException:
            future.cancel()
            raise


def server() -> str:
    """Say where the SDK looks for Modal."""
    from modal.config import config

    return str(config.get("server_url"))


@contextmanager
def mapped(what: str) -> Iterator[None]:
    """Turn what the SDK raises into our errors, with the cause kept."""
    modal = sdk()
    import grpclib.exceptions

    errors = modal.exception
    broken = (  # below the SDK, which lets them through when its own patience is at its end
        grpclib.exceptions.StreamTerminatedError,
        grpclib.exceptions.ProtocolError,
        grpclib.exceptions.GRPCError,
    )
    try:
        yield
    except errors.AuthError as error:
        said = short(error)
        if "Token missing" in said:
            raise EnvironmentUnavailable(f"{what}: there is no token for Modal; {_GET_ONE}") from error
        raise EnvironmentUnavailable(f"{what}: Modal does not accept the token ({said}); {_GET_ONE}") from error
    except errors.PermissionDeniedError as error:
        advice = "see that the token's workspace and environment are the right ones"
        raise EnvironmentUnavailable(f"{what}: Modal does not permit it ({short(error)}); {advice}") from error
    except errors.ResourceExhaustedError as error:
        advice = "close environments that are not needed (shellward env ls), try again later, or raise the limit"
        raise EnvironmentUnavailable(
            f"{what}: a limit of the workspace is reached ({short(error)}); {advice}"
        ) from error
    except errors.ImageBuildError as error:
        raise EnvironmentUnavailable(f"{what}: the image cannot be made: {short(error)}") from error
    except errors.NotFoundError as error:
        raise EnvironmentUnavailable(f"{what}: not there: {short(error)}") from error
    except errors.UnimplementedError as error:
        advice = f"install the version that Shellward names: {install_line('modal')}"
        raise EnvironmentUnavailable(f"{what}: Modal lacks that ({short(error)}); {advice}") from error
    except (errors.ConnectionError, errors.ServiceError, errors.InternalError, *broken, OSError) as error:
        advice = f"is {server()} reachable from here? see also status.modal.com"
        raise EnvironmentUnavailable(f"{what}: Modal does not answer ({short(error)}); {advice}") from error
    except (errors.Error, asyncio.CancelledError, concurrent.futures.CancelledError) as error:
        raise EnvironmentUnavailable(f"{what}: {short(error)}") from error


def short(error: BaseException) -> str:
    """Put what the SDK says on one line."""
    return " ".join(str(error).split())[:300] or type(error).__name__


class _Shared:
    """The connection to Modal, for all environments of this program; it ends with the last of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._client: Any = None
        self._users = 0

    def take(self, limit: float) -> Any:
        with self._lock:
            if self._client is None:
                self._client = call(_connect(), limit, "connecting")
            self._users += 1
            return self._client

    def give_back(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            client, self._client = self._client, None
        # What is under way then is given up; the connection goes in any case.
        with suppress(EnvironmentUnavailable):
            call(client.close.aio(), _CLOSE_LIMIT, "closing")


async def _connect() -> Any:
    """Make a client of our own: the program may use the SDK itself, and would miss its own when we close that."""
    modal = sdk()
    from modal.config import config

    token, secret = config.get("token_id"), config.get("token_secret")
    if token and secret:
        client = await modal.Client.from_credentials.aio(token, secret)
    else:
        client = await modal.Client.from_env.aio()
    try:
        await client.hello.aio()
    except BaseException:
        await client.close.aio()
        raise
    return client


_shared = _Shared()
take = _shared.take
give_back = _shared.give_back
