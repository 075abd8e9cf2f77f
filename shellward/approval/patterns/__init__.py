"""The rule packs: data, one file per subject. Each rule carries examples that a test checks."""

from shellward.approval.patterns import (
    cloud,
    containers,
    data,
    disks,
    files,
    gate,
    git,
    packages,
    processes,
    remote,
    saas,
    secrets,
    system,
)
from shellward.approval.rule import Rule

PACKS: dict[str, tuple[Rule, ...]] = {
    pack.__name__.rpartition(".")[2]: pack.RULES
    for pack in (
        gate,
        files,
        disks,
        system,
        processes,
        git,
        data,
        containers,
        cloud,
        saas,
        packages,
        remote,
        secrets,
    )
}
"""The packs by name."""

RULES: tuple[Rule, ...] = tuple(rule for pack in PACKS.values() for rule in pack)
"""All rules, the most severe of a subject first."""
