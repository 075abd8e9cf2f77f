"""The way to a Docker engine: found as the docker command finds it, its errors turned into ours, its images."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from shellward.core.errors import ConfigError, EnvironmentUnavailable, MissingDependency
from shellward.environments.base import OnStep
from shellward.environments.machine import no_descriptor, too_many_files

_POOL: Final = {"num_pools": 512, "max_pool_size": 128}
_ENGINE: Final = "http+docker://engine"
_LAST_WORDS: Final = 500
_ANSWERS: Final = 10.0
_WITHOUT_REGISTRY: Final = (
    "name an image that is there (--image; docker images lists them), or make shellward/sandbox with images/build from "
    "Shellward's repository, which needs no registry; with pull=never none is asked"
)


def sdk() -> Any:
    """Import the docker SDK.

    Raises:
        MissingDependency: it is not installed.
    """
    try:
        import docker
    except ImportError as error:
        raise MissingDependency("the docker SDK", "docker") from error
    return docker


def connect(context: str | None = None) -> Any:
    """Connect to the engine that the docker command line would use.

    Raises:
        EnvironmentUnavailable: nobody answers there, or not to us.
        ConfigError: there is no such context.
    """
    docker = sdk()
    import requests

    address = os.environ.get("DOCKER_HOST") or "the default socket"
    try:
        if context in (None, "default") and os.environ.get("DOCKER_HOST"):
            return _client(**docker.utils.kwargs_from_env())
        found = _context(context or os.environ.get("DOCKER_CONTEXT"))
        address = found.Host or address
        return _client(base_url=found.Host, tls=found.TLSConfig or False)
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        raise _no_engine(error, address) from error


def _context(name: str | None) -> Any:
    docker = sdk()
    name = name or docker.context.config.get_current_context_name()
    try:
        found = docker.context.ContextAPI.get_context(name)
    except Exception as error:  # it raises no narrower one for a file that is damaged
        raise ConfigError(f"docker: context: {name!r} cannot be read: {short(str(error))}") from error
    if found is not None:
        return found
    why = "see: docker context ls"
    if docker.utils.config.find_config_file() is None:  # the docker command would find it all the same
        why = "the docker SDK looks for contexts beside docker's config.json only, and there is none; {} in it will do"
    raise ConfigError(f"docker: context: there is no context {name!r}; {why}")


def _client(**where: Any) -> Any:
    """Make a client that speaks the engine's own version of the API.

    The SDK's "auto" asks for /version, which has the engine run other programs and takes ten times as long as the
    ping whose header says it, too.
    """
    docker = sdk()
    _see_socket(str(where.get("base_url") or docker.constants.DEFAULT_UNIX_SOCKET))
    usual = docker.constants.DEFAULT_DOCKER_API_VERSION
    client = _of_one_pool(docker.DockerClient(version=usual, **where, **_POOL))
    try:
        spoken = client.api.get(f"{client.api.base_url}/_ping").headers.get("Api-Version", "auto")
    except BaseException:
        client.close()
        raise
    if spoken == usual:
        return client
    client.close()
    return _of_one_pool(docker.DockerClient(version=spoken, **where, **_POOL))


def _of_one_pool(client: Any) -> Any:
    """Have a client keep its connections to a socket in one pool.

    The SDK (7.2) keeps one per URL, and each exec has URLs of its own: the connection over which its exit status was
    asked for would stay open, and serve nobody, until 512 pools are there.
    """
    from docker.transport import UnixHTTPAdapter

    class Adapter(UnixHTTPAdapter):  # type: ignore[misc]  # the SDK has no types
        def get_connection(self, url: str, proxies: Any = None) -> Any:
            del url
            return super().get_connection(_ENGINE, proxies)

    for prefix, adapter in client.api.adapters.items():
        if type(adapter) is UnixHTTPAdapter:
            one = Adapter(
                f"http+unix://{adapter.socket_path}",
                adapter.timeout,
                pool_connections=_POOL["num_pools"],
                max_pool_size=adapter.max_pool_size,
            )
            client.api.mount(prefix, one)
            adapter.close()
            break
    return client


def _see_socket(url: str) -> None:
    """See that somebody answers at a socket before the SDK tries: where nobody does, that forgets a descriptor.

    Raises:
        OSError: of connect(2).
    """
    scheme, _, path = url.partition("://")
    if scheme in ("unix", "http+unix"):
        with socket.socket(socket.AF_UNIX) as trial:
            trial.settimeout(_ANSWERS)
            trial.connect(path)


def _no_engine(error: BaseException, address: str) -> EnvironmentUnavailable:
    if too_many_files(error):
        return EnvironmentUnavailable(no_descriptor(f"reach the Docker engine at {address}"))
    text = str(error)
    if "Permission denied" in text or "PermissionError" in text:
        return EnvironmentUnavailable(
            f"no permission on the Docker engine at {address}; "
            "add yourself to the group 'docker', or use a rootless engine",
        )
    return EnvironmentUnavailable(
        f"no Docker engine answers at {address}; start it, or set DOCKER_HOST or a docker context ({short(text)})",
    )


def short(text: str) -> str:
    """Put what an engine says on one line."""
    return " ".join(text.split())[:200]


@contextmanager
def mapped(what: str) -> Iterator[None]:
    """Turn what the SDK raises into our errors, with the cause kept."""
    docker = sdk()
    import requests

    try:
        yield
    except docker.errors.ImageNotFound as error:
        raise EnvironmentUnavailable(
            f"{what}: there is no such image: {short(error.explanation or str(error))}"
        ) from error
    except docker.errors.NotFound as error:
        why = f"{what}: not there: {short(error.explanation or str(error))}"
        raise EnvironmentUnavailable(why, gone=True) from error
    except docker.errors.APIError as error:
        raise EnvironmentUnavailable(f"{what}: {short(error.explanation or str(error))}") from error
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        if too_many_files(error):
            raise EnvironmentUnavailable(f"{what}: {no_descriptor('reach the Docker engine')}") from error
        raise EnvironmentUnavailable(f"{what}: the Docker engine does not answer ({short(str(error))})") from error


def pull(client: Any, image: str, progress: OnStep | None = None) -> None:
    """Pull an image; ``progress`` is called with a line for each step.

    Raises:
        EnvironmentUnavailable: there is no such image, or no way to the registry; says what needs none.
    """
    try:
        _pull(client, image, progress)
    except EnvironmentUnavailable as error:
        raise EnvironmentUnavailable(f"{error}; {_WITHOUT_REGISTRY}") from error.__cause__


def _pull(client: Any, image: str, progress: OnStep | None) -> None:
    repository, _, tag = image.rpartition(":") if ":" in image.rpartition("/")[2] else (image, "", "latest")
    what = f"image {image!r} is not there and cannot be pulled"
    with mapped(what):
        for event in client.api.pull(repository, tag=tag, stream=True, decode=True):
            if "error" in event:
                raise EnvironmentUnavailable(f"{what}: {short(event['error'])}")
            if progress is not None:
                progress(" ".join(str(event.get(key, "")) for key in ("id", "status", "progress")).strip())


def build(client: Any, path: str, image: str, progress: OnStep | None = None) -> None:
    """Build ``image`` from a directory with a Dockerfile; ``progress`` is called with a line for each step.

    Raises:
        EnvironmentUnavailable: the build failed; the message ends with what it printed last.
    """
    docker = sdk()
    import requests

    printed = ""
    try:
        for event in client.api.build(path=path, tag=image, rm=True, decode=True):
            printed = (printed + str(event.get("stream", "")))[-_LAST_WORDS:]
            if "error" in event:
                raise EnvironmentUnavailable(f"build of {path!r} failed: {short(str(event['error']))}; {printed}")
            if progress is not None and (line := str(event.get("stream") or event.get("status") or "").strip()):
                progress(line)
    except (docker.errors.DockerException, requests.RequestException, TypeError, OSError) as error:
        raise EnvironmentUnavailable(f"build of {path!r} failed: {error}") from error
