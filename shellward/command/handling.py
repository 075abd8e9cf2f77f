"""The shape of a handler: a function that follows one kind of command with the tracer's help."""

from __future__ import annotations

from collections.abc import Callable

from shellward.command.invocation import Invocation
from shellward.command.trace import Tracer

Handler = Callable[[Tracer, Invocation, bool], "str | None"]
"""Takes the tracer, the command and whether its output matters; returns the output, or None for the general rules."""
