"""``shellward run``: streams, exit codes, input, JSON, settings; signals are in test_run_ends.py."""

import base64
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from commandline import IMAGE, IN_DOCKER, PLACES, SHELLWARD, cli, environ, owned_by, start, wait_for

everywhere = pytest.mark.parametrize("place", PLACES)
Place = tuple[str, ...]


def as_json(*words: str, **more: Any) -> dict[str, Any]:
    done = cli("run", "--json", *words, **more)
    assert done.stderr == b""
    made = json.loads(done.stdout)
    assert done.returncode == made.get("exit_code", done.returncode)
    return made


@everywhere
def test_streams_stay_apart_and_the_exit_code_is_passed_on(place: Place) -> None:
    done = cli("run", *place, "--", "echo out; echo err >&2; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", b"err\n")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("true",), 0),
        (("exit 255",), 255),
        (("sh", "-c", "exit 125"), 125),
        (("no-such-program",), 127),
        (("/etc/os-release", "x"), 126),
        (("kill -TERM $$",), 143),
        (("sh", "-c", "kill -KILL $$"), 137),
        (("echo 'unbalanced",), 2),
    ],
)
def test_exit_codes(words: tuple[str, ...], code: int) -> None:
    assert cli("run", "--", *words).returncode == code


def test_one_word_is_a_shell_line() -> None:
    assert cli("run", "echo $((1 + 1)) && echo ok").stdout == b"2\nok\n"


def test_several_words_run_as_they_stand() -> None:
    done = cli("run", "--", "printf", "[%s]", "a b", "$HOME", "*", "", "--json", "-n", "'")
    assert done.stdout == b"[a b][$HOME][*][][--json][-n][']"


def test_options_end_at_the_command() -> None:
    assert cli("run", "echo", "--json", "--timeout").stdout == b"--json --timeout\n"


def test_bytes_come_as_they_are() -> None:
    words = ("run", "--", r"printf '\000\377\r\n\033[1m'; printf '\200' >&2")
    done = cli(*words)
    assert (done.stdout, done.stderr) == (b"\0\xff\r\n\x1b[1m", b"\x80")


def test_arguments_that_are_not_utf8() -> None:
    done = subprocess.run(
        [*(word.encode() for word in SHELLWARD), b"run", b"--", b"printf", b"%s", b"\xff\xfe"],
        env=environ(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.stdout == b"\xff\xfe"


@everywhere
def test_output_comes_when_it_is_printed(place: Place) -> None:
    with start("run", *place, "--", "echo first; sleep 3; echo second") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"first\n"
        began = time.monotonic()
        assert process.stdout.readline() == b"second\n"
        assert time.monotonic() - began > 2


@everywhere
def test_much_output_comes_whole(place: Place) -> None:
    done = cli("run", *place, "--", "head -c 20000000 /dev/zero; head -c 3000000 /dev/zero >&2")
    assert (done.returncode, len(done.stdout), len(done.stderr)) == (0, 20_000_000, 3_000_000)


def test_much_output_takes_little_memory() -> None:
    # From /proc: the kernel hands ru_maxrss on from the process that forked this one, the test runner.
    line = "head -c 300000000 /dev/zero; echo done >&2; sleep 1"
    with start("run", "--", line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"done\n"
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert process.wait(10) == 0
    peak = next(int(row.split()[1]) for row in status.splitlines() if row.startswith("VmHWM:"))
    assert peak < 96 * 1024  # KiB


@everywhere
def test_piped_input(place: Place) -> None:
    assert cli("run", *place, "--", "cat", stdin=b"a\0\xff\n").stdout == b"a\0\xff\n"


@everywhere
def test_a_file_as_input(place: Place, tmp_path: Path) -> None:
    data = os.urandom(5_000_000)
    (tmp_path / "big").write_bytes(data)
    with (tmp_path / "big").open("rb") as file:
        assert cli("run", *place, "--", "cat", stdin=file.fileno()).stdout == data


@everywhere
def test_input_is_streamed(place: Place) -> None:
    with start("run", *place, "--", "grep", "--line-buffered", "y", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in (b"yes\n", b"no\n", b"you\n"):
            process.stdin.write(line)
            process.stdin.flush()
            if b"y" in line:
                assert process.stdout.readline() == line
        process.stdin.close()
    assert process.returncode == 0


def test_input_that_never_ends_does_not_hold_up_the_end() -> None:
    reading, writing = os.pipe()
    try:
        assert cli("run", "--", "echo done", stdin=reading, timeout=20).stdout == b"done\n"
    finally:
        os.close(reading)
        os.close(writing)


def test_terminal_as_input_is_empty() -> None:
    leader, follower = os.openpty()
    try:
        assert cli("run", "--", "cat; echo end", stdin=follower, timeout=20).stdout == b"end\n"
    finally:
        os.close(leader)
        os.close(follower)


@pytest.mark.parametrize(
    ("redirect", "code", "said"),
    [
        ("<&-", 0, ""),
        (">&-", 122, "cannot write standard output"),
        (">/dev/full", 122, "cannot write standard output: No space left on device"),
        ("<&- >&- 2>&-", 122, ""),
    ],
)
def test_standard_streams_that_are_closed_or_full(redirect: str, code: int, said: str) -> None:
    line = f'"$@" run -- "cat; echo hello" {redirect}'
    done = subprocess.run(
        ["sh", "-c", line, "sh", *SHELLWARD],
        env=environ(),
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_working_directory(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    assert cli("run", "--cwd", str(tmp_path / "a b"), "pwd").stdout == f"{tmp_path}/a b\n".encode()
    assert cli("run", "pwd", cwd=tmp_path).stdout == f"{tmp_path}\n".encode()
    assert cli("run", "--cwd", "a b", "pwd", cwd=tmp_path).stdout == f"{tmp_path}/a b\n".encode()


@everywhere
def test_missing_working_directory(place: Place) -> None:
    done = cli("run", *place, "--cwd", "/not/there", "pwd")
    assert done.returncode == 125
    assert done.stderr == b"shellward: No such file or directory: /not/there\n"


@everywhere
def test_variables(place: Place) -> None:
    given = ("--env-var", "A=1 = '2'", "--env-var", "PASSED", "--env-var", "EMPTY=")
    environment = environ(PASSED="yes", API_TOKEN="secret")
    done = cli("run", *place, *given, "--", 'echo "$A/$PASSED/${EMPTY-unset}/$API_TOKEN"', env=environment)
    assert done.stdout == b"1 = '2'/yes//\n"


def test_shell() -> None:
    assert cli("run", "--shell", "sh", 'echo "${BASH_VERSION:-none}"').stdout == b"none\n"


def test_stderr_merged_in_order() -> None:
    done = cli("run", "--merge-stderr", "--", "for i in 1 2 3; do echo o$i; echo e$i >&2; done")
    assert (done.stdout, done.stderr) == (b"o1\ne1\no2\ne2\no3\ne3\n", b"")


@everywhere
def test_timeout(place: Place) -> None:
    done = cli("run", *place, "--timeout", "1s", "--", "echo begun; sleep 60")
    assert (done.returncode, done.stdout) == (124, b"begun\n")
    assert done.stderr.endswith(b"shellward: timed out after 1 s; the command was ended\n")


def test_exit_code_124_of_the_commands_own_is_no_timeout() -> None:
    done = cli("run", "--timeout", "20", "exit 124")
    assert (done.returncode, done.stderr) == (124, b"")


def test_timeout_holds_while_nobody_reads() -> None:
    with start("run", "--timeout", "1", "--", "yes") as process:
        assert process.wait(20) == 124


def test_background_child_does_not_hold_up_the_end() -> None:
    began = time.monotonic()
    assert cli("run", "--", "sleep 50 & echo hi").stdout == b"hi\n"
    assert time.monotonic() - began < 20


# -- JSON ----------------------------------------------------------------------------------------------------


@everywhere
def test_json(place: Place) -> None:
    made = as_json(*place, "--", "echo out; echo é >&2; cd /tmp; exit 4")
    assert (made["exit_code"], made["stdout"], made["stderr"]) == (4, "out\n", "é\n")
    assert (made["cwd"], made["timed_out"], made["truncated"], made["signal"]) == ("/tmp", False, False, None)
    assert made["duration"] >= 0
    assert made["handle"] is None


def test_json_with_bytes_that_are_not_utf8() -> None:
    made = as_json(r"printf 'caf\351\n'; printf fine >&2")
    assert made["stdout"] == "caf\ufffd\n"
    assert base64.b64decode(made["stdout_base64"]) == b"caf\xe9\n"
    assert "stderr_base64" not in made


def test_json_timeout_and_signal() -> None:
    made = as_json("--timeout", "1", "echo so far; sleep 60")
    assert (made["exit_code"], made["timed_out"], made["stdout"]) == (124, True, "so far\n")
    assert as_json("kill -KILL $$")["signal"] == "SIGKILL"


def test_json_output_is_limited(tmp_path: Path) -> None:
    words = ("--max-output", "10", "--", "printf 0123456789abcdefghij")
    made = as_json(*words)
    assert made["truncated"]
    assert made["stdout"].startswith("0123\n[...")
    assert made["stdout"].endswith("efghij")
    assert made["full_output"] is None
    assert len(as_json("--max-output", "all", "head -c 200000 /dev/zero | tr '\\0' x")["stdout"]) == 200_000
    made = as_json("--full-output", str(tmp_path / "all"), *words)
    assert Path(made["full_output"]).read_text() == "0123456789abcdefghij"


def test_full_output_beside_the_stream(tmp_path: Path) -> None:
    done = cli("run", "--full-output", str(tmp_path / "all"), "--", "echo a; echo b")
    assert done.stdout == (tmp_path / "all").read_bytes() == b"a\nb\n"


def test_json_errors() -> None:
    done = cli("run", "--json", "--cwd", "/not/there", "true")
    assert done.returncode == 125
    assert json.loads(done.stdout) == {
        "error": "No such file or directory: /not/there",
        "kind": "FileNotFoundError",
        "ran": "no",
    }
    done = cli("run", "--json", "--env", "moon", "true")
    assert (done.returncode, json.loads(done.stdout)["kind"]) == (2, "ConfigError")


# -- environments --------------------------------------------------------------------------------------------


def test_an_engine_that_is_not_there() -> None:
    done = cli("run", *IN_DOCKER, "true", env=environ(DOCKER_HOST="unix:///not/there.sock"))
    assert done.returncode == 125
    assert done.stderr.startswith(b"shellward: no Docker engine answers at unix:///not/there.sock")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.docker
def test_an_image_that_is_not_there() -> None:
    done = cli("run", "--env", "docker", "--image", "shellward/no-such", "--set", "pull=never", "--json", "true")
    assert done.returncode == 125
    made = json.loads(done.stdout)
    assert made["kind"] == "EnvironmentUnavailable"
    assert "shellward/no-such" in made["error"]


@pytest.mark.docker
@pytest.mark.parametrize("pull", ["missing", "always"])
def test_a_pull_that_fails_says_what_needs_none(pull: str) -> None:
    done = cli("run", "--env", "docker", "--image", "127.0.0.1:9/no-such", "--set", f"pull={pull}", "true")
    assert (done.returncode, done.stderr.count(b"\n")) == (125, 1)
    assert done.stderr.startswith(b"shellward: image '127.0.0.1:9/no-such' is not there and cannot be pulled: ")
    assert b"refused" in done.stderr
    for hint in (b"--image", b"images/build", b"pull=never"):
        assert hint in done.stderr


@pytest.mark.docker
def test_settings_reach_the_container(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("of the host\n")
    options = ("--network", "none", "--memory", "100m", "--cpus", "0.5", "--user", "sandbox")
    more = ("--mount", f"{tmp_path}:/src:ro", "--set", "env.STAGE=test", "--set", "read_only=true")
    line = "id -un; ls /sys/class/net; cat /src/file; echo $STAGE; touch /src/x || touch /x || echo read-only"
    tmp_path.chmod(0o755)
    done = cli("run", *IN_DOCKER, *options, *more, line)
    assert done.stdout == b"sandbox\nlo\nof the host\ntest\nread-only\n"


def test_local_environments_cannot_be_kept() -> None:
    done = cli("run", "--keep", "true")
    assert done.returncode == 125
    assert done.stderr == b"shellward: local environments cannot be kept; they end with their client\n"


@pytest.mark.docker
def test_keep_and_attach() -> None:
    made = cli("run", *IN_DOCKER, "--keep", "--", "cd /tmp; echo kept >file; export A=state")
    said = made.stderr.decode()
    assert made.returncode == 0
    handle = said.partition("environment ")[2].split()[0]
    try:
        assert cli("run", "--attach", handle, "--", 'cat file; echo "$A"; B=2').stdout == b"kept\nstate\n"
        short = handle.partition(":")[2][:12]
        done = cli("run", "--attach", short, "--json", "--", "echo $B; pwd")
        assert json.loads(done.stdout)["stdout"] == "2\n/tmp\n"
        assert json.loads(done.stdout)["handle"] == handle
        assert cli("run", "--attach", handle, "--session", "other", "--", "echo ${A-none}; A=o").stdout == b"none\n"
        assert cli("run", "--attach", handle, "--session", "other", "--", "echo $A").stdout == b"o\n"
        assert cli("run", "--attach", handle, "--user", "sandbox", "--", "id -un").stdout == b"sandbox\n"
    finally:
        assert cli("env", "rm", handle).returncode == 0
    gone = cli("run", "--attach", handle, "true")
    assert gone.returncode == 125
    assert gone.stderr.startswith(b"shellward: ")


@pytest.mark.docker
def test_environment_removed_from_outside_in_mid_command() -> None:
    with start("run", *IN_DOCKER, "--json", "--", "echo so far; sleep 60") as process:
        assert wait_for(lambda: owned_by(process.pid))
        time.sleep(1)
        assert cli("env", "rm", *owned_by(process.pid)).returncode == 0
        assert process.stdout is not None
        made = json.loads(process.stdout.read())
    assert process.returncode == 122
    assert made["kind"] == "ConnectionLost"
    assert (made["stdout"], made["exit_code"], made["ran"]) == ("so far\n", None, "unknown")


def test_progress_is_for_terminals_only() -> None:
    assert b"making" not in cli("run", "true").stderr
    assert IMAGE.encode() not in cli("run", "true").stderr
