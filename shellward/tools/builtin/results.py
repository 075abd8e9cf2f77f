"""``read_result``: reads a long result of another tool in parts."""

import math
from typing import Any

from shellward.tools.answers import encode, error
from shellward.tools.registry import registry
from shellward.tools.results import LARGEST_PART, PART, READER, ResultStore

_SCHEMA = {
    "description": "Read a part of a result that was too long and went to a file.",
    "parameters": {
        "type": "object",
        "properties": {
            "result_id": {"type": "string", "description": "The result_id of the shortened result"},
            "offset": {
                "type": "integer",
                "description": "Bytes from the beginning (next_offset of the part before); negative: from the end",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": LARGEST_PART,
                "description": f"Bytes, {PART} if left out",
            },
        },
        "required": ["result_id"],
    },
}


def read_result(args: dict[str, Any]) -> str:
    """Return the part as JSON."""
    try:
        part = ResultStore().read(args["result_id"], args.get("offset", 0), args.get("limit", PART))
    except LookupError as problem:
        return error(str(problem.args[0]))
    return encode(part)


registry.register(READER, "results", _SCHEMA, read_result, max_result_size_chars=math.inf)
