"""The private parts of Modal's SDK that are used: a test fails when a release changes one (docs/modal.md)."""

import asyncio
import dataclasses
import inspect
from typing import Any

import pytest

pytest.importorskip("modal")


def test_streams_of_a_sandbox_have_the_window_that_was_set() -> None:
    """``create_channel_config``, a dataclass with ``http2_stream_window_size``, called by that name."""
    from modal.sandbox import _task_command_router_client

    from shellward.environments.modal.sdk import sdk

    sdk()
    router: Any = _task_command_router_client
    assert "create_channel_config(" in inspect.getsource(router)
    assert router.create_channel_config.narrowed
    config = router.create_channel_config()
    assert dataclasses.is_dataclass(config)
    assert config.http2_stream_window_size == 2 << 20  # type: ignore[attr-defined]


def test_work_on_the_sdks_loop_calls_the_sdk_without_a_detour() -> None:
    """``synchronizer._get_loop``: the loop on which ``.aio`` methods run."""
    import modal

    from shellward.environments.modal.sdk import loop

    async def where() -> object:
        return asyncio.get_running_loop()

    assert isinstance(loop(), asyncio.AbstractEventLoop)
    assert asyncio.run_coroutine_threadsafe(where(), loop()).result(20) is loop()
    assert hasattr(modal.Sandbox.create, "aio")


def test_settings_are_found_where_the_sdk_keeps_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """``modal.config.config``: the address, and the token."""
    from modal.config import config

    from shellward.environments.modal.sdk import server

    monkeypatch.setenv("MODAL_SERVER_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("MODAL_TOKEN_ID", "ak-any")
    assert server() == "http://127.0.0.1:1"
    assert config.get("token_id") == "ak-any"
