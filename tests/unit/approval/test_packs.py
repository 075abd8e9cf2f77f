"""Rule packs of the user's own: they find, they explain themselves, and what is wrong with them is said in one line."""

from pathlib import Path

import pytest

from shellward.approval.context import Context
from shellward.approval.gatekeeper import Gate
from shellward.approval.packs import load_packs
from shellward.approval.patterns_index import known_rules
from shellward.approval.reach import SEALED
from shellward.config import load, paths
from shellward.core.errors import ConfigError
from shellward.core.gate import Verdict

RULE = """\
pack: acme
rules:
  - id: drop-tenant
    commands: [acmectl]
    regex: '^acmectl tenant (drop|purge)'
    unless: '--dry'
    description: drops a tenant
    severity: high
    why: Its data is gone.
    must: [acmectl tenant drop x, sudo acmectl tenant purge y, X=drop; acmectl tenant $X z]
    must_not: [acmectl tenant list, acmectl tenant drop x --dry, echo acmectl tenant drop x]
"""


@pytest.fixture
def pack() -> Path:
    file = paths.config_dir() / "acme.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(RULE)
    paths.config_file().write_text("approval:\n  packs: [acme.yaml]\n")
    return file


def gate() -> Gate:
    return Gate(load().config, terminal=False)


@pytest.mark.usefixtures("pack")
@pytest.mark.parametrize(
    "command", ["acmectl tenant drop x", "sh -c 'acmectl tenant drop x'", "ls; acmectl tenant drop x"]
)
def test_a_pack_finds(command: str) -> None:
    decision = gate().decide(command, Context(cwd="/tmp"))
    assert decision.verdict is Verdict.DENY
    assert [finding.rule for finding in decision.findings] == ["acme.drop-tenant"]
    assert decision.findings[0].why == "Its data is gone."


@pytest.mark.usefixtures("pack")
def test_what_it_does_not_mean_passes() -> None:
    assert gate().decide("acmectl tenant list", Context(cwd="/tmp")).verdict is Verdict.ALLOW


@pytest.mark.usefixtures("pack")
def test_no_sandbox_takes_it_by_itself() -> None:
    made = Gate(load().config, reach=SEALED, terminal=False)
    assert made.examine("acmectl tenant drop x").decision.verdict is Verdict.ASK


def test_it_is_added_to_the_packs_of_shellward(pack: Path) -> None:
    pack.write_text(
        "pack: acme\nrules:\n  - {id: precious, commands: [rm], regex: precious, description: d, severity: high,\n"
        "     must: [rm precious]}\n"
    )
    rules = [finding.rule for finding in gate().examine("rm -rf /srv/precious").decision.findings]
    assert "acme.precious" in rules
    assert any(rule.startswith("files.") for rule in rules)


@pytest.mark.usefixtures("pack")
def test_a_terminal_knows_it(tmp_path: Path) -> None:
    from shellward import ApprovalDenied, Terminal

    with Terminal("local", cwd=str(tmp_path)) as terminal:
        (tmp_path / "s").write_text("acmectl tenant drop x\n")
        for command in ("acmectl tenant drop x", "sh s"):
            with pytest.raises(ApprovalDenied, match="drops a tenant"):
                terminal.run(command)


def test_a_terminal_that_runs_already_learns_it(tmp_path: Path) -> None:
    from shellward import ApprovalDenied, Terminal

    with Terminal("local", cwd=str(tmp_path)) as terminal:
        assert terminal.run("acmectl tenant drop x").exit_code == 127
        (paths.config_dir() / "acme.yaml").write_text(RULE)
        paths.config_file().write_text("approval:\n  packs: [acme.yaml]\n")
        with pytest.raises(ApprovalDenied, match="drops a tenant"):
            terminal.run("acmectl tenant drop x")


def test_nobody_can_approve_what_a_pack_says_so_of(pack: Path) -> None:
    pack.write_text(RULE.replace("    severity: high", "    severity: critical\n    never_allow: true"))
    decision = gate().decide("acmectl tenant drop x", Context(cwd="/tmp"))
    assert decision.decided_by == "never-allow"


@pytest.mark.usefixtures("pack")
def test_it_is_listed() -> None:
    assert list(known_rules(load().config.approval.packs))[-1].id == "acme.drop-tenant"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("severity: high", "severity: grave", r"rules\[0\].severity: invalid enum value 'grave'"),
        ("severity: high", "severities: high", r"rules\[0\]: object contains unknown field severities"),
        ("    severity: high\n", "", r"rules\[0\]: object missing required field severity"),
        ("drop-tenant", "Drop Tenant", r"rules\[0\].id: "),
        ("pack: acme", "pack: files", "pack: files is a pack of Shellward's own"),
        ("pack: acme\n", "", "object missing required field pack"),
        ("(drop|purge)'", "(drop'", r"rules\[0\].regex: missing \)"),
        ("'--dry'", "'*'", r"rules\[0\].unless: nothing to repeat"),
        ("[acmectl]", "[]", r"rules\[0\].commands: "),
        (
            "must: [",
            "must: [acmectl tenant list, ",
            r"rules\[0\].must\[0\]: is not found by the rule: 'acmectl tenant list'",
        ),
        ("must_not: [", "must_not: [acmectl tenant drop a, ", r"rules\[0\].must_not\[0\]: is found by the rule"),
        ("rules:", "rules: [", "acme.yaml:"),
        ("pack: acme", "pack: acme\npack: b", "acme.yaml:"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(pack: Path, old: str, new: str, said: str) -> None:
    assert old in RULE
    pack.write_text(RULE.replace(old, new, 1))
    with pytest.raises(ConfigError, match=said) as caught:
        load_packs(["acme.yaml"])
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(pack))


@pytest.mark.usefixtures("pack")
def test_a_pack_that_is_not_there_or_is_there_twice() -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read"):
        load_packs(["none.yaml"])
    with pytest.raises(ConfigError, match="drop-tenant: there is a rule of this id already"):
        load_packs(["acme.yaml", "./acme.yaml"])


@pytest.mark.usefixtures("pack")
def test_a_project_cannot_bring_packs(tmp_path: Path) -> None:
    paths.config_file().write_text("project_files: true\n")
    (tmp_path / ".shellward.yaml").write_text("approval: {packs: [x]}\n")
    with pytest.raises(ConfigError, match=r"approval\.packs cannot be set by a project"):
        load(cwd=tmp_path)
