"""Predicates of rules: what a regular expression on the canonical form cannot say. Small, pure, by meaning."""

from shellward.approval.checks.bus import stops_over_bus
from shellward.approval.checks.code import run_origin, sql, unknown_name, unknown_run
from shellward.approval.checks.deleting import (
    catastrophic,
    far,
    find_all,
    find_deletes,
    into_nothing,
    kinds,
    moved_away,
    outside,
    rm_build,
    rm_files,
    rm_one,
    rm_tree,
    rm_worse,
    rsync_target,
)
from shellward.approval.checks.disks import changes_table, formats, formats_system_disk
from shellward.approval.checks.filling import allocates, fills
from shellward.approval.checks.gate import answers_gate, sets_gate, stops_gate, touches_gate
from shellward.approval.checks.loading import sets_loader
from shellward.approval.checks.permissions import (
    chmod_far,
    chmod_one,
    chmod_private,
    chmod_sensitive,
    chmod_setuid,
    chmod_wide,
    owner_far,
)
from shellward.approval.checks.privilege import root_shell
from shellward.approval.checks.processes import kill_all, kill_found, kill_listed, kill_one
from shellward.approval.checks.secrets import secret_label, sends_secret, serves_secrets, uploaded
from shellward.approval.checks.writing import (
    not_image,
    operand_device,
    unpacks_over,
    write_credentials,
    write_device,
    write_kernel,
    write_startup,
    write_system,
    write_system_disk,
)

__all__ = [
    "allocates",
    "answers_gate",
    "catastrophic",
    "changes_table",
    "chmod_far",
    "chmod_one",
    "chmod_private",
    "chmod_sensitive",
    "chmod_setuid",
    "chmod_wide",
    "far",
    "fills",
    "find_all",
    "find_deletes",
    "formats",
    "formats_system_disk",
    "into_nothing",
    "kill_all",
    "kill_found",
    "kill_listed",
    "kill_one",
    "kinds",
    "moved_away",
    "not_image",
    "operand_device",
    "outside",
    "owner_far",
    "rm_build",
    "rm_files",
    "rm_one",
    "rm_tree",
    "rm_worse",
    "root_shell",
    "rsync_target",
    "run_origin",
    "secret_label",
    "sends_secret",
    "serves_secrets",
    "sets_gate",
    "sets_loader",
    "sql",
    "stops_gate",
    "stops_over_bus",
    "touches_gate",
    "unknown_name",
    "unknown_run",
    "unpacks_over",
    "uploaded",
    "write_credentials",
    "write_device",
    "write_kernel",
    "write_startup",
    "write_system",
    "write_system_disk",
]
