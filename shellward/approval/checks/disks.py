"""Checks of programs that make file systems and partition tables: most of them can also only look."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shellward.approval.checks.writing import not_image, operand_device, operand_system_disk

if TYPE_CHECKING:
    from shellward.approval.rule import Call

_ONLY_SAYS = {
    **dict.fromkeys(["ext2", "ext3", "ext4", "ext4dev", "ntfs"], "-n"),  # mke2fs(8), mkntfs(8)
    "xfs": "-N",  # mkfs.xfs(8)
}
"""What keeps a program from writing, by the file system that it makes; the same letters mean other things to others."""
_OLD_NAMES = {"mke2fs": "ext2", "mkntfs": "ntfs", "mkdosfs": "fat", "mkexfatfs": "exfat", "mkswap": "swap"}
_PRINT_VERSION = frozenset(
    ("ext2", "ext3", "ext4", "ext4dev", "xfs", "btrfs", "f2fs", "ntfs", "exfat", "jfs", "minix", "cramfs", "swap")
)
"""File systems whose programs do nothing else with ``-V``."""


def _only_says(call: Call) -> bool:
    """Tell whether a program that makes file systems only says what it would do, or which version it is."""
    options = [option.partition("=")[0] for option in call.args.options]
    made = _OLD_NAMES.get(call.name) or call.name.partition(".")[2]
    verbose = options.count("-V") + options.count("--verbose")
    if not made:
        if call.name == "mkfs" and (
            verbose > 1 or call.argv[1:] == ["-V"]
        ):  # mkfs(8): once and with more, it is verbose
            return True
        made = call.args.value("--type") or ("ext2" if call.name == "mkfs" else "")
        verbose = 0
    return _ONLY_SAYS.get(made, "") in options or "--version" in options or bool(verbose and made in _PRINT_VERSION)


def formats(call: Call) -> bool:
    """Tell whether a device is formatted."""
    return not_image(call) and not _only_says(call)


def formats_system_disk(call: Call) -> tuple[str, ...]:
    """Operands that are formatted and the disk a system usually runs from."""
    return () if _only_says(call) else operand_system_disk(call)


_LOOKS = {
    "fdisk": ("--list", "--list-details", "--getsz"),
    "gdisk": ("-l",),
    "sfdisk": ("--list", "--list-details", "--list-free", "--list-types", "--dump", "--json", "--show-size",
               "--show-geometry", "--verify", "--no-act"),
    "partprobe": ("--dry-run",),
    "parted": ("--list",),
    "fatresize": ("-i", "--info"),
    "cfdisk": ("--read-only",),
}  # fmt: skip
"""Options with which a program changes nothing, whatever stands beside them."""
_CHANGES = {
    "partx": ("--add", "--delete", "--update"),
    "kpartx": ("-a", "-d", "-u"),
}
"""Options without which a program changes nothing."""
_SGDISK_LOOKS = frozenset(
    ("--print", "--print-mbr", "--verify", "--info", "--list-types", "--display-alignment", "--end-of-largest",
     "--first-in-largest", "--first-aligned-in-largest", "--backup", "--set-alignment")
)  # fmt: skip
"""Options of sgdisk(8) that change nothing; any other does."""
_PARTED_LOOKS = re.compile(
    r"(?:p(?:r(?:i(?:nt?)?)?)?(?: (?:devices|free|list|all|\d+))?|u(?:n(?:it?)?)? \S+|align-check \S+ \d+"
    r"|help(?: \S+)?|version|quit)(?= |\Z)"
)
"""Orders of parted(8) that change nothing."""


def changes_table(call: Call) -> tuple[str, ...]:
    """Disks whose partitions are changed, or may be."""
    return () if _only_looks(call) else operand_device(call)


def _only_looks(call: Call) -> bool:
    args, name = call.args, call.name
    if args.has("--version", *_LOOKS.get(name, ())):
        return True
    if name in _CHANGES:
        return not args.has(*_CHANGES[name])
    if name == "sgdisk":
        given = {option.partition("=")[0] for option in args.options}
        return "--pretend" in given or (bool(given) and given <= _SGDISK_LOOKS)
    if name == "parted":
        orders = " ".join(args.operands[1:])
        return bool(orders) and not _PARTED_LOOKS.sub("", orders).strip()
    return False
