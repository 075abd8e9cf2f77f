"""The chain over the real detector: what one approval must not cover, in commands as people write them."""

from collections.abc import Callable

import pytest

from shellward.approval import Answer, Context, Gate, register_approval_callback
from shellward.approval.reach import SEALED, Reach
from shellward.config.schema import ApprovalSection, Config, RuleSpec
from shellward.core.gate import Verdict

HERE = Context(cwd="/a")
Make = Callable[..., Gate]


def gate(reach: Reach | None = None, **fields: object) -> Gate:
    config = Config(approval=ApprovalSection(**fields))  # type: ignore[arg-type]
    return Gate(config, terminal=False, reach=reach or Reach())


def approved(command: str, answer: object) -> Gate:
    one = gate()
    with register_approval_callback(lambda _: answer):  # type: ignore[arg-type,return-value]
        assert one.decide(command, HERE).verdict is Verdict.ALLOW
    return one


OTHER = [
    "rm -rf /srv/other",
    "rm -rf /srv/x /srv/other",
    "rm -rf /srv/x; rm -rf /srv/other",
    "rm -rf /srv/x && git push --force origin main",
    "ssh prod rm -rf /srv/x",
    "docker exec db rm -rf /srv/x",
    "sudo rm -rf /srv/x",
    "rm -rf /srv/x; ssh prod rm -rf /srv/x",
    "rm -rf /srv/x; sudo rm -rf /srv/x",
]


@pytest.mark.parametrize("answer", ["session", Answer("allow", "session", part=True)])
@pytest.mark.parametrize("command", OTHER)
def test_an_approval_does_not_widen(answer: object, command: str) -> None:
    one = approved("rm -rf /srv/x", answer)
    assert one.decide("rm -rf /srv/x", HERE).verdict is Verdict.ALLOW
    assert one.decide(command, HERE).verdict is Verdict.DENY


def test_a_narrow_approval_goes_with_the_command_not_with_the_line() -> None:
    one = approved("rm -rf data", Answer("allow", "session", part=True))
    assert one.decide("ls && rm -rf data 2>&1 | tail -3", HERE).verdict is Verdict.ALLOW
    assert one.decide("cd /a/b/.. && rm -rf data", HERE).verdict is Verdict.ALLOW
    # From elsewhere it is a deletion outside of the working directory: another finding, which was not shown.
    assert one.decide("cd /a && rm -rf data", Context(cwd="/b")).verdict is Verdict.DENY
    assert one.decide("cd /b && rm -rf data", HERE).verdict is Verdict.DENY
    assert one.decide("rm -rf data; cd /b; rm -rf data", HERE).verdict is Verdict.DENY


@pytest.mark.parametrize("command", OTHER)
def test_an_allow_rule_covers_what_it_says(command: str) -> None:
    one = gate(rules=(RuleSpec(action="allow", glob="rm -rf /srv/x"),))
    assert one.decide("ls; rm -rf /srv/x", HERE).verdict is Verdict.ALLOW
    assert one.decide(command, HERE).verdict is Verdict.DENY


@pytest.mark.parametrize("mode", ["manual", "smart", "off"])
@pytest.mark.parametrize("command", ["rm -rf /", "sudo rm -rf / --no-preserve-root", "X=rm; $X -rf /", ":(){ :|:& };:"])
def test_never_means_never(mode: str, command: str) -> None:
    one = gate(mode=mode, rules=(RuleSpec(action="allow", rule="*"),), command_allowlist=(command,), reach=SEALED)
    with register_approval_callback(lambda _: "always"):
        assert one.decide(command, HERE).decided_by == "never-allow"


def test_harmless_commands_ask_nobody() -> None:
    one = gate()
    with register_approval_callback(lambda _: pytest.fail("nobody is to be asked")):
        for command in ("ls -la", "git status", "echo 'rm -rf /'", "grep -rn 'rm -rf' .", "pytest -q"):
            assert one.decide(command, HERE).verdict is Verdict.ALLOW
