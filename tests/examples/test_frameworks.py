"""The programs in ``examples/`` do a task with the tools, told by a scripted model behind an endpoint on loopback.

The model writes a program, runs it, sees it fail, mends it, and wants to do what the gate denies.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from shellward.cli.agent_demo.scripted import Endpoint, Message

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[2] / "examples"
IMAGE = "shellward/sandbox:latest"
PROGRAM = "numbers = [1, 2, 3]\nprint(sum(number) * 7)\n"
STEPS: list[tuple[str, dict[str, Any], str]] = [
    ("terminal", {"command": "mkdir -p work && cd work && echo here"}, "here"),
    ("write_file", {"path": "sum.py", "content": PROGRAM}, "sum.py"),
    ("terminal", {"command": "python3 sum.py"}, "NameError"),
    ("patch", {"path": "sum.py", "old_string": "sum(number)", "new_string": "sum(numbers)"}, "success"),
    ("terminal", {"command": "python3 sum.py", "timeout": 60}, "42"),
    ("execute_code", {"code": "from shellward_tools import terminal\nprint(terminal('pwd')['output'])"}, "/work"),
    ("read_file", {"path": "sum.py"}, "2|print(sum(numbers) * 7)"),
    ("terminal", {"command": "git push --force origin main", "reason": "to see it denied"}, "denied"),
]
"""What the model calls, and what must be in the answer."""
ANSWER = "It prints 42."


class Script:
    """The model: it goes on only where a tool answered as it must."""

    def __init__(self, last_call: str = "") -> None:
        self.last_call = last_call
        self.done = 0
        self.seen: list[str] = []

    def reply(self, messages: Sequence[Message]) -> Message:
        if self.done:
            told = json.dumps(messages[-1])
            self.seen.append(told)
            name, _, expected = STEPS[self.done - 1]
            if expected not in told:
                return self._end(f"I stop: {name} answered {told[:2000]}")
        if self.done == len(STEPS):
            return self._end(ANSWER)
        name, args, _ = STEPS[self.done]
        self.done += 1
        return self._call(name, args)

    def _end(self, text: str) -> Message:
        if self.last_call:
            return self._call(self.last_call, {"answer": text})
        return {"role": "assistant", "content": text}

    def _call(self, name: str, args: dict[str, Any]) -> Message:
        call = {"id": f"call_{self.done}", "type": "function"}
        call["function"] = {"name": name, "arguments": json.dumps(args)}
        return {"role": "assistant", "content": "", "tool_calls": [call]}


@pytest.mark.parametrize("where", ["local", pytest.param("docker", marks=pytest.mark.docker)])
@pytest.mark.parametrize(
    ("program", "last_call"),
    [("with_openai_agents.py", ""), ("with_langchain.py", ""), ("with_smolagents.py", "final_answer")],
)
def test_a_task_from_beginning_to_end(program: str, last_call: str, where: str, tmp_path: Path) -> None:
    words = [sys.executable, str(EXAMPLES / program), "--env", where]
    words += ["--image", IMAGE] if where == "docker" else []
    script = Script(last_call)
    with Endpoint(script.reply) as endpoint:
        done = subprocess.run(
            [*words, "--model", "scripted", "What is six times seven?"],
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
            cwd=tmp_path,
            env={
                **os.environ,
                "OPENAI_BASE_URL": endpoint.url,
                "OPENAI_API_KEY": "none",
                "SHELLWARD_HOME": str(tmp_path / "home"),
                "HF_HUB_OFFLINE": "1",
            },
        )
    assert done.stdout.strip().endswith(ANSWER), (done.stdout, done.stderr[-3000:], script.seen[-1:])
    assert done.returncode == 0
    assert script.done == len(STEPS)
    audit = (tmp_path / "home" / "audit" / "audit.jsonl").read_text()
    assert "git push --force" in audit
    assert (tmp_path / "work" / "sum.py").exists() == (where == "local")
