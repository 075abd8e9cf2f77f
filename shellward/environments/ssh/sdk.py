"""The library below: paramiko, found when it is used."""

from typing import Any

from shellward.core.errors import MissingDependency


def sdk() -> Any:
    """Import paramiko.

    Raises:
        MissingDependency: it is not installed.
    """
    try:
        import paramiko
    except ImportError as error:
        raise MissingDependency("paramiko", "ssh") from error
    return paramiko
