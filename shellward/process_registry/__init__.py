"""Processes that outlive their client: remembered, listed, waited for, watched and ended, by whatever program."""

from shellward.process_registry.records import Entry, Notice
from shellward.process_registry.registry import ProcessRegistry

__all__ = ["Entry", "Notice", "ProcessRegistry"]
