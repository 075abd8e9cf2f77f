"""Files of an environment, through its shell: ``cat``, ``stat``, ``mv`` and ``tar`` are all it needs.

Whole files and trees stream; nothing is held in memory but what the caller asked for.
"""

import errno
import os
import re
import secrets
import stat as stat_bits
import tarfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO

from shellward.core.errors import ConnectionLost, EnvironmentUnavailable
from shellward.core.interrupts import held
from shellward.core.limits import INLINE_BYTES
from shellward.core.types import Chunk, FileInfo, FilePart, FileType, Result, StreamName
from shellward.environments import filescripts
from shellward.environments.base import Putting
from shellward.environments.encoding import quote
from shellward.environments.unpack import unpack_tar

if TYPE_CHECKING:
    from shellward.environments.call import Stdin
    from shellward.environments.environment import Environment

Progress = Callable[[int, int | None], None]

_CHUNK = 1 << 18
_SIZES = 2

_ERRORS = {
    "No such file or directory": errno.ENOENT,
    "nonexistent directory": errno.ENOENT,  # dash's own words for a redirection
    "Not a directory": errno.ENOTDIR,
    "Is a directory": errno.EISDIR,
    "Permission denied": errno.EACCES,
    "Operation not permitted": errno.EPERM,
    "No space left on device": errno.ENOSPC,
    "Disk quota exceeded": errno.EDQUOT,
    "Read-only file system": errno.EROFS,
    "File name too long": errno.ENAMETOOLONG,
    "Too many levels of symbolic links": errno.ELOOP,
    "File exists": errno.EEXIST,
    "not a regular file": errno.EINVAL,
}

_TOLD = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
"""Errors that a way past the shell tells when it knows them; of others the shell finds out."""

_META = re.compile(rb"([0-9a-f]+) (\d+) (-?\d+) (\d+) (\d+)/\./")


def _word(path: str) -> str:
    return quote(os.fsencode(path)).decode("utf-8", "surrogateescape")


def _absolute(environment: "Environment", path: str) -> str:
    if "\0" in path:
        raise ValueError("a path cannot hold a NUL character")
    if not path:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return path if path.startswith("/") else f"{environment.cwd.rstrip('/')}/{path}"


def _run(
    environment: "Environment",
    text: str,
    path: str,
    *,
    stdin: "Stdin" = None,
    sink: Callable[[Chunk], None] | None = None,
) -> Result:
    """Run a script of this module in a shell of its own; its complaint becomes the matching OSError."""
    from shellward.environments.call import make_call

    whole = f"p={_word(path)}\nexport LC_ALL=C\n{text}"
    limit = 10_000 if sink else None
    with held(), environment.helper() as shell:
        call = make_call(whole, stdin=stdin, max_output=limit, full_output=False)
        result = environment.run_on(shell, call, sink)
    if result.exit_code:
        if result.exit_code < 0 or result.signal is not None:
            what = f"the shell that worked on {path!r} in the sandbox was killed; it may have been done"
            raise ConnectionLost(what, result)
        error = error_of(result, path)
        if error.errno in {errno.ENOENT, errno.EIO} and text is not filescripts.WHERE:
            error = _explained(environment, error, path, new=stdin is not None)
        raise error
    return result


def _explained(environment: "Environment", error: OSError, path: str, *, new: bool) -> OSError:
    """Tell "missing" from "below a file": lesser shells and tools have one message for both, or words of their own.

    Args:
        environment: where.
        error: what the message was taken for.
        path: of the file.
        new: it may be missing, since it is written; what is above it may not.
    """
    look = str(Path(path).parent) if new else path
    where = _run(environment, filescripts.WHERE, look).stdout.strip()
    number = {"missing": errno.ENOENT, "below": errno.ENOTDIR, "file": errno.ENOTDIR}.get(where)
    if number is None or (where == "file" and not new and error.errno != errno.EIO):
        return error
    return OSError(number, os.strerror(number), path)


def error_of(result: Result, path: str) -> OSError:
    """Return the OSError that a tool's complaint stands for."""
    message = result.stderr.strip()
    for words, number in _ERRORS.items():
        if words in message:
            return OSError(number, os.strerror(number), path)
    return OSError(errno.EIO, message or f"failed with exit status {result.exit_code}", path)


def read(environment: "Environment", path: str, offset: int, length: int | None) -> bytes:
    """See ``Environment.read_file``."""
    text = filescripts.READ
    if offset or length is not None:
        text = f"(a={offset} n={'' if length is None else length}\n{filescripts.PIECE})"
    parts: list[bytes] = []

    def sink(chunk: Chunk) -> None:
        if chunk.stream is StreamName.STDOUT:
            parts.append(chunk.data)

    full = _absolute(environment, path)
    result = _run(environment, text, full, sink=sink)
    if result.stderr and "Broken pipe" not in result.stderr:  # of a pipe's first program nobody hears the status
        raise error_of(result, full)
    return b"".join(parts)


def lines(environment: "Environment", path: str, first: int, count: int, most: int) -> FilePart:
    """See ``Environment.read_lines``."""
    text = f"a={first} n={count} m={most}\n({filescripts.LINES})"
    full = _absolute(environment, path)
    result = _run(environment, text, full)
    head, newline, data = result.stdout_bytes.partition(b"\n")
    sizes = head.split()
    if not newline or len(sizes) != _SIZES:
        raise OSError(errno.EIO, f"wc said {head!r}", path)
    return FilePart(data, int(sizes[0]), int(sizes[1]))


def write(environment: "Environment", path: str, data: bytes, *, mode: int | None, parents: bool) -> None:
    """See ``Environment.write_file``."""
    _write(environment, _absolute(environment, path), data, size=len(data), mode=mode, parents=parents)


def _write(
    environment: "Environment",
    path: str,
    data: "Stdin",
    *,
    size: int | None,
    mode: int | None,
    parents: bool,
    modified: int | None = None,
) -> None:
    values = f"m={'' if mode is None else format(mode, 'o')} n={'' if size is None else size} o= x={modified or ''}"
    large = size is None or size > INLINE_BYTES
    backend = environment.backend
    above = filescripts.PARENTS if parents else ""
    if large and isinstance(backend, Putting) and _put(environment, backend, path, values, data, above=above):
        return
    _run(environment, f"({values}\n{above}{filescripts.WRITE}{filescripts.FINISH})", path, stdin=data)


def _put(environment: "Environment", backend: Putting, path: str, values: str, data: "Stdin", *, above: str) -> bool:
    """Write a file whose data goes past the shell; False when it has to go through it, and nothing was done."""
    name = _run(environment, f"(k={secrets.token_hex(4)}\n{above}{filescripts.BEGIN})", path).stdout_bytes
    if not name:
        return False
    part = os.fsdecode(name)
    place = f"t={_word(part)}\n"
    done = False
    try:
        done = backend.put(part, _pieces(data))
    except ConnectionLost:
        raise
    except OSError as error:
        if error.errno in _TOLD:
            raise OSError(error.errno, os.strerror(error.errno), path) from error
        _run(environment, f"({place}{filescripts.COMPLAIN})", path)
    finally:
        if not done:
            with suppress(EnvironmentUnavailable, OSError):
                _run(environment, f'({place}rm -f -- "$t")', path)
    if done:
        _run(environment, f"({values}\n{place}{filescripts.END}{filescripts.FINISH})", path)
    return done


def _pieces(data: "Stdin") -> Iterable[bytes]:
    if isinstance(data, bytes | bytearray | memoryview):
        view = memoryview(data)
        return (bytes(view[at : at + _CHUNK]) for at in range(0, len(view), _CHUNK))
    return data  # type: ignore[return-value]  # this module gives bytes, or an iterator of them


def stat(environment: "Environment", path: str) -> FileInfo:
    """See ``Environment.stat``."""
    full = _absolute(environment, path)
    name = full.rstrip("/").rpartition("/")[2] or "/"
    result = _run(environment, "stat -c '%f %s %Y %u %g/./' -- \"$p\"", full)
    match = _META.match(result.stdout_bytes)
    if match is None:
        raise OSError(errno.EIO, f"stat said {result.stdout!r}", path)
    return _info(match, name, path)


def list_dir(environment: "Environment", path: str) -> list[FileInfo]:
    """See ``Environment.list_dir``."""
    full = _absolute(environment, path)
    result = _run(environment, f"(set +f; {filescripts.LIST})", full)
    listed, _, described = (b"\0" + result.stdout_bytes).partition(b"\0\0")
    names = listed.split(b"\0")[1:]
    return sorted(_entries(described, names, path), key=lambda info: info.name)


def _entries(described: bytes, names: list[bytes], path: str) -> Iterator[FileInfo]:
    """Match descriptions with names; a file that went away in between has none of the first."""
    place = 0
    for name in names:
        match = _META.match(described, place)
        if match and described.startswith(name + b"\n", match.end()):
            text = os.fsdecode(name)
            yield _info(match, text, f"{path.rstrip('/') or ''}/{text}")
            place = match.end() + len(name) + 1


def _info(match: re.Match[bytes], name: str, path: str) -> FileInfo:
    bits = int(match[1], 16)
    kind = FileType.OTHER
    if stat_bits.S_ISREG(bits):
        kind = FileType.FILE
    elif stat_bits.S_ISDIR(bits):
        kind = FileType.DIRECTORY
    elif stat_bits.S_ISLNK(bits):
        kind = FileType.SYMLINK
    return FileInfo(
        name=name,
        path=path,
        type=kind,
        size=int(match[2]),
        mode=stat_bits.S_IMODE(bits),
        modified=datetime.fromtimestamp(int(match[3]), UTC),
        uid=int(match[4]),
        gid=int(match[5]),
    )


def upload(environment: "Environment", local: Path, remote: str, progress: Progress | None, *, parents: bool) -> None:
    """See ``Environment.upload``."""
    target = _absolute(environment, remote)
    if local.is_dir():
        _upload_tree(environment, local, target, progress)
        return
    with local.open("rb") as source:
        status = os.fstat(source.fileno())
        size = status.st_size if stat_bits.S_ISREG(status.st_mode) else None
        _write(
            environment,
            target,
            _counted(source, size, progress),
            size=size,
            mode=stat_bits.S_IMODE(status.st_mode),
            parents=parents,
            modified=int(status.st_mtime),
        )


def _counted(source: BinaryIO, size: int | None, progress: Progress | None) -> Iterator[bytes]:
    done = 0
    while chunk := source.read(_CHUNK):
        yield chunk
        done += len(chunk)
        if progress is not None:
            progress(done, size)


def _upload_tree(environment: "Environment", local: Path, target: str, progress: Progress | None) -> None:
    total = sum(path.lstat().st_size for path in local.rglob("*") if path.is_file() and not path.is_symlink())
    unpack = 'mkdir -p -- "$p" && cd -- "$p" && exec tar -xpf -'
    with _packer(local, total, progress) as chunks:
        _run(environment, f"({unpack})", target, stdin=chunks)


@contextmanager
def _packer(local: Path, total: int, progress: Progress | None) -> Iterator[Iterator[bytes]]:
    """Make a tar of a tree, bit by bit, as an iterator: a thread writes what the iterator reads."""
    reader, writer = os.pipe()
    error: list[BaseException] = []
    done = 0

    def note(info: tarfile.TarInfo) -> tarfile.TarInfo:
        nonlocal done
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        done += info.size
        if progress is not None and info.size:
            progress(done, total)
        return info

    def pack() -> None:
        try:
            with (
                os.fdopen(writer, "wb") as out,
                tarfile.open(fileobj=out, mode="w|", format=tarfile.GNU_FORMAT) as tar,
            ):
                tar.add(local, arcname=".", filter=note)
        except BrokenPipeError:
            return  # nobody reads on; the reader says why
        except BaseException as failure:  # noqa: BLE001  # raised by the iterator, in the caller's thread
            error.append(failure)

    def chunks() -> Iterator[bytes]:
        while chunk := os.read(reader, _CHUNK):
            yield chunk
        thread.join()
        if error:
            raise error[0]

    thread = threading.Thread(target=pack, name="shellward-pack", daemon=True)
    thread.start()
    try:
        yield chunks()
    finally:
        os.close(reader)
        thread.join()


def download(environment: "Environment", remote: str, local: Path, progress: Progress | None) -> None:
    """See ``Environment.download``."""
    source = _absolute(environment, remote)
    result = _run(environment, "stat -L -c '%f %s %Y %u %g/./' -- \"$p\"", source)
    match = _META.match(result.stdout_bytes)
    if match is None:
        raise OSError(errno.EIO, f"stat said {result.stdout!r}", remote)
    info = _info(match, "", source)
    if info.type is FileType.DIRECTORY:
        _download_tree(environment, source, local, progress)
        return
    part = local.with_name(f".shellward.{os.getpid()}.{threading.get_ident()}.part")
    try:
        with part.open("wb") as out:
            _copy_out(environment, filescripts.READ, source, out, total=info.size, progress=progress)
        part.chmod(info.mode)
        os.utime(part, (info.modified.timestamp(), info.modified.timestamp()))
        part.replace(local)
    finally:
        part.unlink(missing_ok=True)


def _copy_out(
    environment: "Environment",
    text: str,
    path: str,
    out: IO[bytes],
    *,
    total: int | None,
    progress: Progress | None,
) -> None:
    done = 0

    def sink(chunk: Chunk) -> None:
        nonlocal done
        if chunk.stream is StreamName.STDOUT:
            out.write(chunk.data)
            done += len(chunk.data)
            if progress is not None:
                progress(done, total)

    _run(environment, text, path, sink=sink)


def _download_tree(environment: "Environment", source: str, local: Path, progress: Progress | None) -> None:
    reader, writer = os.pipe()
    error: list[BaseException] = []

    def unpack() -> None:
        try:
            with os.fdopen(reader, "rb") as data, tarfile.open(fileobj=data, mode="r|") as tar:
                unpack_tar(tar, local)
                while data.read(_CHUNK):  # what tar pads its end with
                    pass
        except BaseException as failure:  # noqa: BLE001  # raised below, in the caller's thread
            error.append(failure)

    thread = threading.Thread(target=unpack, name="shellward-unpack", daemon=True)
    thread.start()
    try:
        with os.fdopen(writer, "wb") as out:
            _copy_out(environment, '(cd -- "$p" && exec tar -cf - .)', source, out, total=None, progress=progress)
    except BrokenPipeError:
        if not error:
            raise
    finally:
        thread.join()
    if error:
        raise error[0]
