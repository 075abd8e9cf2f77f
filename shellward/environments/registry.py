"""Which kinds of environment there are. A backend's module is imported when it is used, its SDK inside it."""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from shellward.core.errors import ConfigError
from shellward.core.interrupts import held, interruptible
from shellward.core.types import EnvironmentInfo
from shellward.environments.base import Diagnosis
from shellward.environments.foreign import foreign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shellward.environments.base import Backend, BackendFactory, OnStep
    from shellward.environments.environment import Environment

BACKENDS = {
    "local": "shellward.environments.local",
    "docker": "shellward.environments.docker",
    "ssh": "shellward.environments.ssh",
    "singularity": "shellward.environments.singularity",
    "modal": "shellward.environments.modal",
    "daytona": "shellward.environments.daytona",
}
"""Name to module. A new backend is one file, one line here, one extra, one test line, one page."""


def backend(kind: str) -> "BackendFactory":
    """Import a backend's module.

    Raises:
        ConfigError: there is no such kind.
    """
    if kind not in BACKENDS:
        raise ConfigError(f"environment: unknown kind {kind!r}; known are {', '.join(BACKENDS)}")
    module: BackendFactory = import_module(BACKENDS[kind])
    return module


def create(kind: str, *, progress: "OnStep | None" = None, **config: object) -> "Environment":
    """Make an environment without a gate: the engine room, for trusted code. ``shellward.Terminal`` is the guarded one.

    Commands in it run unasked, unrecorded and whatever they are.

    Args:
        kind: ``local``, ``docker``, ...
        progress: is called with a line of text for each step, while an image is pulled or built.
        config: the backend's settings; see its ``...Config``.

    Raises:
        ConfigError: an unknown kind or key, or a wrong value.
        MissingDependency: the backend's SDK is not installed.
        EnvironmentUnavailable: no daemon, no image, no permission; says what to do.
    """
    from shellward.environments.environment import of

    shell = config.get("shell", "auto")
    with held():
        return of(create_backend(kind, config, progress), str(shell))


def create_backend(kind: str, config: "Mapping[str, object]", progress: "OnStep | None" = None) -> "Backend":
    """Make a sandbox; see ``create``."""
    module = backend(kind)
    with foreign(kind, "an environment could not be made"):
        if kind == "local":  # it waits for nothing
            return module.create(config, progress)
        with interruptible():
            return module.create(config, progress)


def attach(handle: str, *, shell: str | None = None) -> "Environment":
    """Find a living environment by the handle that another process printed, with its files and its state.

    Args:
        handle: which.
        shell: the shell of this client's sessions; None: the one that it was made with.

    Raises:
        EnvironmentUnavailable: it is not there any more.
        ConfigError: that is no handle.
    """
    from shellward.environments.environment import of

    with held():
        found = attach_backend(handle)
        return of(found, shell or shell_of(found), attached=True)


def shell_of(found: "Backend") -> str:
    """Return the shell that a sandbox was made with, as far as its backend knows."""
    from shellward.environments.base import Remembering

    return found.shell if isinstance(found, Remembering) else "auto"


def attach_backend(handle: str) -> "Backend":
    """Find the sandbox of a handle; see ``attach``."""
    kind, _, rest = handle.partition(":")
    if not rest:
        raise ConfigError(f"handle: {handle!r} is not of the form kind:id")
    module = backend(kind)
    with foreign(kind, f"{handle} could not be reached"), interruptible():
        return module.attach(handle)


def remove(handle: str) -> bool:
    """End an environment with all that is in it, in whatever state it is; False when there is none.

    Raises:
        EnvironmentUnavailable: it cannot be reached, or was not made by Shellward.
        Unsupported: environments of this kind end with the program that made them.
        ConfigError: that is no handle.
    """
    kind, _, rest = handle.partition(":")
    if not rest:
        raise ConfigError(f"handle: {handle!r} is not of the form kind:id")
    module = backend(kind)
    with foreign(kind, f"{handle} could not be removed"):
        return module.remove(handle)


def engine_of(handle: str) -> str:
    """Return the id of the engine that would be asked for a handle now; empty: the handle itself says who keeps it.

    Raises:
        EnvironmentUnavailable: it does not answer.
    """
    from shellward.environments.base import Locating

    kind = handle.partition(":")[0]
    factory = backend(kind)
    with foreign(kind, "the engine could not be asked"):
        return factory.engine(handle) if isinstance(factory, Locating) else ""


def forget(handle: str) -> bool:
    """Drop an environment from the list that this machine keeps, without reaching it; False when it is not there.

    Raises:
        Unsupported: environments of this kind are listed by their engine.
    """
    from shellward.core.errors import Unsupported
    from shellward.environments.base import Forgetting

    kind = handle.partition(":")[0]
    factory = backend(kind)
    if not isinstance(factory, Forgetting):
        raise Unsupported("be forgotten", kind, "whoever keeps them lists them; remove them there")
    return factory.forget(handle)


def check(kind: str, config: "Mapping[str, object]") -> None:
    """Check the settings of an environment of ours as ``create`` does; nothing is made, and no SDK is needed.

    Raises:
        ConfigError: there is no such kind, a key is unknown, or a value wrong.
    """
    from shellward.environments.config import parse_config

    backend(kind)
    module = import_module(BACKENDS[kind] if kind == "local" else f"{BACKENDS[kind]}.config")
    settings = parse_config(getattr(module, f"{kind.capitalize()}Config"), config, kind)
    if (more := getattr(module, "check", None)) is not None:
        more(settings)


def _listed(kind: str) -> list[EnvironmentInfo]:
    module = backend(kind)
    with foreign(kind, "environments could not be listed"):
        return list(module.list_environments())


def list_environments(kind: str | None = None) -> list[EnvironmentInfo]:
    """List the environments of every client, of one kind or of all that work here.

    Raises:
        EnvironmentUnavailable: ``kind`` was named and does not work here.
    """
    if kind is not None:
        return _listed(kind)
    found: list[EnvironmentInfo] = []
    for each in BACKENDS:
        if backend(each).doctor().works:
            found += _listed(each)
    return found


def doctor() -> Sequence[Diagnosis]:
    """Say of every backend whether it works here."""
    return [backend(kind).doctor() for kind in BACKENDS]
