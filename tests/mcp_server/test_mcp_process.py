"""A server over stdin and stdout by hand: what reaches the client, what is no message, and every way to end."""

import json
import os
import pty
import signal
import subprocess
import sys

import pytest
from mcpserver import HELLO, ROOT, ByHand, Place, gone, mark, request, running, soon, stubborn, terminal


def test_serves_until_its_stdin_ends(place: Place) -> None:
    server = ByHand(place.start())
    server.greet()
    server.send(terminal(1, "echo hello; echo noise >&2; cat"))
    assert server.output(1) == "hello\nnoise\n"
    word = mark()
    server.send(terminal(2, f"sleep {word}", background=True), terminal(3, f"(setsid sleep {word} &); sleep {word}"))
    assert soon(lambda: len(running(word)) >= 3)
    out, err = server.process.communicate(timeout=60)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert (server.process.returncode, err) == (0, b"")
    assert not running(word)


@pytest.mark.slow
def test_what_is_no_message_does_no_harm(place: Place) -> None:
    server = ByHand(place.start())
    server.greet()
    server.send(
        b"\n",
        b"not json\n",
        b"{\n",
        b"[]\n",
        b"[" * 100_000 + b"\n",
        b'{"jsonrpc": "2.0", "id": 1}\n',
        b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}\n',
        b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}\n',
        b"\xff\xfe\x00\n",
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}\n',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": 5}\n',
        b'{"jsonrpc": "2.0", "id": 7, "result": {}}\n',
        request(2, "tools/call"),
        request(3, "tools/call", name=5, arguments=[]),
        request(4, "no/such"),
        request(5, "resources/read", uri="file:///etc/passwd"),
        request(6, "initialize"),
        terminal(8, "echo on"),
    )
    for number in (2, 3, 4, 5):
        assert "error" in server.answer(number)
    assert server.output(8) == "on\n"
    server.process.communicate(timeout=60)
    assert server.process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_all_that_runs(place: Place, number: signal.Signals) -> None:
    server = ByHand(place.start())
    server.greet()
    word = mark()
    server.send(
        terminal(1, f"sleep {word}", background=True),
        terminal(2, stubborn(word)),
    )
    assert soon(lambda: len(running(word)) >= 3)
    server.process.send_signal(number)
    assert server.process.wait(60) == 128 + number
    assert not running(word)
    assert "Traceback" not in server.process.communicate()[1].decode()


@pytest.mark.slow
def test_a_signal_ends_it_at_a_terminal(place: Place) -> None:
    ours, theirs = pty.openpty()
    process = place.start(stdin=theirs, stdout=subprocess.PIPE, start_new_session=True)
    os.close(theirs)
    os.write(ours, HELLO)
    assert process.stdout is not None
    assert b'"serverInfo"' in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    os.close(ours)
    process.communicate()


@pytest.mark.slow
def test_killed_with_9_leaves_no_command(place: Place) -> None:
    server = ByHand(place.start())
    server.greet()
    word = mark()
    server.send(terminal(1, f"sleep {word}"))
    assert soon(lambda: running(word))
    server.process.kill()
    server.process.communicate()
    assert soon(lambda: not running(word))


@pytest.mark.slow
@pytest.mark.parametrize(
    "streams", ["</dev/null", "<&-", "</dev/null >&-", "</dev/null 2>&-", "<&- >&- 2>&-", "<pyproject.toml"]
)
def test_streams_that_are_none(place: Place, streams: str) -> None:
    words = [sys.executable, "-m", "shellward", "mcp", "--env", "local"]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {streams}', "sh", *words],
        cwd=ROOT,
        env=place.environment,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.slow
@pytest.mark.docker
def test_in_a_container(place: Place) -> None:
    image = ("--image", "shellward/sandbox:latest", "--network", "none", "--set", "pull=never")
    server = ByHand(place.start("--env", "docker", "--cwd", "/tmp", *image))
    server.greet()
    server.send(terminal(1, "hostname; pwd"))
    name, directory = server.output(1).split()
    assert directory == "/tmp"
    word = mark()
    server.send(terminal(2, stubborn(word)))
    assert soon(lambda: len(running(word)) >= 2)
    server.send(b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}\n')
    assert soon(lambda: not running(word))
    server.send(terminal(3, "hostname"))
    assert server.output(3).split() == [name]
    assert server.process.communicate(timeout=60)[1] == b""
    assert server.process.returncode == 0
    there = subprocess.run(["docker", "inspect", name], capture_output=True, check=False)
    assert there.returncode != 0


@pytest.mark.slow
def test_its_client_is_killed_in_the_middle_of_a_command(place: Place) -> None:
    """The client is a process between this one and the server, and gets no chance to say anything."""
    word = mark()
    client = (
        "import subprocess, sys, time\n"
        "server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        f"server.stdin.write({HELLO + terminal(1, f'sleep {word}')!r}); server.stdin.flush()\n"
        "print(server.pid, flush=True); time.sleep(1000)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", client, *place.words()], stdout=subprocess.PIPE, env=place.environment
    )
    assert process.stdout is not None
    server = int(process.stdout.readline())
    assert soon(lambda: running(word))
    process.kill()
    process.communicate()
    assert soon(lambda: not running(word))
    assert soon(lambda: gone(server))


@pytest.mark.slow
def test_a_client_that_reads_nothing_and_goes(place: Place) -> None:
    server = ByHand(place.start())
    server.greet()
    server.send(*(terminal(number, "seq 1 20000") for number in range(1, 20)))
    server.send(terminal(20, "echo >done"))
    assert soon((place.work / "done").exists)
    server.stdin.close()
    assert server.process.wait(60) == 0
    for pipe in (server.stdout, server.process.stderr):
        assert pipe is not None
        pipe.close()


@pytest.mark.slow
def test_prints_of_tools_do_not_reach_the_client(place: Place) -> None:
    folder = place.home / "tools"
    folder.mkdir()
    (place.home / "config.yaml").write_text("tools: {user_folder: true}\n")
    (folder / "noisy.py").write_text(
        "import os, subprocess\n"
        "from shellward.tools.registry import registry\n"
        "print('at import'); os.write(1, b'at import, too\\n')\n"
        "def noisy(args):\n"
        "    print('noise'); os.write(1, b'more\\n'); subprocess.run(['echo', 'much more'])\n"
        "    return '{}'\n"
        "registry.register('noisy', 'noise', {'description': 'd'}, noisy)\n"
    )
    server = ByHand(place.start("--toolsets", "noise,coding"))
    server.greet()
    server.send(request(1, "tools/call", name="noisy", arguments={}), terminal(2, "echo on"))
    assert server.answer(1)["result"]["structuredContent"] == {}
    assert server.output(2) == "on\n"
    server.send(terminal(3, "echo on"))
    assert server.output(3) == "on\n"
    out, err = server.process.communicate(timeout=60)
    assert out == b""
    assert err.count(b"more\n") == 2
    assert sorted(err.splitlines())[:2] == [b"at import", b"at import, too"]


@pytest.mark.slow
def test_what_a_foreign_server_of_the_settings_needs_is_not_waited_for(place: Place) -> None:
    """Nobody asked for its tools: it is not even started."""
    silent = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).touch(); time.sleep(1000)"
    started = place.home / "started"
    configured = {"silent": {"command": sys.executable, "args": ["-c", silent, str(started)], "connect_timeout": 2}}
    (place.home / "config.yaml").write_text(json.dumps({"mcp_servers": configured}))
    server = ByHand(place.start())
    server.greet()
    server.send(terminal(1, "echo on"))
    assert server.output(1) == "on\n"
    server.process.communicate(timeout=60)
    assert not started.exists()
    process = place.start("--toolsets", "mcp-silent")
    assert "mcp-silent" in process.communicate(timeout=60)[1].decode()
    assert started.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--toolsets", "nonsense"), "no 'nonsense'"),
        (("--http", "--host", "0.0.0.0"), "token"),
        (("--env", "nonsense"), "nonsense"),
        (("--http", "--port", "99999"), "port"),
        (("--port", "0"), "--port goes with --http"),
        (("--http", "--port", "0", "--token-file", "/dev/null"), "--token-file: /dev/null is empty"),
    ],
)
def test_wrong_usage(place: Place, options: tuple[str, ...], says: str) -> None:
    process = place.start(*options)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert says in err.decode()
    assert err.count(b"\n") == 1


@pytest.mark.slow
def test_place_options_need_a_kind(place: Place) -> None:
    words = [sys.executable, "-m", "shellward", "mcp", "--image", "x"]
    done = subprocess.run(words, cwd=ROOT, env=place.environment, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"--image goes with --env" in done.stderr
