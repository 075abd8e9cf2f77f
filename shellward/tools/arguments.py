"""A call's arguments: made to fit the schema where what was meant is plain, then checked against it.

Models write ``"5"`` for 5, ``"true"`` for true, a list as text, and null for what they leave out. That is put right;
everything else that does not fit is an error that names the place.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

_DEPTH: Final = 40
"""Levels of a schema that are followed; deeper values stay as they are."""
_INTEGER: Final = re.compile(r"[+-]?\d{1,40}(?:\.0{1,20})?")
_ERRORS: Final = 5
_MESSAGE: Final = 300
_BACKTRACKS: Final = 100_000
"""Steps of a pattern in a schema; servers write those, and some patterns never end."""
_OF_TYPE: Final[Mapping[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list | tuple),
    "null": lambda value: value is None,
}
_NOTHING: Final = object()


class InvalidArgumentsError(ValueError):
    """The arguments do not fit; the message is for the model.

    Attributes:
        problems: one line for each.
    """

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


class InvalidSchemaError(ValueError):
    """A tool's parameters are no valid JSON Schema, or refer to something outside of it."""


class Validator:
    """Checks arguments against one schema. Thread-safe.

    Args:
        schema: JSON Schema of the arguments: an object (2020-12, or what its ``$schema`` says).

    Raises:
        InvalidSchemaError: it is none. Nothing is fetched: a reference to elsewhere is an error.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        import jsonschema_rs

        self._schema = schema
        try:
            # As text: the validator's own types are the only ones it takes, and ours are read-only.
            self._check = jsonschema_rs.validator_for(
                msgspec.json.encode(schema).decode(),
                offline=True,
                pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS),
            )
        except (ValueError, TypeError, RecursionError, jsonschema_rs.ReferencingError) as error:
            raise InvalidSchemaError(str(error).partition("\n")[0][:_MESSAGE]) from None

    def fitted(self, args: object) -> dict[str, Any]:
        """Return the arguments as the schema wants them.

        Args:
            args: a mapping, JSON text of one, or None for no arguments.

        Raises:
            InvalidArgumentsError: they do not fit.
        """
        given = _mapping(args)
        found = _fit(given, self._schema, self._schema, 0)
        problems: list[str] = []
        try:
            # Of several branches the first of a value's type is taken, which need not be the one that it fits.
            if found != given and self._check.is_valid(given):
                found = given
            for error in self._check.iter_errors(found):
                if len(problems) == _ERRORS:
                    problems.append("and more")
                    break
                problems.append(_told(error.instance_path, error.message))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            problems.append(f"the arguments cannot be checked: {error}"[:_MESSAGE])
        if problems:
            raise InvalidArgumentsError(problems)
        return dict(found)


def _mapping(args: object) -> Mapping[str, Any]:
    if args is None:
        return {}
    if isinstance(args, str):
        if not args.strip():
            return {}
        try:
            args = msgspec.json.decode(args)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            raise InvalidArgumentsError([f"the arguments are not JSON: {error}"[:_MESSAGE]]) from None
    if not isinstance(args, Mapping):
        raise InvalidArgumentsError([f"the arguments must be a JSON object, not {type(args).__name__}"])
    return args


def _told(path: list[str | int], message: str) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    if len(message) > _MESSAGE:
        message = f"{message[: _MESSAGE // 2]} … {message[-_MESSAGE // 2 :]}"
    return f"{where}: {message}" if where else message


def _fit(value: Any, schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    """Return ``value`` as ``schema`` wants it, as far as what was meant is plain."""
    schema = _resolved(schema, root)
    if depth > _DEPTH or not isinstance(schema, Mapping):
        return value
    for part in schema.get("allOf", ()):
        value = _fit(value, part, root, depth + 1)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        value = _fit_branch(value, branches, root, depth)
    kinds = _kinds(schema)
    if kinds and not any(_OF_TYPE[kind](value) for kind in kinds):
        converted = _first(_CONVERT[kind](value) for kind in kinds)
        if converted is not _NOTHING:
            value = converted
        elif "array" in kinds and value is not None and not _looks_like_a_list(value):
            value = [value]  # one where a list of them is wanted
    if isinstance(value, Mapping) and ("properties" in schema or "additionalProperties" in schema):
        return _fit_object(value, schema, root, depth)
    if isinstance(value, list | tuple) and "items" in schema:
        return [_fit(item, schema["items"], root, depth + 1) for item in value]
    return value


def _fit_object(value: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    found = {}
    for name, item in value.items():
        wanted = properties.get(name, schema.get("additionalProperties"))
        if item is None and name in properties and name not in required and not _nullable(wanted, root):
            continue  # null for what may be left out means that it is left out
        found[name] = _fit(item, wanted, root, depth + 1)
    return found


def _fit_branch(value: Any, branches: Any, root: Mapping[str, Any], depth: int) -> Any:
    """Fit to the first branch whose type the value has, else to the first that it can be converted to."""
    resolved = [_resolved(branch, root) for branch in branches]
    known = [(branch, _kinds(branch)) for branch in resolved if isinstance(branch, Mapping)]
    for branch, kinds in known:
        if any(_OF_TYPE[kind](value) for kind in kinds):
            return _fit(value, branch, root, depth + 1)
    if any(not kinds for _, kinds in known):
        return value  # a branch without a type may take it as it is
    for branch, kinds in known:
        fitted = _fit(value, branch, root, depth + 1)
        if any(_OF_TYPE[kind](fitted) for kind in kinds):
            return fitted
    return value


def _resolved(schema: Any, root: Mapping[str, Any]) -> Any:
    """Follow a reference inside the schema (``#/$defs/x``); anything else stays for the validator."""
    for _ in range(_DEPTH):
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        schema = root
        for part in filter(None, reference[1:].split("/")):
            name = part.replace("~1", "/").replace("~0", "~")
            schema = schema.get(name) if isinstance(schema, Mapping) else None
    return None


def _kinds(schema: Mapping[str, Any]) -> tuple[str, ...]:
    kinds = schema.get("type", ())
    found = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    return tuple(kind for kind in found if kind in _OF_TYPE)


def _nullable(schema: Any, root: Mapping[str, Any]) -> bool:
    """Say whether null may be meant; it may wherever no type says otherwise."""
    schema = _resolved(schema, root)
    if not isinstance(schema, Mapping):
        return True
    kinds = _kinds(schema)
    if kinds:
        return "null" in kinds
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        return any(_nullable(branch, root) for branch in branches)
    return None in schema["enum"] if "enum" in schema else True


def _first(candidates: Iterator[Any]) -> Any:
    return next((each for each in candidates if each is not _NOTHING), _NOTHING)


def _integer(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    text = value.strip() if isinstance(value, str) else ""
    return int(text.partition(".")[0]) if _INTEGER.fullmatch(text) else _NOTHING


def _number(value: Any) -> Any:
    if (whole := _integer(value)) is not _NOTHING:
        return whole
    try:
        found = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return _NOTHING
    return found if math.isfinite(found) else _NOTHING


def _boolean(value: Any) -> Any:
    word = value.strip().lower() if isinstance(value, str) else value
    return {"true": True, "false": False, 1: True, 0: False}.get(word, _NOTHING) if _hashable(word) else _NOTHING


def _looks_like_a_list(value: Any) -> bool:
    return isinstance(value, str) and value.lstrip().startswith("[")  # broken JSON is not one text of a list


def _hashable(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _string(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) and math.isfinite(value) else _NOTHING


def _null(value: Any) -> Any:
    return None if isinstance(value, str) and value.strip().lower() in {"null", "none", ""} else _NOTHING


def _parsed(kind: type) -> Callable[[Any], Any]:
    opening = "{" if kind is dict else "["

    def convert(value: Any) -> Any:
        if not isinstance(value, str) or not value.lstrip().startswith(opening):
            return _NOTHING
        try:
            found = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return _NOTHING
        return found if isinstance(found, kind) else _NOTHING

    return convert


_CONVERT: Final[Mapping[str, Callable[[Any], Any]]] = {
    "string": _string,
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "object": _parsed(dict),
    "array": _parsed(list),
    "null": _null,
}
