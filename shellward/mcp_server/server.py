"""The server itself: lists tools, calls them, asks the client's user, tells how it goes, shows screens."""

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from shellward import __version__
from shellward.aio.loop import in_thread
from shellward.approval.context import Answer
from shellward.approval.show import safe
from shellward.core.errors import LimitReached
from shellward.mcp_server import calls, listing, questions, results, screens
from shellward.mcp_server.calls import Call, Calls, Question
from shellward.tools import handle_function_call

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from shellward.mcp_server.settings import Served

    Request = ServerRequestContext[Any, Any]

NAME: Final = "shellward"
_APPROVAL: Final = "approval"
_KEPT: Final = 86_400.0
"""Seconds that a sealed name of a waiting call can be read: how long it waits is for the gate to say."""
_INSTRUCTIONS: Final = (
    "Commands run in one environment that keeps its directory, variables and functions from call to call. What is "
    "dangerous is asked of the user first; say why it is needed in `reason`. Do not try what was refused another way."
)
_ANSWERED: Final = "this question was answered already, or its time was up; nothing was done now"


class Way(Enum):
    """How a client's user can be asked."""

    NONE = "not"
    MEANWHILE = "in the middle of a request"
    BY_ANSWER = "by an answer, after which the request comes again"


def way_of(request: "Request") -> Way:
    """Say how the user behind a request can be asked. An elicitation without modes means forms (2025-06-18)."""
    capabilities = request.session.client_capabilities
    asked = None if capabilities is None else capabilities.elicitation
    if asked is None or (asked.form is None and asked.url is not None):
        return Way.NONE
    if request.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return Way.BY_ANSWER
    return Way.MEANWHILE if request.session.can_send_request else Way.NONE


class Endpoint:
    """What requests are answered with.

    Args:
        served: what is offered.

    Attributes:
        calls: those under way.
    """

    def __init__(self, served: "Served") -> None:
        self._served = served
        self.calls = Calls()

    def server(self) -> "Server[Any]":
        """Return the SDK's server that answers with this."""
        server: Server[Any] = Server(
            NAME,
            version=__version__,
            instructions=_INSTRUCTIONS,
            get_tool_input_schema=partial(listing.schema_of, toolsets=self._served.toolsets),
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
        )
        server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(ttl=_KEPT), default_audience=NAME))
        return server

    async def list_tools(self, request: "Request", params: PaginatedRequestParams | None) -> ListToolsResult:
        """List the tools that can be used now."""
        del request, params
        return ListToolsResult(tools=await in_thread(listing.tools, self._served.toolsets))

    async def call_tool(
        self, request: "Request", params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool, or go on with a call whose user has answered."""
        way = way_of(request)
        if params.request_state is not None:
            return await self._resumed(request, params, params.request_state)
        try:
            call = self.calls.begin(
                partial(self._handle, params.name, params.arguments or {}),
                asks=way is not Way.NONE,
                follows=_wants_progress(request),
            )
        except LimitReached as problem:
            return results.failed(str(problem))
        return await self._attended(request, call, way)

    async def list_resources(self, request: "Request", params: PaginatedRequestParams | None) -> ListResourcesResult:
        """List the screens of terminals."""
        del request, params
        return ListResourcesResult(resources=await in_thread(screens.listed, self._process))

    async def list_templates(
        self, request: "Request", params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        """Say how the address of a screen is made."""
        del request, params
        return ListResourceTemplatesResult(resource_templates=[screens.TEMPLATE])

    async def read_resource(self, request: "Request", params: ReadResourceRequestParams) -> ReadResourceResult:
        """Return what a screen shows now.

        Raises:
            MCPError: there is no such screen.
        """
        del request
        found = await in_thread(screens.read, str(params.uri), self._process)
        if found is None:
            raise MCPError(INVALID_PARAMS, "there is no such screen", {"uri": str(params.uri)})
        return ReadResourceResult(contents=[found])

    # -- inside --------------------------------------------------------------------------------------------

    def _handle(self, name: str, arguments: dict[str, Any]) -> str:
        served = self._served
        return handle_function_call(name, arguments, task_id=served.task, enabled_toolsets=served.toolsets)

    def _process(self, arguments: dict[str, Any]) -> str:
        return self._handle("process", arguments)

    async def _resumed(
        self, request: "Request", params: CallToolRequestParams, name: str
    ) -> CallToolResult | InputRequiredResult:
        parked = self.calls.resume(name)
        if parked is None:
            return results.failed(_ANSWERED)
        call, question = parked
        said = (params.input_responses or {}).get(_APPROVAL)
        if isinstance(said, ElicitResult):
            question.answer(questions.answer_of(said, question.request, _name_of(request)))
        elif not question.over.is_set():
            call.put_back(question)
        return await self._attended(request, call, Way.BY_ANSWER)

    async def _attended(self, request: "Request", call: Call, way: Way) -> CallToolResult | InputRequiredResult:
        """Follow a call until it has ended, or its user has to be asked by an answer."""
        try:
            while not call.done:
                question = await call.event()
                if question is None:
                    if not call.done:
                        await request.session.report_progress(round(call.seconds, 3), message=call.latest())
                elif way is Way.BY_ANSWER:
                    return InputRequiredResult(
                        input_requests={_APPROVAL: await _elicitation(question)},
                        request_state=self.calls.park(call, question),
                    )
                else:
                    question.answer(await _asked(request, call, question))
        except BaseException:  # mostly a cancellation: the client no longer wants it, or is gone
            with anyio.CancelScope(shield=True):
                await call.end()
            raise
        if call.result is None:
            return results.failed("the tool has ended without an answer; the server's log says why")
        return results.result_of(call.result, asks=way is not Way.NONE)


def _wants_progress(request: "Request") -> bool:
    meta = (request.params or {}).get("_meta")
    return isinstance(meta, dict) and meta.get("progressToken") is not None


async def _shown(question: Question) -> tuple[str, dict[str, Any]]:
    """Return a question's text and form. Not on the loop: a long command is searched for secrets, all of it."""
    return await in_thread(lambda: (questions.message(question.request), questions.form(question.request)))


async def _elicitation(question: Question) -> ElicitRequest:
    text, form = await _shown(question)
    return ElicitRequest(params=ElicitRequestFormParams(message=text, requested_schema=form))


async def _asked(request: "Request", call: Call, question: Question) -> Answer:
    """Ask in the middle of a request, until there is an answer or it is no longer wanted."""
    answer = Answer("nobody", note="the question was withdrawn")
    async with anyio.create_task_group() as group:

        async def withdrawn() -> None:
            await question.over.wait()
            group.cancel_scope.cancel()

        async def alive() -> None:
            while True:
                await anyio.sleep(calls.HEARTBEAT)
                await request.session.report_progress(round(call.seconds, 3), message="waiting for the user's answer")

        group.start_soon(withdrawn)
        group.start_soon(alive)
        answer = await _put(request, question)
        group.cancel_scope.cancel()
    return answer


async def _put(request: "Request", question: Question) -> Answer:
    text, form = await _shown(question)
    try:
        said = await request.session.elicit_form(text, form, request.request_id)
    except (MCPError, ValidationError) as problem:
        return Answer("nobody", note=f"the client could not ask its user: {safe(str(problem)[:200])}")
    return questions.answer_of(said, question.request, _name_of(request))


def _name_of(request: "Request") -> str:
    """Name who answers, for the record: what the client says of itself, so not to be trusted."""
    client = request.session.client_params
    return f"user of {safe(client.client_info.name[:60])}" if client is not None else "user of an MCP client"
