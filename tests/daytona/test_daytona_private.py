"""The private parts of Daytona's SDK that are used: a test fails when a release changes one (docs/daytona.md)."""

import inspect
from typing import Any

import pytest

from shellward.environments.daytona import client
from shellward.environments.daytona.config import DaytonaConfig
from shellward.environments.environment import Environment
from shellward.testing.services.launch import Launched

CHANGED = {"id", "cols", "rows"}


@pytest.fixture
def made() -> Any:
    pytest.importorskip("daytona")
    found = client.Client(DaytonaConfig(api_key="any", api_url="http://127.0.0.1:9/api"))
    yield found
    found.close()


def test_it_polls_and_has_no_socket_for_events(made: Any) -> None:
    import daytona

    assert "use_deprecated_polling" in daytona.DaytonaConfig.model_fields
    assert made.api._event_dispatcher is None


def test_each_http_call_goes_through_the_wrapped_request(made: Any) -> None:
    """``rest_client.request`` of both generated clients, with ``_request_timeout``, and the pool manager below."""
    parts = [made.api._api_client.rest_client, made.api._toolbox_api_client.rest_client]
    assert list(made._rest()) == parts
    for each, usual in zip(parts, ["Retry", "RemoteDisconnectedRetry"], strict=True):
        assert each.request.func is client._in_time
        assert "_request_timeout" in inspect.signature(type(each).request).parameters
        retries = each.pool_manager.connection_pool_kw["retries"]
        assert [kind.__name__ for kind in type(retries).__mro__[:2]] == ["Patient", usual]
        assert retries.total == 3
    with pytest.raises(Exception, match="Failed to get sandbox") as caught:
        made.api.get("any")
    assert client.unsent(caught.value)


def test_its_http_client_can_be_closed(made: Any) -> None:
    http = made.api._http_client
    made.close()
    assert http.is_closed


def test_a_terminal_is_asked_for_in_the_words_of_the_sdk(service: Launched, env: Environment) -> None:
    """``socket.Wire`` speaks the websocket itself: what the SDK sends has to be what it sends."""
    backend: Any = env.backend
    service.call("DELETE", "calls")
    env.run("true").check()
    handle = backend.sandbox.process.create_pty_session("by-the-sdk", envs={"A": "1"})
    handle.kill()
    handle.disconnect()
    asked = service.call("GET", "calls")["terminals"]
    ours, theirs = asked[0], asked[-1]
    assert theirs["query"]["id"] == "by-the-sdk"
    assert set(ours["query"]) == set(theirs["query"]) == CHANGED
    words = [[word.partition("~")[0] for word in _protocols(each)] for each in (ours, theirs)]
    assert words[0] == words[1] == ["X-Daytona-Pty-Exit-Control", "X-Daytona-Pty-Envs"]
    assert _header(ours, "authorization") == _header(theirs, "authorization")
    assert _header(ours, "x-daytona-source") == _header(theirs, "x-daytona-source")


def _header(asked: dict[str, Any], name: str) -> str:
    return str({key.lower(): value for key, value in asked["headers"].items()}.get(name, ""))


def _protocols(asked: dict[str, Any]) -> list[str]:
    return [word.strip() for word in _header(asked, "sec-websocket-protocol").split(",")]
