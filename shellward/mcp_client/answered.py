"""What a server answered, as the JSON that models get."""

from typing import TYPE_CHECKING, Any, Final

import msgspec

from shellward.tools.answers import encode, error

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

_VALUE: Final = "result"
"""The key in which servers wrap values that are no objects."""


def told(result: "CallToolResult") -> str:
    """Return a result: ``result`` is its text or value, ``structured`` its value where the text says something else.

    What is neither text nor value (pictures, sound, files) is named under ``content``, without its bytes. An error of
    the tool is under ``error``.
    """
    texts, others = [], []
    for block in result.content:
        text = _text(block)
        if text is None:
            others.append(_named(block))
        else:
            texts.append(text)
    if result.is_error:
        return error("\n".join(texts) or "the tool failed, and does not say why")
    answer = _valued("\n".join(texts), texts, result.structured_content)
    if others:
        answer |= {"content": others, "hint": "what is listed under content is not text, and is not shown here"}
    return encode(answer)


def _valued(text: str, texts: list[str], structured: Any) -> dict[str, Any]:
    if structured is None:
        return {"result": text}
    alone = isinstance(structured, dict) and set(structured) == {_VALUE}
    value = structured[_VALUE] if alone else structured
    parts = value if isinstance(value, list) else [value]
    if not text or _says(text, structured) or _says(text, value) or _say(texts, parts):
        return {"result": value}
    return {"result": text, "structured": structured}


def _say(texts: list[str], values: list[Any]) -> bool:
    return len(texts) == len(values) and all(map(_says, texts, values))


def _says(text: str, value: Any) -> bool:
    if isinstance(value, str):
        return text == value
    try:
        return bool(msgspec.json.decode(text) == value)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False


def _text(block: "ContentBlock") -> str | None:
    if block.type == "text":
        return block.text
    if block.type == "resource":
        text = getattr(block.resource, "text", None)
        return text if isinstance(text, str) else None
    return None


def _named(block: "ContentBlock") -> dict[str, Any]:
    named: dict[str, Any] = {"type": block.type}
    if block.type in {"image", "audio"}:
        named |= {"mime_type": block.mime_type, "size_bytes": _size(block.data)}
    elif block.type == "resource_link":
        named |= {"uri": str(block.uri), "name": block.name, "mime_type": block.mime_type}
    elif block.type == "resource":
        blob = getattr(block.resource, "blob", "")
        named |= {"uri": str(block.resource.uri), "mime_type": block.resource.mime_type, "size_bytes": _size(blob)}
    return {key: value for key, value in named.items() if value is not None}


def _size(base64: str) -> int:
    return len(base64) * 3 // 4 - base64[-2:].count("=")
