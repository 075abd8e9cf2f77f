"""Checks of what is asked over D-Bus of the programs that run the host: systemd, logind, machined, udisks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shellward.approval.rule import Call

_CALLS = frozenset(("call", "emit", "set-property"))
_STOPS = re.compile(
    r"[ .=](?:"
    r"(?:Stop|Restart|TryRestart|ReloadOrRestart|ReloadOrTryRestart|Kill|QueueSignal|Clean|Freeze)Unit(?:Subgroup)?"
    r"|(?:Mask|Disable|Revert|Link)UnitFiles(?:WithFlags)?|SetDefaultTarget|SetUnitProperties|StartTransientUnit"
    r"|(?:PowerOff|Reboot|SoftReboot|Halt|KExec|Suspend|Hibernate|HybridSleep|SuspendThenHibernate)(?:WithFlags)?"
    r"|SwitchRoot|ScheduleShutdown"
    r"|(?:Terminate|Kill)(?:Session|User|Seat|Machine)|SetUserLinger|RemoveImage|DeleteUser"
    r"|systemd1\.(?:Unit|Service|Scope)[ .]"
    r"(?:Stop|Restart|TryRestart|ReloadOrRestart|ReloadOrTryRestart|Kill|QueueSignal|Clean|Freeze)"
    r"|login1\.(?:Session|User|Seat)[ .](?:Terminate|Kill|TerminateSession)|machine1\.Machine[ .](?:Terminate|Kill)"
    r"|UDisks2\.(?:Block[ .]Format|Partition[ .]Delete)"
    r"|StartUnit (?:ss )?(?:string:|'|\")?"
    r"(?:poweroff|reboot|soft-reboot|halt|kexec|rescue|emergency|suspend|hibernate)\.target\S{0,9}"
    r")(?= |$)"
)
"""Methods that stop, kill, mask, end or erase; see org.freedesktop.systemd1(5), login1(5) and machine1(5)."""


def stops_over_bus(call: Call) -> bool:
    """Tell whether a method is called that stops a service, ends a session or a machine, or erases a disk."""
    if call.name in {"busctl", "gdbus"} and _CALLS.isdisjoint(call.argv):
        return False  # it looks, or waits
    return _STOPS.search(" ".join(call.argv)) is not None
