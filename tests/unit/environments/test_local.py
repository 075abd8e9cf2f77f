"""The user's own machine: what of this process's environment a command sees, and what closing leaves alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from shellward.environments import create, local
from shellward.environments.local import PASSED

SECRETS = [
    "GITHUB_TOKEN",
    "ANYTHING_AT_ALL_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "OPENAI_API_KEY",
    "SOME_KEY",
    "PGPASSWORD",
    "DATABASE_URL",
    "SSH_AUTH_SOCK",
    "GPG_AGENT_INFO",
    "KUBECONFIG",
    "DOCKER_HOST",
    "BASH_ENV",
    "ENV",
    "LD_PRELOAD",
    "PROMPT_COMMAND",
    "PYTHONSTARTUP",
    "BASH_FUNC_x%%",
    "LCX_SECRET",
    "path",
    "Path",
]
# What the shell itself sets, or what leads to places that are not there when it holds a test's value.
OWN = {"PATH", "PWD", "SHELL", "LD_LIBRARY_PATH", "XDG_RUNTIME_DIR", "TMPDIR", "PYTHONPATH", "HOME"}


def inside(**config: object) -> dict[str, str]:
    with create("local", **config) as environment:
        printed = environment.run("env -0", max_output=None).stdout
    return dict(line.split("=", 1) for line in printed.split("\0") if line)


def test_no_secret_is_seen_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SECRETS:
        monkeypatch.setenv(name, "() { :; }" if "FUNC" in name else "s3cret")
    seen = inside()
    assert set(seen) & set(SECRETS) == set()
    assert "s3cret" not in "".join(seen.values())


def test_what_is_passed_is_seen_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {*PASSED, "LC_MEASUREMENT"} - OWN
    for name in names:
        monkeypatch.setenv(name, f"value of {name}")
    seen = inside()
    assert {name: seen.get(name) for name in names} == {name: f"value of {name}" for name in names}


def test_nothing_else_is_seen_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNKNOWN", "x")
    extra = {name for name in inside() if name not in PASSED and not name.startswith("LC_")}
    assert extra <= {"SHELLWARD_COMMAND", "SHELLWARD_INSIDE", "SHLVL", "_", "OLDPWD"}


def test_what_is_named_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "named")
    seen = inside(inherit=["GITHUB_TOKEN", "ABSENT"], env={"ADDED": "a b\nc", "LANG": "C"})
    assert (seen["GITHUB_TOKEN"], seen["ADDED"], seen["LANG"]) == ("named", "a b\nc", "C")
    assert "ABSENT" not in seen


def test_no_name_that_is_passed_sounds_like_a_secret() -> None:
    words = ("TOKEN", "SECRET", "PASS", "KEY", "AWS", "AUTH", "CREDENTIAL")
    assert [name for name in PASSED if any(word in name.upper() for word in words)] == []


def test_closing_does_not_end_its_own_client() -> None:
    code = """
import os
from shellward.environments import create, local
environment = create("local")
environment.run("true")
pipe = os.readlink(f"/proc/{environment._default.holder}/fd/1")
for name in os.listdir("/proc/self/fd"):
    try:
        if os.readlink(f"/proc/self/fd/{name}") == pipe:
            os.dup2(int(name), 250)  # where commands have it
    except OSError:
        pass
assert os.readlink("/proc/self/fd/250") == pipe
environment.close()
print("alive")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_a_scratch_directory_that_could_not_be_removed_goes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = local.create({})
    with monkeypatch.context() as patched:
        patched.setattr(local.shutil, "rmtree", lambda *_given, **_more: None)
        backend.destroy()
    assert Path(backend.scratch).exists()
    local.create({}).destroy()
    assert not Path(backend.scratch).exists()
