"""Starts a loopback service as a program of its own and talks to its ``/_service/`` calls."""

import json
import os
import select
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

_START = 120.0
_ROOT = Path(__file__).resolve().parents[3]


class Launched:
    """A running service.

    Attributes:
        url: where it listens.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        """Start it.

        Raises:
            RuntimeError: it does not start; holds what it said.
        """
        as_root = [] if os.geteuid() == 0 else ["sudo", "-n", "env", f"PYTHONPATH={os.environ.get('PYTHONPATH', '')}"]
        self._process = subprocess.Popen(
            [*as_root, sys.executable, "-m", module, "--until-eof", *arguments],
            stdin=subprocess.PIPE,  # closes when this process ends, in whatever way
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
        )
        assert self._process.stdout is not None
        ready = select.select([self._process.stdout], [], [], _START)[0]
        self.url = self._process.stdout.readline().strip() if ready else ""
        if not self.url:
            self._process.kill()
            said = self._process.communicate()[1]
            raise RuntimeError(f"{module} does not start: {said.strip()[-500:] or 'no answer'}")

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Make one of its own calls and return what it answers."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/_service/{path}", data, headers, method=method)  # noqa: S310  # ours
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return json.load(answer)

    def faults(self, **values: Any) -> None:
        """Set its faults; without any, nothing goes wrong from now on."""
        self.call("POST", "faults", {})
        self.call("POST", "faults", values)

    def lacking(self) -> list[str]:
        """Which calls it had no answer for."""
        return list(self.call("GET", "calls")["lacking"])

    def calls(self) -> list[str]:
        """Which calls it had, oldest first."""
        return list(self.call("GET", "calls")["calls"])

    def stop(self) -> None:
        """End it, with all that runs in it. Idempotent."""
        try:
            self._process.communicate(timeout=30)  # closes its input, which ends it
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
