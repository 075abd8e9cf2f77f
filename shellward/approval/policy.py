"""The decision: one pure function from what is known to allow, ask or deny, with the steps recorded.

The chain, in this order; each link sees only what no link before it has answered, and every finding needs an
answer:

1. never-allow list: denied, in every mode and environment
2. the user's deny rules: denied, likewise
3. the user's ask rules: from here on a person is needed (or was asked before), whatever else says yes
4. the user's allow rules
5. remembered approvals
6. findings: low severity by setting; what the environment's reach contains
7. mode ``off``: nobody is asked for what is left, but ask rules hold
8. the reviewer, in mode ``smart``
9. a person; nobody there means denied

Asking is done by others (``gatekeeper``), which call this function again with the answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shellward.approval.context import ASK_RULE, Answer, Context, Detected, Review
from shellward.approval.grants import Grants
from shellward.approval.reach import EVERYTHING, Reach, contained
from shellward.approval.rules import Rules
from shellward.config.schema import ApprovalSection
from shellward.core.gate import Decision, Finding, Severity, Step, Verdict

_NO_RULES = Rules()
_NO_GRANTS = Grants()
_DEFAULTS = ApprovalSection()
_NOWHERE = Context()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything that a decision is made from.

    Attributes:
        detected: what was found.
        context: where and for whom it would run.
        settings: the approval section.
        rules: the user's rules, ready to be asked.
        grants: the remembered approvals that hold.
        reach: what the environment can touch.
        review: what the reviewer said, once it was asked.
        answer: what a person said, once one was asked.
    """

    detected: Detected
    context: Context = _NOWHERE
    settings: ApprovalSection = _DEFAULTS
    rules: Rules = _NO_RULES
    grants: Grants = _NO_GRANTS
    reach: Reach = EVERYTHING
    review: Review | None = None
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A decision, and what is still open when it is ``ask``.

    Attributes:
        decision: see ``Decision``.
        open: findings without an answer.
        may_review: whether the reviewer may be asked about them.
    """

    decision: Decision
    open: tuple[Finding, ...] = ()
    may_review: bool = False


def decide(case: Case) -> Outcome:
    """Decide. Pure: the same case gives the same outcome, and nothing is read, written or asked."""
    return _Chain(case).run()


class _Chain:
    """One walk along the links."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.steps: list[Step] = []
        self.open: list[Finding] = list(case.detected.findings)
        self.closed_by = "findings"
        self.reason = "nothing was found that should pause an agent"

    def run(self) -> Outcome:
        outcome = self._forbidden()
        if outcome is not None:
            return outcome
        self._ask_rules()
        if self.open:
            self._allow_rules()
            self._grants()
            if (outcome := self._findings()) is not None:
                return outcome
            self._mode()
        if not self.open:
            return self._end(Verdict.ALLOW, self.closed_by, self.reason)
        return self._review() or self._person()

    def _forbidden(self) -> Outcome | None:
        detected, context = self.case.detected, self.case.context
        never = [finding for finding in detected.findings if finding.never_allow]
        if never:
            reason = f"never allowed, by anybody, in any mode: {_name(never)}"
            return self._end(Verdict.DENY, "never-allow", reason)
        rule = self.case.rules.denying(detected, context)
        if rule is not None:
            return self._end(Verdict.DENY, "deny-rule", f"the user's own rule forbids it: {rule.name}")
        return None

    def _ask_rules(self) -> None:
        detected = self.case.detected
        rule = self.case.rules.asking(detected, self.case.context)
        if rule is None:
            return
        reason = f"the user wants to be asked: {rule.name}"
        self.steps.append(Step("ask-rule", Verdict.ASK, reason))
        whole = (0, len(detected.command))
        self.open.append(Finding(ASK_RULE, reason, Severity.MEDIUM, whole, detected.normalized, why=reason))

    def _allow_rules(self) -> None:
        def answer(finding: Finding) -> str | None:
            rule = None if finding.rule == ASK_RULE else self.case.rules.allowing(finding, self.case.context)
            return None if rule is None else f"{finding.rule} is allowed by {rule.name}"

        self._close("allow-rule", answer)

    def _grants(self) -> None:
        case = self.case

        def answer(finding: Finding) -> str | None:
            grant = case.grants.covering(finding, case.detected, case.context, case.reach)
            return None if grant is None else f"{finding.rule} was approved before: {grant.describe()}"

        self._close("grant", answer)

    def _findings(self) -> Outcome | None:
        settings, reach = self.case.settings, self.case.reach
        low = [finding for finding in self.open if finding.severity <= Severity.LOW and finding.rule != ASK_RULE]

        def answer(finding: Finding) -> str | None:
            if finding.rule == ASK_RULE:
                return None
            if finding.severity <= Severity.LOW and settings.low_severity == "allow":
                return f"{finding.rule} is of low severity"
            if contained(finding, reach, settings.contained):
                return f"{finding.rule} harms nothing outside this {self.case.context.backend} environment"
            return None

        self._close("findings", answer)
        refused = [finding for finding in low if finding in self.open]
        if refused and settings.low_severity == "deny":
            reason = f"the settings deny even findings of low severity: {_name(refused)}"
            return self._end(Verdict.DENY, "findings", reason)
        if self.open:
            self.steps.append(Step("findings", Verdict.ASK, f"needs an answer: {_name(self.open)}"))
        return None

    def _mode(self) -> None:
        if self.case.settings.mode == "off":
            self._close("mode", lambda f: None if f.rule == ASK_RULE else f"{f.rule}: approvals are off")

    def _close(self, link: str, answer: Callable[[Finding], str | None]) -> None:
        """Take out of the open findings those that this link answers, and record why."""
        left = []
        for finding in self.open:
            reason = answer(finding)
            if reason is None:
                left.append(finding)
                continue
            self.steps.append(Step(link, Verdict.ALLOW, reason))
            self.closed_by, self.reason = link, reason
        self.open = left

    def _review(self) -> Outcome | None:
        review = self.case.review
        if review is None or not self._may_review():
            return None
        tokens = "from the cache" if review.cached else f"{sum(review.tokens)} tokens"
        said = f"{review.reason} ({tokens})"
        if review.verdict == "approve":
            return self._end(Verdict.ALLOW, "reviewer", said)
        if review.verdict == "deny":
            return self._end(Verdict.DENY, "reviewer", f"the reviewer refused: {said}")
        self.steps.append(Step("reviewer", None, said))
        return None

    def _may_review(self) -> bool:
        settings = self.case.settings
        worst = Severity[settings.reviewer.max_severity.upper()]
        return settings.mode == "smart" and all(
            finding.severity <= worst and finding.rule != ASK_RULE for finding in self.open
        )

    def _person(self) -> Outcome:
        answer = self.case.answer
        if answer is None:
            reason = f"needs a person's approval: {_name(self.open)}"
            return self._end(Verdict.ASK, "findings", reason, record=False)
        by, note = answer.by or "a person", f": {answer.note}" if answer.note else ""
        if answer.kind == "allow":
            what = "" if answer.scope == "once" else f" ({answer.scope}{', narrow rule' if answer.part else ''})"
            return self._end(Verdict.ALLOW, "person", f"approved by {by}{what}{note}")
        if answer.kind == "deny":
            return self._end(Verdict.DENY, "person", f"refused by {by}{note}")
        reason = (
            f"not run: it needs a person's approval and none was given{note}. It was stopped for {_name(self.open)}"
        )
        return self._end(Verdict.DENY, "nobody", reason)

    def _end(self, verdict: Verdict, by: str, reason: str, *, record: bool = True) -> Outcome:
        case = self.case
        if record and not (self.steps and self.steps[-1].by == by and self.steps[-1].reason == reason):
            self.steps.append(Step(by, verdict, reason))
        decision = Decision(
            verdict=verdict,
            command=case.detected.command,
            normalized=case.detected.normalized,
            findings=case.detected.findings,
            decided_by=by,
            reason=reason,
            steps=tuple(self.steps),
            context=case.context.record(),
        )
        asking = verdict is Verdict.ASK
        return Outcome(decision, tuple(self.open) if asking else (), asking and self._may_review())


def _name(findings: Sequence[Finding]) -> str:
    """Name findings for a sentence, each kind once."""
    names = dict.fromkeys(f"{finding.description} ({finding.rule})" for finding in findings)
    return "; ".join(names)
