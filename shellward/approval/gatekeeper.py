"""The gate as one object: detect, decide, ask who has to be asked, remember, record. It never runs anything.

Callers above hold one ``Gate`` per environment and call ``decide`` before each command and ``record`` after
it.
"""

import functools
import secrets
import threading
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from shellward.approval import callbacks, grants, policy
from shellward.approval.context import Answer, ApprovalRequest, Context, Detected, Review
from shellward.approval.detecting import Detect, Unreadable
from shellward.approval.journal import Journal
from shellward.approval.live import LiveSettings
from shellward.approval.policy import Case, Outcome
from shellward.approval.reach import EVERYTHING, Reach
from shellward.approval.rules import Rules
from shellward.approval.threads import in_thread
from shellward.approval.withdrawal import Descriptor, Withdrawal
from shellward.config import paths
from shellward.config.loader import Loaded, load
from shellward.config.schema import Config
from shellward.core.errors import ConfigError
from shellward.core.gate import Decision, Verdict

if TYPE_CHECKING:
    from shellward.approval.accepted import Accepted
    from shellward.approval.engine import Packs
    from shellward.approval.guarded import Guarded
    from shellward.approval.reviewer import Reviewer, Spend

_D = TypeVar("_D", bound=Detected)
_NOWHERE: Final = Context()
_NO_PACKS: "Final[Packs]" = MappingProxyType({})
_ALLOWLIST: Final = "approval.command_allowlist"
_MOST_UNASKED: Final = 512
"""So many decisions about harmless commands are kept."""
_MOST_KEPT: Final = 16_384
"""Characters of a command about which one is kept."""


class Gate:
    """The door in front of one environment. Safe to share between threads.

    Args:
        config: the settings.
        reach: what the environment can touch.
        config_file: the settings file that ``always`` is written to; None keeps such approvals in memory
            only.
        approvals_dir: directory of the approval queue; None for none.
        journal: where decisions are recorded; None for nowhere.
        detect: how commands become findings.
        reviewer: the smart reviewer; None makes one from the settings when it is first needed.
        terminal: whether a person may be asked on this program's terminal.
        follow: ``command_allowlist`` is that of the settings file, also when that is changed meanwhile.
        accepted: which settings a person has accepted; None: whatever the file says.
        reload: reads the settings anew when their file has changed; what it says holds from the next command on.
            None: they stay as they are.
    """

    def __init__(
        self,
        config: Config,
        *,
        reach: Reach = EVERYTHING,
        config_file: Path | None = None,
        approvals_dir: Path | None = None,
        journal: Journal | None = None,
        detect: Detect | None = None,
        reviewer: "Reviewer | None" = None,
        terminal: bool = True,
        follow: bool = False,
        reload: "Callable[[], Config] | None" = None,
        accepted: "Accepted | None" = None,
    ) -> None:
        self.reach = reach
        beside = () if accepted is None else (accepted.path,)
        self._live = LiveSettings(config, config_file, reload, beside) if reload and config_file else None
        self._settings = config.approval
        self._rules = Rules(config.approval.rules)
        self._grants = grants.GrantStore(
            config.approval.command_allowlist, config_file, follow=follow, accepted=accepted
        )
        self._approvals_dir = approvals_dir
        self._journal = journal
        self.packs = _packs(config)
        self._detect = detect
        self._reviewer = reviewer
        self._terminal = terminal
        self._config_file = config_file
        self._audit_path = config.audit.path
        self._lock = threading.Lock()
        self._at_terminal = threading.Lock()
        self._own_session = secrets.token_hex(8)
        self._generation = 0
        self._unasked = functools.lru_cache(_MOST_UNASKED)(self._without_findings)

    def decide(
        self,
        command: str | Detected,
        context: Context = _NOWHERE,
        *,
        withdrawal: Withdrawal | None = None,
        timeout: float | None = None,
    ) -> Decision:
        """Decide about a command, asking whoever has to be asked; this may block for as long as a person may.

        Args:
            command: the line as submitted, or what was found in it already.
            context: where and for whom it would run.
            withdrawal: lets another thread take the question back.
            timeout: seconds a person has, instead of the setting.

        Returns:
            Allow or deny, with all that led to it; recorded.
        """
        case, outcome = self._without_person(command, context)
        if outcome.decision.verdict is Verdict.ASK:
            request = self._request(case, outcome, withdrawal or Withdrawal())
            if timeout is not None:
                request = replace(request, timeout=timeout)
            answer = callbacks.ask(request) if callbacks.registered() else self._ask(case, request)
            outcome = self._answered(case, outcome, answer)
        return self._recorded(outcome.decision)

    def passes(self, command: str | Detected, context: Context) -> Decision | None:
        """Return the decision, recorded, about a command in which nothing was found and that nobody need be asked of.

        None when it is not one of those. What was found is to be the same object when it is the same command:
        then the chain, which depends on nothing that changes here, is not walked again. What is large is not kept
        for that.
        """
        if isinstance(command, str) or command.findings or not isinstance(command, Hashable):
            return None
        self.follow_settings()
        if self.complete(command, context).findings:
            return None
        look = self._unasked if len(command.command) <= _MOST_KEPT else self._without_findings
        decision = look(command, context, self._generation)
        return None if decision is None else self._recorded(decision)

    def _without_findings(self, detected: Detected, context: Context, generation: int) -> Decision | None:
        del generation  # of the settings: what was decided by older ones is not found any more
        decision = policy.decide(self._case(detected, context)).decision
        return decision if decision.verdict is Verdict.ALLOW else None

    async def adecide(self, command: str, context: Context = _NOWHERE) -> Decision:
        """Decide as ``decide`` does, without blocking the event loop; cancelling withdraws the question."""
        withdrawal = Withdrawal()
        case = self._case(command, context)
        outcome = policy.decide(case)
        if outcome.decision.verdict is Verdict.ASK and outcome.may_review:
            case, outcome = await in_thread(functools.partial(self._reviewed, case, outcome), withdrawal)
        if outcome.decision.verdict is Verdict.ASK:
            request = self._request(case, outcome, withdrawal)
            if callbacks.is_async():
                answer = await callbacks.aask(request)
            elif callbacks.registered():
                answer = await in_thread(functools.partial(callbacks.ask, request), withdrawal)
            else:
                answer = await in_thread(functools.partial(self._ask, case, request), withdrawal)
            # Remembering waits for a file's lock.
            outcome = await in_thread(functools.partial(self._answered, case, outcome, answer), withdrawal)
        if not outcome.decision.findings:
            return self._recorded(outcome.decision)
        # Such a record is forced to disk, which may take as long as the disk likes.
        return await in_thread(functools.partial(self._recorded, outcome.decision), withdrawal)

    def judge(self, command: str | Detected, context: Context = _NOWHERE) -> Decision:
        """Decide without asking a person: the verdict may be ``ask``, for callers that ask themselves."""
        return self._recorded(self._without_person(command, context)[1].decision)

    def examine(self, command: str | Detected, context: Context = _NOWHERE) -> Outcome:
        """Say what would be decided, asking nobody, remembering and recording nothing."""
        return policy.decide(self._case(command, context))

    def complete(self, detected: _D, context: Context) -> _D:
        """Add what the writes of a line reach of the gate's own places, as the file system is now.

        Args:
            detected: what was found in its text.
            context: where it would run.

        Returns:
            The same object when there is nothing to add.
        """
        written = getattr(detected, "written", ())
        if not written:
            return detected
        more = self._guarded.findings(written, context.cwd, context.backend)
        return detected.completed(more) if more else detected  # type: ignore[attr-defined]

    @functools.cached_property
    def _guarded(self) -> "Guarded":
        from shellward.approval.guarded import Guarded

        files = [self._config_file] if self._config_file is not None else []
        files += [Path(self._audit_path).expanduser()] if self._audit_path else []
        files += [paths.config_dir() / Path(pack).expanduser() for pack in self._settings.packs]
        return Guarded(files)

    def record(self, decision: Decision, exit_code: int, duration: float) -> None:
        """Record how an allowed command ended.

        Args:
            decision: what ``decide`` returned.
            exit_code: its exit status.
            duration: seconds it took.
        """
        if self._journal is not None:
            self._journal.outcome(decision, exit_code, duration)

    def somebody_watches(self) -> bool:
        """Whether a person in another terminal would see a question now."""
        if self._approvals_dir is None or self._settings.queue == "off":
            return False
        from shellward.approval.queue import Queue

        return Queue(self._approvals_dir).watched()

    @property
    def spend(self) -> "Spend | None":
        """What the reviewer has cost so far; None when it was not asked, or does not say."""
        return getattr(self._reviewer, "spend", None)

    def forget_session(self, session: str | None) -> None:
        """Drop what was approved for a session that has ended; None: all of them have."""
        self._grants.forget(session)

    def close(self) -> None:
        """Close the log."""
        if self._journal is not None:
            self._journal.close()

    def follow_settings(self) -> int:
        """Take over what was changed in the settings' file meanwhile; return how often that has happened."""
        if self._live is not None and (config := self._live.changed()) is not None:
            self._take_over(config)
        return self._generation

    def _take_over(self, config: Config) -> None:
        try:
            rules, packs = Rules(config.approval.rules), _packs(config)
        except ConfigError:  # as with the settings themselves: what held before holds on
            return
        with self._lock:
            if config.approval.reviewer != self._settings.reviewer:
                self._reviewer = None
            self._settings, self._rules, self.packs = config.approval, rules, packs
            self._generation += 1

    def _case(self, command: str | Detected, context: Context) -> Case:
        self.follow_settings()
        detected = command if not isinstance(command, str) else self.find(command, context)
        return Case(
            detected=self.complete(detected, context),
            context=context,
            settings=self._settings,
            rules=self._rules,
            grants=self._grants.view(self._session(context)),
            reach=self.reach,
        )

    def find(self, command: str, context: Context) -> Detected:
        """Find what should pause an agent in a command's text, deciding nothing; never raises.

        Args:
            command: the line.
            context: where it would run.
        """
        try:
            if self._detect is not None:
                return self._detect(command, cwd=context.cwd)
            from shellward.approval.detect import detect_dangerous_command

            if not self.packs:
                return detect_dangerous_command(command, cwd=context.cwd)
            return detect_dangerous_command(command, cwd=context.cwd, packs=self.packs)
        except Exception as error:  # noqa: BLE001  # a defect in detection must stop the command, not the gate
            return Unreadable(command, error)

    def _session(self, context: Context) -> str:
        return context.session or context.task or self._own_session

    def _without_person(self, command: str | Detected, context: Context) -> tuple[Case, Outcome]:
        case = self._case(command, context)
        outcome = policy.decide(case)
        if outcome.decision.verdict is Verdict.ASK and outcome.may_review:
            return self._reviewed(case, outcome)
        return case, outcome

    def _reviewed(self, case: Case, outcome: Outcome) -> tuple[Case, Outcome]:
        case = replace(case, review=self._review(case, outcome))
        return case, policy.decide(case)

    def _review(self, case: Case, outcome: Outcome) -> Review:
        try:
            with self._lock:
                if self._reviewer is None:
                    from shellward.approval.reviewer import HttpReviewer

                    self._reviewer = HttpReviewer(self._settings.reviewer)
                reviewer = self._reviewer
            return reviewer.review(case.detected, outcome.open, case.context, case.reach)
        except Exception as error:  # noqa: BLE001  # a reviewer that fails has not approved
            return Review("escalate", f"no verdict: {error}")

    def _request(self, case: Case, outcome: Outcome, withdrawal: Withdrawal) -> ApprovalRequest:
        from shellward.approval.affected import absolute

        own = Withdrawal()  # the caller's may serve for several questions; answering one takes back none
        withdrawal.listen(own.withdraw)
        exact = grants.exact(case.detected, outcome.open, case.context, case.reach)
        shown = tuple(replace(finding, affects=absolute(finding, case.context)) for finding in outcome.open)
        named = {
            (f.inner, f.cwd): dict(zip(f.affects, s.affects, strict=True))
            for f, s in zip(outcome.open, shown, strict=True)
        }
        parts = grants.parts(case.detected, outcome.open, case.context, case.reach)
        return ApprovalRequest(
            id=secrets.token_hex(8),
            command=case.detected.command,
            normalized=case.detected.normalized,
            findings=shown,
            context=case.context,
            reach=tuple(sorted(case.reach.powers)),
            exact=exact.describe(),
            part="; and ".join(part.describe(named[part.command, part.cwd or ""]) for part in parts),
            timeout=self._settings.timeout,
            withdrawal=own,
        )

    def _ask(self, case: Case, request: ApprovalRequest) -> Answer:
        """Ask a person: on this terminal, or through the queue; say so when there is neither."""
        if self._terminal:
            from shellward.approval import person

            if person.has_terminal():
                return self._ask_here(case, request)
        if self._approvals_dir is not None and self._settings.queue != "off":
            from shellward.approval.queue import Queue

            queue = Queue(self._approvals_dir)
            try:
                if self._settings.queue == "on" or queue.watched():
                    with Descriptor(request.withdrawal) as fd:
                        return queue.ask(request, cancel_fd=fd)
            except OSError as error:
                return Answer("nobody", note=str(error))
        return Answer("nobody", note="nobody can be asked here (no terminal, no callback, nobody watching)")

    def _ask_here(self, case: Case, request: ApprovalRequest) -> Answer:
        """Ask on the terminal, one question after the other; an answer may settle the next question too."""
        from shellward.approval import person

        if not self._at_terminal.acquire(timeout=request.timeout):
            return Answer("nobody", note=f"no answer within {request.timeout:g} seconds")
        try:
            now = replace(case, grants=self._grants.view(self._session(case.context)))
            if policy.decide(now).decision.verdict is Verdict.ALLOW:
                return Answer("allow", by="an answer given a moment ago")
            with Descriptor(request.withdrawal) as fd:
                return person.ask(request, cancel_fd=fd)
        finally:
            self._at_terminal.release()

    def _answered(self, case: Case, outcome: Outcome, answer: Answer) -> Outcome:
        if answer.kind == "allow" and answer.scope != "once":
            answer = self._remember(case, outcome, answer)
        return policy.decide(replace(case, answer=answer))

    def _remember(self, case: Case, outcome: Outcome, answer: Answer) -> Answer:
        """Keep an approval as exactly what was shown; where that fails it holds for this time only."""
        made = grants.parts(case.detected, outcome.open, case.context, case.reach) if answer.part else ()
        if answer.part and not made:
            return replace(answer, scope="once", part=False, note="no narrow rule was offered: once only")
        made = made or (grants.exact(case.detected, outcome.open, case.context, case.reach),)
        session = None if answer.scope == "always" else self._session(case.context)
        try:
            self._grants.remember(made, session)
        except ConfigError as error:
            return replace(answer, scope="once", note=f"could not be remembered: {error}")
        return answer

    def _recorded(self, decision: Decision) -> Decision:
        if self._journal is None:
            return decision
        return self._journal.decision(decision)


def open_gate(loaded: Loaded, *, reach: Reach = EVERYTHING, terminal: bool = True) -> Gate:
    """Make the gate that the settings describe, with the usual places for its files.

    Args:
        loaded: what ``shellward.config.load`` returned.
        reach: what the environment can touch.
        terminal: whether a person may be asked on this program's terminal.
    """
    from shellward.approval.accepted import Accepted

    accepted = Accepted(loaded.file)

    def reload() -> Config:
        return accepted.applied(load(file=loaded.file))

    return Gate(
        accepted.applied(loaded),
        reach=reach,
        config_file=loaded.file,
        approvals_dir=paths.approvals_dir(),
        journal=Journal(loaded.config.audit, paths.audit_file()),
        terminal=terminal,
        follow=not loaded.sources.get(_ALLOWLIST, "").startswith(("$", "argument")),
        reload=None if "argument" in loaded.sources.values() else reload,
        accepted=accepted,
    )


def _packs(config: Config) -> "Packs":
    """Read the user's own packs; without any, nothing is loaded for them."""
    if not config.approval.packs:
        return _NO_PACKS
    from shellward.approval.packs import load_packs

    return load_packs(config.approval.packs)
