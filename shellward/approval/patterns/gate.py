"""The gate itself: no command may answer its questions, change its settings or touch its records."""

from shellward.approval import checks
from shellward.approval.rule import Rule
from shellward.core.gate import Severity

_WHY = "What the gate guards would no longer be guarded."

RULES: tuple[Rule, ...] = (
    Rule(
        "gate.answer", "shellward python python3", "", "answers the gate's own questions", Severity.CRITICAL, _WHY,
        ("shellward approvals approve 3f", "yes | shellward approvals watch", "python3 -m shellward approvals approve 3f --scope always", "echo y | shellward config accept"),
        ("shellward approvals list", "shellward approvals deny 3f", "shellward approvals watch --json", "shellward check 'approvals approve'", "shellward approvals approve --help", "shellward config show", "shellward config accept --help"),
        checks.answers_gate, never_allow=True,
    ),
    Rule(
        "gate.settings", "shellward python python3 env export declare unset", "", "changes the gate's settings for a command", Severity.CRITICAL, _WHY,
        ("SHELLWARD_APPROVAL__MODE=off shellward run make", "env SHELLWARD_HOME=/tmp/x shellward run make", "export SHELLWARD_HOME=/tmp/x", "unset SHELLWARD_HOME"),
        ("SHELLWARD_TRACEBACK=1 shellward doctor", "SHELLWARD_TEST_REQUIRE=docker pytest", "env | grep SHELLWARD_HOME", "export PATH=/opt/bin:$PATH"),
        checks.sets_gate, never_allow=True,
    ),
    Rule(
        "gate.files", "> >> rm mv unlink shred chmod chown sqlite3", "", "touches the gate's settings, questions or records", Severity.CRITICAL, _WHY,
        ("echo 'approval: {mode: off}' > ~/.config/shellward/config.yaml", "sed -i s/ask/allow/ ~/.config/shellward/config.yaml", "rm ~/.local/state/shellward/audit/audit.jsonl",
         "cd ~/.config/shellward && cp /tmp/c config.yaml", "sqlite3 ~/.local/state/shellward/approvals/queue.db 'update x set y=1'", "rm -rf ~/.config/shellward", "echo x > $SHELLWARD_HOME/config.yaml"),
        ("cat ~/.config/shellward/config.yaml", "echo x > shellward/config.py", "rm ~/src/shellward/notes.txt"),
        checks.touches_gate, never_allow=True,
    ),
    Rule(
        "gate.stop", "pkill killall kill pip pipx uv conda apt skill", "", "stops or removes the gate", Severity.HIGH, _WHY,
        ("pkill -f shellward", "kill $(pgrep shellward)", "pip uninstall -y shellward", "pipx uninstall shellward"),
        ("pip install shellward", "pgrep shellward", "pip show shellward", "pkill -f shellward-demo.py"),
        checks.stops_gate,
    ),
)  # fmt: skip
