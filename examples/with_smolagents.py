"""Shellward's tools in smolagents.

    pip install 'shellward[docker]' 'smolagents[openai]'
    python examples/with_smolagents.py --env docker --image shellward/sandbox 'Which Python is there?'

The endpoint and its key are those of the OpenAI client: OPENAI_BASE_URL and OPENAI_API_KEY.
"""

import argparse
from typing import Any

from smolagents import OpenAIModel, Tool, ToolCallingAgent

from shellward.terminal_tool import close_tasks, register_task_environment
from shellward.tools import get_tool_definitions, handle_function_call, to_openai

TASK = "example"
TOOLSETS = ["coding"]


class ShellwardTool(Tool):
    """One of Shellward's tools as one of smolagents'; what it takes and what it answers stay as they are."""

    skip_forward_signature_validation = True  # the parameters are known when a tool is made
    output_type = "string"

    def __init__(self, function: dict[str, Any]) -> None:
        """Take the parameters of a definition as inputs: what is not required is nullable."""
        self.name = function["name"]
        self.description = function["description"]
        required = function["parameters"].get("required", ())
        self.inputs = {
            name: {"type": "any", "description": "", **schema, **({} if name in required else {"nullable": True})}
            for name, schema in function["parameters"]["properties"].items()
        }
        super().__init__()

    def forward(self, **arguments: Any) -> str:
        """Call the tool."""
        return handle_function_call(self.name, arguments, task_id=TASK, enabled_toolsets=TOOLSETS)


def ask(question: str, model: str) -> str:
    """Let an agent answer a question with the tools."""
    agent = ToolCallingAgent(
        tools=[ShellwardTool(each["function"]) for each in to_openai(get_tool_definitions(TOOLSETS))],
        model=OpenAIModel(model_id=model),
        instructions="Say why when a command changes something.",
        max_steps=50,
        verbosity_level=0,
    )
    return str(agent.run(question))


def main() -> None:
    """Read the arguments, ask, and end what was opened."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question")
    parser.add_argument("--env", default="local", help="kind of environment: local, docker, ssh, ...")
    parser.add_argument("--image", help="image of its sandbox")
    parser.add_argument("--model", default="gpt-5-mini")
    given = parser.parse_args()
    register_task_environment(TASK, given.env, **({"image": given.image} if given.image else {}))
    try:
        print(ask(given.question, given.model))
    finally:
        close_tasks()


if __name__ == "__main__":
    main()
