"""A program that is full of agents: threads, each with a task of its own, that call tools and know what must come back.

Every call carries a word of its own, so an answer that is lost, or that is another's, shows. What went wrong is printed
at the end, with what the program holds then and held before.

    agents_at_work.py {"mark": .., "name": .., "calls": .., "lease": .., "leave": .., "folder": .., "kinds": [..]}
"""

import json
import random
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from shellward.terminal_tool import close_tasks, interrupt, register_task_environment
from shellward.terminal_tool.default import tasks
from shellward.testing.leaks import holdings
from shellward.testing.place import sshd_directory
from shellward.testing.trial import eventually
from shellward.tools import handle_function_call

RUN: Final = "SW_TEST_RUN"
"""The variable that tells processes of one run from all others."""
USER: Final = "shellward-tools"
_AT_WORK: Final = 12
"""Calls after which an agent says that it is at work."""
_LINES: Final = 3_000
_TOOLSETS: Final = ("coding",)


def register(task: str, kind: str, mark: str, lease: float) -> None:
    """Say where the task of an agent is."""
    more: dict[str, Any] = {"env": {RUN: mark}}
    if kind == "docker":
        more |= {"image": "shellward/sandbox:latest", "pull": "never", "lease": lease, "labels": {RUN: mark}}
    elif kind == "ssh":
        more |= {"host": "shellward-target", "user": USER, "lease": lease}
        more |= {"config_file": str(sshd_directory() / "config")}
    register_task_environment(task, kind, **more)


class Agent:
    """One agent.

    Args:
        task: its task, and what its words begin with.
        folder: where it works; it is made.

    Attributes:
        made: how many calls it has made.
        problems: what came back wrong.
    """

    def __init__(self, task: str, folder: str) -> None:
        self.task = task
        self.made = 0
        self.problems: list[str] = []
        self._folder = folder
        self._lock = threading.Lock()
        self._words = 0
        self._choose = random.Random(task)
        self._deeds = [getattr(self, name) for name in sorted(vars(Agent)) if name.startswith("deed_")]

    def work(self, calls: int = 0, at_work: Callable[[], None] = lambda: None) -> None:
        """Make so many calls, and do each of the deeds at least once."""
        self.call("terminal", command=f"mkdir -p {self._folder} && cd {self._folder}")
        waiting = self._choose.sample(self._deeds, len(self._deeds))
        told = False
        while self.made < calls or waiting:
            (waiting.pop() if waiting else self._choose.choice(self._deeds))()
            if self.made >= _AT_WORK and not told:
                told = True
                at_work()
        self.call("terminal", command=f"cd /; rm -rf {self._folder}")

    def leave_behind(self) -> str:
        """Start what outlives its client; returns its name, and prints the agent's word at its end."""
        command = f"echo begun; sleep 5; echo {self.task}; exit 7"
        return str(self.call("terminal", command=command, background=True)["session_id"])

    def call(self, name: str, **args: object) -> dict[str, Any]:
        with self._lock:
            self.made += 1
        answer = handle_function_call(name, args, task_id=self.task, enabled_toolsets=_TOOLSETS)
        found: dict[str, Any] = json.loads(answer)
        return found

    def word(self) -> str:
        with self._lock:
            self._words += 1
            return f"{self.task}-{self._words}"

    def expect(self, found: dict[str, Any], **wanted: object) -> None:
        """Note where an answer is not as it must be."""
        if {key: found.get(key) for key in wanted} != wanted:
            self.problems.append(f"{self.task}: {str(found)[:600]}, and not {str(wanted)[:300]}")

    # -- what it does ------------------------------------------------------------------------------------------

    def deed_says(self) -> None:
        word, status = self.word(), self._choose.randrange(100)
        said = self.call("terminal", command=f"echo {word}; echo {word}! >&2; (exit {status})")
        self.expect(said, output=f"{word}\n{word}!\n", exit_code=status, error=None)

    def deed_remembers(self) -> None:
        word = self.word()
        self.call("terminal", command=f"MINE={word}; mkdir -p d; cd d")
        self.expect(self.call("terminal", command="echo $MINE; cd ..; pwd"), output=f"{word}\n{self._folder}\n")

    def deed_several_at_once(self) -> None:
        words = [self.word() for _ in range(3)]
        with ThreadPoolExecutor(len(words)) as pool:
            said = pool.map(lambda word: self.call("terminal", command=f"sleep 0.05; echo {word}"), words)
            for word, each in zip(words, said, strict=True):
                self.expect(each, output=f"{word}\n", exit_code=0)

    def deed_prints_much(self) -> None:
        word = self.word()
        said = self.call("terminal", command=f"for i in $(seq {_LINES}); do echo {word} $i padding; done")
        self.expect(said, truncated=True, exit_code=0)
        lines = said["output"].splitlines()
        other = [
            line for line in lines if not (line.startswith(word) or "left out" in line or line in f"{word} padding")
        ]
        if len(other) > 2:  # those that were cut
            self.problems.append(f"{self.task}: in the output of {word}: {other[:5]}")
        part = self.call("read_file", path=said["full_output"], offset=_LINES)
        self.expect(part, content=f"{_LINES}|{word} {_LINES} padding", total_lines=_LINES)

    def deed_files(self) -> None:
        word = self.word()
        self.expect(self.call("write_file", path=word, content=f"{word}\nold\n"), created=True)
        self.expect(self.call("patch", path=word, old_string="old", new_string=f"new {word}"), success=True)
        self.expect(self.call("read_file", path=word), content=f"1|{word}\n2|new {word}")
        found = self.call("search_files", pattern=f"^{word}$")
        self.expect(found, matches=[{"path": word, "line": 1, "content": word}], total_count=1)

    def deed_background(self) -> None:
        word = self.word()
        began = self.call("terminal", command=f"sleep 0.1; echo {word}; exit 9", background=True)
        ended = self.call("process", action="wait", session_id=began["session_id"])
        self.expect(ended, status="exited", exit_code=9, output_preview=f"{word}\n")
        log = self.call("process", action="log", session_id=began["session_id"], offset=0)
        self.expect(log, output=f"{word}\n", next_offset=None)

    def deed_types(self) -> None:
        word = self.word()
        # Where its client is killed before it has typed, it may not keep its sandbox for long.
        began = self.call("terminal", command="read -t 40 x; echo got $x", background=True)["session_id"]
        self.call("process", action="submit", session_id=began, data=word)
        ended = self.call("process", action="wait", session_id=began)
        self.expect(ended, status="exited", exit_code=0, output_preview=f"got {word}\n")

    def deed_is_moved(self) -> None:
        word = self.word()
        said = self.call("terminal", command=f"echo {word}; sleep 1; echo {word}!; (exit 4)", timeout=0.3)
        if "session_id" not in said:  # on a machine that has much to do it may be over when it is looked at
            self.expect(said, output=f"{word}\n{word}!\n", exit_code=4, error=None)
            return
        self.expect(said, status="running", exit_code=None, error=None)
        ended = self.call("process", action="wait", session_id=said["session_id"])
        self.expect(ended, status="exited", exit_code=4, output_preview=f"{word}\n{word}!\n")

    def deed_at_a_terminal(self) -> None:
        word = self.word()
        said = self.call("terminal", command=f"[ -t 1 ] && echo {word}", pty=True)
        self.expect(said, output=f"{word}\n", exit_code=0)

    def deed_script(self) -> None:
        word = self.word()
        code = f"from shellward_tools import terminal\nprint(terminal('echo {word}')['output'] + '{word}!')"
        self.expect(self.call("execute_code", code=code), output=f"{word}\n{word}!\n", exit_code=0, tool_calls=1)

    def deed_is_refused(self) -> None:
        said = self.call("terminal", command=f"echo {self.word()}; git push --force origin main", reason="tidy")
        self.expect(said, status="denied", output="", exit_code=-1)

    def deed_is_interrupted(self) -> None:
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(self.call, "terminal", command=f"echo {self.word()}; setsid sleep 100 & sleep 100")
            for _ in range(1_000):
                if interrupt(self.task):
                    break
                time.sleep(0.02)
            self.expect(running.result(), status="interrupted")


def main() -> None:
    """Put the agents to work; print a line for each that is, and one at the end."""
    asked = json.loads(sys.argv[1])
    mark = asked["mark"]
    names = [(f"{mark}-{asked['name']}{number}-{kind}", kind) for number, kind in enumerate(asked["kinds"])]
    for kind in set(asked["kinds"]):
        first = Agent(f"{mark}-first-{kind}", "/")
        register(first.task, kind, mark, asked["lease"])  # what is made once in a program is made now
        first.call("execute_code", code="from shellward_tools import *; terminal('true')")
        first.call("process", action="list")
    close_tasks()
    before = holdings()
    agents = [Agent(task, f"{asked['folder'] if kind == 'local' else '/tmp'}/{task}") for task, kind in names]
    for task, kind in names:
        register(task, kind, mark, asked["lease"])
    with ThreadPoolExecutor(len(agents)) as pool:
        work = [pool.submit(_at_work, agent, asked) for agent in agents]
        for each in work:
            each.result()
    close_tasks()
    problems = [problem for agent in agents for problem in agent.problems]
    eventually(lambda: _sizes(holdings()) == _sizes(before), 10)  # a thread may be in the middle of its end
    _say(made=[agent.made for agent in agents], problems=problems, before=before, after=holdings())


def _at_work(agent: Agent, asked: dict[str, Any]) -> None:
    with tasks.call(agent.task) as (task, _):
        place = {"directory": str(Path(task.terminal._default.directory).parent), "handle": task.terminal.handle}
    left = agent.leave_behind() if asked["leave"] else ""
    agent.work(asked["calls"], lambda: _say(task=agent.task, left=left, **place))


def _sizes(held: dict[str, list[str]]) -> list[int]:
    return [len(names) for names in held.values()]


def _say(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
