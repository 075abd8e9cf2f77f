"""The scripts that keep and end an environment where its processes are among others' (a host, a cloud's sandbox).

It is a directory, a variable in all its processes, and a watchdog that ends it when nobody renews its lease. What is
here is text for a shell; each backend has its own way to have that run.
"""

from typing import Final

from shellward.environments.encoding import encode_text, quote, script

SANDBOX: Final = "SHELLWARD_SANDBOX"
"""Variable in every process of an environment."""
WATCHDOG: Final = "SHELLWARD_WATCHDOG"
"""Variable in the processes that wait for the end of its lease."""
_END: Final = b"__SHELLWARD_END__"


def mark(scratch: str) -> str:
    """Return the name of an environment in its processes' variables."""
    return scratch.rpartition("-")[2]


def setup(name: str, kept: bytes, cwd: str | None, lease: int) -> bytes:
    """Return the script that makes an environment's directory, and its watchdog.

    It prints the path of the directory and that of ``cwd``, each on a line of its own.
    """
    values = b"i=%s k=%s c=%s s=%d\n" % (
        quote(name.encode()),
        quote(kept),
        quote(encode_text(cwd or "", "cwd")),
        lease,
    )
    return values + script("ssh.setup.sh").encode() + watch()


def clear(name: str) -> bytes:
    """Return the lines that end what a set-up of that name has left, wherever it was."""
    places = b'"${TMPDIR:-/tmp}" /tmp /var/tmp "$XDG_RUNTIME_DIR"'
    return (
        b"i=%s\n" % quote(name.encode())
        + _sweeper().encode()
        + b'for b in %s;do d=$b/shellward-$i;if [ -O "$d" ];then sw_unwatch "$i";' % places
        + b'sw_end SHELLWARD_SANDBOX="$i;" "$d";fi;done >/dev/null\n'
    )


def find(name: str) -> bytes:
    """Return the lines that say where the directory of a set-up of that name is; nothing when there is none."""
    places = b'"${TMPDIR:-/tmp}" /tmp /var/tmp "$XDG_RUNTIME_DIR"'
    place = b'"$b"/shellward-' + quote(name.encode())
    return b"for b in %s;do if [ -O %s ];then printf '%%s\\n' %s;break;fi;done\n" % (places, place, place)


def watch() -> bytes:
    """Return the lines that start a watchdog; they need ``i``, ``d`` and ``s`` (see ``setup``)."""
    program = f'{_sweeper()}{script("lease.sh")}sw_end SHELLWARD_SANDBOX="$6;" "$7"\n'.encode()
    # By standard input: what is on a command line is in everybody's way who looks at the process table.
    run = (
        b"(trap '' HUP;cd /;"
        + WATCHDOG.encode()
        + b'="$i;" exec sh -c \'eval "$(cat)"\' shellward "$d/lease" "$s" "" "" "$d/processes" "$i" "$d")'
    )
    return run + b" <<'" + _END + b"' >/dev/null 2>&1 &\n" + program + _END + b"\n"


def revive(scratch: str, lease: int) -> bytes:
    """Return the script that sees whether an environment is there, and starts its watchdog again where that is gone.

    It renews the lease, and prints what was kept of its settings; nothing when there is no such environment.
    """
    values = b"i=%s d=%s s=%d\n" % (quote(mark(scratch).encode()), quote(scratch.encode()), lease)
    there = b'if [ ! -O "$d" ] || [ ! -f "$d/config" ];then exit 0;fi\n'
    # Renewed at once, in the midst of two looks: its watchdog may be about to end it.
    look = there + b'echo "$$.new" 2>/dev/null >"$d/lease"\n' + there + b'cat -- "$d/config"\n'
    return values + look + _sweeper().encode() + b'if ! sw_watched "$i";then\n' + watch() + b"fi\n"


def end(scratch: str) -> bytes:
    """Return the script that ends an environment with all that is in it; it prints ``ended``, or ``none``."""
    values = b"i=%s d=%s\n" % (quote(mark(scratch).encode()), quote(scratch.encode()))
    last = (
        b'if [ -O "$d" ];then w=ended;else w=none;fi\nsw_unwatch "$i"\nsw_end SHELLWARD_SANDBOX="$i;" "$d"\necho "$w"\n'
    )
    return values + _sweeper().encode() + last


def usage(scratch: str) -> bytes:
    """Return the script that says what an environment's processes use."""
    return b"i=%s\n" % quote(mark(scratch).encode()) + (script("kill.sh") + script("usage.sh")).encode()


def _sweeper() -> str:
    return script("kill.sh") + script("sweep.sh")
