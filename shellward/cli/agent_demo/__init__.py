"""``shellward agent-demo``: a model works with the tools in a sandbox, and has to ask a person once."""

import json
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

import click

from shellward.cli.complete import environments

if TYPE_CHECKING:
    from shellward.approval.callbacks import Registration
    from shellward.approval.context import ApprovalRequest

_ASKED = "Write a program that prints count and mean of numbers.txt, publish its directory, remove the old reports."
_SHOWN = 400


@click.command(
    "agent-demo",
    epilog="""\b
Examples:
  shellward agent-demo --image shellward/sandbox
  shellward agent-demo --image shellward/sandbox --answer deny
  shellward agent-demo --base-url http://127.0.0.1:11434/v1 --model qwen3 --ask 'What is on port 80?'
""",
)
@click.option(
    "--env", "kind", default="docker", metavar="NAME", shell_complete=environments, help="As in run; by default docker."
)
@click.option("--image", metavar="IMAGE", help="Image of the sandbox.")
@click.option("--answer", type=click.Choice(["once", "deny"]), help="Answer questions so, instead of asking you.")
@click.option("--ask", "asked", default=_ASKED, metavar="TEXT", help="What the model is asked for.")
@click.option("--base-url", metavar="URL", help="A real model's OpenAI-compatible endpoint, not the scripted one.")
@click.option("--model", default="scripted", metavar="NAME", help="Name of the model there.")
@click.option("--key-env", default="OPENAI_API_KEY", metavar="NAME", help="Variable with its key.")
@click.option("--json", "as_json", is_flag=True, help="Print each message as a line of JSON.")
def command(
    *,
    kind: str,
    image: str | None,
    answer: str | None,
    asked: str,
    base_url: str | None,
    model: str,
    key_env: str,
    as_json: bool,
) -> int:
    """Let a model do a small task with the tools in a sandbox, and watch.

    Without --base-url the model is a script behind an endpoint on this machine. It wants to remove something, which
    you are asked about. Exit status: 0 when it came to its end, 1 when not.
    """
    import os

    from shellward.cli.agent_demo import agent, scripted
    from shellward.cli.run.options import Options
    from shellward.cli.say import NO, OK
    from shellward.terminal_tool import close_tasks, register_task_environment

    task = f"demo-{os.getpid()}"
    chosen = Options(words=(), kind=kind, image=image, as_json=as_json).placed().made_of
    register_task_environment(task, chosen.kind, **chosen.config)
    with ExitStack() as stack:
        stack.callback(close_tasks)
        stack.enter_context(_answering(answer, as_json=as_json))
        url, key = base_url or "", os.environ.get(key_env, "") if base_url else ""
        if base_url is None:
            url = stack.enter_context(scripted.Endpoint()).url
        last = agent.run(
            asked,
            task=task,
            ask_model=lambda messages, tools: agent.ask(url, model, key, messages, tools),
            on_message=lambda message: click.echo(json.dumps(message) if as_json else _line(message)),
        )
    return OK if base_url is not None or last.startswith(scripted.DONE) else NO


def _answering(answer: str | None, *, as_json: bool) -> "Registration | nullcontext[None]":
    if answer is None:
        return nullcontext()
    from shellward.approval.callbacks import register_approval_callback
    from shellward.approval.show import safe

    def reply(request: "ApprovalRequest") -> str:
        found = "; ".join(safe(finding.description) for finding in request.findings)
        shown = {"command": safe(request.command), "reason": safe(request.context.reason), "found": found}
        said = json.dumps({"role": "approval", **shown, "answer": answer})
        text = f"? {shown['command']}\n  it {found}; the agent says: {shown['reason']}\n  answer: {answer}"
        click.echo(said if as_json else text)
        return answer

    return register_approval_callback(reply)


def _line(message: dict[str, Any]) -> str:
    """Return a message as a person reads it."""
    from shellward.approval.show import safe

    content = str(message.get("content") or "")
    if message["role"] == "tool":
        return "< " + safe(content if len(content) <= _SHOWN else f"{content[:_SHOWN]} ...")
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    lines = [safe(content)] if content else []
    return "\n".join([*lines, *(f"> {safe(each['name'])} {safe(each['arguments'])}" for each in calls)])
