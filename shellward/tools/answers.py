"""What the model is told when a call did not work: well-formed JSON, with nothing in it that could speak for others.

The text of an exception may come from anywhere (a web page, a file, a server), and a model reads tool results beside
its instructions. So what looks like a turn of the conversation, a fence or a CDATA section is taken out, and secrets
are masked.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from shellward.telemetry.masking import mask

LONGEST: Final = 2000
"""Characters of an error message that are kept."""
_SEARCHED: Final = 4 * LONGEST
_PASSES: Final = 8
_TAG: Final = re.compile(
    r"</?\s*(?:system|assistant|user|human|developer|tool|function|instructions?|thinking|antml:\w+"
    r"|(?:tool|function)[_-]?(?:calls?|results?|outputs?|responses?|use)|invoke|parameter|s)(?![\w-])[^<>]{0,200}>"
    r"|<\|[^|<>]{1,60}\|>"  # <|im_start|> and its kin
    r"|<</?SYS>>|\[/?INST\]"
    r"|<!\[CDATA\[|\]\]>"
    r"|`{3,}|~{3,}",
    re.IGNORECASE,
)
_ESCAPES: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
_HIDDEN: Final = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
"""Characters that a person does not see and a model reads: zero width, direction, tags."""


def sanitised(text: str) -> str:
    """Return an error's text as a model may read it.

    Args:
        text: anything.

    Returns:
        At most LONGEST characters, without role tags, fences, CDATA marks, escape sequences and invisible
        characters, and with secrets masked.
    """
    text = text[:_SEARCHED].encode("utf-8", "replace").decode()
    text = mask(_HIDDEN.sub("", _ESCAPES.sub("", text)))
    for _ in range(_PASSES):
        # Taking one out can bring the halves of another together: <sys<system>tem>.
        text, count = _TAG.subn("", text)
        if not count:
            break
    else:
        text = re.sub(r"[<>`~\[\]|]", "", text)
    text = text.strip()
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def error(message: str, **fields: Any) -> str:
    """Return the JSON of an error.

    Args:
        message: what went wrong and what to do; sanitised here.
        fields: further JSON values beside ``error``; strings in them are not touched.
    """
    return encode({"error": sanitised(message), **fields})


def failed(problem: BaseException) -> str:
    """Return the JSON of an exception of a tool."""
    return error(f"Tool execution failed: {type(problem).__name__}: {_said(problem)}")


def _said(problem: BaseException) -> str:
    """Return what an exception says of itself; one whose ``__str__`` raises says nothing."""
    try:
        return str(problem)
    except Exception:  # noqa: BLE001  # foreign code, called while an error is being reported
        return "(no message)"


def encode(value: Mapping[str, Any]) -> str:
    """Return ``value`` as JSON.

    Raises:
        TypeError: it holds something that JSON has not.
    """
    return msgspec.json.encode(value).decode()


def well_formed(text: str) -> str | None:
    """Return ``text`` if it is one JSON value (RFC 8259), and None if it is not.

    ``json.dumps`` writes bytes that were no UTF-8 (lone surrogates) as escapes that strict readers refuse: those
    become U+FFFD, so that a command's strange output costs its letters and not its result.
    """
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except RecursionError:
        return None
    except (msgspec.DecodeError, UnicodeEncodeError):
        return _without_surrogates(text)
    return text


def _without_surrogates(text: str) -> str | None:
    import json

    try:
        value = json.loads(text, parse_constant=_refuse)
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
