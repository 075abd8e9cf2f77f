"""Rules are held against the whole of what would run; only what people are shown is cut. Nothing is run here."""

from typing import Any

import pytest

from shellward.approval.brought import NO_MORE, again, look
from shellward.approval.context import Context
from shellward.approval.detect import Detection, detect_dangerous_command
from shellward.approval.engine import NO_PACKS
from shellward.approval.gatekeeper import Gate
from shellward.approval.inner import in_full
from shellward.approval.policy import Case, decide
from shellward.approval.rules import Rules
from shellward.config.schema import ApprovalSection, Config, RuleSpec
from shellward.core.gate import Verdict
from shellward.mcp_client.asking import BACKEND, detected
from shellward.mcp_client.described import Effect
from shellward.terminal_tool.typed import TypedInput

HERE = Context(cwd="/a")
SERVER = Context(backend=BACKEND, target="notes")
PADDING = "x" * 600
PUSH = f"git push -f -o {PADDING} origin"


def call(args: dict[str, Any], tool: str = "add_note", effect: Effect = Effect.UNKNOWN) -> Detection:
    return detected("notes", tool, args, effect=effect, calls="hints", packs=NO_PACKS)


def verdict(detection: Detection, *rules: dict[str, Any]) -> tuple[Verdict, str]:
    context = SERVER if detection.command.startswith("mcp ") else HERE
    specs = [RuleSpec(**rule) for rule in rules]
    decision = decide(Case(detected=detection, context=context, rules=Rules(specs))).decision
    return decision.verdict, decision.decided_by


DENIED = (Verdict.DENY, "deny-rule")
ALLOWED = (Verdict.ALLOW, "allow-rule")
OPEN = (Verdict.ASK, "findings")


@pytest.mark.parametrize("action", ["deny", "ask"])
@pytest.mark.parametrize(
    ("command", "spec"),
    [
        (f"{PUSH} main", {"glob": "* main"}),
        (f"{PUSH} main", {"regex": r"origin main$"}),
        (f"{PUSH} main", {"argv": ("git", "push", "-f", "-o", PADDING, "origin", "main")}),
        (f"sudo {PUSH} main", {"glob": "git push * main"}),
        (f"bash -c '{PUSH} main'", {"glob": "git push * main"}),
        (f"git push -f -o {'x' * 20_000} origin main", {"glob": "* main"}),
        (f"git push -f -o {'x' * 128_000} origin main", {"glob": "* main"}),
        (f"git push -f {'feature ' * 16_000} origin main", {"glob": "* main"}),
        (f"git push -f origin {'x' * 128_000}main", {"glob": "*main"}),
        (f"git push -f origin {'x' * 128_000}main", {"argv": ("git", "push", "-f")}),
        (f"{PUSH} a; {PUSH} main", {"glob": "* main"}),
        (f"{PUSH} a; {PUSH} b; {PUSH} main", {"glob": "* main"}),
    ],
    ids=range(12),
)
def test_padding_gets_nothing_past_a_rule(action: str, command: str, spec: dict[str, Any]) -> None:
    found = detect_dangerous_command(command)
    allow = {"action": "allow", "rule": "git.*"}
    said = verdict(found, {"action": action, "rule": "git.push-force", **spec}, allow)
    assert said == (DENIED if action == "deny" else OPEN)
    if not command.startswith("sudo"):
        assert verdict(found, allow) == ALLOWED  # it is the first rule that stopped it


@pytest.mark.parametrize("action", ["deny", "ask"])
def test_what_such_a_rule_does_not_say_is_not_stopped(action: str) -> None:
    found = detect_dangerous_command(f"{PUSH} feature")
    rules = {"action": action, "rule": "git.push-force", "glob": "* main"}, {"action": "allow", "rule": "git.*"}
    assert verdict(found, *rules) == ALLOWED
    cut = detect_dangerous_command(f"git push -f origin {'x' * 128_000}")
    first = {"action": action, "rule": "git.push-force", "argv": ("git", "pull")}
    assert verdict(cut, first, {"action": "allow", "rule": "git.*"}) == ALLOWED


@pytest.mark.parametrize("action", ["deny", "ask"])
@pytest.mark.parametrize("size", [1, 600, 128_000])
@pytest.mark.parametrize(
    "spec", [{"glob": "*production*"}, {"regex": '"db":"production"'}, {"argv": ("mcp", "notes"), "glob": "*duction*"}]
)
def test_padding_gets_no_call_past_a_rule(action: str, size: int, spec: dict[str, Any]) -> None:
    found = call({"note": "x" * size, "db": "production"})
    allow = {"action": "allow", "rule": "mcp.*"}
    said = verdict(found, {"action": action, "rule": "mcp.*", **spec}, allow)
    assert said == (DENIED if action == "deny" else OPEN)
    assert verdict(found, allow) == ALLOWED


def test_a_command_in_a_call_is_held_against_rules_in_full() -> None:
    found = call({"command": f"{PUSH} main"}, effect=Effect.HARMLESS)
    assert verdict(found, {"action": "deny", "rule": "git.push-force", "glob": "* main"}) == DENIED
    assert verdict(found, {"action": "deny", "glob": "git push * main"}) == DENIED
    assert verdict(found, {"action": "allow", "glob": "git push * main"}) == OPEN
    assert verdict(found, {"action": "allow", "argv": ("mcp", "notes", "add_note")}) == OPEN


@pytest.mark.parametrize(
    ("tail", "spec", "covered"),
    [
        ("feature/a", {"glob": f"git push -f -o {PADDING} origin feature/*"}, True),
        ("feature/a", {"glob": "git push -f * origin feature/*"}, True),
        ("feature/a", {"regex": r"git push -f -o x+ origin feature/\w+"}, True),
        ("feature/a", {"argv": ("git", "push", "-f")}, True),
        ("feature/a main", {"regex": r"git push -f -o x+ origin feature/\w+"}, False),
        ("main", {"glob": "git push -f * origin feature/*"}, False),
        ("main", {"glob": "git push -f -o x*x .."}, False),
        ("main", {"glob": "git push -f -o x*x"}, False),
        ("$(cat x)", {"glob": "git push -f *"}, False),
        ("$(cat x)", {"argv": ("git", "push")}, False),
        ('"$(cat x)"', {"argv": ("git", "push")}, False),
        ("'a;b'", {"glob": "git push -f *"}, False),
        ("x" * 40_000, {"glob": "git push -f *"}, False),
        ("x" * 40_000, {"argv": ("git", "push")}, False),
    ],
    ids=range(14),
)
def test_a_long_command_is_allowed_by_the_whole_of_it(tail: str, spec: dict[str, Any], covered: bool) -> None:
    found = detect_dangerous_command(f"{PUSH} {tail}")
    assert {"git.push-force"} <= {each.rule for each in found.findings}
    assert (verdict(found, {"action": "allow", **spec}) == ALLOWED) is covered


def test_a_long_command_of_a_text_that_a_script_joins_is_not_allowed() -> None:
    """Such a text is cut at a size without a mark; what is left of it looks whole."""
    script = f"import os; os.system('rm -rf /srv/a' + {'x' * 40_000!r} + ' /srv/b')"
    found = detect_dangerous_command(f'python3 -c "{script}"')
    assert found
    assert verdict(found, {"action": "allow", "glob": "rm -rf /srv/a*"})[0] is Verdict.ASK


def test_what_is_not_worked_out_to_its_end_counts_as_what_a_rule_is_about() -> None:
    found = detect_dangerous_command(f"A={'x' * 32_000}; A+={'x' * 1000}main; git push -f origin $A")
    assert [each.rule for each in found.findings if "$(cut ..)" in in_full(each)] == ["git.push-force"]
    allow = {"action": "allow", "rule": "git.*"}
    assert verdict(found, {"action": "deny", "rule": "git.push-force", "glob": "* main"}, allow) == DENIED
    assert verdict(found, {"action": "deny", "rule": "git.push-force", "argv": ("git", "pull")}, allow) == ALLOWED
    assert verdict(found, {"action": "allow", "argv": ("git", "push")}) == OPEN


@pytest.mark.parametrize(
    "args",
    [
        {"text": "x"},
        {"text": "x" * 600},
        {"text": "x" * 128_000},
        {"text": "costs $(5), or `so`"},
        {"text": "a (b) & c; d | e > f < g"},
        {"text": "it's\nand $'that' (" + "x" * 600},
        {},
    ],
    ids=range(7),
)
@pytest.mark.parametrize(
    "spec",
    [
        {"argv": ("mcp", "notes", "add_note")},
        {"glob": "mcp notes add_note *"},
        {"glob": "mcp notes *"},
        {"glob": "mcp * add_note *"},
        {"glob": "mcp notes add_*"},
        {"regex": "mcp notes add_note .*"},
        {"rule": "mcp.*", "argv": ("mcp", "notes"), "glob": "mcp *"},
    ],
)
def test_a_call_is_allowed_whatever_its_arguments_hold(args: dict[str, Any], spec: dict[str, Any]) -> None:
    assert verdict(call(args), {"action": "allow", **spec}) == ALLOWED


@pytest.mark.parametrize(
    "text", ["x", "x" * 600, "$(x)", "mcp notes add_note x", "' add_note ", '" add_note {}'], ids=range(6)
)
@pytest.mark.parametrize(
    "spec",
    [
        {"argv": ("mcp", "notes", "add_note")},
        {"argv": ("notes", "remove")},
        {"argv": ("mcp", "notes", "remove", "{}")},
        {"glob": "mcp notes add_note *"},
        {"glob": "mcp notes add_note*"},
        {"glob": "mcp notes * add_note *"},
        {"glob": "mcp * add_note *"},
        {"glob": "* add_note *"},
        {"glob": "mcp notes remove"},
        {"glob": "mcp notes"},
        {"regex": "mcp notes"},
        {"glob": "mcp notes * safe"},
        {"rule": "git.*", "glob": "mcp notes *"},
    ],
)
def test_a_call_is_not_allowed_by_what_its_arguments_hold(text: str, spec: dict[str, Any]) -> None:
    assert verdict(call({"text": text}, tool="remove"), {"action": "allow", **spec}) == OPEN


@pytest.mark.parametrize("tool", ["add_note x", "add_note'", "add_note;rm", "add_note $(x)", "x add_note y"])
def test_a_tool_with_an_odd_name_is_no_other_tool(tool: str) -> None:
    found = call({"text": "x"}, tool=tool)
    for spec in (
        {"argv": ("mcp", "notes", "add_note")},
        {"glob": "mcp notes add_note *"},
        {"glob": "mcp * add_note *"},
    ):
        assert verdict(found, {"action": "allow", **spec}) == OPEN


def test_only_what_is_shown_is_cut() -> None:
    for found in (detect_dangerous_command(f"{PUSH} main"), call({"text": PADDING})):
        assert all(len(each.inner) <= 503 and each.inner.endswith(" ..") for each in found.findings)
        assert PADDING not in found.explain().replace(found.command, "")
        assert PADDING not in repr(found.findings)


def test_commands_that_begin_alike_are_not_the_same() -> None:
    found = detect_dangerous_command(f"{PUSH} a; {PUSH} main; {PUSH} main")
    assert [each.span for each in found.findings if each.rule == "git.push-force"] == [
        (0, len(PUSH) + 2),
        (len(PUSH) + 4, 2 * len(PUSH) + 9),
    ]
    allow = {"action": "allow", "glob": "git push -f * origin a"}
    assert verdict(found, allow) == OPEN


def test_what_was_typed_before_does_not_answer_for_what_begins_alike() -> None:
    gate, decided = Gate(Config(approval=ApprovalSection()), terminal=False), []
    typed = TypedInput(lambda text: look(text, cwd="/a"), decided.append, (), by_caller=True)
    typed(f"{PUSH} a\n".encode())
    typed(f"{PUSH} main\n".encode())
    typed(f"{PUSH} a\n".encode())
    gate.close()
    assert [len(each.findings) for each in decided] == [1, 1, 0]


def test_a_second_look_loses_nothing_that_begins_alike() -> None:
    before = look(f"{PUSH} a; {PUSH} main", cwd="/a")
    after = again(before, f"{PUSH} a", cwd="/a", brought=NO_MORE)
    assert len(after.detection.findings) == len(before.detection.findings) == 2
