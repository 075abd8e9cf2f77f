"""Where Shellward's files live. Only names: nothing is made or read here.

``SHELLWARD_HOME`` puts everything into one directory; otherwise the platform's user directories are used
(XDG Base Directory Specification on Linux).
"""

import os
from pathlib import Path
from typing import Final

PROJECT_FILE: Final = ".shellward.yaml"


INSIDE: Final = "SHELLWARD_INSIDE"
"""Variable of all that local environments start: who has it was not started by a person."""


def home() -> Path | None:
    """Return the directory of ``SHELLWARD_HOME``, or None when it is not set."""
    value = os.environ.get("SHELLWARD_HOME")
    return Path(value).expanduser().absolute() if value else None


def config_dir() -> Path:
    """Return the directory that holds ``config.yaml``."""
    if (root := home()) is not None:
        return root
    from platformdirs import user_config_path

    return user_config_path("shellward")


def state_dir() -> Path:
    """Return the directory for what must outlive a run: audit log, approval queue, databases."""
    if (root := home()) is not None:
        return root
    from platformdirs import user_state_path

    return user_state_path("shellward")


def cache_dir() -> Path:
    """Return the directory for what can be made again: images that were built."""
    if (root := home()) is not None:
        return root / "cache"
    from platformdirs import user_cache_path

    return user_cache_path("shellward")


def config_file() -> Path:
    """Return the user's settings file; it need not exist."""
    return config_dir() / "config.yaml"


def audit_file() -> Path:
    """Return the audit log's default place."""
    return state_dir() / "audit" / "audit.jsonl"


def approvals_dir() -> Path:
    """Return the directory of the approval queue (its database and its FIFOs)."""
    return state_dir() / "approvals"


def accepted_dir() -> Path:
    """Return the directory that says which approval settings were accepted, a file for each settings file."""
    return state_dir() / "accepted"


def project_file(start: Path) -> Path | None:
    """Find the nearest ``.shellward.yaml`` in ``start`` or a directory above it."""
    start = start.absolute()
    for directory in (start, *start.parents):
        candidate = directory / PROJECT_FILE
        if candidate.is_file():
            return candidate
    return None
