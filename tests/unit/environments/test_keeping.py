"""The scripts that keep an environment on a host: what they leave, and who can find it while it ends."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from shellward.environments import keeping
from shellward.environments.encoding import script
from shellward.testing.trial import eventually

NAME = "0123456789abcdef0123"


def sh(text: bytes, tmp: Path) -> "subprocess.Popen[bytes]":
    variables = {**os.environ, "TMPDIR": str(tmp)}
    return subprocess.Popen(["sh", "-c", text], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=variables)


def said(text: bytes, tmp: Path) -> str:
    out, _ = sh(text, tmp).communicate(timeout=30)
    return out.decode()


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    made = Path(said(keeping.setup(NAME, b"{}", str(tmp_path), 600), tmp_path).splitlines()[0])
    assert made == tmp_path / f"shellward-{NAME}"
    yield made
    said(keeping.end(str(made)), tmp_path)


def left(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("shellward-"))


def test_the_end_leaves_nothing(scratch: Path, tmp_path: Path) -> None:
    assert said(keeping.end(str(scratch)), tmp_path) == "ended\n"
    assert left(tmp_path) == []
    assert said(keeping.end(str(scratch)), tmp_path) == "none\n"


def test_what_is_about_to_end_is_found_by_nobody_and_leaves_nothing(scratch: Path, tmp_path: Path) -> None:
    os.mkfifo(scratch / "holders")  # where the end of it is held up until somebody writes
    ending = sh(keeping.end(str(scratch)), tmp_path)
    gone = scratch.with_name(f"{scratch.name}.ended")
    assert eventually(gone.exists)
    assert said(keeping.revive(str(scratch), 600), tmp_path) == ""
    # A shell of a client that had attached just before.
    key = "0" * 32
    holder = ["sh", "-c", script("holder.sh"), "shellward", "sh", f"{scratch}/main"]
    subprocess.run(holder, input=f"{key}\n".encode(), capture_output=True, check=False, timeout=30)
    assert not scratch.exists()
    scratch.mkdir()  # and what would make it all the same
    (scratch / "late").touch()
    with (gone / "holders").open("w"):
        pass
    ending.communicate(timeout=30)
    assert left(tmp_path) == []


def test_an_end_that_was_cut_short_is_completed_by_the_next(scratch: Path, tmp_path: Path) -> None:
    said(keeping.end(str(scratch)), tmp_path)
    scratch.with_name(f"{scratch.name}.ended").mkdir()
    said(keeping.end(str(scratch)), tmp_path)
    assert left(tmp_path) == []


def test_attaching_renews_the_lease_at_once(scratch: Path, tmp_path: Path) -> None:
    before = (scratch / "lease").read_text()
    assert said(keeping.revive(str(scratch), 600), tmp_path) == "{}"
    assert (scratch / "lease").read_text() != before
