"""Docker: a hardened container per environment, through the docker SDK. Podman's socket works the same way."""

from shellward.environments.docker.backend import attach, create, doctor, engine, list_environments, remove

__all__ = ["attach", "create", "doctor", "engine", "list_environments", "remove"]
