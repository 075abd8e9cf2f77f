"""The client of a round, a process of its own: makes an environment, does the calls, and writes down what each said.

``python -m campaign.client PLAN``; with ``--after``, another client that finds what one left that was killed, and
clears it away. It says on standard output how far it is, and reads there a line when the fault is over.
"""

import asyncio
import contextlib
import errno
import faulthandler
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from shellward import aio, environments
from shellward.core.errors import HAD_BEGUN, NOTHING_RAN, ConnectionLost, EnvironmentUnavailable
from shellward.core.types import Result
from shellward.environments import Environment
from shellward.process_registry.records import Notice, NoticeKind
from shellward.process_registry.registry import ProcessRegistry
from shellward.testing.leaks import assert_nothing_new, holdings

from .plan import Plan

_HEALED = 30.0
"""Seconds in which an environment has to work again when the fault is over."""
_NOTICES = 20.0
_NO_ROOM = {errno.ENOSPC, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.EIO}
_WANT_ROOM = ("scratch-", "state-", "descriptors")
_KILLS = ("kill-", "container-", "server-", "stop-", "pause", "engine-", "link-")
"""Faults by which a command may end as if it were killed, though nobody asked for that."""


class Client:
    """One client. Its calls are written down with what they promise: ``done``, ``nothing`` ran, or ``unknown``."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.plan = Plan.read(given["plan"])
        self.ledger: str = given["ledger"]
        self.config: dict[str, Any] = given["config"]
        self.beside: dict[str, Any] = given["beside"]
        self.root = Path(given["root"])
        self.slack: float = given["slack"]
        self.handle: str = given.get("handle", "")
        self.heard: list[Notice] = []
        self._journal = os.open(self.root / "journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._armed = False
        self._local = threading.local()
        self.env: Environment
        self.registry: ProcessRegistry

    # -- what is written down ------------------------------------------------------------------------------

    def note(self, **record: Any) -> None:
        """Write a record."""
        os.write(self._journal, json.dumps(record).encode() + b"\n")

    def bad(self, kind: str, what: str) -> None:
        """Write down a violation."""
        self.note(bad=kind, what=what)

    def attempt(self, key: str, what: str, call: Callable[[], Any], *, limit: float | None = None) -> Any:
        """Make a call that runs a command, whose place in the ledger is ``key``; None when it raised."""
        self.note(begin=key, what=what)
        began = time.monotonic()
        value, error = self._call(call)
        seconds = time.monotonic() - began
        claim = "done"
        if error is not None:
            claim = self.judge(error, what)
        elif isinstance(value, Result) and (value.timed_out or value.interrupted or self._killed(value)):
            claim = "unknown"
        elif what in {"start to kill", "pty"}:
            claim = "unknown"  # it may be killed before its first word; a program at a terminal says itself that it ran
        event = str(getattr(value, "shell", None) or "")
        self.note(
            end=key,
            what=what,
            claim=claim,
            seconds=seconds,
            event=event,
            error="" if error is None else describe(error),
        )
        self.in_time(what, seconds, limit)
        return value

    def quietly(self, what: str, call: Callable[[], Any], *, limit: float | None = None) -> tuple[Any, Any]:
        """Make a call that runs no command of the ledger; returns its value, and the error that it raised."""
        began = time.monotonic()
        value, error = self._call(call)
        seconds = time.monotonic() - began
        if error is not None:
            self.judge(error, what)
            self.note(call=what, seconds=seconds, error=describe(error))
        self.in_time(what, seconds, limit)
        return value, error

    def _call(self, call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
        try:
            try:
                self._armed = threading.current_thread() is threading.main_thread()
                return call(), None
            finally:
                self._armed = False
        except BaseException as error:  # whatever comes is judged
            return None, error

    def judge(self, error: BaseException, what: str) -> str:
        """Say what an error means, and write it down where it is none that may come."""
        notes = getattr(error, "__notes__", [])
        if isinstance(error, KeyboardInterrupt | asyncio.CancelledError) and self.plan.fault == "interrupt":
            return "unknown"
        if HAD_BEGUN in notes or isinstance(error, ConnectionLost):
            return "unknown"
        if isinstance(error, EnvironmentUnavailable):
            return "nothing"
        if isinstance(error, OSError) and self._may_come(error):
            return "nothing"
        trace = "".join(traceback.format_exception(error))[-1500:]
        self.bad("error of another kind", f"{what}: {describe(error)}\n{trace}")
        return "nothing" if NOTHING_RAN in notes else "unknown"

    def _may_come(self, error: OSError) -> bool:
        """Whether an error of the system's is the right one for what was done."""
        if error.errno in _NO_ROOM:
            return self.plan.fault.startswith(_WANT_ROOM)
        return False

    def in_time(self, what: str, seconds: float, limit: float | None) -> None:
        """Write down what took too long."""
        most = 30.0 if limit is None else limit + 1
        most += self.slack
        if self.plan.fault == "stop-client":
            most += self.plan.length
        if seconds > most:
            self.bad("late", f"{what}: {seconds:.1f} s, with a limit of {limit}")

    def check(  # noqa: PLR0911
        self, what: str, result: Result | None, code: int, output: bytes | None = None
    ) -> bool:
        """Look whether a result is true; False: there is none, or it says itself that the command was ended."""
        if result is None:
            return False
        if result.timed_out or result.interrupted:
            return False
        if result.exit_code != code:
            if self._killed(result):
                return False
            if self.plan.fault == "descriptors" and "Too many open files" in result.stderr:
                return False
            self.bad(
                "untrue", f"{what}: status {result.exit_code}, not {code}; {result.shell}; {result.stderr[-300:]!r}"
            )
            return False
        if output is not None and result.stdout_bytes != output:
            came = result.stdout_bytes
            self.bad(
                "untrue", f"{what}: status {code}, {len(came)} of {len(output)} bytes; {came[:60]!r} {came[-60:]!r}"
            )
            return False
        return True

    def _killed(self, result: Result) -> bool:
        """Whether it says that the command was killed, as its shell may have been, and before its first word."""
        return result.exit_code > 128 and self.plan.fault.startswith(_KILLS)

    def leave_mark(self, key: str) -> str:
        """Return the beginning of a command that writes into the ledger that it runs."""
        return f"echo x >>{self.ledger}/{key}"

    # -- the calls -----------------------------------------------------------------------------------------

    def short(self, key: str, rng: random.Random) -> None:
        code, limit = rng.randrange(5), rng.choice((None, None, 5.0))
        pause = rng.choice(("", "", "", f"sleep 0.{rng.randrange(10, 40)}; "))
        text = f"{self.leave_mark(key)}; echo out-{key}; {pause}echo err >&2; (exit {code})"
        result = self.attempt(key, "run", lambda: self.env.run(text, timeout=limit), limit=limit)
        self.check(f"run {key}", result, code, f"out-{key}\n".encode())

    def output(self, key: str, rng: random.Random) -> None:
        count = rng.choice((2_000, 50_000, 300_000))
        text = f"{self.leave_mark(key)}; seq 1 {count}"
        result = self.attempt(key, "run output", lambda: self.env.run(text, max_output=None))
        self.check(f"run output {key}", result, 0, "".join(f"{n}\n" for n in range(1, count + 1)).encode())

    def input(self, key: str, rng: random.Random) -> None:
        size = rng.choice((1, 5_000, 100_000, 262_144, 3_000_000))
        data = rng.randbytes(size)
        given: Any = data if rng.random() < 0.7 else (data[at : at + 65_536] for at in range(0, size, 65_536))
        text = f"{self.leave_mark(key)}; sha256sum"
        result = self.attempt(key, f"run input {size}", lambda: self.env.run(text, stdin=given))
        self.check(f"run input {key} of {size}", result, 0, f"{hashlib.sha256(data).hexdigest()}  -\n".encode())

    def limit(self, key: str, rng: random.Random) -> None:
        limit, needed = rng.uniform(0.05, 0.8), rng.uniform(0.0, 0.8)
        text = f"{self.leave_mark(key)}; echo begun; sleep {needed:.2f}; echo end"
        result = self.attempt(key, "run limit", lambda: self.env.run(text, timeout=limit), limit=limit)
        self.check(f"run limit {key}", result, 0, b"begun\nend\n")
        if result is not None and result.timed_out and result.duration < limit * 0.9:
            self.bad("untrue", f"run limit {key}: timed out after {result.duration:.2f} of {limit:.2f} s")

    def stream(self, key: str, rng: random.Random) -> None:
        count = rng.choice((10, 20_000))

        def follow() -> Any:
            came, last = b"", None
            for piece in self.env.stream(f"{self.leave_mark(key)}; seq 1 {count}"):
                if isinstance(piece, Result):
                    last = piece
                else:
                    came += piece.data
            return came, last

        got = self.attempt(key, "stream", follow)
        expected = "".join(f"{n}\n" for n in range(1, count + 1)).encode()
        if got is not None and self.check(f"stream {key}", got[1], 0) and got[0] != expected:
            self.bad("untrue", f"stream {key}: {len(got[0])} of {len(expected)} bytes")

    def pty(self, key: str, rng: random.Random) -> None:
        code = rng.randrange(4)
        text = f"{self.leave_mark(key)}; echo out-{key}; exit {code}"
        result = self.attempt(key, "run pty", lambda: self.env.run(text, pty=True))
        self.check(f"run pty {key}", result, code, f"out-{key}\r\n".encode())

    def asynchronous(self, key: str, rng: random.Random) -> None:
        if self.plan.fault == "descriptors":  # a loop of the test's own needs some
            return self.short(key, rng)

        async def work() -> list[Any]:
            wrapped = aio.Environment(self.env)
            return await asyncio.gather(
                *(
                    wrapped.run(f"{self.leave_mark(f'{key}.{number}')}; echo {number}", timeout=8)
                    for number in range(3)
                ),
                return_exceptions=True,
            )

        for number in range(3):
            self.note(begin=f"{key}.{number}", what="aio run")
        found, error = self._call(lambda: asyncio.run(work()))
        if error is not None:
            claim = self.judge(error, "aio run")
            del claim  # of each of the three nobody knows
            for number in range(3):
                self.note(end=f"{key}.{number}", what="aio run", claim="unknown", error=describe(error))
            return None
        for number, one in enumerate(found):
            result = one if isinstance(one, Result) else None
            claim = "done" if result is not None else self.judge(one, "aio run")
            if result is not None and (result.timed_out or result.interrupted or self._killed(result)):
                claim = "unknown"
            self.note(end=f"{key}.{number}", what="aio run", claim=claim, error="" if result else describe(one))
            self.check(f"aio run {key}.{number}", result, 0, f"{number}\n".encode())
        return None

    def session(self, key: str, rng: random.Random) -> None:
        made, _ = self.quietly("session", self.env.session)
        if made is None:
            return
        value, told, kept = f"value-{rng.randrange(1000)}", False, False
        for number in range(4):
            mark = self.leave_mark(f"{key}.{number}")
            text = f"{mark}; V={value}; cd /" if number == 0 else f'{mark}; echo "$V $PWD"'
            result = self.attempt(f"{key}.{number}", "session run", lambda text=text: made.run(text))
            if result is None or result.timed_out or result.interrupted:
                kept = False
                break
            if result.shell is not None:
                told = True
            if number == 0:
                kept = self.check(f"session {key}.0", result, 0)
                continue
            expected = f"{value} /\n".encode()
            if kept and not told:
                self.check(f"session {key}.{number}", result, 0, expected)
            time.sleep(rng.uniform(0, 0.05))
        self.quietly("session close", made.close)

    def _start(self, key: str, what: str, command: str) -> Any:
        entry = self.attempt(
            key,
            what,
            lambda: self.registry.start(f"{self.leave_mark(key)}; {command}", environment=self.env, notify=True),
        )
        if entry is not None:
            self.note(started=entry.id, key=key)
        return entry

    def process(self, key: str, rng: random.Random) -> None:
        code = rng.randrange(4)
        entry = self._start(key, "start", f"echo out-{key}; sleep 0.{rng.randrange(10, 60)}; exit {code}")
        if entry is None:
            return
        seen, _ = self.quietly("process wait", lambda: self.registry.wait(entry.id, 15.0), limit=15)
        if seen is None or seen.info.running:
            if seen is not None:
                self.bad("not ended", f"process {key} runs after 15 s")
            return
        if seen.info.state == "ended" and seen.info.exit_code != code:
            self.bad("untrue", f"process {key}: status {seen.info.exit_code}, not {code}: {seen.info.reason}")
        if seen.info.state == "lost" and self.plan.heals:
            self.bad("untrue", f"process {key} is told to be lost")
        log, _ = self.quietly("process log", lambda: self.registry.log(entry.id))
        if log is not None and not self._printed(log.data, f"out-{key}\n".encode()) and seen.info.state == "ended":
            self.bad("untrue", f"process {key}: its output is {log.data[:100]!r}")

    def _printed(self, came: bytes, output: bytes) -> bool:
        """Whether that may be all that a process in the background could print: its output is kept with the state."""
        return came == output or (self.plan.fault == "state-full" and output.startswith(came))

    def kill(self, key: str, rng: random.Random) -> None:
        del rng
        entry = self._start(key, "start to kill", "exec sleep 300")
        if entry is None:
            return
        seen, _ = self.quietly("process kill", lambda: self.registry.kill(entry.id))
        if seen is not None and seen.info.running:
            self.bad("not ended", f"process {key} runs after it was killed")

    def send(self, key: str, rng: random.Random) -> None:
        del rng
        entry = self._start(key, "start to send", 'read x; echo "got $x"; exit 3')
        if entry is None:
            return
        _, error = self.quietly("process submit", lambda: self.registry.submit(entry.id, "it"))
        if error is not None:
            return
        seen, _ = self.quietly("process wait", lambda: self.registry.wait(entry.id, 15.0), limit=15)
        if seen is not None and seen.info.state == "ended":
            log, _ = self.quietly("process log", lambda: self.registry.log(entry.id))
            if seen.info.exit_code != 3 or (log is not None and not self._printed(log.data, b"got it\n")):
                self.bad("untrue", f"process {key}: {seen.info.exit_code}, {log}")
        elif seen is not None and seen.info.running:
            self.bad("not ended", f"process {key} did not get its line")

    def file(self, key: str, rng: random.Random) -> None:
        path = f"{self.ledger}/files/{key}"
        sizes = [rng.choice((1, 1_000, 100_000, 400_000)) for _ in range(3)]
        may: set[bytes | None] = {None}
        for number, size in enumerate(sizes):
            data = rng.randbytes(size)
            _, error = self.quietly(f"write_file {size}", lambda data=data: self.env.write_file(path, data))
            if error is None:
                may = {data}
            elif isinstance(error, OSError | KeyboardInterrupt | ConnectionLost):
                # The old contents are there still; or nobody knows.
                may = may if isinstance(error, OSError) else may | {data}
            back, error = self.quietly("read_file", lambda absent=None in may: self._read(path, absent))
            if error is None and back not in may:
                known = [None if each is None else len(each) for each in may]
                self.bad("untrue", f"file {key}.{number}: {None if back is None else len(back)} bytes, not {known}")
            elif error is None:
                may = {back}

    def _read(self, path: str, may_be_absent: bool) -> bytes | None:
        try:
            return self.env.read_file(path)
        except FileNotFoundError:
            if may_be_absent:
                return None
            raise

    def copy(self, key: str, rng: random.Random) -> None:
        source, back = self.root / f"up-{key}", self.root / f"down-{key}"
        data = rng.randbytes(rng.choice((10, 200_000, 2_000_000)))
        try:
            source.write_bytes(data)
        except OSError:
            return
        remote = f"{self.ledger}/files/{key}"
        _, error = self.quietly("upload", lambda: self.env.upload(source, remote))
        if error is None:
            _, error = self.quietly("download", lambda: self.env.download(remote, back))
            with contextlib.suppress(OSError):
                if error is None and back.read_bytes() != data:
                    self.bad("untrue", f"copy {key}: {back.stat().st_size} of {len(data)} bytes came back")

    def terminal(self, key: str, rng: random.Random) -> None:
        code = rng.randrange(4)
        text = f'{self.leave_mark(key)}; read x; echo "got $x"; exit {code}'
        made = self.attempt(key, "pty", lambda: self.env.pty(text))
        if made is None:
            return
        _, error = self.quietly("pty write", lambda: made.write("hello\r"))
        status, other = self.quietly("pty wait", lambda: made.wait(15.0), limit=15)
        if error is None and other is None and status == code:
            self.note(end=key, what="pty", claim="done", error="")
        if error is None and other is None and status not in {code, None}:
            if not (status > 128 and self.plan.fault.startswith(_KILLS)):
                self.bad("untrue", f"pty {key}: status {status}, not {code}")
        elif error is None and other is None and status == code and "got hello" not in made.screen().text:
            self.bad("untrue", f"pty {key}: its screen is {made.screen().text[:100]!r}")
        elif error is None and other is None and status is None:
            self.bad("not ended", f"pty {key} has not ended: {made.screen().text[:100]!r}")
        self.quietly("pty close", made.close)

    def attach(self, key: str, rng: random.Random) -> None:
        del rng
        other, _ = self.quietly("attach", lambda: environments.attach(self.env.handle))
        if other is None:
            return
        result = self.attempt(key, "attached run", lambda: other.run(f"{self.leave_mark(key)}; echo there"))
        self.check(f"attached run {key}", result, 0, b"there\n")
        self.quietly("detach", other.detach)

    def another(self, key: str, rng: random.Random) -> None:
        """Make an environment, run a command in it, and close it."""
        del rng
        if self.plan.place == "docker" and self.plan.threads > 1:
            return
        made, _ = self.quietly("create", lambda: environments.create(self.plan.place, **self.config))
        if made is None:
            return
        self.note(made=made.handle)
        result = self.attempt(key, "run elsewhere", lambda: made.run(f"{self.leave_mark(key)}; echo there"))
        self.check(f"run elsewhere {key}", result, 0, b"there\n")
        _, error = self.quietly("close", made.close, limit=20)
        if error is not None:  # an interrupt in the middle of it, an engine that is away
            self._close_again(made)

    def _close_again(self, made: Environment) -> None:
        """What an interrupt or an engine that was away has left, goes when somebody asks once more."""
        self.leftovers = [*getattr(self, "leftovers", []), made]

    # -- the round -----------------------------------------------------------------------------------------

    def open(self) -> None:
        """Make the environments and the registry."""
        self.env = environments.create(self.plan.place, **self.config)
        self.note(made=self.env.handle)
        self.registry = ProcessRegistry(environments.attach, on_notice=self.heard.append)
        self.registry.use(self.env)
        self.env.run("KEEP=kept; export KEEP").check()
        self.env.run(f"mkdir -p {self.ledger}/files").check()

    def work(self) -> None:
        """Do the calls, in so many threads."""
        waiting = list(enumerate(self.plan.calls))
        lock = threading.Lock()

        def take() -> None:
            while True:
                with lock:
                    if not waiting:
                        return
                    number, kind = waiting.pop(0)
                    say(f"call {number}")
                rng = random.Random(f"{self.plan.seed}:{self.plan.number}:{number}")
                try:
                    getattr(self, kind)(f"c{number}", rng)
                except BaseException as error:  # a mistake of the campaign's own
                    self.bad("campaign", f"{kind}: {''.join(traceback.format_exception(error))[-1500:]}")

        if self.plan.threads == 1:
            take()
            return
        threads = [threading.Thread(target=take) for _ in range(self.plan.threads)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def neighbour(self, over: threading.Event, env: Environment) -> None:
        """Run commands in a healthy environment all the while."""
        number = 0
        while not over.wait(0.05):
            number += 1
            began = time.monotonic()
            try:
                result = env.run(f"echo {number}", timeout=10)
                seconds = time.monotonic() - began
                if self.plan.neighbours_feel:
                    continue
                if result.stdout != f"{number}\n":
                    self.bad("neighbour", f"a healthy environment said {result}")
                elif seconds > 3 + self.slack:
                    self.bad("neighbour", f"a healthy environment took {seconds:.1f} s")
            except Exception as error:
                if not self.plan.neighbours_feel:
                    self.bad("neighbour", f"a healthy environment: {describe(error)}")
        if self.plan.neighbours_feel:
            result = env.run("echo still", timeout=10)
            if result.stdout != "still\n":
                self.bad("neighbour", f"a healthy environment said {result} afterwards")

    def heal(self) -> None:
        """The environment works again, with the state that it had."""
        until = time.monotonic() + _HEALED
        last: BaseException | None = None
        while time.monotonic() < until:
            result, last = self.quietly(
                "run afterwards", lambda: self.env.run("echo ${KEEP:-lost}", timeout=8), limit=8
            )
            if last is None and not result.timed_out:
                if result.stdout != "kept\n":
                    self.bad("state lost", f"afterwards the default session says {result.stdout!r}, {result.shell}")
                return
            time.sleep(0.1)
        self.bad("not healed", f"{_HEALED} s after the fault: {'timed out' if last is None else describe(last)}")

    def finish(self, started: dict[str, str]) -> None:
        """See that all processes are there that were started, end them, and hear of each end once.

        Args:
            started: keys of the ledger by the ids of processes.
        """
        there, error = self.quietly("processes", lambda: {info.id: info for info in self.env.processes()})
        if error is None and self.plan.heals:
            lost = set(started) - set(there)
            if lost:
                self.bad("process lost", f"started and not there: {sorted(started[name] for name in lost)}")
        names = (
            set(there or ()) if self.plan.place != "local" else set(there or ()) & (set(started) | self._ours(there))
        )
        for name in names:
            if there[name].running:
                self.quietly("process kill", lambda name=name: self.env.process(name).kill("KILL"))
        self._hear(started)
        for name in names:
            self.quietly("process remove", lambda name=name: self.env.process(name).remove())

    def _hear(self, started: dict[str, str]) -> None:
        """Write down each end that was not told once."""
        until = time.monotonic() + _NOTICES
        while time.monotonic() < until:
            self.quietly("refresh", lambda: self.registry.refresh(self.registry.use(self.env)))
            ends = [notice.id for notice in list(self.heard) if notice.kind is NoticeKind.ENDED]
            if set(started) <= set(ends):
                break
            time.sleep(0.05)
        time.sleep(0.1)
        ends = [notice.id for notice in list(self.heard) if notice.kind is NoticeKind.ENDED]
        for name in started:
            if ends.count(name) != 1:
                self.note(told=name, times=ends.count(name))
        for name in set(ends) - set(started):
            if ends.count(name) > 1:
                self.note(told=name, times=ends.count(name))

    def _ours(self, there: Any) -> set[str]:
        return set(there or ())  # the state directory is this round's own

    def started(self) -> dict[str, str]:
        """Read from the journal which processes were started."""
        rows = [json.loads(line) for line in (self.root / "journal").read_text().splitlines() if line]
        return {row["started"]: row["key"] for row in rows if "started" in row}

    def close(self) -> None:
        """Close everything."""
        self.quietly("registry close", self.registry.close)
        for made in (*getattr(self, "leftovers", []), self.env):
            _, error = self.quietly("close", made.close, limit=20)
            if error is not None and self.plan.heals:
                self.bad("close", describe(error))


def describe(error: BaseException) -> str:
    """One line on an error."""
    notes = "; ".join(getattr(error, "__notes__", []))
    if isinstance(error, KeyboardInterrupt):
        frames = traceback.extract_tb(error.__traceback__)[-12:]
        notes += " at " + ", ".join(f"{Path(each.filename).stem}:{each.name}:{each.lineno}" for each in frames)
    return f"{type(error).__module__}.{type(error).__name__}: {str(error)[:300]}{f' ({notes})' if notes else ''}"


def say(line: str) -> None:
    """Tell the campaign."""
    os.write(1, f"{line}\n".encode())


def main() -> None:
    """See the module."""
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    given = json.loads(Path(sys.argv[1]).read_text())
    client = Client(given)

    def interrupt(number: int, frame: FrameType | None) -> None:
        if client._armed:
            signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    if sys.argv[2:] == ["--after"]:
        after(client)
        return
    plan = client.plan
    imports(plan)
    before = holdings()
    client.open()
    beside = environments.create(plan.beside, **client.beside)
    client.note(made=beside.handle)
    over = threading.Event()
    watcher = threading.Thread(target=client.neighbour, args=(over, beside))
    watcher.start()
    say(f"ready {client.env.id} {client.env.handle}")
    client.work()
    say("done")
    sys.stdin.readline()
    if plan.heals:
        client.heal()
    over.set()
    watcher.join()
    client.finish(client.started())
    client.close()
    client.quietly("close beside", beside.close, limit=20)
    subprocess._cleanup()  # type: ignore[attr-defined]  # what was interrupted while it was started, as the next start does
    try:
        assert_nothing_new(before, within=5)
    except AssertionError as error:
        client.bad("held", str(error)[:1500])
    say("closed")


def imports(plan: Plan) -> None:
    """Import what the first call would: what modules hold is no leak, and without descriptors none comes."""
    import shellward.terminal.emulator  # noqa: F401  # of what a terminal shows

    kinds = {plan.place, plan.beside}
    if "docker" in kinds:
        import docker  # noqa: F401
    if "ssh" in kinds:
        import paramiko  # noqa: F401


def after(client: Client) -> None:
    """Find what a killed client has left, and clear it away."""
    plan = client.plan
    if plan.place == "local":
        client.env = environments.create("local", **client.config)
    else:
        client.env = environments.attach(client.handle)
        result = client.env.run("echo ${KEEP:-lost}", timeout=10)
        client.check("run after attach", result, 0)
    client.registry = ProcessRegistry(environments.attach, on_notice=client.heard.append)
    client.registry.use(client.env)
    client.registry.listen()
    client.finish(client.started())
    client.close()
    say("closed")


if __name__ == "__main__":
    main()
