"""Shellward's tools in LangChain, whose agents are graphs of LangGraph.

    pip install 'shellward[docker]' langchain langchain-openai
    python examples/with_langchain.py --env docker --image shellward/sandbox 'Which Python is there?'

The endpoint and its key are those of the OpenAI client: OPENAI_BASE_URL and OPENAI_API_KEY.
"""

import argparse
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI

from shellward.terminal_tool import close_tasks, register_task_environment
from shellward.tools import get_tool_definitions, handle_function_call, to_openai

TASK = "example"
TOOLSETS = ["coding"]


def tool(function: dict[str, Any]) -> StructuredTool:
    """Return one of Shellward's tools as one of LangChain's; what it takes and what it answers stay as they are."""

    def invoke(**arguments: Any) -> str:
        return handle_function_call(function["name"], arguments, task_id=TASK, enabled_toolsets=TOOLSETS)

    return StructuredTool.from_function(
        func=invoke,
        name=function["name"],
        description=function["description"],
        args_schema=function["parameters"],  # JSON Schema: Shellward checks the arguments itself
    )


def ask(question: str, model: str) -> str:
    """Let an agent answer a question with the tools."""
    agent = create_agent(
        ChatOpenAI(model=model),
        tools=[tool(each["function"]) for each in to_openai(get_tool_definitions(TOOLSETS))],
        system_prompt="Answer with the help of the tools. Say why when a command changes something.",
    )
    state = agent.invoke({"messages": [("user", question)]}, {"recursion_limit": 100})
    return str(state["messages"][-1].text)


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
