"""The user's own rule packs: files that say what else is dangerous, with examples that are checked at once."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from shellward.approval.engine import find, index
from shellward.approval.patterns import PACKS
from shellward.approval.rule import Rule
from shellward.config import paths
from shellward.config.loader import parse_yaml
from shellward.core.errors import ConfigError
from shellward.core.gate import Severity

_Name = Annotated[str, Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*\Z")]
_Text = Annotated[str, Meta(min_length=1)]
_RESERVED: Final = frozenset((*PACKS, "unknown", "structure", "user"))
_PLACE: Final = re.compile(r"^\$\.?|\[\.\.\.\]")


class _Entry(Struct, kw_only=True, forbid_unknown_fields=True):
    id: _Name
    commands: Annotated[tuple[_Text, ...], Meta(min_length=1)]
    description: _Text
    severity: Literal["low", "medium", "high", "critical"]
    must: Annotated[tuple[_Text, ...], Meta(min_length=1)]
    must_not: tuple[_Text, ...] = ()
    regex: str = ""
    unless: str = ""
    why: str = ""
    never_allow: bool = False


class _File(Struct, kw_only=True, forbid_unknown_fields=True):
    pack: _Name
    rules: Annotated[tuple[_Entry, ...], Meta(min_length=1)]


def load_packs(files: Sequence[str]) -> Mapping[str, tuple[Rule, ...]]:
    """Read packs.

    Args:
        files: where; relative to the directory of ``config.yaml``.

    Returns:
        The rules by the names of commands, for ``detect_dangerous_command``.

    Raises:
        ConfigError: a file cannot be read, a key is unknown, a value wrong, or an example is not what the rule says;
            one line that names the key.
    """
    return index(rules_of(files))


def rules_of(files: Sequence[str]) -> list[Rule]:
    """Read packs as a list of rules; see ``load_packs``."""
    rules: list[Rule] = []
    for name in files:
        path = paths.config_dir() / Path(name).expanduser()
        for rule in _rules(path):
            if any(rule.id == other.id for other in rules):
                raise ConfigError(f"{path}: {rule.id}: there is a rule of this id already")
            rules.append(rule)
    return rules


def _rules(path: Path) -> list[Rule]:
    file = _read(path)
    if file.pack in _RESERVED:
        raise ConfigError(f"{path}: pack: {file.pack} is a pack of Shellward's own; choose another name")
    made = []
    for at, entry in enumerate(file.rules):
        where = f"{path}: rules[{at}]"
        for key in ("regex", "unless"):
            _compiles(getattr(entry, key), f"{where}.{key}")
        rule = Rule(
            f"{file.pack}.{entry.id}",
            " ".join(entry.commands),
            entry.regex,
            entry.description,
            Severity[entry.severity.upper()],
            entry.why,
            entry.must,
            entry.must_not,
            unless=entry.unless,
            never_allow=entry.never_allow,
        )
        _check_examples(rule, where)
        made.append(rule)
    return made


def _read(path: Path) -> _File:
    try:
        tree = parse_yaml(path.read_text(encoding="utf-8"), path)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    try:
        return msgspec.convert(tree if tree is not None else {}, _File)
    except (msgspec.ValidationError, RecursionError) as error:
        problem, _, place = str(error).partition(" - at `")
        key = _PLACE.sub("", place.rstrip("`"))
        text = problem.replace("`", "")
        raise ConfigError(f"{path}: {f'{key}: ' if key else ''}{text[:1].lower()}{text[1:]}") from None


def _compiles(expression: str, where: str) -> None:
    try:
        re.compile(expression)
    except (re.error, OverflowError, RecursionError) as error:
        raise ConfigError(f"{where}: {error}") from None


def _check_examples(rule: Rule, where: str) -> None:
    """See that a rule finds what it says it finds, and nothing that it says it does not."""
    own = index([rule])
    for key, examples, wanted in (("must", rule.must, True), ("must_not", rule.must_not, False)):
        for at, example in enumerate(examples):
            found = any(finding.rule == rule.id for finding in find(example, "/project", packs=own)[1])
            if found is not wanted:
                what = "is not found by the rule" if wanted else "is found by the rule"
                raise ConfigError(f"{where}.{key}[{at}]: {what}: {example!r:.80}")
