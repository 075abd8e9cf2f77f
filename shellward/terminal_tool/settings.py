"""Which environment a task gets when nobody registered one: what the settings say, as an environment's own keys."""

from typing import TYPE_CHECKING

from shellward.core.errors import ConfigError

if TYPE_CHECKING:
    from shellward.config.schema import TerminalSection

_MEBIBYTE = 1 << 20
_PARTS = {2: False, 3: True}
"""Of a volume: how many there are, and whether the last one says how it may be used."""


def place_of(settings: "TerminalSection") -> tuple[str, dict[str, object]]:
    """Return the kind of environment and its configuration.

    Raises:
        ConfigError: a volume is none, or the kind needs something that is not set; names the key.
    """
    config: dict[str, object] = {"cwd": settings.cwd or None}
    if settings.env == "ssh":
        ssh = settings.ssh
        if not ssh.host:
            raise ConfigError("terminal.ssh.host (TERMINAL_SSH_HOST): needs a host for ssh environments")
        config |= {"host": ssh.host, "user": ssh.user or None, "port": ssh.port, "identity_file": ssh.key or None}
    elif settings.env == "docker":
        config |= {"image": settings.docker_image, "mounts": [_mount(each) for each in settings.docker_volumes]}
    elif settings.env == "singularity":
        config["image"] = settings.singularity_image
    if settings.env in {"docker", "singularity"}:
        config |= {"cpus": settings.cpus, "memory": settings.memory and settings.memory * _MEBIBYTE}
    return settings.env, {key: value for key, value in config.items() if value not in (None, "", [])}


def _mount(text: str) -> dict[str, object]:
    parts = text.split(":")
    if len(parts) not in _PARTS or not all(parts) or (_PARTS[len(parts)] and parts[2] not in {"ro", "rw"}):
        raise ConfigError(f"terminal.docker_volumes: /here:/there or /here:/there:ro, not {text!r}")
    return {"source": parts[0], "target": parts[1], "read_only": parts[2:] == ["ro"]}
