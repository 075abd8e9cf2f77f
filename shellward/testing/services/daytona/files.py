"""Files of Daytona's toolbox, through a sandbox's own daemon."""

import asyncio
import contextlib
import errno
import json
import os
import secrets
import shlex
import stat as stats
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from shellward.testing.services.boxes import Answer, Box
from shellward.testing.services.daytona.common import CHUNK, all_of, refuse


class Files:
    """The files of a sandbox."""

    def __init__(self, box: Box, env: Mapping[str, str], user: str | None, work: str) -> None:
        self.box = box
        self.env = env
        self.user = user
        self.work = work

    async def upload(self, request: web.Request) -> web.StreamResponse:
        """Write files: parts of a form, each with a part before it that says where."""
        paths: dict[str, str] = {}
        done: list[dict[str, Any]] = []
        errors: list[str] = []
        async for part in await request.multipart():
            field = str(getattr(part, "name", ""))
            number = field.partition("[")[2].partition("]")[0]
            if field.endswith(".path"):
                paths[number] = (await part.read(decode=True)).decode().strip()  # type: ignore[union-attr]
                continue
            try:
                size = await self._receive(part, paths[number])
                done.append({"path": paths[number], "bytes": size})
            except OSError as error:
                errors.append(f"{paths[number]}: {error}")
        if errors:
            return web.json_response({"errors": errors, "files": done}, status=400)
        return web.json_response({"files": done})

    async def _receive(self, part: Any, path: str) -> int:
        """Write a file beside its place and put it there, as the daemon does: whoever may write, it is another file.

        Raises:
            OSError: the user of the sandbox cannot write it.
        """
        own = f"{path.rpartition('/')[0]}/.daytona-upload-{secrets.token_hex(4)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        answer = await self.box.ask("open", path=own, flags=flags, mode=0o600, user=self.user)
        size = 0
        try:
            with os.fdopen(answer.descriptors[0], "wb", 0) as file:
                while chunk := await part.read_chunk(CHUNK):
                    view = memoryview(chunk)
                    while view:
                        view = view[file.write(view) :]
                    size += len(chunk)
            await self.box.ask("replace", path=own, target=path, mode=0o644, user=self.user)
        except BaseException:
            with contextlib.suppress(OSError):
                await self.box.ask("remove", path=own)
            raise
        return size

    async def _open(self, path: str) -> Answer:
        return await self.box.ask("open", path=path, flags=os.O_RDONLY, user=self.user)

    async def download(self, request: web.Request) -> web.StreamResponse:
        """Read files, as parts of a form."""
        paths = (await request.json())["paths"]
        mark = uuid.uuid4().hex
        answer = web.StreamResponse(headers={"Content-Type": f"multipart/form-data; boundary={mark}"})
        await answer.prepare(request)
        for path in paths:
            name, kind, file = "file", "application/octet-stream", None
            try:
                file = os.fdopen((await self._open(path)).descriptors[0], "rb")
            except OSError as error:
                name, kind = "error", "application/json"
                said = json.dumps({"message": str(error), "statusCode": 404, "code": "FILE_NOT_FOUND"}).encode()
            head = f'Content-Disposition: form-data; name="{name}"; filename="{path}"\r\nContent-Type: {kind}\r\n\r\n'
            await answer.write(f"--{mark}\r\n{head}".encode())
            if file is None:
                await answer.write(said)
            else:
                with file:
                    while chunk := file.read(CHUNK):
                        await answer.write(chunk)
            await answer.write(b"\r\n")
        await answer.write(f"--{mark}--\r\n".encode())
        return answer

    async def file_info(self, request: web.Request) -> web.StreamResponse:
        """Describe a file."""
        path = request.query.get("path", "")
        try:
            answer = await self._open(path)
        except OSError as error:
            return _refused(error)
        found = os.fstat(answer.descriptors[0])
        os.close(answer.descriptors[0])
        return web.json_response(_described(path, found))

    async def shell_out(self, request: web.Request, command: str) -> web.StreamResponse:
        """Do what a program of the sandbox does, for calls on files that need nothing more."""
        del request
        reader, writer = os.pipe2(os.O_CLOEXEC)
        done = asyncio.get_running_loop().create_future()
        nothing = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        await self.box.spawn(
            ["/bin/sh", "-c", command],
            done.set_result,
            env=self.env,
            user=self.user,
            cwd=self.work,
            given=[nothing, writer, writer],
        )
        os.close(writer)
        os.close(nothing)
        printed = (await all_of(reader)).decode(errors="replace").strip()
        if await done:
            return refuse(404 if "No such" in printed else 400, printed, "FILE_NOT_FOUND")
        return web.Response(status=200)

    async def make_folder(self, request: web.Request) -> web.StreamResponse:
        """Make a directory."""
        query = request.query
        command = f"mkdir -p -m {shlex.quote(query.get('mode') or '755')} {shlex.quote(query['path'])}"
        return await self.shell_out(request, command)

    async def remove_file(self, request: web.Request) -> web.StreamResponse:
        """Remove a file or directory."""
        flags = "-r" if request.query.get("recursive") == "true" else ""
        return await self.shell_out(request, f"rm {flags} -- {shlex.quote(request.query['path'])}")


def _described(path: str, found: os.stat_result) -> dict[str, Any]:
    when = datetime.fromtimestamp(found.st_mtime, UTC).isoformat()
    return {
        "name": path.rpartition("/")[2],
        "size": found.st_size,
        "isDir": stats.S_ISDIR(found.st_mode),
        "mode": stats.filemode(found.st_mode),
        "permissions": f"{stats.S_IMODE(found.st_mode):04o}",
        "modTime": when,
        "modifiedAt": when,
        "owner": str(found.st_uid),
        "group": str(found.st_gid),
    }


def _refused(error: OSError) -> web.Response:
    if error.errno == errno.ENOENT:
        return refuse(404, str(error), "FILE_NOT_FOUND")
    if error.errno in (errno.EACCES, errno.EPERM):
        return refuse(403, str(error), "FILE_ACCESS_DENIED")
    return refuse(400, str(error), "INVALID_FILE_PATH")
