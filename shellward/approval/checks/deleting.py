"""Checks of what is deleted, moved away or emptied."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.approval.checks.common import recursive, targets
from shellward.approval.paths import CATASTROPHIC, Kind, absolute
from shellward.command.interpreters import SHELLS
from shellward.command.values import OPEN, known_part, labels

if TYPE_CHECKING:
    from shellward.approval.rule import Call, Check


def kinds(*wanted: Kind) -> Check:
    """Make a check: some operand is of one of these kinds."""

    def check(call: Call) -> tuple[str, ...]:
        return tuple(word for word in call.args.operands if call.kind(word) in wanted)

    return check


def catastrophic(call: Call) -> tuple[str, ...]:
    """Operands that are the whole system, exactly: ``/``, ``/*``, ``/etc``, ``~``."""
    if "ssh" not in call.inv.via and call.name == "find" and not _finds_all(call):
        return ()
    return tuple(word for word in call.args.operands if _is_catastrophic(word, call.inv.cwd))


def _finds_all(call: Call) -> bool:
    """Tell whether a find has no test that narrows it."""
    return not any(
        re.match(
            r"-(?:i?name|i?path|i?regex|type|size|[amc]time|[amc]min|newer|user|group|perm|empty|wholename|inum|links|uid|gid|maxdepth|mindepth|samefile)",
            word,
        )
        for word in call.argv[1:]
    )


def _is_catastrophic(word: str, cwd: str) -> bool:
    found = labels(word)
    if found and not all(label.startswith("var") for label in found):
        return False
    known = known_part(word)
    if not known or (found and word[0] == OPEN):
        return False
    path = absolute(known, cwd)
    if word in {".", "./", "*", "./*"} and not found:
        path = f"{cwd.rstrip('/')}/*" if cwd == "/" else path
    return path in CATASTROPHIC and not (found and path not in {"/", "/*"})


_CACHES = re.compile(
    r"/var/lib/apt/lists(?:/.*)?|/var/cache/(?!\.\.).+|/etc/apk/cache(?:/.*)?|/usr/local/share/\.cache(?:/.*)?"
    r"|/opt/(?:conda|miniconda3?|mambaforge|miniforge3)/pkgs(?:/.*)?|(?:/usr/local/cargo|/opt/cargo)/(?:registry|git)(?:/.*)?"
    r"|/go/pkg/mod(?:/.*)?"
    r"|(?:~|/root|/home/[^/*]+|/Users/[^/*]+)/(?:"
    r"\.cache|\.npm(?:/_\w+)?|\.cargo/(?:registry|git)|\.gradle/caches|\.m2/repository|\.yarn/cache|\.pnpm-store"
    r"|\.local/share/pnpm/store|\.composer/cache|\.nuget/packages|go/pkg/mod|\.ivy2/cache|\.conda/pkgs|miniconda3/pkgs"
    r"|\.electron|\.node-gyp|\.bun/install/cache|Library/Caches/[^/*]+|\.cpanm|\.cpan/build|\.pub-cache|\.cabal/packages"
    r"|\.rustup/(?:tmp|downloads)|\.pip/cache|\.sbt/boot|\.ccache|\.deno)(?:/.*)?"
    r"|(?:~|/root|/home/[^/*]+|/Users/[^/*]+)/(?:.*/)?\.?(?i:trash|spam|junk)(?:/.*)?"
)
"""What package managers and compilers have fetched or made, and do again when it is gone; and what was thrown away."""


_THROWN_AWAY = re.compile(r"(?i)find:\.?(?:trash|spam|junk)")


def _fetched(call: Call, word: str) -> bool:
    """Tell whether an operand is, or is in, the cache of a package manager."""
    if any(_THROWN_AWAY.fullmatch(label) for label in labels(word)):
        return True
    return not word.startswith(OPEN) and bool(_CACHES.fullmatch(absolute(known_part(word), call.inv.cwd)))


def rm_worse(call: Call) -> tuple[str, ...]:
    """Operands of a recursive deletion outside the working directory."""
    if not recursive(call):
        return ()
    bad = {Kind.ROOT, Kind.SYSTEM, Kind.HOME, Kind.OTHER, Kind.PARENT, Kind.DEVICE}
    found = tuple(
        word
        for word in targets(call)
        if call.kind(word) in bad
        and not _is_catastrophic(word, call.inv.cwd)
        and not _fetched(call, word)
        and not _whole_directory(call, word)
    )
    return () if _last_of_an_image(call, found) else found


_IMAGE_SCRATCH = frozenset(("/tmp/*", "/tmp/**", "/tmp/.*", "/var/tmp/*", "/var/tmp/**"))


def _last_of_an_image(call: Call, found: tuple[str, ...]) -> bool:
    """Tell whether all temporary files go together with what a package manager fetched: the last step of an image."""
    if not found or not _IMAGE_SCRATCH.issuperset(found):
        return False
    return any(word not in _IMAGE_SCRATCH and _fetched(call, word) for word in targets(call))


def rm_worktree(call: Call) -> tuple[str, ...]:
    """Operands of a recursive deletion that are the working directory, or everything in it."""
    if not recursive(call):
        return ()
    return tuple(
        word
        for word in targets(call)
        if (call.kind(word) is Kind.WORKTREE or _whole_directory(call, word))
        and not _is_catastrophic(word, call.inv.cwd)
        and not _fetched(call, word)
        and call.kind(word) is not Kind.SCRATCH
    )


def _whole_directory(call: Call, word: str) -> bool:
    """Tell whether an operand names the working directory by its path."""
    cwd = call.inv.cwd.rstrip("/")
    if labels(word):
        return False
    return cwd.startswith(("/", "~")) and absolute(known_part(word), call.inv.cwd) in {cwd, f"{cwd}/*"}


def rm_tree(call: Call) -> tuple[str, ...]:
    """Directories inside the working directory, or unknown ones, deleted recursively."""
    if not recursive(call):
        return ()
    return tuple(word for word in targets(call) if call.kind(word) in {Kind.RELATIVE, Kind.UNKNOWN})


def rm_build(call: Call) -> tuple[str, ...]:
    """Build products deleted recursively."""
    return tuple(word for word in targets(call) if call.kind(word) is Kind.BUILD) if recursive(call) else ()


def rm_files(call: Call) -> tuple[str, ...]:
    """Files outside the working directory, everything in it, or what another command lists."""
    if recursive(call):
        return ()
    bad = {Kind.ROOT, Kind.SYSTEM, Kind.HOME, Kind.OTHER, Kind.PARENT, Kind.WORKTREE, Kind.DEVICE}
    return tuple(
        word
        for word in targets(call)
        if ((call.kind(word) in bad and not _own(call, word)) or _listed(call, word)) and not _fetched(call, word)
    )


def rm_found(call: Call) -> tuple[str, ...]:
    """Operands that a search finds: what ``find -delete`` does, in other words."""
    fine = {Kind.SCRATCH, Kind.BUILD, Kind.SINK}
    return tuple(
        word
        for word in targets(call)
        if any(label.startswith("find") for label in labels(word))
        and call.kind(word) not in fine
        and not _fetched(call, word)
        and not (
            _named(call, word) and all(_few(label.partition(":")[2]) for label in labels(word) if label[:5] == "find:")
        )
    )


def _few(pattern: str) -> bool:
    """Tell whether a search by this name finds single files, or copies that a program has left."""
    return bool(re.match(r"[^*?\[]", pattern) or re.fullmatch(r"\*[.~](?:bak|backup|old|save|tmp|swp)?\d?", pattern))


_LISTERS = frozenset((name,) for name in ("xargs", "find", "gfind", "fd", "fdfind", "parallel", "gxargs"))


def _listed(call: Call, word: str) -> bool:
    """Tell whether an operand is whatever find, a file or another command lists."""
    listed = any(label.partition(":")[0] in {"find", "in", "file", "out", "net"} for label in labels(word))
    if not listed or not _from_lister(call.inv.via):
        return False
    kind = call.kind(word)
    return kind in {Kind.UNKNOWN, Kind.WORKTREE, Kind.RELATIVE} and not _named(call, word)


def _from_lister(via: tuple[str, ...]) -> bool:
    """Tell whether a program that gives out a list runs the command, perhaps by a shell."""
    at = len(via)
    while at and via[at - 1] in SHELLS:
        at -= 1
    return via[at - 1 : at] in _LISTERS


def untracked(call: Call) -> tuple[str, ...]:
    """Operands that are whatever git does not track."""
    return tuple(word for word in targets(call) if "out:git-untracked" in labels(word))


def _own(call: Call, word: str) -> bool:
    """Tell whether an operand is found by name below a directory that is no place of the system."""
    return _named(call, word) and call.kind(word) not in {Kind.ROOT, Kind.SYSTEM}


def _named(call: Call, word: str) -> bool:
    """Tell whether an operand is what a search below the working directory finds by a name of its own."""
    below = word.startswith("./") or call.kind(word) is Kind.RELATIVE
    return below and any(re.match(r"find:.*[^*.?/]", label) for label in labels(word))


def rm_one(call: Call) -> tuple[str, ...]:
    """Named files in the working directory."""
    if recursive(call):
        return ()
    worse = frozenset(rm_files(call))
    return tuple(
        word
        for word in targets(call)
        if word not in worse and call.kind(word) in {Kind.RELATIVE, Kind.UNKNOWN, Kind.BUILD, Kind.WORKTREE}
    )


def find_deletes(call: Call) -> tuple[str, ...]:
    """Start points of a find that deletes, other than scratch and build products."""
    if "-delete" not in _own_words(call):
        return ()
    starts, pattern = _find_starts(call)
    from shellward.command.values import unknown

    found = [
        start
        for start in starts
        if call.kind(f"{start.rstrip('/')}/{unknown('find', pattern)}") not in {Kind.SCRATCH, Kind.BUILD, Kind.SINK}
        and not _fetched(call, start)
        and not (start in {".", "./"} and pattern and _few(pattern) and _only_named(call))
    ]
    return tuple(start for start in found if not (_finds_all(call) and _is_catastrophic(start, call.inv.cwd)))


def _only_named(call: Call) -> bool:
    """Tell whether a find takes what has a name, and nothing else: no ``-o``, no ``!``."""
    return not any(word in {"-o", "-or", "!", "-not", ","} for word in call.argv)


def find_all(call: Call) -> tuple[str, ...]:
    """Start points that are the whole system, of a find that deletes without any test."""
    if "-delete" not in _own_words(call) or not _finds_all(call):
        return ()
    return tuple(start for start in _find_starts(call)[0] if _is_catastrophic(start, call.inv.cwd))


_TAKES_VALUE = re.compile(
    r"-(?:i?l?name|i?path|i?wholename|i?regex|regextype|x?type|size|[acm]min|[acm]time|newer\w*|[ac]newer|user|group|uid|gid"
    r"|perm|maxdepth|mindepth|samefile|inum|links|fstype|printf|fprint0?|fls|used|context)"
)
"""Tests and actions of find that are followed by a word of theirs."""


def _own_words(call: Call) -> list[str]:
    """List the words of a find that are its own, not those of commands it runs."""
    words: list[str] = []
    inside = False
    before = ""
    for word in call.argv[1:]:
        value, before = bool(_TAKES_VALUE.fullmatch(before)), word
        if value:
            before = ""
        elif inside:
            inside = word not in {";", "+"}
        elif word in {"-exec", "-execdir", "-ok", "-okdir"}:
            inside = True
        else:
            words.append(word)
    return words


def _find_starts(call: Call) -> tuple[list[str], str]:
    starts: list[str] = []
    for word in call.argv[1:]:
        if word in {"-H", "-L", "-P"}:
            continue
        if word.startswith(("-", "(", "!")):
            break
        starts.append(word)
    pattern = next(
        (call.argv[at + 1] for at, word in enumerate(call.argv[:-1]) if word in {"-name", "-iname", "-path"}),
        "",
    )
    return starts or ["."], pattern


_ALL_LINES = re.compile(
    r"\s*(?:(?:[01],\$|1~1|/(?:\^|\$|\.\*?|\^\.\*\$?)/|0~1)?\s*d|s(.)(?:\.\*|\^\.\*\$?|\.\*\$)\1\1g?|1?Q)\s*;?\s*"
)


def edit_empties(call: Call) -> tuple[str, ...]:
    """Files that an editor of streams leaves empty, without a copy."""
    emptied = _perl_empties(call) if call.name == "perl" else _sed_empties(call)
    return tuple(word for word in emptied if call.kind(word) not in {Kind.SCRATCH, Kind.BUILD, Kind.SINK})


def _sed_empties(call: Call) -> list[str]:
    words = call.argv[1:]
    if not any(re.fullmatch(r"-[nErsuz]*i|--in-place", word) for word in words):
        return []
    scripts = [words[at + 1] for at, word in enumerate(words[:-1]) if word in {"-e", "--expression"}]
    rest = [word for word in words if word and not word.startswith("-") and word not in scripts]
    if not scripts:
        scripts, rest = rest[:1], rest[1:]
    return rest if any(_ALL_LINES.fullmatch(script) for script in scripts) else []


def _perl_empties(call: Call) -> list[str]:
    words = call.argv[1:]
    at = next((at for at, word in enumerate(words) if re.fullmatch(r"-\w*[eE]", word)), len(words))
    flags = "".join(word[1:] for word in words[: at + 1] if re.fullmatch(r"-[a-zA-Z]+", word))
    if at + 1 >= len(words) or not {"i", "n"} <= set(flags) or "p" in flags:
        return []
    return [] if re.search(r"print|say|write|\bp\b", words[at + 1]) else words[at + 2 :]


def outside(call: Call) -> tuple[str, ...]:
    """Operands that are not scratch, build products or sinks."""
    fine = {Kind.SCRATCH, Kind.SINK, Kind.BUILD}
    return tuple(word for word in call.args.operands if call.kind(word) not in fine)


def far(call: Call) -> tuple[str, ...]:
    """Operands outside the working directory and scratch."""
    fine = {Kind.SCRATCH, Kind.SINK, Kind.BUILD, Kind.RELATIVE, Kind.WORKTREE, Kind.UNKNOWN}
    return tuple(word for word in call.args.operands if call.kind(word) not in fine)


def moved_away(call: Call) -> tuple[str, ...]:
    """Things of the system or a whole home that a move takes away."""
    sources = call.args.operands[:-1] if call.args.value("--target-directory") is None else call.args.operands
    return tuple(word for word in sources if call.kind(word) in {Kind.ROOT, Kind.SYSTEM})


def into_nothing(call: Call) -> tuple[str, ...]:
    """Files moved to /dev/null."""
    rest = call.args.operands
    return tuple(rest[:-1]) if len(rest) > 1 and rest[-1] == "/dev/null" else ()


def rsync_target(call: Call) -> tuple[str, ...]:
    """The target of a mirroring copy, when it is not scratch."""
    rest = call.args.operands
    if len(rest) < 2 or call.kind(rest[-1]) in {Kind.SCRATCH, Kind.BUILD}:
        return ()
    return (rest[-1],)
