"""Holds the terminal of a background process, in the sandbox: python3's own library only, 3.5 or later.

Called by terminal.sh with the process's directory and a shell line. Standard input is the FIFO that clients write
to, standard output the file with the raw stream. It lives as long as the program, whoever comes and goes, and
ends with the program's exit status, though a child of that keep the terminal open.
"""

import contextlib
import errno
import fcntl
import os
import select
import signal
import struct
import sys
import termios

FORWARDED = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM", "CONT")
END_OF_INPUT = b"\x04"
ROOM = 1 << 16


def main(directory: str, line: str) -> int:
    """Run the line at a new terminal; returns its exit status."""
    rows, columns = size_of(directory)
    master, slave = os.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    wake, waker = os.pipe()
    for descriptor in (wake, waker, master):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    told, tells = os.pipe()  # closes when the program starts: then the terminal is its own
    child = os.fork()
    if child == 0:
        os.close(told)
        run(slave, tells, directory, line)
    for name in FORWARDED:
        signal.signal(getattr(signal, "SIG" + name), lambda number, _: forward(child, number))
    os.close(slave)
    os.close(tells)
    os.read(told, 1)  # a key that is passed on before would be nobody's
    os.close(told)
    return Holder(child, master).hold(wake)


def size_of(directory: str) -> "tuple[int, int]":
    """Read the wanted size."""
    try:
        with open(directory + "/size") as file:
            rows, columns = [int(word) for word in file.read().split()[:2]]
    except (OSError, ValueError):
        return 24, 80
    return rows, columns


def run(slave: int, tells: int, directory: str, line: str) -> None:
    """Become the program, with the terminal as its controlling one; never returns."""
    try:
        signal.set_wakeup_fd(-1)
        for name in (*FORWARDED, "CHLD", "PIPE"):  # a shell's background jobs have INT and QUIT ignored
            signal.signal(getattr(signal, "SIG" + name), signal.SIG_DFL)
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for descriptor in range(3):
            os.dup2(slave, descriptor)
        os.closerange(3, tells)
        os.closerange(tells + 1, 256)
        os.execv("/bin/sh", ["sh", "-c", line, "shellward", directory, *sys.argv[3:]])
    finally:
        os._exit(126)


def forward(child: int, number: int) -> None:
    """Pass a signal on to the program; it may have ended."""
    with contextlib.suppress(OSError):
        os.kill(child, number)


class Holder:
    """Copies both ways, until the program ends."""

    def __init__(self, child: int, master: int) -> None:
        self.child = child
        self.master = master
        self.open = True
        self.more = True
        self.typed = b""

    def hold(self, wake: int) -> int:
        """Copy; returns the program's exit status."""
        while True:
            reads = [wake]
            if self.open:
                reads.append(self.master)
            if self.more and not self.typed:  # what the terminal has not taken yet keeps the rest in the FIFO
                reads.append(0)
            readable, writable, _ = select.select(reads, [self.master] if self.typed and self.open else [], [])
            if self.master in readable:
                self.open = self.copy_output()
            if writable:
                self.type_in()
            if 0 in readable:
                data = os.read(0, ROOM)
                self.more = bool(data)
                self.typed = data or END_OF_INPUT
                self.type_in()
            if wake in readable:
                os.read(wake, ROOM)
                done, status = os.waitpid(self.child, os.WNOHANG)
                if done:
                    while self.copy_output():
                        pass
                    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)

    def copy_output(self) -> bool:
        """Copy what the program has printed; False when there is nothing, or nobody has the terminal open."""
        try:
            data = os.read(self.master, ROOM)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        try:
            while data:
                data = data[os.write(1, data) :]
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            # What the disk cannot hold is lost, as it would be for a program that writes there itself.
        return True

    def type_in(self) -> None:
        """Give the terminal what it takes of the input."""
        try:
            self.typed = self.typed[os.write(self.master, self.typed) :]
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            self.typed = b""


if __name__ == "__main__":
    os._exit(main(sys.argv[1], sys.argv[2]))
