"""Figures that bound what one call may use. Each is a default; callers override where the API says so."""

from typing import Final

MAX_OUTPUT: Final = 50_000
"""Characters of output returned per stream."""
HEAD_SHARE: Final = 0.4
"""Part of MAX_OUTPUT kept from the beginning; the rest is kept from the end."""
KEPT_OUTPUT: Final = 16 * 2**20
"""Bytes of a truncated command's output kept in a file when nobody asked for all of it."""
KEPT_OUTPUTS: Final = 100
"""Files of truncated outputs that an environment, or a task of an agent, keeps: the newest."""
KEPT_OUTPUTS_BYTES: Final = 1 << 30
"""Bytes of them; the newest is kept however large it is."""
KILL_GRACE: Final = 0.25
"""Seconds between asking processes to end (TERM) and ending them (KILL)."""
LEASE: Final = 120.0
"""Seconds an environment that is not the user's own machine lives on without any client."""
PROCESS_TTL: Final = 86_400.0
"""Seconds for which a background process is kept without any client, and keeps its sandbox alive."""
INLINE_BYTES: Final = 256 * 2**10
"""Bytes of standard input or of a file that travel inside the command itself; more gets its own channel."""
