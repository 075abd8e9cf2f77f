"""One run: a thread makes the environment, runs the command and cleans up; the main thread minds signals and time.

Python runs signal handlers between any two steps of the main thread. What must not be cut in two (making a
container, ending a command's processes) therefore happens in the other one, and the main thread asks it to end.
"""

import os
import queue
import signal
import threading
import time
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from shellward.cli.run.progress import Progress
from shellward.cli.run.report import denied, exit_code, explain, plain
from shellward.cli.run.streams import Output, OutputClosedError, recorded, standard_input
from shellward.cli.say import BROKEN_PIPE, FAILED, UNKNOWN, fail, print_json, say
from shellward.core.errors import (
    HAD_BEGUN,
    NOTHING_RAN,
    ApprovalDenied,
    ConfigError,
    ConnectionLost,
    EnvironmentUnavailable,
    MissingDependency,
    Unsupported,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from shellward.cli.run.options import Options
    from shellward.core.types import Chunk, Result
    from shellward.environments.session import Session
    from shellward.terminal_tool.guard import Terminal

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TICK: Final = 0.05
_STUCK: Final = 1.0
"""Seconds after its end that a command's output may wait for its reader."""
_PATIENCE: Final = 15.0
"""Seconds after a signal in which everything has to be gone; then we go without waiting."""
_MAKING_PATIENCE: Final = 3.0
"""The same while the environment is being made: after that it is an image on its way, and nothing is there yet."""
_CLEANING: Final = 5.0
"""Seconds for the removal of what is left, when we go without waiting."""
_ENOUGH: Final = 3
"""So many signals mean: now."""


class _Phase(StrEnum):
    MAKING = "making"
    RUNNING = "running"
    LEAVING = "leaving"


class Job:
    """See the module.

    Attributes:
        result: of the command, when there is one.
        error: what went wrong, when something did.
        handle: of the environment, when it is there afterwards.
        caught: the first signal that told us to end.
        trouble: what went wrong while the environment was left or removed, when something did.
    """

    def __init__(self, options: "Options", output: Output | None) -> None:
        self.options = options
        self.result: Result | None = None
        self.error: BaseException | None = None
        self.handle: str | None = None
        self.caught: int | None = None
        self.trouble: str | None = None
        self._began = False
        self._output = output
        self._events: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._signals = 0
        self._caught_at = 0.0
        self._phase = _Phase.MAKING
        self._phase_began = time.monotonic()
        self._environment: Terminal | None = None
        self._progress = Progress(options)
        self._ending = threading.Lock()
        self._worker = threading.Thread(target=self._work, name="shellward-run", daemon=True)

    # -- the other thread ----------------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            self._environment = environment = self._open()
            try:
                self._run(environment)
            except BaseException as error:  # noqa: BLE001  # as below; what goes wrong next stands beside it
                self.error = error
            with self._ending:  # the main thread may still be at the command's last processes
                self._enter(_Phase.LEAVING)
            self._leave(environment)
        except BaseException as error:  # noqa: BLE001  # handed to the main thread, which reports it
            self.error = self.error or error
        finally:
            self._events.put(0)

    def _enter(self, phase: _Phase) -> None:
        self._phase, self._phase_began = phase, time.monotonic()

    def _open(self) -> "Terminal":
        from shellward.terminal_tool.guard import Terminal

        if self.options.attach is None:
            progress, lasting = self._progress.step, self.options.keep
            chosen = self.options.made_of
            return Terminal(chosen.kind, progress=progress, lasting=lasting, **chosen.config)
        handle = self.options.attach
        if ":" not in handle:
            from shellward.cli.env.find import everything, find

            handle = find(handle, everything()).handle
        return Terminal.attach(handle, shell=self.options.shell)

    def _run(self, environment: "Terminal") -> None:
        self._progress.end()
        if self.options.keep and not environment.capabilities.attach:
            raise Unsupported("be kept", environment.kind, "they end with their client")
        if self.options.leaves:
            self.handle = environment.handle
        if self.options.keep and not self.options.as_json:
            say(f"environment {environment.handle} lives on for {environment.backend.lease or 0:g} s")
        if self.caught is not None:
            return
        self._enter(_Phase.RUNNING)
        options = self.options
        with ExitStack() as stack, self._place(environment) as place:
            sink: Callable[[Chunk], None] | None = self._output
            if options.record is not None:
                sink = stack.enter_context(recorded(options.record, " ".join(options.words), self._output))
            self._began = True
            self.result = place.run(options.command, stdin=standard_input(), on_output=sink, **options.call())

    def _place(self, environment: "Terminal") -> "AbstractContextManager[Terminal] | AbstractContextManager[Session]":
        if self.options.session is None:
            return nullcontext(environment)
        return environment.session(self.options.session)

    def _leave(self, environment: "Terminal") -> None:
        """Leave or remove the environment; when that fails, the command's own result, or error, is what counts."""
        try:
            if self.handle is not None:
                environment.detach()
            else:
                environment.close()
        except Exception as error:
            if self.result is None and self.error is None:
                raise
            self.trouble = str(error) or type(error).__name__
            if not self.options.as_json:
                say(f"cannot clean up: {self.trouble}")

    @property
    def ran(self) -> str:
        """Whether the command has run, as far as anybody knows: ``yes``, ``no`` or ``unknown``."""
        error = self.error
        notes = getattr(error, "__notes__", [])
        if self.result is not None or HAD_BEGUN in notes:
            return "yes"
        if not self._began or NOTHING_RAN in notes:
            return "no"
        refused = (ApprovalDenied, ConfigError, MissingDependency, Unsupported, EnvironmentUnavailable)
        return "no" if isinstance(error, refused) and not isinstance(error, ConnectionLost) else "unknown"

    @property
    def beside(self) -> dict[str, str]:
        """What ``--json`` says of the command beside its result or its error."""
        return {"ran": self.ran} | ({"cleanup_error": self.trouble} if self.trouble else {})

    # -- the main thread -----------------------------------------------------------------------------------

    def carry_out(self) -> None:
        """Run it to its end, whatever that is."""
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or a job in the background of a script
                # Never put back: between here and the end of the process there is nothing to be interrupted.
                signal.signal(number, self._note)
        self._worker.start()
        while (event := self._next_event()) != 0:
            if event is not None:
                self._on_signal(event)
            if self.caught is not None:
                self._press_on()
            else:
                self._mind_time()
                self._progress.show()
        self._progress.end()
        self._worker.join()

    def _note(self, number: int, frame: object) -> None:
        del frame
        self._events.put(number)

    def _next_event(self) -> int | None:
        busy = self.caught is not None or self._phase is _Phase.MAKING or self.options.timeout is not None
        try:
            return self._events.get(timeout=_TICK if self.caught is not None else 0.25 if busy else None)
        except queue.Empty:
            return None

    def _on_signal(self, number: int) -> None:
        self._signals += 1
        self._progress.end()
        if self.caught is None:
            self.caught, self._caught_at = number, time.monotonic()
            return
        if self._output is not None:
            self._output.discard()
        if self._signals >= _ENOUGH:
            self._give_up()
        say("still ending what runs; once more to stop waiting")

    def _press_on(self) -> None:
        """End the command, as often as it takes: it may not have begun yet when the first signal comes."""
        waited = time.monotonic() - self._caught_at
        with self._ending:
            if self._phase is _Phase.RUNNING and self._environment is not None:
                # When it is gone, so is the command, and the other thread hears of it.
                with suppress(EnvironmentUnavailable):
                    self._environment.interrupt()
        if waited > _STUCK and self._output is not None:
            self._output.discard()
        limit = _MAKING_PATIENCE if self._phase is _Phase.MAKING else _PATIENCE
        if waited > limit:
            self._give_up()

    def _mind_time(self) -> None:
        """The engine ends a command in time, unless its output is stuck here, in front of a slow reader."""
        limit = self.options.timeout
        if limit is None or self._phase is not _Phase.RUNNING or self._output is None:
            return
        if self._environment is not None and self._environment.asking:
            self._enter(_Phase.RUNNING)  # a person takes his time, and that is not the command's
        elif time.monotonic() - self._phase_began > limit + _STUCK:
            self._output.discard()

    def _give_up(self) -> None:
        """Go without waiting any longer; remove what we made and can still reach."""
        number = self.caught or signal.SIGTERM
        say(f"got {signal.Signals(number).name}, and did not wait for the end")
        if not self.options.leaves:
            # An engine that does not answer is given this long, too, and no longer.
            cleaner = threading.Thread(target=_remove_ours, args=(self.options.made_of.kind,), daemon=True)
            cleaner.start()
            cleaner.join(_CLEANING)
        elif self._phase is _Phase.RUNNING:
            say(f"the command may still run in {self.handle}")
        os._exit(128 + number)


def _remove_ours(kind: str) -> None:
    """Remove the environments of this kind that this process made."""
    from shellward.cli.env.find import everything, remove
    from shellward.environments.owner import owner

    try:
        for info in everything(kind, quiet=True):
            if info.owner == owner():
                remove(info)
    except Exception as error:  # noqa: BLE001  # on the way out there is nobody left to handle it
        say(f"cannot clean up: {error}")


def carry_out(options: "Options") -> int:
    """Run a command as the options say; returns the exit code for this process."""
    try:
        options = options.placed()
    except ConfigError as error:
        return fail(error, as_json=options.as_json, more={"ran": "no"})
    job = Job(options, None if options.as_json else Output())
    job.carry_out()
    if job.error is not None:
        return _failed(job, job.error)
    if not options.as_json:
        explain(job.result, job.caught, options)
    if job.result is None:
        return _nothing_ran(job)
    code = exit_code(job.result, job.caught)
    if options.as_json:
        print_json(plain(job.result, job.handle) | {"exit_code": code} | job.beside)
    return code


def _nothing_ran(job: Job) -> int:
    """Interrupted before the command was begun."""
    number = job.caught or signal.SIGTERM
    if job.options.as_json:
        print_json({"error": f"got {signal.Signals(number).name}; nothing has run", "kind": "Interrupted"} | job.beside)
    return 128 + number


def _failed(job: Job, error: BaseException) -> int:
    if isinstance(error, OutputClosedError):
        return BROKEN_PIPE
    from shellward.core.errors import ShellwardError

    if not isinstance(error, (ShellwardError, OSError)):
        raise error
    more = {}
    if isinstance(error, ApprovalDenied):
        if job.caught is not None and error.decision.decided_by == "nobody":
            return _nothing_ran(job)
        more = denied(error, job.handle)
    elif isinstance(error, ConnectionLost) and error.result is not None:
        more = plain(error.result, job.handle) | {"exit_code": None}
    code = fail(error, as_json=job.options.as_json, more=more | job.beside)
    if isinstance(error, ApprovalDenied | ConfigError):
        return code
    return FAILED if job.ran == "no" else UNKNOWN
