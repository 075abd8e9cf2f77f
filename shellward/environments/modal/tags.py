"""What a sandbox's tags say of it, so that others can find it.

Modal takes letters, digits and ``-._``, 63 at the most. Nothing of this is trusted for more than finding: a sandbox
cannot change its own tags, others of the workspace can.
"""

import re
import time
from typing import Final

from shellward.core.errors import EnvironmentUnavailable
from shellward.core.limits import LEASE
from shellward.environments.modal.config import TAG, ModalConfig
from shellward.environments.owner import owner

_LONGEST: Final = 63
_PLAIN: Final = re.compile(rb"[^A-Za-z0-9.-]")


def tags_of(settings: ModalConfig, name: str) -> dict[str, str]:
    """Make the tags of a sandbox. Ours come last, so that no label is taken for them."""
    return {
        **settings.labels,
        TAG: name,
        **_packed(f"{TAG}-owner", owner()),
        **_packed(f"{TAG}-image", settings.image),
        f"{TAG}-lease": f"{settings.lease:g}",
        f"{TAG}-timeout": f"{settings.timeout:g}",
        f"{TAG}-created": str(int(time.time())),
        **_packed(f"{TAG}-ports", ".".join(map(str, settings.ports))),
        **_packed(f"{TAG}-tls-ports", ".".join(map(str, settings.tls_ports))),
    }


def name_in(tags: dict[str, str], handle: str) -> str:
    """Return the name of an environment.

    Raises:
        EnvironmentUnavailable: it is not ours.
    """
    name = tags.get(TAG, "")
    if not name.isalnum():
        raise EnvironmentUnavailable(f"{handle} was not made by Shellward")
    return name


def settings_in(tags: dict[str, str]) -> ModalConfig:
    """Return what the tags say of the settings: those that whoever attaches needs."""
    return ModalConfig(
        image=text_in(tags, "image"),
        lease=float(tags.get(f"{TAG}-lease", LEASE)),
        timeout=float(tags.get(f"{TAG}-timeout", 1)),
        ports=_numbers_in(tags, "ports"),
        tls_ports=_numbers_in(tags, "tls-ports"),
    )


def text_in(tags: dict[str, str], what: str) -> str:
    """Put a text together again: ``owner`` or ``image``."""
    key = f"{TAG}-{what}"
    parts: list[str] = []
    while (name := f"{key}.{len(parts)}" if parts else key) in tags:
        parts.append(tags[name])
    found = re.sub(rb"_([0-9a-f]{2})", lambda match: bytes([int(match[1], 16)]), "".join(parts).encode())
    return found.decode("utf-8", "replace")


def _numbers_in(tags: dict[str, str], what: str) -> list[int]:
    return [int(each) for each in text_in(tags, what).split(".") if each.isdecimal()]


def _packed(key: str, value: str) -> dict[str, str]:
    """Write a text in the characters that are allowed, over as many tags as it takes; none when it is empty."""
    plain = _PLAIN.sub(lambda match: b"_%02x" % match[0][0], value.encode()).decode()
    parts = [plain[place : place + _LONGEST] for place in range(0, len(plain), _LONGEST)]
    return {f"{key}.{number}" if number else key: part for number, part in enumerate(parts)}
