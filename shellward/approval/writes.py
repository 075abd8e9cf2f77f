"""Where the commands of a line would put files: what they write, and the directories that they unpack or copy into.

Pure: paths are as the commands name them, from the directory of that moment. What they really are is asked by
``guarded``, at the time of the decision.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shellward.approval.effects import EFFECTS, effects
from shellward.approval.engine import is_harmless
from shellward.approval.rule import Call
from shellward.command.operands import operands, short_values, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shellward.command.invocation import Invocation
    from shellward.command.trace import Trace

MOST: Final = 128
"""So many paths of one line are looked at."""
_INTERPRETERS: Final = re.compile(r"(?:python|perl|ruby|node|php|lua|deno|bun)[\d.]*$")


@dataclass(frozen=True, slots=True)
class Write:
    """One path that a command would put something at, or take something away from.

    Attributes:
        path: as the command names it, perhaps with markers.
        inv: the command.
        deep: what is written has names below the path that are not known, or the path may be a whole directory.
        into: when the path is a directory already, this name in it is written instead; empty: the path itself.
        itself: a link at the path is replaced, not followed.
        puts: something new is put there; else it is taken away, or its permissions change.
    """

    path: str
    inv: Invocation
    deep: bool = False
    into: str = ""
    itself: bool = False
    puts: bool = True


def writes(traced: Trace, own: int = 0) -> tuple[Write, ...]:
    """List what a followed line would write.

    Args:
        traced: the line.
        own: characters at its beginning that are no words of anybody's, but tell what lies in the file system.
    """
    found: dict[tuple[object, ...], Write] = {}
    for inv in traced.invocations:
        if inv.name not in _MAY_WRITE or (own and inv.span[1] <= own):
            continue
        for write in _writes(inv):
            if write.path:
                found.setdefault((write.path, write.deep, write.into, write.itself, write.puts, inv.cwd), write)
        if len(found) >= MOST:
            break
    return tuple(found.values())


def _writes(inv: Invocation) -> Iterator[Write]:
    if inv.name in {">", ">>"}:
        yield from (Write(path, inv) for path in inv.argv[1:2])
        return
    call = Call(inv)
    found = list(_named(call))
    if found and not is_harmless(call):  # asked last, as most commands write nothing
        yield from found


def _named(call: Call) -> Iterator[Write]:
    """List what a command would write, if it does not only print help."""
    inv = call.inv
    if writer := _WRITERS.get(inv.name):
        yield from writer(call)
        return
    for effect in effects(call):
        if effect[0] in {">", ">>", "@empty", "@over"} and len(effect) > 1:
            yield Write(effect[1], inv)
        elif effect[0] == "rm":
            yield from (Write(path, inv, deep=True, itself=True, puts=False) for path in effect[3:])


# -- copies ---------------------------------------------------------------------------------------------


def _last(path: str) -> str:
    """Return the name that a copy of a path gets in a directory; empty when it is the directory's contents."""
    name = path.rpartition("/")[2] if not path.endswith("/") else path.rstrip("/").rpartition("/")[2]
    return "" if name in {".", "..", "*"} or not name else name


def _copied(call: Call, sources: list[str], target: str, *, deep: bool, contents: bool = False) -> Iterator[Write]:
    """Copies to a target that may be a directory."""
    for source in sources or [""]:
        name = "" if contents else _last(source)
        yield Write(target, call.inv, deep, name, itself=call.name in {"mv", "gmv", "ln", "gln"})


def _copy(call: Call) -> Iterator[Write]:
    """``cp``, ``mv``, ``install``, ``ln``, ``ditto``."""
    args, name = call.args, call.name
    rest = list(args.operands)
    if name in {"install", "ginstall"} and args.has("--directory"):
        return
    moves = name in {"mv", "gmv"}
    links = name in {"ln", "gln"}
    coded = any(map(_INTERPRETERS.match, call.inv.via[-1:]))
    deep = moves or links or coded or name == "ditto" or args.has("--recursive", "-r", "-R", "--archive", "-a")
    target = args.value("--target-directory")
    if target is None:
        if len(rest) == 1 and links:
            target = "."
        elif len(rest) > 1:
            target = rest.pop()
        else:
            return
    if moves:
        yield from (Write(source, call.inv, deep=True, itself=True, puts=False) for source in rest)
    yield from _copied(call, rest, target, deep=deep, contents=args.has("--no-target-directory", "-T", "--parents"))


_ELSEWHERE: Final = re.compile(r"[\w.@-]+::?(?!\\)\S|\w+://")
"""Paths on another machine, as rsync, scp and tools of clouds have them."""


def _synced(call: Call) -> Iterator[Write]:
    """``rsync``, ``scp``, ``rclone copy``, ``docker cp``, ``aws s3 sync``: the last operand is the target."""
    args = call.args
    if args.has("--list-only", "--dry-run"):
        return
    rest = operands(call.argv, "eTfBMcFiJlPoS")
    if call.name in _VERBS:
        at = next((at for at, word in enumerate(rest) if word in _VERBS[call.name]), None)
        if at is None:
            return
        rest = rest[at + 1 :]
    if len(rest) < 2 or _ELSEWHERE.match(rest[-1]):  # from, to
        return
    contents = any(source.endswith("/") for source in rest[:-1]) or call.name in {"rclone", "aws", "gsutil"}
    yield from _copied(call, rest[:-1], rest[-1], deep=True, contents=contents)


_VERBS: Final = {
    **dict.fromkeys(("rclone",), ("copy", "sync", "move", "copyto", "moveto")),
    **dict.fromkeys(("docker", "podman", "nerdctl", "kubectl", "oc", "gsutil"), ("cp", "rsync")),
    "aws": ("cp", "sync", "mv"),
}  # fmt: skip


# -- archives ---------------------------------------------------------------------------------------------


def _tar(call: Call) -> Iterator[Write]:
    args, argv = call.args, call.argv
    first = argv[1] if len(argv) > 1 else ""
    if not (args.has("--extract", "--get", "-x") or re.match(r"-?[a-zA-Z]*x", first)):
        return
    if args.has("--to-stdout", "-O") or re.match(r"-?[a-zA-Z]*O", first):
        return
    if args.has("--absolute-names", "-P") or re.match(r"-?[a-zA-Z]*P", first):
        yield Write("/", call.inv, deep=True)
    folder = ""
    for value in args.values("--directory"):
        folder = value if value[:1] in {"/", "~"} or not folder else f"{folder}/{value}"
    yield Write(folder or ".", call.inv, deep=True)


def _into(*options: str, glued: bool = False) -> Callable[[Call], Iterator[Write]]:
    """Make a reader of unpackers that write into the directory of an option, else into the current one."""

    def write(call: Call) -> Iterator[Write]:
        argv = call.argv
        asked = _UNPACKS.get(call.name)
        if asked is not None and not asked(argv):
            return
        for at, word in enumerate(argv[1:], 1):
            for option in options:
                if word == option and at + 1 < len(argv):
                    yield Write(argv[at + 1], call.inv, deep=True)
                    return
                attached = f"{option}=" if option.startswith("--") else option if glued else ""
                if attached and word.startswith(attached) and len(word) > len(attached):
                    yield Write(word[len(attached) :], call.inv, deep=True)
                    return
        yield Write(".", call.inv, deep=True)

    return write


def _letter(letters: str) -> Callable[[list[str]], bool]:
    """Tell whether one of the letters stands among the options, or in a first word without a dash."""

    def asked(argv: list[str]) -> bool:
        words = [word for word in argv[1:] if re.match(r"-[A-Za-z]", word)] + argv[1:2]
        return any(not set(letters).isdisjoint(word) for word in words if not word.startswith("--"))

    return asked


_UNPACKS: Final[dict[str, Callable[[list[str]], bool]]] = {
    "cpio": lambda argv: _letter("ip")(argv) or "--extract" in argv or "--pass-through" in argv,
    "pax": _letter("r"), "jar": _letter("x"), "ar": _letter("x"),
    "unzip": lambda argv: not any(re.match(r"-[A-Za-z]*[lptvZ]", word) for word in argv[1:]),
    **dict.fromkeys(("7z", "7za", "7zz", "7zr"), lambda argv: any(word in {"x", "e"} for word in argv[1:3])),
    **dict.fromkeys(("unrar", "rar"), lambda argv: any(word in {"x", "e"} for word in argv[1:3])),
}  # fmt: skip


def _last_operand(call: Call) -> Iterator[Write]:
    """``unrar x a.rar to/``, ``cpio -p to``, ``dpkg-deb -x a.deb to``: the directory is the last operand."""
    rest = operands(call.argv)
    if call.name in {"unrar", "rar"} and rest[2:] and rest[0] in {"x", "e"}:
        yield Write(rest[-1], call.inv, deep=True)
    elif call.name in {"dpkg-deb", "dpkg"}:
        if rest[1:] and any(re.match(r"-[xXR]$|--(?:vextract|extract|raw-extract)$", word) for word in call.argv[1:]):
            yield Write(rest[-1], call.inv, deep=True)
    elif call.name in {"unrar", "rar"}:
        yield from _into()(call)


def _cpio(call: Call) -> Iterator[Write]:
    rest = operands(call.argv, "DFIOHERMC")
    if _letter("p")(call.argv) and rest:
        yield Write(rest[-1], call.inv, deep=True)
    else:
        yield from _into("-D", "--directory")(call)


def _module(call: Call) -> Iterator[Write]:
    """``python3 -m zipfile -e a.zip to``, ``python3 -m tarfile -e a.tar to``."""
    argv = call.argv
    at = next((at for at, word in enumerate(argv[:-1]) if word == "-m"), None)
    if at is None or argv[at + 1] not in {"zipfile", "tarfile"}:
        yield from ()
        return
    rest = argv[at + 2 :]
    if rest[:1] and rest[0] in {"-e", "--extract"}:
        yield Write(rest[2] if rest[2:] else ".", call.inv, deep=True)


def _patch(call: Call) -> Iterator[Write]:
    """``patch -p1`` writes what the patch names; ``patch file`` that file."""
    args = call.args
    if args.has("--dry-run"):
        return
    folder = value_of(call.argv, "--directory") or next((value for _, value in short_values(call.argv, "d")), "")
    rest = operands(call.argv, "diopBrVYzDFg")
    output = value_of(call.argv, "-o", "--output")
    if output:
        yield Write(output, call.inv)
    elif rest:
        yield Write(f"{folder}/{rest[0]}" if folder and rest[0][:1] != "/" else rest[0], call.inv)
    else:
        yield Write(folder or ".", call.inv, deep=True)


# -- version control ----------------------------------------------------------------------------------------

_GIT_WRITES: Final = frozenset(
    (
        *("checkout", "switch", "restore", "reset", "pull", "merge", "rebase", "cherry-pick", "revert", "stash"),
        *("apply", "am", "checkout-index", "read-tree", "sparse-checkout"),
    )
)
_GIT_SAYS: Final = frozenset(("--check", "--stat", "--numstat", "--summary"))
_GIT_VALUED: Final = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"))


def _git(call: Call) -> Iterator[Write]:
    place, tree, verb, rest = _git_words(call)

    def below(path: str) -> str:
        return path if path[:1] in {"/", "~"} or not place else f"{place}/{path}"

    if verb == "clone":
        path = _cloned(rest)
    elif verb == "worktree" and rest[:1] == ["add"]:
        path = next(iter(operands(rest, "bB")), "")
    elif verb == "submodule" and rest[:1] == ["add"]:
        path = next(iter(operands(rest, "b")[1:]), "")
    elif verb not in _GIT_WRITES or (verb == "apply" and not _GIT_SAYS.isdisjoint(rest)):
        return
    else:
        path = next((word.partition("=")[2] for word in rest if word.startswith("--directory=")), tree) or "."
    if path:
        yield Write(below(path), call.inv, deep=True)


def _git_words(call: Call) -> tuple[str, str, str, list[str]]:
    """Return the directory and the work tree that the options before the verb name, the verb, and what follows."""
    words = call.argv[1:]
    place, tree, at = "", call.inv.env.get("GIT_WORK_TREE", ""), 0
    while at < len(words) and words[at].startswith("-"):
        option, equals, value = words[at].partition("=")
        if not equals and option in _GIT_VALUED and at + 1 < len(words):
            at += 1
            value = words[at]
        if option == "-C":
            place = value if value[:1] in {"/", "~"} or not place else f"{place}/{value}"
        elif option == "--work-tree":
            tree = value
        at += 1
    return place, tree, "".join(words[at : at + 1]), words[at + 1 :]


def _cloned(rest: list[str]) -> str:
    """Return the directory that ``git clone`` makes."""
    valued = _values_of(rest, "--depth", "--branch", "--origin", "--config")
    named = [word for word in operands(["clone", *rest], "bojcu") if word not in valued]
    if named[1:]:
        return named[1]
    return re.split(r"[/:]", named[0].rstrip("/").removesuffix("/.git").removesuffix(".git"))[-1] if named else ""


def _values_of(words: list[str], *options: str) -> set[str]:
    return {words[at + 1] for at, word in enumerate(words[:-1]) if word in options}


def _checkout(call: Call) -> Iterator[Write]:
    """``hg clone from to``, ``svn checkout from to``, ``svn export``."""
    rest = operands(call.argv, "rubN")
    if rest[:1] and rest[0] in {"clone", "checkout", "co", "export", "branch"}:
        if rest[2:]:
            yield Write(rest[2], call.inv, deep=True)
        elif rest[1:]:
            yield Write(_last(rest[1]) or ".", call.inv, deep=True)
    elif rest[:1] and rest[0] in {"update", "up", "pull", "revert", "patch", "import", "switch"}:
        yield Write(".", call.inv, deep=True)


# -- what is taken away or changed in place ----------------------------------------------------------------


def _removed(call: Call) -> Iterator[Write]:
    for path in call.args.operands:
        yield Write(path, call.inv, deep=call.args.has("--recursive", "-r", "-R"), itself=True, puts=False)


def _changed(call: Call) -> Iterator[Write]:
    yield from (Write(path, call.inv, puts=call.name == "sqlite3") for path in call.args.operands)


def _edited(call: Call) -> Iterator[Write]:
    """``ed``, ``ex``; ``vim`` only with commands, for else it shows."""
    commands = any(re.match(r"\+|-c$|--cmd$|-es?$|-s$", word) for word in call.argv[1:])
    if call.name in {"ed", "ex", "red"} or commands:
        yield from (Write(path, call.inv) for path in operands(call.argv, "cSuUwW") if not path.startswith("+"))


def _fetched(call: Call) -> Iterator[Write]:
    """``wget``: with ``-r`` or ``-x`` names come from the other side."""
    folder = call.args.value("--directory-prefix") or "."
    deep = any(re.match(r"-[A-Za-z]*[rmx]|--(?:recursive|mirror|force-directories)$", w) for w in call.argv[1:])
    output = call.args.value("--output-document")
    if output and output != "-":
        yield Write(output, call.inv)
    elif deep:
        yield Write(folder, call.inv, deep=True)
    elif not output:
        for url in call.args.operands:
            yield Write(f"{folder}/{url.partition('?')[0].rpartition('/')[2]}", call.inv)


_WRITERS: Final[dict[str, Callable[[Call], Iterator[Write]]]] = {
    **dict.fromkeys(("cp", "gcp", "mv", "gmv", "install", "ginstall", "ln", "gln", "ditto"), _copy),
    **dict.fromkeys(("rsync", "scp", *_VERBS), _synced),
    **dict.fromkeys(("tar", "gtar", "bsdtar", "star"), _tar),
    "unzip": _into("-d"), "bsdunzip": _into("-d"), "unar": _into("-o", "-output-directory"),
    "pax": _into(), "jar": _into("-C"), "ar": _into("--output"), "unsquashfs": _into("-d", "-dest"),
    **dict.fromkeys(("7z", "7za", "7zz", "7zr"), _into("-o", glued=True)),
    **dict.fromkeys(("unrar", "rar", "dpkg-deb", "dpkg"), _last_operand), "cpio": _cpio,
    **dict.fromkeys(("python", "python3"), _module),
    "patch": _patch, "gpatch": _patch, "git": _git, **dict.fromkeys(("hg", "svn", "bzr", "brz"), _checkout),
    **dict.fromkeys(("rm", "grm", "rmdir", "unlink", "shred"), _removed),
    **dict.fromkeys(("chmod", "chown", "chgrp", "chattr", "setfacl", "sqlite3", "touch"), _changed),
    **dict.fromkeys(("ed", "ex", "red", "vi", "vim", "nvim"), _edited),
    **dict.fromkeys(("wget", "wget2"), _fetched),
}  # fmt: skip
"""Programs whose paths are read here; those of ``EFFECTS`` are read there."""
_MAY_WRITE: Final = frozenset((*_WRITERS, *EFFECTS, ">", ">>"))
