"""Launchers whose inner command is put together from several places: options, subcommands, sandboxes' arguments."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from shellward.command.invocation import quote
from shellward.command.loading import seek
from shellward.command.operands import operands, value_of
from shellward.command.unwrap import multicall, wrapped
from shellward.command.wordreader import STDIN_PATHS
from shellward.command.wrappers import WRAPPERS, Wrap, find_inner

if TYPE_CHECKING:
    from shellward.command.handling import Handler
    from shellward.command.invocation import Invocation
    from shellward.command.trace import Tracer


def _start_stop_daemon(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``start-stop-daemon --start --exec prog -- words``."""
    argv = inv.argv
    if any(word in {"-K", "--stop", "-T", "--status"} for word in argv):
        return None
    program = value_of(argv, "--startas", "-a") or value_of(argv, "--exec", "-x")
    rest = argv[argv.index("--") + 1 :] if "--" in argv else []
    if program:
        t.child(inv, [program, *rest], 0)
    return None


_BWRAP_TWO = frozenset(
    [
        "--" + mode + kind + tail
        for mode in ("", "ro-", "dev-")
        for kind in ("bind",)
        for tail in ("", "-try", "-fd", "-data")
    ]
    + ["--symlink", "--setenv", "--file", "--chmod", "--overlay"]
)
_BWRAP_NONE = re.compile(
    r"--(?:unshare-(?!cgroup-try$)\S+|share-net|die-with-parent|new-session|clearenv|as-pid-1|version|help|disable-userns\S*|tmp-overlay\S*)$|--unshare-cgroup-try$"
)


def _bwrap(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``bwrap --bind / / cmd``: its options take none, one or two words."""
    argv = inv.argv
    i = 1
    while i < len(argv) and argv[i].startswith("-"):
        word = argv[i]
        i += 1
        if word == "--":
            break
        i += 0 if _BWRAP_NONE.match(word) or "=" in word else 2 if word in _BWRAP_TWO else 1
    return t.child(inv, argv[i:], i, stdin=inv.stdin, want=want)


def _capsh(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``capsh .. -- words`` gives the words to bash."""
    if "--" not in inv.argv:
        return None
    return t.child(inv, ["bash", *inv.argv[inv.argv.index("--") + 1 :]], 0, stdin=inv.stdin, want=want)


_RUNUSER = Wrap("gGwsu", frozenset(("group", "shell", "user")), code=frozenset(("-c", "--command")))


def _runuser(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``runuser -u user cmd``, or as su: ``runuser -l user -c text``."""
    named = any(word.startswith(("-u", "--user")) for word in inv.argv[1:])
    return wrapped(t, inv, inv.argv, _RUNUSER if named else WRAPPERS["su"], want=want)


def _ip(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``ip netns exec name cmd``, ``ip vrf exec name cmd``."""
    argv = inv.argv
    for at, word in enumerate(argv[1:-2], 1):
        if word in {"netns", "vrf", "net", "netn"} and argv[at + 1] in {"exec", "e", "ex", "exe"}:
            return t.child(inv, argv[at + 3 :], at + 3, stdin=inv.stdin, want=want)
    return None


_ARCHITECTURE = re.compile(
    r"linux(?:32|64)|i[3-6]86|x86_64|amd64|i486|athlon|ia64|arm\w*|aarch64\w*|(?:ppc|powerpc)\w*|s390x?|sparc\w*|mips\w*|alpha\w*|"
    r"parisc\w*|riscv\w*|loongarch\w*|uname26"
)


def _setarch(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``setarch [architecture] [options] cmd``."""
    named = bool(_ARCHITECTURE.fullmatch("".join(operands(inv.argv)[:1])))
    return wrapped(t, inv, inv.argv, Wrap(skip=int(named)), want=want)


_CMAKE_FILES = {
    "rm": ["rm"],
    "remove": ["rm", "-f"],
    "remove_directory": ["rm", "-r"],
    "copy": ["cp"],
    "rename": ["mv"],
}


def _cmake(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``cmake -E rm -rf dir``, ``cmake -E env A=b cmd``: what it does on any system."""
    argv = inv.argv
    at = argv.index("-E") + 1 if "-E" in argv[:-1] else len(argv)
    verb, rest = "".join(argv[at : at + 1]), argv[at + 1 :]
    if verb in _CMAKE_FILES:
        t.child(inv, [*_CMAKE_FILES[verb], *rest], 0)
    elif verb in {"env", "time", "chdir"}:
        inner = ["env", "-C", *rest] if verb == "chdir" else [verb, *rest]
        return t.child(inv, inner, 0, stdin=inv.stdin, want=want)
    return None


def _flatpak(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``flatpak run --command=prog app words``."""
    argv = inv.argv
    program = value_of(argv, "--command")
    if not program or "run" not in argv:
        return None
    rest = [word for word in argv[argv.index("run") + 1 :] if word != program]
    app = next((at for at, word in enumerate(rest) if not word.startswith("-")), len(rest))
    return t.child(inv, [program, *rest[app + 1 :]], 0, stdin=inv.stdin, want=want)


def _behind(*marks: str, join: bool = False) -> Handler:
    """Make a handler: everything behind one of these words is the inner command."""

    def handler(t: Tracer, inv: Invocation, want: bool) -> str | None:
        for at, word in enumerate(inv.argv[1:], 1):
            if word in marks:
                rest = inv.argv[at + 1 :]
                while rest[:1] == ["--"]:
                    rest = rest[1:]
                if join or len(rest) == 1:
                    return t.run_text(" ".join(rest), inv.span, stdin=inv.stdin, want=want, via=(*inv.via, inv.name))
                return t.child(inv, rest, 0, stdin=inv.stdin, want=want)
        return None

    return handler


def _operand_texts(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``concurrently 'cmd' 'cmd'``: each operand is a command line."""
    for word in operands(inv.argv, "nkcpl")[:20]:
        if " " in word:
            t.run_text(word, inv.span, via=(*inv.via, inv.name))
    return None


_TIMED = Wrap(
    "wrmMPDLSnu",
    frozenset(
        (
            "warmup",
            "runs",
            "min-runs",
            "max-runs",
            "export-json",
            "export-csv",
            "export-markdown",
            "shell",
            "style",
            "output",
            "parameter-list",
            "parameter-scan",
            "parameter-step-size",
            "command-name",
            "time-unit",
            "input",
            "reference",
        )
    ),
    code=frozenset(("-p", "--prepare", "-s", "--setup", "-c", "--cleanup", "-C", "--conclude")),
)


def _hyperfine(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``hyperfine --prepare cmd 'cmd' 'cmd'``: options and operands are command lines, each of its own."""
    texts: list[str] = []
    words = inv.argv
    while len(words) > 1 and len(texts) < 20:  # options may stand behind operands
        inner = find_inner(words, _TIMED)
        texts += [words[at][skip:] for at, skip in inner.code if at < len(words)]
        texts += words[inner.start : inner.start + 1]
        words = words[inner.start :]
    for text in texts:
        t.run_text(text, inv.span, via=(*inv.via, inv.name))
    return None


def _options(subcommand: str, *names: str) -> Handler:
    """Make a handler: under such subcommands the values of these options are command lines, plain or as JSON."""
    wanted = re.compile(subcommand)

    def handler(t: Tracer, inv: Invocation, _want: bool) -> str | None:
        argv = inv.argv
        if not any(wanted.fullmatch(word) for word in argv[1:]):
            return None
        for name in names:
            value = value_of(argv, name)
            if value:
                text = re.sub(r"^\s*\{?\s*[\"']?(?:commands?|Commands?)[\"']?\s*[=:]\s*", "", value).strip()
                text = re.sub(r"^\[\s*[\"']?|[\"']?\s*\]\}?$|^[\"'](?=.*[\"']$)", "", text)
                t.run_text(text, inv.span, via=(*inv.via, inv.name))
        if "--" in argv:
            at = argv.index("--") + 1
            t.child(inv, argv[at:], at)
        return None

    return handler


def _just(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``just --command cmd words``; recipes of a justfile that was written in the same command line."""
    argv = inv.argv
    for mark in ("--command", "-c"):
        if mark in argv:
            at = argv.index(mark) + 1
            return t.child(inv, argv[at:], at, stdin=inv.stdin, want=want)
    path = value_of(argv, "-f", "--justfile")
    names = [path] if path else ["justfile", "Justfile", ".justfile"]
    text = inv.stdin if path in STDIN_PATHS else next((found for name in names if (found := seek(t.state, name))), "")
    if text and not any(word in {"-n", "--dry-run", "-l", "--list", "--show", "-s"} for word in argv):
        _recipes(t, inv, text, [word for word in operands(argv, "fd") if "=" not in word])
    return None


def _recipes(t: Tracer, inv: Invocation, text: str, wanted: list[str]) -> None:
    """Run recipes by name, the first one when none is named; what they depend on as well."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    name = ""
    for line in text.splitlines()[:400]:
        head = re.match(r"@?([A-Za-z_][\w-]*)(?:\s+[^:=]*)?:(?!=)\s*(.*)$", line)
        if head:
            name = head.group(1)
            found[name] = (head.group(2).replace("&&", " ").split(), [])
        elif line[:1] in {" ", "\t"} and name:
            found[name][1].append(line.strip().lstrip("@-"))
    todo = list(wanted or list(found)[:1])
    done: set[str] = set()
    while todo and len(done) < 40:
        one = todo.pop(0)
        if one in found and one not in done:
            done.add(one)
            todo += found[one][0]
            t.run_text("\n".join(found[one][1]), inv.span, via=(*inv.via, inv.name), quiet=True)


def _runner(subs: str) -> Handler:
    """Make a handler: ``tool sub words`` where the words are the command, options of the tool before them."""
    wanted = frozenset(subs.split())
    wrap = Wrap("asepcrRn", frozenset(("app", "service", "environment", "stage", "project", "remote", "size", "type")))

    def handler(t: Tracer, inv: Invocation, want: bool) -> str | None:
        argv = inv.argv
        for at, word in enumerate(argv[1:5], 1):
            if word in wanted:
                start = at + 1
                while start < len(argv) and argv[start].startswith("-") and argv[start] != "--":
                    name = argv[start].lstrip("-")
                    start += 1 + ("=" not in name and (name in wrap.long or (len(name) == 1 and name in wrap.short)))
                rest = argv[start + (argv[start : start + 1] == ["--"]) :]
                if len(rest) == 1 or (rest and " " in rest[0]):  # heroku run 'rails db:drop' -a shop
                    return t.run_text(rest[0], inv.span, stdin=inv.stdin, want=want, via=(*inv.via, inv.name))
                return t.run_text(
                    " ".join(map(quote, rest)), inv.span, stdin=inv.stdin, want=want, via=(*inv.via, inv.name)
                )
        return None

    return handler


def _nth(subs: str, skip: int, *, join: bool = False) -> Handler:
    """Make a handler: ``tool sub name words`` where the command stands behind ``skip`` operands."""
    wanted = frozenset(subs.split())
    wrap = Wrap(
        "ucentpw", frozenset(("user", "container", "env", "namespace", "workdir", "task", "job")), skip, join=join
    )

    def handler(t: Tracer, inv: Invocation, want: bool) -> str | None:
        for at, word in enumerate(inv.argv[1:5], 1):
            if word in wanted:
                if "--" in inv.argv:
                    start = inv.argv.index("--") + 1
                    return t.child(inv, inv.argv[start:], start, stdin=inv.stdin, want=want)
                return wrapped(t, inv, inv.argv[at:], wrap, want=want)
        return None

    return handler


def _cmd(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``cmd.exe /c text``."""
    for at, word in enumerate(inv.argv[1:], 1):
        if word.lower() in {"/c", "/k", "/r"}:
            text = " ".join(inv.argv[at + 1 :]).replace("\\", "/")
            return t.run_text(text, inv.span, want=want, via=(*inv.via, "cmd"))
    return None


# -- guests of virtual machines -------------------------------------------------------------------------


def _vboxmanage(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``VBoxManage guestcontrol vm run --exe /bin/prog -- prog words``."""
    argv = inv.argv
    if "guestcontrol" not in argv or not {"run", "start", "exec", "execute"} & set(argv):
        return None
    program = value_of(argv, "--exe", "--image")
    behind = argv[argv.index("--") + 1 :] if "--" in argv else []
    words = [program, *behind[1:]] if program else behind
    return t.child(inv, words, 0, stdin=inv.stdin, want=want) if words else None


def _vmrun(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``vmrun runProgramInGuest machine [-noWait] prog words``, ``runScriptInGuest machine shell text``."""
    argv = inv.argv
    at = next((at for at, word in enumerate(argv) if word.lower() in {"runprograminguest", "runscriptinguest"}), None)
    if at is None:
        return None
    rest = argv[at + 2 :]
    while rest and rest[0].startswith("-"):
        rest = rest[1:]
    if argv[at].lower() == "runscriptinguest" and len(rest) > 1:
        rest = [rest[0], "-c", *rest[1:]] if rest[0] else ["sh", "-c", *rest[1:]]
    return t.child(inv, rest, 0, stdin=inv.stdin, want=want) if rest else None


def _govc(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``govc guest.run -vm machine prog words``."""
    argv = inv.argv
    at = next((at for at, word in enumerate(argv) if word in {"guest.run", "guest.start"}), None)
    if at is None:
        return None
    rest = argv[at + 1 :]
    while rest and rest[0].startswith("-"):
        rest = rest[1 + ("=" not in rest[0] and rest[0] not in {"-i", "-k", "-debug", "-json", "-xml"}) :]
    return t.child(inv, rest, 0, stdin=inv.stdin, want=want) if rest else None


def _virsh(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``virsh qemu-agent-command machine JSON``: a command for the agent in the guest."""
    if "qemu-agent-command" not in inv.argv:
        return None
    given = value_of(inv.argv, "--cmd") or next((word for word in inv.argv if word.lstrip()[:1] == "{"), "")
    try:
        order = json.loads(given[:_ORDER])
        arguments = order.get("arguments", {})
        words = [arguments["path"], *arguments.get("arg", [])] if order.get("execute") == "guest-exec" else []
    except (ValueError, AttributeError, KeyError, TypeError):
        return None
    if not words or not all(isinstance(word, str) for word in words):
        return None
    return t.child(inv, words, 0, want=want)


_ORDER = 65_536
"""Most characters of an order to a guest's agent that are read."""


def _guest(t: Tracer, inv: Invocation, want: bool) -> str | None:
    """``qm guest exec 100 -- cmd``; other subcommands run nothing."""
    argv = inv.argv
    if argv[1:3] != ["guest", "exec"]:
        return None
    rest = argv[argv.index("--") + 1 :] if "--" in argv else argv[4:]
    return t.child(inv, rest, 0, stdin=inv.stdin, want=want) if rest else None


def _virt_customize(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    """``virt-customize -a image --run-command text --delete path``: done within the image."""
    for word, value in zip(inv.argv, [*inv.argv[1:], ""], strict=True):
        name, equals, given = word.partition("=")
        text = given if equals else value
        if name in {"--run-command", "--firstboot-command"}:
            t.run_text(text, inv.span, via=(*inv.via, inv.name))
        elif name == "--delete":
            t.child(inv, ["rm", "-r", text], 0)
    return None


LAUNCHERS: dict[str, Handler] = {
    **dict.fromkeys(["VBoxManage", "vboxmanage"], _vboxmanage), "vmrun": _vmrun, "govc": _govc, "virsh": _virsh, "qm": _guest,
    **dict.fromkeys(["virt-customize", "virt-builder", "virt-sysprep"], _virt_customize),
    "prlctl": _nth("exec", 1),
    "start-stop-daemon": _start_stop_daemon, "bwrap": _bwrap, "capsh": _capsh, "runuser": _runuser, "ip": _ip,
    "flatpak": _flatpak, "just": _just, "repo": _behind("-c", join=True), "mr": _behind("run"),
    "gita": _behind("shell", join=True), "meta": _behind("exec", join=True), "mani": _behind("exec", join=True),
    "bolt": _behind("run"), "fab": _behind("--"), "dokku": _nth("run run:detached enter", 1, join=True), "railway": _runner("run"),
    "scalingo": _runner("run"), "heroku": _runner("run run:detached local:run"),
    "eb": _options("ssh", "--command", "-c"),
    "cf": _options("ssh|run-task|rt", "-c", "--command"),
    "az": _options("run-command|exec|command|ssh", "--scripts", "--exec-command", "--command"),
    "aws": _options("send-command|execute-command|start-session|run-instances|request-spot-instances", "--parameters", "--command", "--user-data"),
    "hyperfine": _hyperfine,
    **dict.fromkeys(["concurrently", "run-p", "run-s", "npm-run-all"], _operand_texts),
    "cargo-watch": _options("-s", "--shell"),
    **dict.fromkeys(["multipass", "lxc", "incus", "limactl", "orb", "pct", "crictl"], _nth("exec shell", 1)),
    **dict.fromkeys(["nomad", "ctr", "vcluster"], _nth("exec", 1)), "lvm": multicall,
    "cmd": _cmd, "setarch": _setarch, "cmake": _cmake, "sops": _nth("exec-env exec-file", 1, join=True),
    **dict.fromkeys(["podman-machine", "docker-machine", "tailscale", "hcloud"], _nth("ssh", 1, join=True)),
    "launchctl": _nth("asuser bsexec", 1), "gh": _nth("ssh", 0, join=True),
}  # fmt: skip
"""Handlers by program."""
