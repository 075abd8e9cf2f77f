"""What is Daytona's own: stop, start, archive, labels, volumes, previews, and what the SDK itself sees."""

import urllib.request

import pytest

from shellward import environments
from shellward.core.errors import EnvironmentUnavailable
from shellward.environments import daytona
from shellward.environments.environment import Environment
from shellward.testing.services.launch import Launched


def test_a_stopped_sandbox_is_started_by_who_attaches(service: Launched) -> None:
    del service
    env = environments.create("daytona", auto_delete=-1, auto_stop=60, labels={"test": "stop"})
    try:
        env.run("echo kept >/root/file").check()
        env.detach()
        daytona.stop(env.handle)
        daytona.archive(env.handle)
        with environments.attach("daytona:test=stop") as again:
            assert again.handle == env.handle
            assert again.run("cat /root/file").stdout == "kept\n"
    finally:
        environments.remove(env.handle)


def test_only_what_is_stopped_can_be_archived(env: Environment) -> None:
    with pytest.raises(EnvironmentUnavailable, match="not stopped"):
        daytona.archive(env.handle)


def test_a_label_of_two_sandboxes_names_none(service: Launched) -> None:
    del service
    with (
        environments.create("daytona", labels={"test": "two"}),
        environments.create("daytona", labels={"test": "two"}),
        pytest.raises(EnvironmentUnavailable, match="2 sandboxes"),
    ):
        environments.attach("daytona:test=two")
    with pytest.raises(EnvironmentUnavailable, match="no sandboxes"):
        environments.attach("daytona:test=two")


def test_a_volume_outlives_its_sandboxes(service: Launched) -> None:
    del service
    volumes = [{"name": "kept", "target": "/data"}]
    with environments.create("daytona", volumes=volumes) as env:
        env.run("echo 1 >/data/file").check()
    with environments.create("daytona", volumes=volumes) as env:
        assert env.run("cat /data/file").stdout == "1\n"


def test_a_preview_reaches_a_port(env: Environment) -> None:
    env.run("mkdir /tmp/www; echo hello >/tmp/www/index.html").check()
    server = env.start("cd /tmp/www && exec python3 -m http.server 8000")
    env.run("until (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.1; done", timeout=20)
    with urllib.request.urlopen(f"http://{env.expose(8000)}/", timeout=10) as page:
        assert page.read() == b"hello\n"
    server.kill()


def test_what_was_not_made_here_is_left_alone(service: Launched) -> None:
    import daytona as sdk

    client = sdk.Daytona(sdk.DaytonaConfig(api_key="loopback-key", api_url=f"{service.url}/api", target="us"))
    foreign = client.create(sdk.CreateSandboxFromSnapshotParams(labels={"somebody": "else"}))
    handle = f"daytona:{foreign.id}"
    try:
        with pytest.raises(EnvironmentUnavailable, match="was not made by Shellward"):
            environments.attach(handle)
        with pytest.raises(EnvironmentUnavailable, match="was not made by Shellward"):
            environments.remove(handle)
        assert handle not in [each.handle for each in environments.list_environments("daytona")]
        # The service does for the SDK itself what it is to: both planes, websockets and Socket.IO.
        assert foreign.process.exec("echo $((6 * 7))").result == "42\n"
        foreign.process.create_session("s")
        said = foreign.process.execute_session_command("s", sdk.SessionExecuteRequest(command="echo out; echo err >&2"))
        assert (said.stdout, said.stderr, said.exit_code) == ("out\n", "err\n", 0)
        terminal = foreign.process.create_pty_session("t")
        terminal.send_input("exit 5\n")
        assert terminal.wait().exit_code == 5
        foreign.fs.upload_file(b"\0bytes\xff", "/tmp/file")
        assert foreign.fs.download_file("/tmp/file") == b"\0bytes\xff"
        with pytest.raises(sdk.DaytonaNotFoundError):
            client.get("no-such-sandbox")
    finally:
        foreign.delete()
        client._event_dispatcher.disconnect()


def test_the_key_is_in_no_sandbox(env: Environment) -> None:
    seen = env.run("env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'").stdout
    assert "loopback-key" not in seen


def test_variables_are_on_no_command_line(env: Environment) -> None:
    seen = env.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '", env={"SECRET": "s3cr3t"}).stdout
    assert "s3cr3t" not in seen


def test_doctor_says_what_it_found(service: Launched, monkeypatch: pytest.MonkeyPatch) -> None:
    del service
    assert daytona.doctor().works
    monkeypatch.setenv("DAYTONA_API_KEY", "wrong")
    found = daytona.doctor()
    assert not found.works
    assert "DAYTONA_API_KEY" in found.advice
    monkeypatch.setenv("DAYTONA_API_KEY", "")
    assert "DAYTONA_API_KEY" in daytona.doctor().advice


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"image": "debian", "snapshot": "x"}, "image: not together"),
        ({"cpus": 2}, "cpus: only with an image"),
        ({"language": "cobol"}, "language: python"),
        ({"auto_delete": -2}, "auto_delete"),
    ],
)
def test_settings_that_do_not_go_together(settings: dict[str, object], words: str) -> None:
    from shellward.core.errors import ConfigError

    with pytest.raises(ConfigError, match=words):
        environments.create("daytona", **settings)
