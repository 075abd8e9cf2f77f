"""Options in one form, however they were spelled: clusters split, abbreviations completed, values attached.

``rm -rf x``, ``rm -fr x``, ``rm x --recurs --force`` all read ``rm --recursive --force -- x``. Tools whose grammar is
a path of words (``aws ec2 terminate-instances --instance-ids i``) read with the words first and the options after.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from shellward.command.optionspecs import SAME, SPECS
from shellward.command.remember import remembered
from shellward.command.values import OPEN, known_part

_SWITCHES = frozenset(
    [
        "--quiet",
        "-q",
        "--yes",
        "-y",
        "--force",
        "-f",
        "--debug",
        "--verbose",
        "-v",
        "--all",
        "-a",
        "--recursive",
        "-r",
        "--json",
        "--no-prompt",
        "--non-interactive",
        "--auto-approve",
        "--confirm",
        "--no-cli-pager",
        "--no-paginate",
        "--no-verify-ssl",
        "--no-sign-request",
        "--async",
        "--no-wait",
        "--assumeyes",
        "--purge",
        "--cascade",
        "--dry-run",
        "--dryrun",
        "--prune",
        "-i",
        "--interactive",
        "-it",
        "--detach",
        "--now",
        "--staging",
        "--production",
        "--prod",
        "--insecure",
        "--skip-confirm",
    ]
)
"""Options of tools without an entry that are known to take no value."""
_OWN_SWITCHES = {
    "gsutil": frozenset(("-m", "-D", "-d")),
    "vagrant": frozenset(("-t",)),
    "bq": frozenset(("-t", "-d", "-m")),
    "bosh": frozenset(("-n",)),
}
"""The same by tool, where the letter means something else for others."""


@dataclass(frozen=True, slots=True)
class Spec:
    """The options of one tool."""

    short: dict[str, tuple[str, str]]
    long: dict[str, tuple[str, str]]
    depth: int


@dataclass(slots=True)
class Arguments:
    """The words of one command, sorted.

    Attributes:
        tool: the name rules know (``docker`` for podman).
        subs: its subcommands.
        options: canonical options in order, values attached (``--force``, ``--replicas=0``, ``-n``).
        operands: everything else.
        path: the tool's grammar is a path of words; ``operands`` then holds all of them.
    """

    tool: str
    subs: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    path: bool = False

    def has(self, *names: str) -> bool:
        """Tell whether one of the options is there, with or without a value."""
        for option in self.options:  # noqa: SIM110  # any() takes twice as long
            if option in names or option.partition("=")[0] in names:
                return True
        return False

    def value(self, name: str) -> str | None:
        """Return the value of an option, None when it is not there."""
        for option in self.options:
            key, equals, value = option.partition("=")
            if key == name:
                return value if equals else ""
        return None

    def values(self, *names: str) -> list[str]:
        """List the values of options, in order."""
        return [option.partition("=")[2] for option in self.options if option.partition("=")[0] in names]

    def form(self) -> str:
        """Write the canonical form that rules match."""
        words = [self.tool, *self.subs]
        if self.path:
            return " ".join([*words, *self.operands, *self.options])
        return " ".join([*words, *self.options, "--", *self.operands])


@remembered
def spec_of(name: str) -> Spec | None:
    """Compile the entry of a tool or subcommand."""
    text = SPECS.get(name)
    if text is None:
        return None
    short: dict[str, tuple[str, str]] = {}
    long: dict[str, tuple[str, str]] = {}
    depth = 0
    for item in text.split():
        if item.startswith("+") and item[1:].isdecimal():
            depth = int(item[1:])
            continue
        kind = item[-1] if item[-1] in ":?" else ""
        names = item.rstrip(":?").split(",")
        best = names[-1]
        canonical = ("--" if len(best) > 1 else "-") + best
        for one in names:
            (short if len(one) == 1 else long)[one] = (canonical, kind)
    return Spec(short, long, depth)


def arguments(name: str, argv: list[str]) -> Arguments:
    """Sort the words of a command.

    Args:
        name: the program's base name.
        argv: its resolved words, itself first.

    Returns:
        The words in canonical form. Unknown pieces inside options are taken as empty.
    """
    tool = SAME.get(name, name)
    words = argv[1:]
    if name == "curlie":
        name = "curl"
    head, _, sub = tool.partition(" ")
    result = Arguments(head, [sub] if sub else [])
    spec = spec_of(tool)
    if spec is None and tool.startswith("mkfs."):
        spec = spec_of("mkfs")
    if spec is None:
        return _generic(result, words)
    depth = spec.depth
    key = tool
    while True:
        rest = _parse(spec, words, result, stop=depth > 0)
        if not depth or not rest:
            return result
        taken = rest[:depth]
        result.subs += taken
        words = rest[depth:]
        key = " ".join([key, *taken])
        next_spec = spec_of(key)
        if next_spec is None:
            _parse(spec, words, result, stop=False)
            return result
        spec, depth = next_spec, next_spec.depth


def _parse(spec: Spec, words: list[str], result: Arguments, *, stop: bool) -> list[str]:
    """Read options; with ``stop``, return from the first operand on (the subcommand)."""
    i = 0
    while i < len(words):
        word = words[i]
        i += 1
        if word[:1] != "-" or len(word) == 1:
            if stop:
                return words[i - 1 :]
            result.operands.append(word)
            continue
        if OPEN in word:
            word = known_part(word) or word
        if word == "--":
            if stop:
                return words[i:]
            result.operands += words[i:]
            break
        if word.startswith("--"):
            i = _long(spec, word, words, i, result)
        elif (
            len(word) > 2 and word[1:].partition("=")[0] in spec.long and (not spec.short or word[1] not in spec.short)
        ):
            i = _long(spec, "-" + word, words, i, result)
        else:
            i = _short(spec, word, words, i, result)
    return []


def _long(spec: Spec, word: str, words: list[str], i: int, result: Arguments) -> int:
    name, equals, value = word[2:].partition("=")
    entry = spec.long.get(name)
    if entry is None and name:
        matches = {spec.long[one] for one in spec.long if one.startswith(name)}
        if matches and (len(name) > 1 or len(matches) == 1):
            entry = min(matches, key=lambda found: len(found[0]))
    canonical, kind = entry or (f"--{name}", "")
    if equals:
        result.options.append(f"{canonical}={value}")
    elif kind == ":" and i < len(words):
        result.options.append(f"{canonical}={words[i]}")
        i += 1
    else:
        result.options.append(canonical)
    return i


def _short(spec: Spec, word: str, words: list[str], i: int, result: Arguments) -> int:
    for at, letter in enumerate(word[1:], 1):
        canonical, kind = spec.short.get(letter, (f"-{letter}", ""))
        if kind == ":":
            value = word[at + 1 :]
            if not value and i < len(words):
                value = words[i]
                i += 1
            result.options.append(f"{canonical}={value}")
            break
        if kind == "?" and word[at + 1 :]:
            result.options.append(f"{canonical}={word[at + 1 :]}")
            break
        result.options.append(canonical)
    return i


def _generic(result: Arguments, words: list[str]) -> Arguments:
    """Sort the words of a tool without an entry: words first, options after, values attached."""
    result.path = True
    waiting = False
    own = _OWN_SWITCHES.get(result.tool, frozenset())
    for at, word in enumerate(words):
        if word == "--":
            result.operands += words[at + 1 :]
            break
        if word.startswith("-") and len(word) > 1:
            result.options.append(word)
            waiting = "=" not in word and word not in _SWITCHES and word not in own and not word.startswith("--no-")
        elif waiting:
            result.options[-1] += "=" + word
            waiting = False
        else:
            result.operands.append(word)
    return result
