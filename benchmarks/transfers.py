"""Rows about a cloud that moves many bytes: what they take of a client's memory, and that none is lost."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from figures import MB, Bar, Measured, Row, Settings, quietly

_CLIENT: Final = Path(__file__).with_name("transfer_client.py")
_WORDS: Final = {"stdout": "standard output", "upload": "an upload", "download": "a download"}


def moved(settings: Settings, kind: str, direction: str, image: str = "") -> Measured:
    """Move 100 MB in a client of its own, at the service that the environment names.

    Args:
        settings: of the run.
        kind: of the environment.
        direction: ``stdout``, ``upload`` or ``download``.
        image: of the environment; empty: its default.

    Raises:
        RuntimeError: something was lost or changed.
    """
    size = settings.of(100 * MB, 4 * MB)
    words = [sys.executable, str(_CLIENT), kind, direction, str(size), *([image] if image else [])]
    before, peak, seconds = json.loads(quietly(words))
    note = f"{size // MB} MB, none lost, {size / MB / seconds:.0f} MB/s"
    return Measured((peak - before) / MB, before / MB, 1, note)


def rows(kind: str, measure: Callable[..., Measured]) -> tuple[Row, ...]:
    """Make the rows of a kind; ``measure`` takes the settings and ``direction``."""
    return tuple(
        Row(
            f"{kind}-{direction}",
            f"{kind}, memory that 100 MB of {what} take",
            "resident before",
            "MB",
            Bar("<", 64, "figure"),
            partial(measure, direction=direction),
        )
        for direction, what in _WORDS.items()
    )
