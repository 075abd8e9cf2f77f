"""One registered tool: what it is called, what it takes, what runs it, and what else is known about it."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import msgspec

from shellward.tools.arguments import InvalidSchemaError, Validator
from shellward.tools.availability import CheckFn
from shellward.tools.frozen import FrozenDict, freeze

Handler = Callable[..., Any]
"""``handler(args, **context)`` returns a JSON string. Of the context (``task_id``, ``user_task``, ``session``) it gets
what its parameters name."""
SchemaOverrides = Callable[..., Mapping[str, Any]]
"""Returns keys that replace those of the schema in one listing; may take the set of the names listed with it."""

MCP: Final = "mcp-"
"""How the toolsets of MCP servers begin."""
BRIDGES: Final = ("tool_search", "tool_describe", "tool_call")
"""Names of the tools that stand in for those that are not listed."""
NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every model provider takes as the name of a tool."""
_CHARS_PER_TOKEN: Final = 4
_CONTEXT: Final = ("task_id", "user_task", "session")
_ALWAYS: Final = frozenset({"task_id", "user_task"})
"""What a handler gets that takes any keyword argument; whoever wants the rest names it."""


@dataclass(frozen=True, slots=True)
class Session:
    """What a tool that calls others may call: the tools of the same session, with its hooks.

    Attributes:
        tools: their names.
        call: takes a name and arguments, returns JSON, as ``handle_function_call`` does.
    """

    tools: frozenset[str]
    call: Callable[[str, object], str]


class Origin(StrEnum):
    """Where a tool comes from; only plugins' and servers' tools may be left out of a listing for tool search."""

    CORE = "core"
    PLUGIN = "plugin"
    MCP = "mcp"


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool:
    """One registered tool.

    Attributes:
        name: unique in its registry.
        toolset: the toolset it belongs to.
        schema: ``name``, ``description`` and ``parameters``, read-only.
        handler: see Handler.
        check_fn: says whether it can be used now; None for always.
        requires_env: names of the variables it needs, shown to people.
        is_async: the handler returns an awaitable.
        emoji: for people's lists.
        max_result_size_chars: its own limit on results; None for the runtime's; infinity for none.
        dynamic_schema_overrides: see SchemaOverrides.
        origin: see Origin.
        validator: checks its arguments.
        tokens: what the schema costs in a model's context, estimated.
        context: which keyword arguments its handler takes.
    """

    name: str
    toolset: str
    schema: FrozenDict
    handler: Handler
    check_fn: CheckFn | None
    requires_env: tuple[str, ...]
    is_async: bool
    emoji: str
    max_result_size_chars: float | None
    dynamic_schema_overrides: SchemaOverrides | None
    origin: Origin
    validator: Validator
    tokens: int
    context: tuple[str, ...]
    definition: FrozenDict = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "definition", FrozenDict({"type": "function", "function": self.schema}))

    @property
    def description(self) -> str:
        """What it does, as the model is told."""
        return str(self.schema["description"])

    @property
    def deferrable(self) -> bool:
        """Whether tool search may stand in for it."""
        return self.origin is not Origin.CORE


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """What ``Registry.register`` takes, as a value; see there."""

    name: str
    schema: Mapping[str, Any]
    handler: Handler
    check_fn: CheckFn | None = None
    requires_env: tuple[str, ...] = ()
    is_async: bool = False
    description: str = ""
    emoji: str = ""
    max_result_size_chars: float | None = None
    dynamic_schema_overrides: SchemaOverrides | None = None


def make(spec: ToolSpec, toolset: str, origin: Origin) -> Tool:
    """Make a tool from what was registered.

    Raises:
        ValueError: the name, the toolset or the schema cannot be used (also InvalidSchemaError).
        TypeError: handler, check or overrides cannot be called.
    """
    if not isinstance(spec.name, str) or not NAME.fullmatch(spec.name):
        raise ValueError(f"{spec.name!r}: a tool's name is 1 to 64 letters, digits, '_' or '-'")
    if spec.name in BRIDGES:
        raise ValueError(f"{spec.name}: this name belongs to tool search")
    if not isinstance(toolset, str) or not toolset:
        raise ValueError(f"{spec.name}: needs the name of a toolset")
    for what in (spec.handler, spec.check_fn, spec.dynamic_schema_overrides):
        if what is not None and not callable(what):
            raise TypeError(f"{spec.name}: {what!r} cannot be called")
    schema = function_schema(spec.name, spec.schema, spec.description)
    return Tool(
        name=spec.name,
        toolset=toolset,
        schema=schema,
        handler=spec.handler,
        check_fn=spec.check_fn,
        requires_env=tuple(spec.requires_env),
        is_async=spec.is_async or inspect.iscoroutinefunction(spec.handler),
        emoji=spec.emoji,
        max_result_size_chars=spec.max_result_size_chars,
        dynamic_schema_overrides=spec.dynamic_schema_overrides,
        origin=Origin.MCP if toolset.startswith(MCP) else origin,
        validator=checked(spec.name, schema["parameters"]),
        tokens=estimated_tokens(schema),
        context=_context_of(spec.handler),
    )


def function_schema(name: str, schema: Mapping[str, Any], description: str = "") -> FrozenDict:
    """Bring a schema to one form.

    Args:
        name: the tool's name.
        schema: ``{"description", "parameters"}``, the same inside ``{"type": "function", "function"}``, with
            ``input_schema`` or ``inputSchema`` in place of ``parameters``, or the parameters alone.
        description: stronger than the schema's own.

    Raises:
        ValueError: it is none of these, or it is for a tool of another name.
    """
    if not isinstance(schema, Mapping):
        raise ValueError(f"{name}: the schema must be a mapping, not {type(schema).__name__}")  # noqa: TRY004  # one error for every bad schema
    if isinstance(schema.get("function"), Mapping):
        schema = schema["function"]
    if schema.get("name", name) != name:
        raise ValueError(f"{name}: the schema is for {schema['name']!r}")
    forms = [schema[key] for key in ("parameters", "input_schema", "inputSchema") if schema.get(key) is not None]
    alone = not forms and schema.get("type") == "object"
    parameters = dict(schema if alone else forms[0] if forms else {})
    if parameters.setdefault("type", "object") != "object":
        raise ValueError(f"{name}: the parameters must be of type object, not {parameters['type']!r}")
    parameters.setdefault("properties", {})
    said = description or ("" if alone else schema.get("description") or "")
    return FrozenDict({"name": name, "description": str(said), "parameters": freeze(parameters)})


def checked(name: str, parameters: Mapping[str, Any]) -> Validator:
    """Make the validator of a tool's parameters.

    Raises:
        InvalidSchemaError: they are no JSON Schema; names the tool.
    """
    try:
        return Validator(parameters)
    except InvalidSchemaError as error:
        raise InvalidSchemaError(f"{name}: the parameters are no valid JSON Schema: {error}") from None


def estimated_tokens(schema: Mapping[str, Any]) -> int:
    """Estimate what a schema costs in a model's context: a token for four characters of its JSON.

    Raises:
        ValueError: it holds something that JSON has not.
    """
    try:
        return -(-len(msgspec.json.encode(schema)) // _CHARS_PER_TOKEN)
    except (TypeError, UnicodeEncodeError) as error:
        raise InvalidSchemaError(f"{schema.get('name')}: the schema is not JSON: {error}") from None


def _context_of(handler: Handler) -> tuple[str, ...]:
    """Return which of the context's names a handler can be given."""
    try:
        parameters = inspect.signature(handler).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return ()
    named = {each.name for each in parameters if each.kind in {each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY}}
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        named |= _ALWAYS
    return tuple(name for name in _CONTEXT if name in named)
