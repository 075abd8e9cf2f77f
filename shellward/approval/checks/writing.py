"""Checks of what is written over: system files, startup files, credentials, devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.approval.paths import CREDENTIALS, OF_A_HOME, STARTUP, SYSTEM_DISK, Kind, classify
from shellward.command.values import OPEN, known_part, labels

if TYPE_CHECKING:
    from shellward.approval.rule import Call


_QUIET_SYSTEM = re.compile(
    r"/var/(?:log|lib|www|cache|spool/mail|run|backups|mail|opt)/|/opt/|/run/|/etc/(?:nginx/(?:sites|conf\.d)|apache2/(?:sites|conf))|/root/(?!\.)|/root/\.(?:jupyter|cache|config/(?!systemd|autostart|git|fish)|local/(?!share/systemd))|/usr/local/(?:src|share|games)/|/usr/src/|/usr/share/nginx/html|/srv/|/proc/self/(?:oom|comm|fd)|/sys/fs/cgroup"
)


_INSTALLERS = frozenset((name,) for name in ("cp", "mv", "ln", "install", "gcp", "rsync", "tar", "unzip"))


_LOGS = re.compile(
    r"/var/log/(?:auth|syslog|secure|messages|wtmp|btmp|lastlog|kern|audit|faillog|cron|daemon|utmp|journal)"
)


_STAGED = tuple(
    f"{OPEN}var:{name}\ue001/" for name in ("DESTDIR", "pkgdir", "RPM_BUILD_ROOT", "D", "ED", "STAGING_DIR")
)
"""Where packages are put together, as make, rpm, makepkg and portage name it (GNU Coding Standards 7.2.4)."""


def write_system(call: Call) -> tuple[str, ...]:  # noqa: PLR0911
    """A write to the system's own files."""
    path = call.written
    if labels(path) and not known_part(path).startswith("/"):
        return ()
    plain = known_part(path)
    if path.startswith(_STAGED):
        return ()
    if path[:1] == OPEN and not plain.strip("/."):
        return ()  # two unknown names with a slash between them
    plain = plain.removeprefix("/private") if plain.startswith(("/private/etc", "/private/var")) else plain
    if _LOGS.match(plain) and not (call.name == ">>" and not call.inv.via):
        return (path,)
    if CREDENTIALS.search(plain) and plain.startswith("/etc/"):
        return (path,)
    if call.inv.via[-1:] in _INSTALLERS and plain.startswith(("/usr/local/", "/usr/share/")):
        return ()
    if classify(plain) in {Kind.SYSTEM, Kind.ROOT} and not _QUIET_SYSTEM.match(plain) and not STARTUP.match(plain):
        return (
            ()
            if plain.startswith(("/root", "/var/spool/cron", "/home", "/Users", "/data", "/mnt", "/media", "/srv"))
            and classify(plain) is Kind.ROOT
            else (path,)
        )
    return (path,) if re.match(r"/private/var/(?:db|log)/", path) else ()


_KNOWN_NAMES = (
    r"(?:ls|cat|git|sudo|su|ssh|scp|curl|wget|ps|top|netstat|ss|find|grep|sh|bash|zsh|passwd|login|id|which|apt|apt-get|"
    r"systemctl|crontab|gpg|cp|mv|rm)$"
)
"""Commands that everybody runs: a file of such a name earlier in the path is run instead."""


BEGINS_AT_HOME = frozenset(
    ("ssh", "slogin", "autossh", "mosh", "tsh", "rsh", "pssh", "parallel-ssh", "pdsh", "clush", "dsh", "sshpass")
)
"""Programs whose command begins in the home directory of the user there."""


def _at_home(call: Call) -> str:
    """Return where an effect writes; what is named from a home directory, from there."""
    path = known_part(call.written)
    if path[:1] in {"", "/", "~", "."} and not path.startswith("."):
        return path
    remote = call.inv.cwd == "." and not BEGINS_AT_HOME.isdisjoint(call.inv.via)
    return f"~/{path}" if remote or OF_A_HOME.match(path) else path


_SCHEDULED = ("/etc/", "/var/spool/", "/lib/", "/usr/", "/Library/", "~/", "/root/", "/home/")
"""Where what runs by itself stands, to be quick with all other places."""


def write_startup(call: Call) -> tuple[str, ...]:
    """A write to what runs at login, on a timer or with git."""
    path = _at_home(call)
    scheduled = path.startswith(_SCHEDULED) and re.match(
        r"/etc/(?:cron|profile|rc|init|systemd|xdg/autostart|update-motd|ld\.so)|/var/spool/(?:cron|at)|/(?:usr/)?lib/systemd/system|/Library/Launch|(?:~|/root|/home/[^/]+)/(?:\.local/)?bin/"
        + _KNOWN_NAMES
        + r"|/usr/local/s?bin/"
        + _KNOWN_NAMES,
        path,
    )
    hook = re.search(r"(?:^|/)\.git/hooks/[\w-]+$|(?:^|/)\.husky/_/", path) and not path.endswith(".sample")
    return (path,) if (STARTUP.match(path) and path[:1] in "~/") or scheduled or hook else ()


def write_credentials(call: Call) -> tuple[str, ...]:
    """A write to keys and credentials."""
    path = _at_home(call)
    if path[:1] not in "~/" or path.startswith("/tmp/"):
        return ()
    return (
        (path,)
        if (CREDENTIALS.search(path) or re.match(r"(?:~|/root|/home/[^/]+|/Users/[^/]+)/\.ssh(?:/|$)", path))
        and not path.endswith((".pub", "/known_hosts", "/known_hosts2"))
        and classify(path) is not Kind.RELATIVE
        else ()
    )


def write_device(call: Call) -> tuple[str, ...]:
    """A write to a disk."""
    path = known_part(call.written)
    return (path,) if classify(path) is Kind.DEVICE and not SYSTEM_DISK.match(path) else ()


def write_system_disk(call: Call) -> tuple[str, ...]:
    """A write to the disk a system usually runs from."""
    path = known_part(call.written)
    return (path,) if SYSTEM_DISK.match(path) else ()


def write_kernel(call: Call) -> tuple[str, ...]:
    """A write to the kernel's controls."""
    path = known_part(call.written)
    return (
        (path,)
        if path.startswith(("/proc/", "/sys/", "/dev/", "/efi"))
        and re.match(
            r"/proc/(?:sys/|sysrq-trigger|\d+/mem|self/mem|kcore|acpi|bus)|/sys/(?!fs/cgroup)|/sys/fs/cgroup/(?:\S*/)?(?:release_agent|notify_on_release|cgroup\.(?:kill|freeze))$|/dev/(?:k?mem|port)$|/efi|/sys/firmware",
            path,
        )
        else ()
    )


_DATABASE = re.compile(
    r"(?i)\.(?:db|db3|s3db|sl3|sqlite|sqlite3|sqlitedb|mdb|accdb|mdf|ldf|rdb|aof|ibd|ibdata\d?|frm|myd|myi|fdb|gdb|dbf|realm|dump)(?:-wal|-journal)?$|/ibdata\d+$"
)
_SPARE = re.compile(
    r"(?i)back-?ups?|bak\b|archiv|snapshot|export|cop(?:y|ies)\b|\bold\b|\bnew\b|te?mp\b|test|sample|demo|example|fixture|download|restor|\d{6}|/(?:Desktop|Documents)/"
)
"""Names of copies, of trials and of what was fetched."""
_MEDIA = re.compile(r"/(?:mnt|media|Volumes)/")


def write_database(call: Call) -> tuple[str, ...]:
    """A write over the file of a database that a service or somebody else keeps."""
    path = call.written
    if labels(path) or not _DATABASE.search(path) or _SPARE.search(path) or _MEDIA.match(path):
        return ()
    dumped = path.lower().endswith(".dump") and not call.inv.via  # by a redirection: somebody saves something
    far = {Kind.SYSTEM, Kind.OTHER, Kind.HOME}
    return (path,) if path[:1] in {"/", "~"} and not dumped and call.kind(path) in far else ()


def operand_device(call: Call) -> tuple[str, ...]:
    """Operands that are disks."""
    words = [word for word in call.argv[1:] if not word.startswith("-")]
    return tuple(
        word
        for word in words
        if call.kind(word) is Kind.DEVICE or (word.startswith("/dev/") and classify(word) is not Kind.SINK)
    )


def operand_system_disk(call: Call) -> tuple[str, ...]:
    """Operands that are the disk a system usually runs from."""
    return tuple(word for word in call.args.operands if SYSTEM_DISK.match(word))


def not_image(call: Call) -> bool:
    """Tell whether no operand is a plain file (an image in scratch or in the working directory)."""
    rest = call.args.operands
    return not rest or any(
        call.kind(word) in {Kind.DEVICE, Kind.UNKNOWN, Kind.OTHER, Kind.SYSTEM} or word.startswith("/dev/")
        for word in rest
    )


def unpacks_over(call: Call) -> tuple[str, ...]:
    """An archive, a patch or pieces of a file that are written into the system's directories."""
    args, argv = call.args, call.argv
    if args.has("--list", "--test", "-t", "--dry-run") and call.name != "stow":
        return ()
    named = [
        value for option in ("-D", "--directory", "-d", "--target", "-dest", "-t") for value in args.values(option)
    ]
    if call.name.startswith("7z"):
        named = [word[2:] for word in argv[1:] if word.startswith("-o")]
    elif call.name == "patch":
        named += args.operands[:1]
    elif call.name in {"split", "debootstrap", "mmdebstrap"}:
        named = args.operands[1:2]
    return tuple(path for path in named if call.kind(path) in {Kind.ROOT, Kind.SYSTEM})
