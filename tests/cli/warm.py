"""A warm command line: a process that has imported it, and forks for each call. It saves the start of an interpreter.

What it runs is ``python -m shellward`` with the words, variables, directory and standard streams of the call. Whatever
concerns the start itself, signals or the client's process has a process of its own instead (``commandline.start``).
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import random
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).parents[2]
PIPE = 65_536


# The server.


def serve(listener: socket.socket) -> None:
    """Fork for each call, until standard input ends. Returns in the process of a call only."""
    import shellward.cli.env.ls
    import shellward.cli.main
    import shellward.cli.process.ps
    import shellward.cli.run
    import shellward.environments.docker
    import shellward.terminal_tool.guard  # noqa: F401

    gc.collect()
    gc.freeze()
    os.write(1, b"ready\n")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait for a call
    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        if 0 in ready:
            os._exit(0)
        call, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            take(call)
            return
        call.close()


def take(call: socket.socket) -> None:
    """Fork the process of one call, which returns, and tell the caller how it ended; end it when he goes away."""
    said, streams, _, _ = socket.recv_fds(call, PIPE * 16, 3)
    if not said:
        os._exit(0)
    process = os.fork()
    if process == 0:
        call.close()
        become(json.loads(said), streams)
        return
    for stream in streams:
        os.close(stream)
    ended = os.pidfd_open(process)
    ready, _, _ = select.select([ended, call], [], [])
    if ended not in ready:
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    with contextlib.suppress(OSError):
        call.send(json.dumps(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def become(wanted: dict[str, object], streams: list[int]) -> None:
    """Take over what a new process would have been given."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        os.close(stream)
    os.environ.clear()
    os.environ.update(wanted["env"])  # type: ignore[call-overload]
    os.chdir(str(wanted["cwd"]))
    random.seed()
    tempfile.tempdir = None
    sys.stdin = sys.__stdin__ = text(0, "r")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = text(1, "w")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = text(2, "w")  # type: ignore[misc]
    sys.argv = ["", *wanted["words"]]  # type: ignore[misc]


def text(number: int, mode: str) -> io.TextIOWrapper:
    raw = io.FileIO(number, mode, closefd=False)
    buffered = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    errors = "backslashreplace" if number == 2 else "strict"
    return io.TextIOWrapper(buffered, errors=errors, line_buffering=number == 2 or raw.isatty())


def main() -> NoReturn:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(sys.argv[1])
        listener.listen()
        serve(listener)
    runpy.run_module("shellward", run_name="__main__", alter_sys=True)
    sys.exit()


# The client.


@cache
def server() -> str:
    """Start the server of this process, which ends with it; returns its socket's path."""
    path = str(Path(tempfile.mkdtemp(prefix="shellward-warm-"), "socket"))
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    process = subprocess.Popen(
        [sys.executable, __file__, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    server.process = process  # type: ignore[attr-defined]  # its standard input stays open as long as we live
    return path


def run(
    words: tuple[str, ...], *, stdin: bytes | int, env: dict[str, str], cwd: str | Path, timeout: float
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line to its end, like ``subprocess.run`` with ``capture_output``.

    Raises:
        subprocess.TimeoutExpired: it was killed.
    """
    with ThreadPoolExecutor(3) as pool, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as call:
        call.connect(server())
        call.settimeout(timeout)
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        if isinstance(stdin, bytes):
            given, into = os.pipe()
        else:
            given, into = os.open(os.devnull, os.O_RDONLY) if stdin == subprocess.DEVNULL else os.dup(stdin), -1
        wanted = json.dumps({"words": words, "env": env, "cwd": os.fspath(cwd)}).encode()
        try:
            socket.send_fds(call, [wanted], [given, out_end, err_end])
        finally:
            for each in (given, out_end, err_end):
                os.close(each)
        if isinstance(stdin, bytes):
            pool.submit(feed, into, stdin)
        said, complained = pool.submit(read, out), pool.submit(read, err)
        try:
            code = call.recv(PIPE)
        except TimeoutError:
            call.shutdown(socket.SHUT_RDWR)  # the server kills it then
            raise subprocess.TimeoutExpired(words, timeout) from None
        assert code, "the warm command line has gone"
        return subprocess.CompletedProcess(words, json.loads(code), said.result(timeout), complained.result(timeout))


def feed(into: int, text: bytes) -> None:
    with open(into, "wb", buffering=0) as stream, contextlib.suppress(BrokenPipeError):
        stream.write(text)


def read(stream: int) -> bytes:
    with open(stream, "rb") as readable:
        return readable.read()


if __name__ == "__main__":
    main()
