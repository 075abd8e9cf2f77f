"""A host of MCP servers for each test, and a server that listens."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_hosting import Host, Listening


@pytest.fixture(scope="session", autouse=True)
def the_sdk() -> None:
    """Load the SDK once, and keep it out of the collections that look for leaks: it has more objects than all else."""
    import mcp  # noqa: F401

    gc.collect()
    gc.freeze()


@pytest.fixture
def host(tmp_path: Path, nothing_leaks: None) -> Iterator[Host]:
    del nothing_leaks  # looks for leaks after the servers were closed
    made = Host(tmp_path / "results")
    yield made
    made.servers.close()


@pytest.fixture
def listening(nothing_leaks: None) -> Iterator[Listening]:
    del nothing_leaks
    made = Listening()
    yield made
    made.kill()
