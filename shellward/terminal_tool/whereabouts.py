"""Which environment a command would run in, and what can be touched from there: from its real configuration."""

from typing import TYPE_CHECKING

import msgspec

from shellward.approval.reach import Reach
from shellward.approval.surroundings import reach_of

if TYPE_CHECKING:
    from shellward.environments.base import Backend
    from shellward.environments.environment import Environment


def reach_of_environment(environment: "Environment", *, lasting: bool) -> Reach:
    """Work out what an environment can touch, from the configuration that it was really made with.

    Args:
        environment: which.
        lasting: it outlives this program, so what happens inside is not gone with it.
    """
    config = getattr(environment.backend, "config", None)
    if not isinstance(config, msgspec.Struct):
        return Reach()
    reach = reach_of(environment.kind, msgspec.structs.asdict(config))
    return Reach.of({*reach.powers, "persistent"}) if lasting else reach


def target_of(backend: "Backend") -> str:
    """Say which environment of its kind this is: an approval for one image, or one host, is none for another."""
    config = getattr(backend, "config", None)
    given = {name: getattr(config, name, None) for name in ("image", "name", "context", "user", "host", "port")}
    if given["host"]:
        user = f"{given['user']}@" if given["user"] else ""
        port = f":{given['port']}" if given["port"] else ""
        return f"{user}{given['host']}{port}"
    place = [f"{name}={given[name]}" for name in ("name", "context") if given[name]]
    return " ".join([str(given["image"] or ""), *place]).strip()
