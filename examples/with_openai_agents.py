"""Shellward's tools in the OpenAI Agents SDK.

    pip install 'shellward[docker]' openai-agents
    python examples/with_openai_agents.py --env docker --image shellward/sandbox 'Which Python is there?'

The endpoint and its key are those of the OpenAI client: OPENAI_BASE_URL and OPENAI_API_KEY.
"""

import argparse
import asyncio
from typing import Any

from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

from shellward.terminal_tool import close_tasks, register_task_environment
from shellward.tools import get_tool_definitions, handle_function_call, to_openai

TASK = "example"
TOOLSETS = ["coding"]


def tool(function: dict[str, Any]) -> FunctionTool:
    """Return one of Shellward's tools as one of the SDK's; what it takes and what it answers stay as they are."""

    async def invoke(context: object, arguments: str) -> str:
        del context
        # In a thread, since a command takes as long as it takes; a person may be asked, too.
        return await asyncio.to_thread(
            handle_function_call, function["name"], arguments, task_id=TASK, enabled_toolsets=TOOLSETS
        )

    return FunctionTool(
        name=function["name"],
        description=function["description"],
        params_json_schema=function["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=False,  # optional parameters may be left out
    )


async def ask(question: str, model: str) -> str:
    """Let an agent answer a question with the tools."""
    async with AsyncOpenAI() as client:
        agent = Agent(
            name="shellward",
            instructions="Answer with the help of the tools. Say why when a command changes something.",
            model=OpenAIChatCompletionsModel(model=model, openai_client=client),
            tools=[tool(each["function"]) for each in to_openai(get_tool_definitions(TOOLSETS))],
        )
        return str((await Runner.run(agent, question, max_turns=50)).final_output)


def main() -> None:
    """Read the arguments, ask, and end what was opened."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question")
    parser.add_argument("--env", default="local", help="kind of environment: local, docker, ssh, ...")
    parser.add_argument("--image", help="image of its sandbox")
    parser.add_argument("--model", default="gpt-5-mini")
    given = parser.parse_args()
    set_tracing_disabled(disabled=True)  # tracing sends what tools answer to OpenAI
    register_task_environment(TASK, given.env, **({"image": given.image} if given.image else {}))
    try:
        print(asyncio.run(ask(given.question, given.model)))
    finally:
        close_tasks()


if __name__ == "__main__":
    main()
