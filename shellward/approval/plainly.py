"""Findings in plain words: what a person reads instead of the canonical forms that rules match. Pure."""

from collections.abc import Callable, Sequence
from typing import Final

from shellward.approval.inner import in_full
from shellward.approval.reach import typical
from shellward.core.gate import Finding

_LANGUAGES: Final = {"sh": "a shell", "javascript": "JavaScript", "php": "PHP"}
_SOURCES: Final = {
    "net": "what comes from the network",
    "decoded": "what was decoded",
    "piped": "what another command prints",
    "out": "what another command prints",
    "file": "a file's text",
    "history": "the shell's history",
    "in": "what is typed",
    "read": "what is typed",
    "too-much": "code that is too long to be read here",
    "cut": "code that is too long to be read here",
}
_POWERS: Final = {
    "host-files-read": "read files outside",
    "host-files-write": "change files outside",
    "network": "reach the network",
    "privileges": "leave its sandbox",
    "host-processes": "see and signal processes outside",
    "credentials": "use your credentials",
    "persistent": "leave things behind that last",
}


def deed(finding: Finding) -> str:
    """Say in full what a finding's command does: the command itself, or words for what is no command.

    Empty where only the finding's description is left to say.
    """
    text = in_full(finding)
    head, _, rest = text.partition(" ")
    if head in _REDIRECTIONS:
        return f"{'appends to' if '>>' in head else 'writes'} {rest}"
    if not head.startswith("@"):
        return text
    words = finding.argv[1:] or tuple(rest.split())
    say = _DEEDS.get(head)
    return say(words) if say is not None and words else ""


def _run(words: tuple[str, ...]) -> str:
    language = _LANGUAGES.get(words[0], words[0])
    by = [word.partition(":")[2] for word in words[1:] if word.startswith(("net:", "out:", "file:"))]
    kinds = dict.fromkeys(word.partition(":")[0] for word in words[1:])
    if "piped" in kinds and len(kinds) > 1:
        del kinds["piped"]
    what = " and ".join(dict.fromkeys(_SOURCES[kind] for kind in kinds if kind in _SOURCES))
    through = f" ({', '.join(dict.fromkeys(filter(None, by)))})" if any(by) else ""
    return f"{language} runs {what or 'code that is not known'}{through}"


def _given(words: tuple[str, ...]) -> str:
    return f"{' '.join(words[1:])} (given to {words[0]})"


def _source(word: str) -> str:
    kind, _, name = word.partition(":")
    return {"file": name, "out": f"what {name} prints"}.get(kind, word)


_REDIRECTIONS: Final = frozenset({">", ">>", ">|", "&>", "&>>", "<>"})
_DEEDS: Final[dict[str, Callable[[tuple[str, ...]], str]]] = {
    "@run": _run,
    "@empty": lambda words: f"empties {' '.join(words)}",
    "@over": lambda words: f"overwrites {' '.join(words)}",
    "@sql": _given,
    "@store": _given,
    "@http": lambda words: f"sends {' '.join(words)}",
    "@send": lambda words: f"sends {', '.join(map(_source, words[1:])) or 'data'}",
}
"""Words for what rules match instead of a command; for others the finding's description says it all."""


def unlike_others(kind: str, reach: Sequence[str]) -> str:
    """Say how far an environment reaches beyond others of its kind, or less far; empty where it does not.

    Args:
        kind: of environment.
        reach: its powers, as words.
    """
    usual, own = typical(kind).powers, frozenset(reach)
    if own == usual:
        return ""
    more = [_POWERS.get(power, power) for power in sorted(own - usual)]
    less = [_POWERS.get(power, power) for power in sorted(usual - own)]
    can = [f"can {', '.join(more)}"] if more else []
    cannot = [f"cannot {', '.join(less)}"] if less else []
    return f"unlike other {kind} environments, this one {' and '.join([*can, *cannot])}"
