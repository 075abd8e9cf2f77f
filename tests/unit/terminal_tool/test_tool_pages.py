"""docs/tools/: a page for each tool of agents, as docs/tool_pages.py makes it; and the example of terminal-tool.md."""

import json
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"
CODE = """
import json, sys
sys.path.insert(0, sys.argv[1])
import tool_pages
print(json.dumps(tool_pages.pages()))
"""


def test_the_pages_say_what_the_code_does() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE, str(DOCS)],
        stdin=subprocess.DEVNULL,  # nobody is to be asked
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    there = {page.stem: page.read_text(encoding="utf-8") for page in (DOCS / "tools").glob("*.md")}
    assert made == there, "run python docs/tool_pages.py"
    assert {"terminal", "process", "read_file", "write_file", "patch", "search_files", "execute_code"} <= set(made)


def test_the_example_runs() -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", (DOCS / "terminal-tool.md").read_text(), re.MULTILINE | re.DOTALL)
    words = [sys.executable, "-W", "error", "-c", example]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("/\n 0 /\n", "")
