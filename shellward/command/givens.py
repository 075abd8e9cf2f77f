"""What a program is given: its arguments and its input, put where the program names them."""

from __future__ import annotations

import re

from shellward.command.values import labels

_ARGUMENTS = {
    "python": (r"\bsys\.argv\[{}\]", 1), "ruby": (r"\bARGV\[{}\]", 0), "perl": (r"\$ARGV\[{}\]", 0),
    "php": (r"\$argv\[{}\]", 1), "javascript": (r"\bprocess\.argv\[{}\]", 2), "lua": (r"\barg\[{}\]", 1),
}  # fmt: skip
"""How a program names its arguments, and the number of the first."""


def with_arguments(language: str, code: str, args: list[str]) -> str:
    """Put known arguments in the places where a program names them."""
    entry = _ARGUMENTS.get(language)
    if entry is None or not args or "arg" not in code.lower():
        return code
    pattern, first = entry
    if "process.argv[1]" in code:  # of a program given with -e; that of a file has its own name there
        first = 1
    for at, value in enumerate(args[:5]):
        if len(value) < 200 and not labels(value) and "'" not in value and "\\" not in value:
            code = re.sub(pattern.format(at + first), lambda _, value=value: f"'{value}'", code)  # type: ignore[misc]
    return code


_INPUT = {
    "python": r"(?:sys\.)?stdin\.(?:buffer\.)?read(?:line)?\(\)|\binput\([^()]*\)|\bopen\(0\)\.read\(\)",
    "perl": r"<STDIN>|<>|<ARGV>",
    "ruby": r"(?:\$stdin|STDIN|ARGF|\$<)\.(?:read|gets)|\bgets\b",
    "php": r"file_get_contents\(\s*[\"']php://stdin[\"']\s*\)|stream_get_contents\(STDIN\)|fgets\(STDIN\)",
    "javascript": r"(?:require\([\"'](?:node:)?fs[\"']\)|\bfs)\.readFileSync\((?:0|[\"']/dev/stdin[\"'])[^()]*\)(?:\.toString\(\))?",
    "lua": r"io\.(?:stdin:)?read\([^()]*\)",
}  # fmt: skip
"""How a program reads its standard input."""
_RUNS = r"(?:exec|eval|system|popen|Popen|run|call|check_output|check_call|getoutput|spawn|execSync|load|passthru|instance_eval)"
_RUNNING = ("exec", "eval", "system", "open", "run", "call", "check_output", "getoutput", "spawn", "load", "passthru")
"""One of these stands in each of those names: looking for words is much faster than making an expression."""


def with_input(language: str, code: str, stdin: str | None) -> tuple[str, str | None]:
    """Put known input in the place where a program runs what it reads; also return that input when it is not known."""
    pattern = _INPUT.get(language)
    if pattern is None or not stdin or len(code) > 4000 or not any(word in code for word in _RUNNING):
        return code, None
    runs = re.compile(rf"\b({_RUNS}\s*\(?\s*(?:compile\(\s*)?(?:join\(?[\"']{{2}},\s*)?)(?:{pattern})")
    if not runs.search(code):
        return code, None
    if labels(stdin) or len(stdin) > 4000:
        return code, stdin
    text = stdin.removesuffix("\n").replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return runs.sub(lambda match: f"{match.group(1)}'{text}'", code), None
