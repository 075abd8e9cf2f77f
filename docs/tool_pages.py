#!/usr/bin/env python3
"""Write docs/tools/NAME.md for each of the agent's tools: its schema, and examples with their real answers.

Run it after a tool has changed; a test fails while a page says something else.
"""

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from shellward.terminal_tool import close_tasks, register_task_environment
from shellward.tools import get_tool_definitions, handle_function_call

PAGES: Final = Path(__file__).parent / "tools"
TOOLSETS: Final = ["coding"]
_TASK: Final = "docs"
_SCRIPT: Final = """\
from shellward_tools import terminal
for name in ("one", "two"):
    print(terminal(f"echo {name}")["output"], end="")
"""
EXAMPLES: Final[dict[str, list[dict[str, Any]]]] = {
    "terminal": [
        {"command": "mkdir project && cd project && echo hello"},
        {"command": "grep -q goodbye /dev/null"},
        {"command": "git push --force", "reason": "the history was rewritten"},
        {"command": "echo begun; sleep 3; echo done", "timeout": 1},
    ],
    "process": [
        {"action": "wait", "session_id": "LATEST"},
        {"action": "log", "session_id": "LATEST", "offset": 0},
    ],
    "write_file": [{"path": "words.txt", "content": "one\ntwo\n"}],
    "read_file": [{"path": "words.txt"}, {"path": "words.txt", "offset": 2, "limit": 1}, {"path": "missing.txt"}],
    "patch": [
        {"path": "words.txt", "old_string": "two", "new_string": "2"},
        {
            "mode": "patch",
            "patch": "*** Begin Patch\n*** Update File: words.txt\n@@\n one\n-2\n+three\n*** End Patch\n",
        },
    ],
    "search_files": [{"pattern": "^t"}, {"pattern": "*.txt", "target": "files"}],
    "execute_code": [{"code": _SCRIPT}],
    "read_result": [{"result_id": "0123456789abcdef0123456789abcdef"}],
}
"""What is called, in this order, in one task."""
_VARY: Final = (
    (re.compile(r'"(session_id)": "(.)[0-9a-f]{12}"'), r'"\1": "\g<2>0123456789ab"'),
    (re.compile(r'"started": "[^"]*"'), '"started": "2026-01-01T12:00:00+00:00"'),
    (re.compile(r'"(uptime_seconds|duration_seconds)": [\d.]+'), r'"\1": 0.5'),
    (re.compile(r'"pid": \d+'), '"pid": 4711'),
)


def pages() -> dict[str, str]:
    """Return the text of each page, by its tool."""
    with tempfile.TemporaryDirectory() as folder:
        register_task_environment(_TASK, "local", cwd=folder)
        try:
            latest: list[str] = []
            answers = {name: list(_answers(name, folder, latest)) for name in EXAMPLES}
        finally:
            close_tasks()
    return {
        each["function"]["name"]: "\n".join(_page(each["function"], answers[each["function"]["name"]])) + "\n"
        for each in get_tool_definitions(TOOLSETS, quiet_mode=True)
    }


def _answers(name: str, folder: str, latest: list[str]) -> Iterator[tuple[str, str]]:
    for given in EXAMPLES[name]:
        args = {key: latest[-1] if value == "LATEST" else value for key, value in given.items()}
        answer = json.loads(handle_function_call(name, args, task_id=_TASK, enabled_toolsets=TOOLSETS))
        if "session_id" in answer:
            latest.append(answer["session_id"])
        yield _shown(args, folder), _shown(answer, folder)


def _shown(value: dict[str, Any], folder: str) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=False).replace(folder, "/home/me")
    for pattern, instead in _VARY:
        text = pattern.sub(instead, text)
    return text


def _page(schema: dict[str, Any], answers: list[tuple[str, str]]) -> Iterator[str]:
    yield f"# {schema['name']}\n"
    yield "Made by `docs/tool_pages.py`. What the answers mean is in [terminal-tool.md](../terminal-tool.md).\n"
    yield f"{schema['description'].strip()}\n"
    yield "| argument | type | |\n|---|---|---|"
    needed = set(schema["parameters"].get("required", ()))
    for name, about in schema["parameters"]["properties"].items():
        kind = f"one of {', '.join(f'`{each}`' for each in about['enum'])}" if "enum" in about else about["type"]
        said = about.get("description", "")
        yield f"| `{name}`{' (needed)' if name in needed else ''} | {kind} | {said} |"
    for asked, answer in answers:
        yield f"\n```json\n{asked}\n```\n\nanswers\n\n```json\n{answer}\n```"


def main() -> int:
    """Write the pages."""
    PAGES.mkdir(exist_ok=True)
    for name, text in pages().items():
        (PAGES / f"{name}.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
