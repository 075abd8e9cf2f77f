"""Targets in a question: absolute paths that lead where the command leads, and nothing made up."""

from pathlib import Path

import pytest

from shellward.approval import Context, Gate, register_approval_callback
from shellward.approval.affected import absolute
from shellward.approval.context import ApprovalRequest
from shellward.config.schema import Config
from shellward.core.gate import Finding, Severity


def shown(target: str, *, rule: str = "files.rm", cwd: str = "/work", backend: str = "docker", via: str = "") -> str:
    found = Finding(rule, "d", Severity.HIGH, (0, 1), "x", (target,), cwd=cwd, via=tuple(via.split()))
    return absolute(found, Context(backend=backend, cwd="/never"))[0]


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("src", "/work/src"),
        ("./src/", "/work/src"),
        ("../victim/src", "/victim/src"),
        ("/opt/../proj", "/proj"),
        ("//opt//x", "//opt//x"),  # another host, where there are such paths
        ("..", "/"),
        (".", "/work"),
        ("*.py", "/work/*.py"),
        ("~/x", "~/x"),
        ("web:/srv", "web:/srv"),
        ("me@web", "me@web"),
        ("https://a.example/b", "https://a.example/b"),
        ("$(ls ..)", "$(ls ..)"),
        ("-rf", "-rf"),
        ("", ""),
        ("a\0b", "a\0b"),
    ],
)
def test_elsewhere(target: str, path: str) -> None:
    assert shown(target) == path


@pytest.mark.parametrize(
    ("rule", "target", "path"),
    [
        ("git.branch-delete", "feature/x", "feature/x"),
        ("git.worktree-remove", "../wt", "/wt"),
        ("data.client", "objects.all().delete", "objects.all().delete"),
        ("disks.zfs", "tank/home", "tank/home"),
        ("system.write", "/etc/../etc/passwd", "/etc/passwd"),
    ],
)
def test_what_is_a_path(rule: str, target: str, path: str) -> None:
    assert shown(target, rule=rule) == path


def test_a_directory_that_is_not_known() -> None:
    assert shown("src", cwd="") == "src (in a directory that is not known)"


def test_links_on_this_machine(tmp_path: Path) -> None:
    tmp_path = tmp_path.resolve()
    (tmp_path / "real" / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    here = {"cwd": str(tmp_path), "backend": "local"}
    assert shown("link/src", **here) == f"{tmp_path}/real/src"
    assert shown("link/../x", **here) == f"{tmp_path}/x"
    assert shown("link", **here) == f"{tmp_path}/link (a link to {tmp_path}/real)"
    assert shown("link/", **here) == f"{tmp_path}/real"
    assert shown("link/*", **here) == f"{tmp_path}/real/*"
    assert shown("none/x", **here) == f"{tmp_path}/none/x"
    (tmp_path / "loop").symlink_to("loop")
    assert shown("loop/x", **here).startswith(str(tmp_path))


@pytest.mark.parametrize("target", ["/proc/1/root/x", "a\ud800b", "x" * 5000])
def test_what_cannot_be_looked_at_is_shown_as_it_is_written(target: str) -> None:
    assert shown(target, backend="local") in {target, f"/work/{target}"}


def test_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/var/lib/me")
    assert shown("~/x", backend="local") == "/var/lib/me/x"
    assert shown("~", backend="local") == "/var/lib/me"
    assert shown("~root/x", backend="local") == "~root/x"
    assert shown("~/x", backend="local", via="sudo") == "~/x"


def test_the_question_of_the_gate() -> None:
    asked: list[ApprovalRequest] = []

    def reply(request: ApprovalRequest) -> bool:
        asked.append(request)
        return False

    with register_approval_callback(reply):
        Gate(Config(), terminal=False).decide("cd ../victim && rm -rf src", Context(cwd="/home/me/proj"))
    assert asked[0].findings[0].affects == ("/home/me/victim/src",)
    assert "touching only /home/me/victim/src" in asked[0].part
