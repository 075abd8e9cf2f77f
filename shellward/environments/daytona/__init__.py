"""Daytona: a cloud sandbox per environment, through the ``daytona`` SDK (``daytona-sdk`` is its deprecated name)."""

from shellward.environments.daytona.factory import attach, create, doctor, list_environments, remove
from shellward.environments.daytona.lifecycle import archive, start, stop

__all__ = ["archive", "attach", "create", "doctor", "list_environments", "remove", "start", "stop"]
