"""What the loopback Modal knows of images: their layers, and what their Dockerfiles begin from.

What a Dockerfile adds to its base (``RUN``, ``COPY``) is recorded and not carried out: there is no network here.
"""

import re
from dataclasses import dataclass, field
from typing import Final

STAND_INS: Final = {"python": "shellward/sandbox:latest", "debian": "shellward/sandbox:latest"}
"""Which image is taken for those that Modal's own are made from, by name without a tag."""


@dataclass(frozen=True, kw_only=True)
class Image:
    """What sandboxes begin with.

    Attributes:
        id: as the protocol names it.
        layers: directories, the topmost first.
        env: variables that the image sets.
        workdir: where its commands begin.
        commands: the Dockerfile it was asked for with.
    """

    id: str
    layers: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    commands: tuple[str, ...] = ()


def base_of(commands: list[str]) -> str:
    """Say which image a Dockerfile begins from; empty: it names none."""
    for line in commands:
        found = re.match(r"\s*FROM\s+(?:--\S+\s+)*(\S+)", line, re.IGNORECASE)
        if found:
            return found[1]
    return ""


def stand_in(name: str) -> str:
    """Return the image that is taken for another one: itself, but for Modal's own."""
    return STAND_INS.get(name.partition("@")[0].partition(":")[0].rpartition("/")[2], name)
