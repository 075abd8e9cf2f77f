"""What a path is to a careful person: the system, somebody's home, a device, scratch, a build product, unknown."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from enum import StrEnum

from shellward.command.remember import remembered, remembered_of_two
from shellward.command.values import OPEN, known_part, labels


class Kind(StrEnum):
    """Classes of paths, by what losing them means."""

    ROOT = "root"
    """The whole system, a top directory of it, or all homes."""
    SYSTEM = "system"
    HOME = "home"
    """Inside a home directory."""
    OTHER = "other"
    """Some other absolute place."""
    WORKTREE = "worktree"
    """The working directory itself, or everything in it."""
    PARENT = "parent"
    """Above or beside the working directory."""
    RELATIVE = "relative"
    BUILD = "build"
    """What a build makes again."""
    SCRATCH = "scratch"
    DEVICE = "device"
    """A block device or the like."""
    SINK = "sink"
    """/dev/null, a terminal, a descriptor."""
    UNKNOWN = "unknown"


_TOP = "bin boot dev etc home lib lib32 lib64 media mnt opt proc root run sbin srv sys usr var Users System Library Applications private Volumes data"
CATASTROPHIC = frozenset(
    [
        "/",
        "/*",
        "/.",
        "/.*",
        "~",
        "~/",
        "~/*",
        "~/.*",
        "~/.",
        "/home",
        "/home/*",
        "/root",
        "/root/*",
        "/Users",
        "/Users/*",
    ]
    + [
        f"/{name}{tail}"
        for name in [
            "bin",
            "boot",
            "dev",
            "etc",
            "lib",
            "lib64",
            "proc",
            "sbin",
            "sys",
            "usr",
            "var",
            "System",
        ]
        for tail in ("", "/*")
    ]
)
"""Paths whose recursive loss nobody can want an agent to cause."""

_ROOTS = frozenset([f"/{name}{tail}" for name in _TOP.split() for tail in ("", "/*")]) | CATASTROPHIC
_SYSTEM = re.compile(
    r"/(?:bin|boot|dev|etc|lib|lib32|lib64|libx32|proc|run|sbin|sys|usr|var|root|snap|nix|efi|lost\+found|System|Library|Applications|private/(?:etc|var)|opt)(?:/|$|\*)"
)
_SCRATCH = re.compile(
    r"(?:/private)?/(?:tmp|var/tmp|dev/shm|var/folders|run/user/\d+)/+(?!\*?$|\.+$)\S|~/(?:\.cache|tmp|\.local/share/Trash|\.Trash)/\S"
)
_SCRATCH_ALL = re.compile(r"(?:/private)?/(?:tmp|var/tmp|dev/shm)(?:/\*?)?$")
_DEVICE = re.compile(
    r"/dev/(?:[hsvx]v?d[a-zX]\w*|nvme\w*|mmcblk\w*|md\w*|dm-\w*|mapper/\S+|disk\S*|rdisk\S*|loop\d\w*|vg\S*|zd\d+|ram\d+|mem|kmem|port|sr\d+|st\d+|nst\d+|mtd\w*|nbd\w*|drbd\w*|bcache\d+|nvd\d+|ada\d\w*|da\d\w*|root|sdX\w*|\w*[vV][gG]\w*/\S+|block/\S+|by-\S+)$"
)
SYSTEM_DISK = re.compile(r"/dev/(?:[hsv]d[aX]|xvda|nvme0n1|mmcblk0|r?disk[01]|[hsv]da\d+|nvme0n1p\d+)$")
_SINK = re.compile(
    r"/dev/(?:null|zero|full|stdin|stdout|stderr|tty\w*|fd/\S+|pts/\d+|console|random|urandom|dri/\S*|snd/\S*|ttyUSB\d+|ttyACM\d+|lp\d+|usb/\S*|ptmx|watchdog)$|/proc/self/fd/\d+$"
)
_BUILD_NAMES = (
    "node_modules build dist out target .venv venv env .env.d __pycache__ .pytest_cache .mypy_cache .ruff_cache .tox .nox .next .nuxt .turbo .cache "
    ".parcel-cache .svelte-kit .gradle .eggs htmlcov coverage coverage-html coverage_html coverage-report .coverage .nyc_output cmake-build-debug cmake-build-release bin obj bazel-out _build site "
    ".terraform.d tmp temp .tmp logs log .output storybook-static .angular .dart_tool .sass-cache .ipynb_checkpoints .hypothesis .vite .docusaurus "
    "public/build DerivedData Pods bower_components .serverless .aws-sam cdk.out .import .bundle elm-stuff .shadow-cljs .cpcache .zig-cache nimcache .build .jekyll-cache .terragrunt-cache .terraform .vercel vendor/bundle vendor/cache wheelhouse dist-newstyle .stack-work zig-out zig-cache wheels pip-wheel-metadata "
    "package-lock.json yarn.lock pnpm-lock.yaml bun.lockb bun.lock npm-shrinkwrap.json poetry.lock uv.lock Pipfile.lock pdm.lock Gemfile.lock "
    "composer.lock Cargo.lock go.sum mix.lock Podfile.lock flake.lock .terraform.lock.hcl .eslintcache .stylelintcache .coverage.xml"
)
_BUILD = frozenset(_BUILD_NAMES.split())
_BUILD_GLOB = re.compile(
    r"(?:.*/)?(?:\*\.(?:pyc|pyo|o|a|so|xo|ko|gch|pch|dwo|class|obj|egg-info|log|tmp|swp|bak~|gcda|gcno|d|lo|la|elc|beam|hi|cmi|cmo|cmx|orig|rej|tsbuildinfo)|[\w*.-]+\.(?:egg-info|pyc|pyo|tsbuildinfo|o|class)|\*~|\.DS_Store|Thumbs\.db|\.coverage[\w.*]*|cmake-build-\S*|build[-_]\S*|dist[-_]\S*|\*?\.egg-info|CMakeFiles|CMakeCache\.txt|bazel-\S+|__pycache__)"
)
_WORKSPACES = re.compile(
    r"/(?:app|workspace|workspaces|work|src|code|project|repo|testbed|builds|github/workspace|usr/src/app|home/\w+/(?:work|actions-runner/_work))(?:/|$)"
)
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")


@remembered_of_two
def absolute(word: str, cwd: str) -> str:
    """Make a path of an operand from a working directory, without ``.`` and ``..``.

    Args:
        word: the operand, perhaps with markers.
        cwd: the directory; ``.`` when it is not known.
    """
    if word.startswith(("'", '"')) and word[-1:] == word[0] and len(word) > 1:
        word = word[1:-1]
    full = word if not word or word[0] in "/~" or word[0] == OPEN or cwd in {".", ""} else f"{cwd.rstrip('/')}/{word}"
    if full.startswith("~"):
        return _home(full)
    if full[:1] == "/":
        return posixpath.normpath(re.sub("^/+", "/", full))
    return posixpath.normpath(full) if full else full


def _home(path: str) -> str:
    user, slash, rest = path.partition("/")
    if not slash:
        return path
    depth = 0
    parts: list[str] = []
    for part in rest.split("/"):
        if part in {"", "."}:
            continue
        if part == "..":
            if parts:
                parts.pop()
            else:
                depth += 1
            continue
        parts.append(part)
    if depth:
        return "/home/" + "/".join(parts) if depth == 1 else "/" + "/".join(parts)
    return "/".join([user, *parts])


_WELL_KNOWN = [
    "/etc/passwd",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/group",
    "/etc/sudoers",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/fstab",
    "/etc/crontab",
    "/etc/profile",
    "/etc/ssh/sshd_config",
    "/etc/ld.so.preload",
    "/etc/environment",
    "/etc/rc.local",
    "/etc/bash.bashrc",
    "/etc/cron.d",
    "/etc/systemd/system",
    "/root/.ssh",
    "/root/.ssh/id_rsa",
    "/root/.ssh/authorized_keys",
    "/root/.bashrc",
    "/root/.bash_history",
    "~/.ssh",
    "~/.aws",
    "~/.gnupg",
    "~/.kube",
    "~/.ssh/id_rsa",
    "~/.ssh/id_ed25519",
    "~/.ssh/authorized_keys",
    "~/.ssh/config",
    "~/.bashrc",
    "~/.bash_profile",
    "~/.profile",
    "~/.zshrc",
    "~/.bash_history",
    "~/.aws/credentials",
    "~/.netrc",
    "~/.npmrc",
    "~/.pypirc",
    "~/.pgpass",
    "~/.git-credentials",
    "~/.gitconfig",
    "~/.kube/config",
    "~/.docker/config.json",
    "~/.gnupg/secring.gpg",
    "~/.config/gcloud/credentials.db",
    "~/.vault-token",
    "~/.my.cnf",
    "/proc/sysrq-trigger",
    "/dev/sda",
    "/dev/nvme0n1",
]  # as a list it would fill a screen
"""Files that a pattern may mean: what is lost or given away most often."""
_PATTERN = re.compile(r"[*?\[]")


@remembered
def well_known(path: str) -> str:
    """Return the well-known file that a path with ``*``, ``?`` or ``[]`` would match; any other path as it is.

    Only patterns that leave most of the name standing: ``/etc/*`` means everything there, and stays as it is.
    """
    if not _PATTERN.search(path) or not re.search(r"[\w.]{2}", path.rpartition("/")[2]):
        return path
    for known in _WELL_KNOWN:
        if known.count("/") == path.count("/") and fnmatch.fnmatchcase(known, path):
            return known
    return path


def ordinary(cwd: str | None) -> str:
    """Return a working directory when what is below it is somebody's work; empty text for the system's, homes and keys."""
    return _ordinary(cwd) if cwd and cwd[0] == "/" and "/." not in cwd else ""


@remembered
def _ordinary(cwd: str) -> str:
    place = posixpath.normpath(cwd)
    if re.match(r"/root/[^/]", place) or classify(place) in {Kind.OTHER, Kind.HOME, Kind.RELATIVE}:
        return place
    return ""


_TEMPORARY = re.compile(r"^var:(?:\w*_)?(?i:te?mp|scratch)_?(?i:dir(?:ectory)?|path|folder|root|d)?\d*$")
"""A variable that is named as a temporary directory; where it is not set, nothing is removed."""


def classify(path: str, cwd: str = ".") -> Kind:
    """Say what kind of place an operand names.

    Args:
        path: the operand as resolved, perhaps with markers.
        cwd: working directory of that moment; ``.`` when it is not known.
    """
    return _kind(path, cwd)


@remembered_of_two
def _kind(path: str, cwd: str) -> Kind:  # noqa: PLR0911, PLR0912, C901  # one question after the other
    found = labels(path)
    if found:
        known = known_part(path)
        if any(label.startswith("mktemp") for label in found) and not re.search(r"\.\.", known):
            return Kind.SCRATCH
        if not known.strip("/.*") and (path[0] == OPEN or not known):
            if not known and len(found) == 1 and _TEMPORARY.search(found[0]):
                return Kind.SCRATCH
            return Kind.ROOT if known.startswith("/") and path[0] == "/" else Kind.UNKNOWN
        if path[0] == OPEN:
            name = found[0].partition(":")[2]
            if (
                re.search(r"(?:^|_)(?:TMP|TEMP|SCRATCH)|TMPDIR|TEMPDIR|tmpdir|tempdir|^tmp|^temp", name)
                and ".." not in known
            ):
                return Kind.SCRATCH
            return Kind.BUILD if _is_build(known.strip("/")) else Kind.UNKNOWN
        pattern = next((label.partition(":")[2] for label in found if label.startswith("find")), None)
        full = absolute(path, cwd)
        if pattern and (_BUILD_GLOB.fullmatch(pattern) or pattern.strip("*/") in _BUILD) and full[:1] not in "/~":
            return Kind.BUILD
        path = known if known.startswith(("/", "~")) else known.rstrip("/") or "."
        if known in {"/", ""}:
            return Kind.ROOT
        if found and _SCRATCH.match(absolute(known + "x", cwd)):
            return Kind.SCRATCH
    if _WINDOWS.match(path):
        return Kind.SYSTEM if re.match(r"(?i)[a-z]:[\\/]+(?:windows|program|users|$|\*)", path) else Kind.OTHER
    full = absolute(path, cwd)
    if full[:1] == "/":
        return _absolute_kind(full)
    if full[:1] == "~":
        if full in CATASTROPHIC or "/" not in full:
            return Kind.ROOT
        return Kind.SCRATCH if _SCRATCH.match(full) else Kind.HOME
    if full in {".", "*", "./*", "", ".*", "{*,.*}", "**", "**/*", "./.", ".[!.]*", ".??*"} or re.fullmatch(
        r"[*?.\[\]!]+", full
    ):
        return Kind.WORKTREE if full != ".." else Kind.PARENT
    if full.startswith(".."):
        return Kind.PARENT
    return Kind.BUILD if _is_build(full) else Kind.RELATIVE


def _is_build(path: str) -> bool:
    parts = [part for part in path.split("/") if part not in {"", ".", "*", "**"}]
    if not parts:
        return False
    last = parts[-1].strip("*") if parts[-1] != "*" else parts[-1]
    return (
        last in _BUILD
        or "/".join(parts[-2:]) in _BUILD
        or bool(_BUILD_GLOB.fullmatch(parts[-1]))
        or any(part in {"node_modules", "__pycache__", ".venv", "dist", "build", "target"} for part in parts)
        or (parts[0] in {"tmp", "temp", ".tmp", ".cache", "coverage"} and ".." not in parts)
    )


def _absolute_kind(full: str) -> Kind:  # noqa: PLR0911
    if full in _ROOTS or re.fullmatch(r"/[*?\[\]\w]*[*?][*?\[\]\w]*", full):
        return Kind.ROOT
    if _SINK.match(full):
        return Kind.SINK
    if _SCRATCH_ALL.match(full):
        return Kind.OTHER
    if _SCRATCH.match(full):
        return Kind.SCRATCH
    if _DEVICE.match(full):
        return Kind.DEVICE
    if _WORKSPACES.match(full) and full.rstrip("/*").count("/") > 1:
        rest = full[_WORKSPACES.match(full).end() :]  # type: ignore[union-attr]
        return Kind.BUILD if _is_build(rest) else Kind.RELATIVE
    if _SYSTEM.match(full):
        return Kind.SYSTEM
    if re.match(r"/(?:home|Users)/", full):
        return Kind.ROOT if full.rstrip("/*").count("/") <= 2 else Kind.HOME
    return Kind.OTHER


STARTUP = re.compile(
    r"(?:~|/root|/home/[^/]+|/Users/[^/]+|/etc)?/?\.?(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|bash\.bashrc|profile|zshrc|zprofile|zshenv|zlogin|zlogout|kshrc|mkshrc|cshrc|tcshrc|login|xinitrc|xprofile|xsession|xsessionrc|inputrc|envrc|pam_environment|vimrc|exrc|emacs|gdbinit|screenrc|tmux\.conf|pythonrc|Rprofile|irbrc|hushlogin|forward|rhosts)$"
    r"|(?:~|/root|/home/[^/]+|/Users/[^/]+)/(?:\.config/(?:autostart|systemd|fish|nushell|git/hooks|environment\.d|plasma-workspace|upstart|git/config|zsh|nvim)(?:/|$)|\.local/share/systemd/|Library/Launch(?:Agents|Daemons)/|\.oh-my-zsh/|\.zshrc\.d/|\.bashrc\.d/|\.kde/Autostart/|\.init/|\.gitconfig$|\.githooks/|\.claude/settings|\.codex/config|\.cursor/|\.config/pip/pip\.conf|\.pip/pip\.conf|\.cargo/config|\.gradle/init|\.local/lib/python[\d.]+/site-packages/(?:(?:site|user)customize\.py|[^/]+\.pth$))"
)
"""Files that are read and run when somebody logs in or opens a shell."""

OF_A_HOME = re.compile(
    r"(?:\./)?(?:\.(?:ssh|gnupg)/\S|\.aws/credentials$|\.kube/config$|\.config/(?:autostart|systemd|environment\.d)/\S)"
)
"""Files that stand in homes only, whichever directory they are named from."""

CREDENTIALS = re.compile(
    r"(?:~|/root|/home/[^/]+|/Users/[^/]+|\$HOME)/(?:\.ssh/(?!known_hosts|config$|\S+\.pub$)\S*|\.ssh/?$|\.aws(?:/(?!config$)\S*)?$|\.azure(?:/\S*)?$|\.config/gcloud(?:/\S*)?$|\.kube(?:/\S*)?$|\.docker/config\.json|\.netrc|_netrc|\.npmrc|\.pypirc|\.git-credentials|\.gnupg(?:/\S*)?$|\.password-store(?:/\S*)?$|\.pgpass|\.my\.cnf|\.mylogin\.cnf|\.vault-token|\.terraformrc|\.terraform\.d/credentials\S*|\.config/(?:gh|hub|rclone|op|doctl|heroku|hcloud|containers/auth\.json|stripe|sops)(?:/\S*)?$|\.cargo/credentials\S*|\.gem/credentials|\.m2/settings\.xml|\.gradle/gradle\.properties|\.electrum\S*|\.bitcoin\S*|\.ethereum\S*|\.bash_history|\.zsh_history|\.psql_history|\.mysql_history|\.python_history|\.local/share/keyrings\S*|\.mozilla\S*|\.config/(?:google-chrome|chromium|BraveSoftware)\S*|Library/(?:Keychains|Cookies|Application Support/Google/Chrome)\S*|\.claude/\.credentials\S*|\.codex/auth\.json|\.huggingface/token|\.cache/huggingface/token|\.kaggle/kaggle\.json|\.s3cfg|\.boto|\.fly/config\.yml|\.netlify\S*|\.subversion/auth\S*|\.authinfo\S*|\.cloudflared\S*|\.credentials\S*)"
    r"|/etc/(?:shadow|gshadow|passwd|sudoers|master\.passwd|ssh/ssh_host\S*key|ssl/private\S*|krb5\.keytab|security/opasswd|kubernetes/\S*|rancher\S*|openvpn\S*|wireguard\S*|letsencrypt\S*|ppp/chap-secrets|ipsec\.secrets|docker/key\.json|NetworkManager/system-connections\S*)[-~]?$"
    r"|/proc/[^/]{0,200}/?(?:environ|mem|maps)$|/var/run/secrets/\S*|/run/secrets/\S*|/var/lib/(?:kubelet|etcd|vault)\S*|/(?:opt/)?vault/(?:data|file|raft|tls)(?:/\S*)?$|/etc/vault\.d\S*"
    r"|(?:^|/)(?:\.env(?:\.(?!example|sample|template|dist|defaults|test$)[\w.-]+)?|id_(?:rsa|dsa|ecdsa|ed25519)|[\w.-]*\.(?:pem|p12|pfx|jks|keystore|kdbx|ppk|keytab|asc\.key)|credentials(?:\.json|\.ya?ml|\.csv)?|secrets?\.(?:json|ya?ml|toml|env)|service[-_]account\S*\.json|terraform\.tfstate|\.htpasswd|wp-config\.php|vault\.ya?ml|master\.key|authorized_keys|\.netrc|\.npmrc|\.pypirc|\.git-credentials|\.pgpass|wallet\.dat|server\.key|private\S*\.key|kubeconfig|shadow)$"
)
"""Files that hold secrets, for reading and sending."""
