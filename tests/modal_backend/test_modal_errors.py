"""What the SDK raises becomes an error of ours: with the cause, and with what to do."""

import socket
import subprocess
import sys
import time

import pytest

from shellward import environments
from shellward.core.errors import ConfigError, EnvironmentUnavailable, install_line
from shellward.testing.services.modal import ModalService

from .conftest import IMAGE, Create

pytestmark = pytest.mark.docker  # whose images the loopback service unpacks


def test_without_the_sdk_the_install_line_is_said() -> None:
    code = (
        "import sys; sys.modules['modal'] = None\n"
        "from shellward import environments\n"
        "from shellward.core.errors import MissingDependency\n"
        "try: environments.create('modal')\n"
        "except MissingDependency as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert install_line("modal") in done.stdout, done


def test_the_sdk_is_imported_only_when_used() -> None:
    code = (
        "import sys, shellward.environments.modal as m; assert not m.doctor().works\n"
        "from shellward.core.errors import ConfigError\n"
        "print([name for name in ('modal', 'grpclib', 'google.protobuf') if name in sys.modules])"
    )
    variables = {"PATH": "/usr/bin", "MODAL_CONFIG_PATH": "/no/such", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=variables)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("rpc", "fault", "words"),
    [
        ("ClientHello", "unauthenticated", ("does not accept the token", "modal token new")),
        ("AppGetOrCreate", "expired", ("the token has expired", "MODAL_TOKEN_ID")),
        ("SandboxCreateV2", "quota", ("a limit of the workspace", "limit of sandboxes", "shellward env ls")),
        ("SandboxCreateV2", "forbidden", ("does not permit", "you have no access")),
        ("AppGetOrCreate", "forbidden", ("does not permit", "workspace")),
    ],
)
def test_a_refusal_says_what_to_do(
    service: ModalService, create: Create, rpc: str, fault: str, words: tuple[str, ...]
) -> None:
    service.fault(rpc, fault, times=100)
    with pytest.raises(EnvironmentUnavailable) as caught:
        create()
    for word in words:
        assert word in str(caught.value)
    assert caught.value.__cause__ is not None
    assert service.sandboxes() == []


def test_no_token_is_said_at_once(service: ModalService, create: Create, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODAL_TOKEN_ID", "")
    monkeypatch.setenv("MODAL_TOKEN_SECRET", "")
    with pytest.raises(EnvironmentUnavailable, match="there is no token for Modal; make one with `modal token new`"):
        create()
    assert service.calls() == []


def test_nobody_at_the_address(service: ModalService, create: Create, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODAL_SERVER_URL", "http://127.0.0.1:9")
    before = time.monotonic()
    with pytest.raises(EnvironmentUnavailable, match=r"http://127\.0\.0\.1:9"):
        create(connect_timeout=2)
    assert time.monotonic() - before < 8  # the SDK alone takes a minute


def test_a_server_that_never_answers(service: ModalService, create: Create, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("MODAL_SERVER_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(EnvironmentUnavailable, match="no answer from Modal for 2 s"):
            create(connect_timeout=2)


def test_a_name_that_is_taken(create: Create) -> None:
    with create(name="taken"), pytest.raises(EnvironmentUnavailable, match="already exists"):
        create(name="taken")


def test_an_image_that_cannot_be_made(create: Create) -> None:
    with pytest.raises(EnvironmentUnavailable, match=r"the image cannot be made: .*no-such-image"):
        create(image="shellward/no-such-image:none")


def test_a_snapshot_that_is_not_there(create: Create) -> None:
    env = create()
    env.run("X=kept").check()
    for name in ("im-0123456789abcdef0123", "nonsense"):
        with pytest.raises(EnvironmentUnavailable, match=name):
            env.restore(name)
    assert env.run("echo $X").stdout == "kept\n"  # nothing had ended


def test_what_is_not_ours_is_left_alone(service: ModalService) -> None:
    import modal

    app = modal.App.lookup("shellward", create_if_missing=True)
    foreign = modal.Sandbox.create("sleep", "60", app=app, image=modal.Image.from_registry(IMAGE))
    try:
        handle = f"modal:{foreign.object_id}"
        for call in (environments.attach, environments.remove):
            with pytest.raises(EnvironmentUnavailable, match="not made by Shellward"):
                call(handle)
        assert handle not in [each.handle for each in environments.list_environments("modal")]
        assert foreign.poll() is None
    finally:
        foreign.terminate()
        modal.Client.from_env().close()


def test_labels_cannot_pretend_to_be_ours(create: Create) -> None:
    with pytest.raises(ConfigError, match="labels"):
        create(labels={"shellward-owner": "somebody"})


def test_what_is_used_of_the_sdk_without_a_public_name_is_there() -> None:
    from modal.sandbox import _task_command_router_client as router

    from shellward.environments.modal import sdk

    assert sdk.loop().is_running()
    sdk.narrow()
    sdk.narrow()
    settings = router.create_channel_config(sustained_keepalive=True)
    assert settings.http2_stream_window_size == 2 << 20
    assert settings.http2_connection_window_size > 32 << 20  # one stream that waits holds no other up
