"""Starts the loopback Modal as a program of its own, tells it what is to go wrong, looks at what it saw."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from shellward.testing.place import Seen, local_processes


class ModalService:
    """A running service. A context manager.

    Args:
        token_life: seconds for which a token is good.

    Attributes:
        address: what MODAL_SERVER_URL is to be.
    """

    def __init__(self, *, token_life: float = 3600.0) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="shellward-modal-service-")
        control = str(Path(self._directory.name, "control"))
        self._log = Path(self._directory.name, "log").open("w+b")  # noqa: SIM115  # closed with the service
        self._program = subprocess.Popen(
            [
                *(sys.executable, "-m", "shellward.testing.services.modal"),
                *("--control", control, "--token-life", str(token_life), "--until-eof"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,  # Ctrl-C at the tests is not meant for it
        )
        assert self._program.stdout is not None
        self.address = self._program.stdout.readline().strip()
        if not self.address:
            self.close()
            raise RuntimeError(f"the loopback Modal did not start: {self.said()}")
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(control)
        self._lines = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def variables(self) -> dict[str, str]:
        """What a client's environment must say."""
        return {
            "MODAL_SERVER_URL": self.address,
            "MODAL_TOKEN_ID": "ak-loopback",
            "MODAL_TOKEN_SECRET": "as-loopback",
            "MODAL_CONFIG_PATH": os.devnull,
        }

    def said(self) -> str:
        """What it printed: its own mistakes."""
        return Path(self._log.name).read_text(errors="replace") if not self._log.closed else ""

    def _ask(self, op: str, **more: object) -> Any:
        self._socket.sendall(json.dumps({"op": op, **more}).encode() + b"\n")
        answer = json.loads(self._lines.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["answer"]

    def calls(self) -> list[str]:
        """Names of the calls so far, since ``forget``."""
        return list(self._ask("calls"))

    def forget(self) -> None:
        """Forget calls and faults."""
        self._ask("forget")

    def lacking(self) -> list[str]:
        """Names of the calls so far that the service has no answer for."""
        return sorted(self._ask("missing")[0])

    def assert_complete(self) -> None:
        """Fail when the SDK called something that the service lacks, or that it has a mistake in."""
        missing, broken = self._ask("missing")
        assert not missing, f"the SDK calls what the loopback Modal lacks: {missing}"
        assert not broken, f"the loopback Modal has a mistake: {broken[:3]}; {self.said()[-2000:]}"

    def fault(self, rpc: str, kind: str, **more: object) -> None:
        """Let something go wrong; see ``faults.Fault``."""
        self._ask("fault", fault={"rpc": rpc, "kind": kind, **more})

    def heal(self) -> None:
        """Let nothing go wrong any more."""
        self._ask("heal")

    def sandboxes(self, *, running: bool = True, tags: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """Describe the sandboxes: ``id running why status pid tags name image definition execs``."""
        wanted = dict(tags or {}).items()
        found = self._ask("sandboxes")
        return [each for each in found if (each["running"] or not running) and wanted <= each["tags"].items()]

    def end(self, sandbox: str, why: str = "terminated") -> None:
        """End a sandbox from the service's side: it was evicted, or (``timeout``) reached its time limit."""
        self._ask("end", id=sandbox, why=why)

    def restart(self, seconds: float = 0.0) -> None:
        """Break all connections, and refuse new ones for a while. Sandboxes live on."""
        self._ask("restart", seconds=seconds)

    def advertise(self, address: str) -> None:
        """Tell clients another address from now on; empty: its own."""
        self._ask("advertise", address=address)

    def volume(self, name: str, path: Path) -> None:
        """Let a directory of this machine be a volume."""
        self._ask("volume", name=name, path=str(path))

    def secret(self, name: str, values: Mapping[str, str]) -> None:
        """Make a named secret."""
        self._ask("secret", name=name, values=dict(values))

    def processes(self, sandbox: str) -> Sequence[Seen]:
        """The process table of a sandbox, from outside; empty when it is gone."""
        pid = next((each["pid"] for each in self.sandboxes() if each["id"] == sandbox), 0)
        if not pid:
            return []
        found = []
        for row in local_processes():
            try:
                if Path(f"/proc/{row.pid}/ns/pid").readlink() == Path(f"/proc/{pid}/ns/pid").readlink():
                    found.append(row)
            except OSError:
                continue  # it has ended
        return found

    def close(self) -> None:
        """End it with all its sandboxes."""
        if self._program.stdin is not None and not self._program.stdin.closed:
            self._program.stdin.close()
        try:
            self._program.wait(20)
        except subprocess.TimeoutExpired:
            self._program.kill()
            self._program.wait()
        if self._program.stdout is not None:
            self._program.stdout.close()
        if hasattr(self, "_socket"):
            self._lines.close()
            self._socket.close()
        self._log.close()
        self._directory.cleanup()
