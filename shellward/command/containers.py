"""Containers, clusters and terminals in which a command runs elsewhere: docker, kubectl, tmux, screen."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from shellward.command.interpreters import LANGUAGES, SHELLS
from shellward.command.operands import operands, unquoted, value_of
from shellward.command.unwrap import wrapped
from shellward.command.values import CLOSE, OPEN
from shellward.command.wrappers import Wrap, find_inner

if TYPE_CHECKING:
    from shellward.command.handling import Handler
    from shellward.command.invocation import Invocation
    from shellward.command.trace import Tracer


_DOCKER_GLOBAL = frozenset(
    ("-H", "-c", "-l", "--host", "--context", "--config", "--log-level", "--tlscacert", "--tlscert", "--tlskey", "--connection",
     "--url", "--identity", "--namespace", "-n", "-a", "--address", "-f", "--file", "-p", "--project-name", "--profile",
     "--env-file", "--project-directory", "--ansi", "--progress", "--parallel")
)  # fmt: skip


_EXEC = Wrap("euw", frozenset(("env", "env-file", "user", "workdir", "detach-keys", "index")), skip=1)


_RUN = Wrap(
    "aceEhlmpuvw",
    frozenset(
        [
            "add-host",
            "annotation",
            "attach",
            "blkio-weight",
            "cap-add",
            "cap-drop",
            "cgroup-parent",
            "cgroupns",
            "cidfile",
            "cpu-period",
            "cpu-quota",
            "cpus",
            "cpu-shares",
            "cpuset-cpus",
            "device",
            "device-cgroup-rule",
            "dns",
            "dns-search",
            "domainname",
            "entrypoint",
            "env",
            "env-file",
            "expose",
            "gpus",
            "group-add",
            "health-cmd",
            "health-interval",
            "hostname",
            "init-path",
            "ip",
            "ip6",
            "ipc",
            "isolation",
            "kernel-memory",
            "label",
            "label-file",
            "link",
            "log-driver",
            "log-opt",
            "mac-address",
            "memory",
            "memory-reservation",
            "memory-swap",
            "mount",
            "name",
            "net",
            "network",
            "network-alias",
            "oom-score-adj",
            "pid",
            "pids-limit",
            "platform",
            "publish",
            "pull",
            "restart",
            "runtime",
            "security-opt",
            "shm-size",
            "stop-signal",
            "stop-timeout",
            "storage-opt",
            "sysctl",
            "tmpfs",
            "ulimit",
            "user",
            "userns",
            "uts",
            "volume",
            "volume-driver",
            "volumes-from",
            "workdir",
        ]
    ),
    skip=1,
)


_IMAGE = replace(_RUN, skip=0)
"""As _RUN, up to the image: behind it stand the words of the entry point, options too."""


def _sub(argv: list[str], valued: frozenset[str]) -> int:
    """Find the first subcommand behind global options."""
    i = 1
    while i < len(argv):
        word = argv[i]
        if not word.startswith("-"):
            return i
        i += 2 if word in valued else 1
    return len(argv)


_PROGRAM_IMAGES = {"aws-cli": "aws", "azure-cli": "az", "mongo-tools": "mongorestore", "docker-cli": "docker"}


_VARIABLE = re.compile(f"{OPEN}var:[^{CLOSE}]*{CLOSE}")
"""A word that is the value of a variable and nothing else."""


def _image_program(t: Tracer, inv: Invocation, words: list[str], *, want: bool) -> str | None:
    """Follow ``docker run image words``: the words are a command, or those of the program that the image is named after."""
    from shellward.command import handlers

    at = find_inner(words, _IMAGE).start
    if at + 1 < len(words) and _VARIABLE.fullmatch(words[at]):  # docker run $OPTIONS image words
        rest = [*words[:at], *words[at + 1 :]]
        if _VARIABLE.fullmatch(words[at + 1]):  # docker run $OPTIONS $IMAGE words
            words = rest
        else:
            wrapped(t, inv, rest, _RUN, want=want)
    name = words[at].partition("@")[0].rpartition("/")[2].partition(":")[0] if at < len(words) else ""
    name = _PROGRAM_IMAGES.get(name, name)
    rest = words[at + 1 :]
    known = {*t.names(), *handlers.names()}
    if rest and name in known and rest[0].rpartition("/")[2] not in known and "/" not in rest[0]:
        t.child(inv, [name, *rest], 0, stdin=inv.stdin, want=want)
    return wrapped(t, inv, words, _RUN, want=want)


def _docker(t: Tracer, inv: Invocation, want: bool) -> str | None:
    argv = inv.argv
    at = _sub(argv, _DOCKER_GLOBAL)
    if at < len(argv) and argv[at] in {"container", "compose"} and inv.name not in {"docker-compose", "podman-compose"}:
        at += _sub(argv[at:], _DOCKER_GLOBAL)
    if at >= len(argv):
        return None
    if argv[at] in {"up", "run", "start", "create"} and (t.state.files or inv.stdin):
        _services(t, inv, argv[1:at])
    if argv[at] == "unshare":
        return t.child(inv, argv[at + 1 :], at + 1, stdin=inv.stdin, want=want)
    if argv[at] == "exec":
        with t.within(_folder(argv[at:], _EXEC)):
            return wrapped(t, inv, argv[at:], _of_latest(inv.name, argv[at:]), want=want)
    if argv[at] in {"run", "create"}:
        first = len(t.invocations)
        with t.within(_folder(argv[at:], _IMAGE)):
            printed = _run(t, inv, argv[at:], want=want)
        if inv.name in _ENGINES and "compose" not in argv[1:at] and _apart(argv[at:]):
            for inner in t.invocations[first:]:
                if _STAYS.issuperset(inner.via[len(inv.via) + 1 :]):
                    inner.notes += (IN_NEW_CONTAINER,)
        return printed
    return None


IN_NEW_CONTAINER = "in:new-container"
"""Note on a command that runs in a container of its own, which sees none of the host's files."""
_ENGINES = frozenset(("docker", "podman", "nerdctl", "finch"))
_STAYS = SHELLS | LANGUAGES.keys() | {"xargs", "find", "env", "timeout", "nice", "sudo", "time", "exec", "eval"}
"""What runs a command in the same container."""
_APART = re.compile(
    r"-[itdqP]{0,5}(?:[ehlmpuw].*)?|--(?:rm|interactive|tty|detach|init|quiet|read-only|no-healthcheck|publish-all|pull|platform|name|hostname"
    r"|env|label|user|workdir|entrypoint|memory|memory-swap|cpus|cpu-shares|pids-limit|shm-size|ulimit|cap-drop|tmpfs|dns"
    r"|add-host|publish|expose|restart|stop-signal|stop-timeout)(?:=.*)?|--(?:network|net)=(?!host|container:|ns:).*",
    re.DOTALL,
)
"""Options of ``run`` that give a container nothing of the host. All others may: mounts, devices, powers, namespaces."""


def _apart(words: list[str]) -> bool:
    """Tell whether ``run`` makes a container that has nothing of the host's or of other containers."""
    image = find_inner(words, _IMAGE).start
    own = words[:image]
    if any(OPEN in word for word in words[: image + 1]):  # which may be more options
        return False
    pairs = zip(own[1:], [*own[2:], ""], strict=False)
    options = [f"{word}={value}" if word in {"--network", "--net"} else word for word, value in pairs]
    return all(_APART.fullmatch(word) for word in options if word.startswith("-"))


_COMPOSE_FILES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
_SERVICE_COMMAND = re.compile(r"(?m)^[ \t]+(?:command|entrypoint):[ \t]*(?:[>|][+-]?[ \t]*\n[ \t]+)?(\S[^\n]*)")
_SERVICE_MOUNT = re.compile(r"[\"' \t-]((?:/|~)[\w./-]{0,200}:/[\w./-]{0,200})")


def _services(t: Tracer, inv: Invocation, options: list[str]) -> None:
    """Follow the commands of a compose file that this line wrote, or that is its input, with what it mounts."""
    named = [options[at + 1] for at, word in enumerate(options[:-1]) if word in {"-f", "--file"}]
    named += [word.partition("=")[2] for word in options if word.startswith("--file=")]
    for name in (named or _COMPOSE_FILES)[:6]:
        text = inv.stdin if name == "-" else t.state.files.get(t.state.path(name))
        if not text:
            continue
        mounts = [word for mount in _SERVICE_MOUNT.findall(text)[:10] for word in ("-v", mount)]
        mounts += ["--privileged"] * bool(re.search(r"(?m)^[ \t]+privileged:[ \t]*true", text))
        for command in _SERVICE_COMMAND.findall(text)[:10]:
            words = re.sub(r"[\"'],[ \t]*[\"']", " ", command.strip("[]")) if command[0] == "[" else command
            t.child(inv, ["docker", "run", *mounts, "image", "sh", "-c", unquoted(words)], 0)


_LATEST = re.compile(r"--latest(?:=true)?|-[dit]{0,6}l[dit]{0,6}")


def _of_latest(program: str, words: list[str]) -> Wrap:
    """Say how ``exec`` is written: podman-exec(1) takes no name of a container behind ``--latest``."""
    last = program == "podman" and any(map(_LATEST.fullmatch, find_inner(words, _EXEC).options))
    return replace(_EXEC, skip=0) if last else _EXEC


_OF_THE_SYSTEM = re.compile(r"/(?:(?:etc|usr|boot|root|home|bin|sbin|lib\d*|var/lib)(?:/.*)?)?$")


def _folder(words: list[str], wrap: Wrap) -> str:
    """Return the directory that a container runs its command in, when it is one of the system and nothing is mounted there."""
    own = words[: find_inner(words, wrap).start]
    folder = value_of(own, "-w", "--workdir")
    mounted = any(f":{folder}" in word or f"={folder}" in word for word in own if word != f"--workdir={folder}")
    return folder if _OF_THE_SYSTEM.match(folder) and not (mounted and folder != "/") else ""


def _run(t: Tracer, inv: Invocation, argv: list[str], *, want: bool) -> str | None:
    """``docker run image words``; its entry point may be named as well."""
    entry = next(
        (
            argv[i + 1] if w == "--entrypoint" else w[13:]
            for i, w in enumerate(argv[:-1])
            if w.startswith("--entrypoint")
        ),
        "",
    )
    if entry:
        start = find_inner(argv, _IMAGE).start + 1
        return t.child(inv, [entry, *argv[start:]], 0, stdin=inv.stdin, want=want)
    return _image_program(t, inv, argv, want=want)


_CARRIES_KUBECTL = frozenset(["k3s", "k0s", "microk8s", "minikube", "rke2"])


def _kubectl(t: Tracer, inv: Invocation, want: bool) -> str | None:
    argv = inv.argv
    if inv.name in _CARRIES_KUBECTL and argv[1:2] == ["kubectl"]:
        at = 3 if argv[2:3] == ["--"] else 2
        return t.child(inv, ["kubectl", *argv[at:]], 0, stdin=inv.stdin, want=want)
    words = {"exec", "run", "create", "debug", "rsh", "attach", *(["ssh"] if inv.name == "minikube" else [])}
    if not words & set(argv):
        return None
    if "--" in argv:
        at = argv.index("--") + 1
        return t.child(inv, argv[at:], at, stdin=inv.stdin, want=want)
    if "ssh" in words and argv[1:2] == ["ssh"]:
        return wrapped(t, inv, argv[1:], Wrap("nlp", join=True), want=want)
    if "exec" in argv or "rsh" in argv:
        at = argv.index("exec") if "exec" in argv else argv.index("rsh")
        wrap = Wrap(
            "cnfl",
            frozenset(("container", "namespace", "filename", "context", "kubeconfig", "shell")),
            skip=1,
        )
        return wrapped(t, inv, argv[at:], wrap, want=want)
    return None


def _tmux(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    argv = inv.argv
    keys = [i for i, w in enumerate(argv) if w in {"send-keys", "send", "send-key"}]
    if keys:
        words = operands(argv[keys[0] :], "tN")
        text = "".join("\n" if w in {"Enter", "C-m", "KPEnter", "C-j"} else " " if w == "Space" else w for w in words)
        t.run_text(text, inv.span, via=(*inv.via, inv.name))
        return None
    for i, word in enumerate(argv):
        if word in {
            "new-session",
            "new",
            "new-window",
            "neww",
            "split-window",
            "splitw",
            "respawn-pane",
            "respawnp",
            "run-shell",
            "run",
            "if-shell",
            "popup",
            "display-popup",
            "pipe-pane",
            "pipep",
        }:
            rest = operands(argv[i:], "tnscFexyT" + ("hw" if "popup" in word else ""))
            if word == "if-shell":
                for text in rest[:3]:
                    t.run_text(text, inv.span, via=(*inv.via, inv.name))
            elif len(rest) == 1:
                t.run_text(rest[0], inv.span, via=(*inv.via, inv.name))
            elif rest:
                t.child(inv, rest, 0)
            return None
    return None


_SCREEN = Wrap("SschpTteL")


def _screen(t: Tracer, inv: Invocation, _want: bool) -> str | None:
    argv = inv.argv
    if "stuff" in argv:
        t.run_text(
            " ".join(argv[argv.index("stuff") + 1 :]).replace("\\n", "\n").replace("^M", "\n"),
            inv.span,
            via=(*inv.via, "screen"),
        )
        return None
    start = find_inner(argv, _SCREEN).start
    t.child(inv, argv[start:], start)
    return None


CONTAINERS: dict[str, Handler] = {
    **dict.fromkeys(["docker", "podman", "nerdctl", "finch", "docker-compose", "podman-compose", "crictl", "ctr"], _docker),
    **dict.fromkeys(["kubectl", "oc", "k", "k3s", "k0s", "rke2", "microk8s", "kubecolor", "minikube"], _kubectl),
    "tmux": _tmux, "byobu": _tmux, "screen": _screen,
}  # fmt: skip
"""Handlers by program."""
