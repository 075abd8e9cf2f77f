"""A model that follows a script, behind an OpenAI-compatible endpoint on loopback. It reads what its tools answer."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

Message = dict[str, Any]
Reply = Callable[[Sequence[Message]], Message]
MODEL: Final = "scripted"
DONE: Final = "Done: "
"""How the last word begins when all went as it should."""

_PROGRAM: Final = """\
import json, sys
numbers = [int(line) for line in open("numbers.txt")]
print(json.dumps({"count": len(numbers), "mean": sum(numbers) / len(number)}))
"""
_SCRIPT: Final = """\
from shellward_tools import read_file, terminal
lines = read_file("numbers.txt")["total_lines"]
print(lines, terminal("python3 mean.py")["output"].strip())
"""
_COMPLETION: Final = {
    "id": "chatcmpl-scripted",
    "object": "chat.completion",
    "model": MODEL,
    "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
}
"""What clients of real endpoints look for besides the message."""
_CHECKED: Final = '10 {"count": 10, "mean": 5.5}\n'


def _call(name: str, **args: Any) -> tuple[str, dict[str, Any]]:
    return name, args


_STEPS: Final[Sequence[tuple[str, tuple[str, dict[str, Any]], Callable[[dict[str, Any]], bool]]]] = (
    (
        "I begin with some data and a program that works on it.",
        _call(
            "terminal", command="mkdir -p /srv/reports /srv/numbers && cd /srv/numbers && seq 1 10 >numbers.txt && pwd"
        ),
        lambda told: told["output"] == "/srv/numbers\n",
    ),
    ("", _call("write_file", path="mean.py", content=_PROGRAM), lambda told: told["created"]),
    (
        "Does it work?",
        _call("terminal", command="python3 mean.py"),
        lambda told: told["exit_code"] == 1 and "NameError" in told["output"],
    ),
    (
        "A slip of the pen: one name lacks a letter.",
        _call("patch", path="mean.py", old_string="len(number)", new_string="len(numbers)"),
        lambda told: told["success"],
    ),
    (
        "A script checks both at once.",
        _call("execute_code", code=_SCRIPT),
        lambda told: told["output"] == _CHECKED,
    ),
    (
        "A server is to publish it.",
        _call("terminal", command="python3 -u -m http.server 8000 --directory /srv/numbers", background=True),
        lambda told: told["status"] == "running",
    ),
    (
        "",
        _call(
            "terminal",
            command="for n in 1 2 3 4 5 6 7 8 9; do python3 -c 'import urllib.request as u;"
            'print(len(u.urlopen("http://127.0.0.1:8000/numbers.txt").read()))\' 2>/dev/null && break; sleep 1; done',
        ),
        lambda told: told["output"] == "21\n",
    ),
    (
        "The old reports are in the way.",
        _call("terminal", command="rm -rf /srv/reports", reason="the reports are made anew from numbers.txt"),
        lambda told: told["exit_code"] == 0 and told["approval"]["decided_by"] == "person",
    ),
    ("", _call("terminal", command="ls /srv"), lambda told: "reports" not in told["output"]),
    ("", _call("process", action="list"), lambda told: told["count"] == 1),
)
"""What it says, what it calls, and whether the answer is the one that it expects."""


def reply(messages: Sequence[Message]) -> Message:
    """Return the model's next message."""
    answers = [message for message in messages if message["role"] == "tool"]
    if answers:
        last = json.loads(answers[-1]["content"])
        _, (name, _args), expected = _STEPS[len(answers) - 1]
        try:
            as_expected = expected(last)
        except (KeyError, TypeError):
            as_expected = False
        if not as_expected:
            return {"role": "assistant", "content": f"I stop: {name} did not answer as I expected."}
    if len(answers) == len(_STEPS):
        return {"role": "assistant", "content": f"{DONE}the program works, and is published on port 8000."}
    text, (name, args), _ = _STEPS[len(answers)]
    function = {"name": name, "arguments": json.dumps(args)}
    call = {"id": f"call_{len(answers)}", "type": "function", "function": function}
    return {"role": "assistant", "content": text, "tool_calls": [call]}


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:  # the name that http.server looks for
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        offered = {tool["function"]["name"] for tool in body["tools"]}
        assert isinstance(self.server, _Server)  # noqa: S101  # for the type checker
        message = self.server.reply(body["messages"])
        wanted = {call["function"]["name"] for call in message.get("tool_calls", ())}
        if wanted <= offered:
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if wanted else "stop"}
            self._send(200, {**_COMPLETION, "created": int(time.time()), "choices": [choice]})
        else:
            self._send(400, {"error": {"message": f"these tools are not offered: {sorted(wanted - offered)}"}})

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # named so by http.server
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    """The server, with what it says."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        super().__init__(("127.0.0.1", 0), _Handler)


class Endpoint:
    """The endpoint, while a context lasts.

    Args:
        reply: takes the messages so far, and returns the model's next one.

    Attributes:
        url: what a client takes as its base URL.
    """

    def __init__(self, reply: Reply = reply) -> None:
        self._server = _Server(reply)
        self._thread = threading.Thread(target=self._server.serve_forever, name="shellward-demo-model", daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
