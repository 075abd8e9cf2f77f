"""SSH: another machine, reached through paramiko. Nothing is installed there; a POSIX ``sh`` is enough."""

from shellward.environments.ssh.backend import attach, create, doctor, forget, list_environments, remove

__all__ = ["attach", "create", "doctor", "forget", "list_environments", "remove"]
