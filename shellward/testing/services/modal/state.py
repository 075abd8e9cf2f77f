"""What the loopback Modal knows: apps, images, secrets, volumes, sandboxes. Shared by its two services."""

import asyncio
import base64
import contextlib
import hmac
import json
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from grpclib import GRPCError, Status

from shellward.testing.services.images import NoSuchImage, RootFs, cache, rootfs
from shellward.testing.services.modal.faults import Record
from shellward.testing.services.modal.images import Image, base_of, stand_in
from shellward.testing.services.modal.sandbox import EXITED, TERMINATED, NotStarted, Sandbox, Wanted

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_GRACE: Final = 2.0
"""Seconds for which a token is taken after its end: it tells that in whole seconds."""
_KEPT: Final = 2000
"""Sandboxes that have ended and are still known."""


class State:
    """See above.

    Args:
        address: where its services are, as clients are told.
        token_life: seconds for which a token is good.
        root: a directory with a file system, in place of every image; None: those of the Docker Engine.
    """

    def __init__(self, address: str, token_life: float, root: Path | None = None) -> None:
        self.address = address
        self.token_life = token_life
        self._key = secrets.token_bytes(16)
        self._root = root
        self.record = Record()
        self.apps: dict[str, str] = {}
        self.images: dict[str, Image] = {}
        self.secrets: dict[str, dict[str, str]] = {}
        self.volumes: dict[str, str] = {}
        self.sandboxes: dict[str, Sandbox] = {}
        self.named: dict[str, str] = {}
        self._made: dict[str, asyncio.Future[Sandbox]] = {}
        self.directory = Path(tempfile.mkdtemp(prefix="shellward-modal-"))
        self._unpacked: dict[str, asyncio.Future[RootFs]] = {}

    def token(self) -> str:
        """A token of the form that the SDK reads: it looks at its end alone."""
        parts = [{"alg": "none"}, {"exp": int(time.time() + self.token_life)}]
        words = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
        text = ".".join(words)
        return f"{text}.{self._signature(text)}"

    def _signature(self, text: str) -> str:
        return hmac.digest(self._key, text.encode(), "sha256").hex()

    def knows_bearer(self, metadata: Mapping[str, Any]) -> bool:
        """Whether a call at a worker has a token that was given out here, and is good still."""
        text, _, signature = str(metadata.get("authorization", "")).removeprefix("Bearer ").rpartition(".")
        if not text or not hmac.compare_digest(signature, self._signature(text)):
            return False
        part = text.partition(".")[2]
        ends = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))["exp"]
        return bool(time.time() < ends + _GRACE)

    def knows_client(self, metadata: Mapping[str, Any]) -> bool:
        """Whether a call at Modal itself has the id and the secret of a token; any that look like one."""
        found = [str(metadata.get(f"x-modal-token-{part}", "")) for part in ("id", "secret")]
        return found[0].startswith("ak-") and found[1].startswith("as-")

    # -- images --------------------------------------------------------------------------------------------

    async def image(self, commands: list[str], base_images: Iterable[str]) -> Image:
        """Find or make the image of a Dockerfile.

        Raises:
            NoSuchImage: its base is not there.
        """
        base = next((self.images[each] for each in base_images if each in self.images), None)
        if base is None:
            directory, env, workdir = await self._unpack(base_of(commands))
            base = Image(id="", layers=(directory,), env=env, workdir=workdir)
        variables = dict(base.env)
        for line in commands:
            word, _, rest = line.strip().partition(" ")
            if word.upper() == "ENV" and "=" in rest:
                variables[rest.partition("=")[0]] = rest.partition("=")[2].strip("'\"")
        made = Image(
            id=f"im-{secrets.token_hex(11)}",
            layers=base.layers,
            env=variables,
            workdir=base.workdir,
            commands=(*base.commands, *commands),
        )
        self.images[made.id] = made
        return made

    async def _unpack(self, name: str) -> RootFs:
        """Unpack an image once, however many ask for it."""
        if self._root is not None:
            return RootFs(str(self._root), {}, "/")
        if name not in self._unpacked:
            self._unpacked[name] = asyncio.ensure_future(asyncio.to_thread(rootfs, stand_in(name), cache()))
        try:
            return await asyncio.shield(self._unpacked[name])
        except NoSuchImage:
            self._unpacked.pop(name, None)
            raise

    def known_image(self, name: str) -> Image:
        """Return an image by its id; NOT_FOUND: there is none."""
        if name not in self.images:
            raise GRPCError(Status.NOT_FOUND, f"Image {name} not found")
        return self.images[name]

    async def snapshot(self, sandbox: Sandbox) -> Image:
        """Save a sandbox's file system as an image."""
        name = f"im-{secrets.token_hex(11)}"
        layer = str(self.directory / name)
        await asyncio.to_thread(sandbox.save, layer)
        base = sandbox.wanted.image
        self.images[name] = Image(id=name, layers=(layer, *base.layers), env=base.env, workdir=base.workdir)
        return self.images[name]

    def volume(self, name: str) -> str:
        """Return the directory of a volume, which is made when it is not there."""
        if name not in self.volumes:
            directory = self.directory / f"volume-{len(self.volumes)}"
            directory.mkdir()
            self.volumes[name] = str(directory)
        return self.volumes[name]

    # -- sandboxes -----------------------------------------------------------------------------------------

    async def create(self, key: str, wanted: Wanted, *, first: bool) -> Sandbox:
        """Make a sandbox; with the key of an earlier call, that is a repetition, and answers the same.

        Args:
            key: the call's idempotency key.
            wanted: how it is to be.
            first: of the first kind (V1), which its id shows.
        """
        if key and key in self._made:
            return await asyncio.shield(self._made[key])
        holder = self.named.get(f"{wanted.app}/{wanted.name}") if wanted.name else None
        if holder is not None and not self.sandboxes[holder].ended.is_set():
            raise GRPCError(Status.ALREADY_EXISTS, f"Sandbox with name '{wanted.name}' already exists")
        making = asyncio.ensure_future(self._create(wanted, first=first))
        if key:
            self._made[key] = making
        return await asyncio.shield(making)

    async def _create(self, wanted: Wanted, *, first: bool) -> Sandbox:
        suffix = "".join(secrets.choice(_DIGITS) for _ in range(22)) if first else secrets.token_hex(12)
        sandbox = Sandbox(f"sb-{suffix}", wanted)
        self.sandboxes[sandbox.id] = sandbox
        if wanted.name:
            self.named[f"{wanted.app}/{wanted.name}"] = sandbox.id
        try:
            await sandbox.start()
            for port in wanted.ports:
                await self._tunnel(sandbox, port)
        except NotStarted as error:
            sandbox.end(TERMINATED)
            raise GRPCError(Status.FAILED_PRECONDITION, f"Sandbox failed to start: {error}") from error
        for each in [each for each in self.sandboxes.values() if each.ended.is_set()][:-_KEPT]:
            del self.sandboxes[each.id]
        return sandbox

    async def _tunnel(self, sandbox: Sandbox, port: int) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                inside = await sandbox.connect(port)
            except NotStarted:
                writer.close()
                return
            inside.setblocking(False)
            theirs, ours = await asyncio.open_connection(sock=inside)
            await asyncio.gather(_pass_on(reader, ours), _pass_on(theirs, writer))

        sandbox.tunnels[port] = await asyncio.start_server(serve, "127.0.0.1", 0)

    def sandbox(self, name: str) -> Sandbox:
        """Return a sandbox by its id; NOT_FOUND: there was none."""
        if name not in self.sandboxes:
            raise GRPCError(Status.NOT_FOUND, f"Sandbox with ID {name} not found")
        return self.sandboxes[name]

    def task(self, name: str) -> Sandbox:
        """Return a running sandbox by the id of its task; NOT_FOUND: there is none."""
        for each in self.sandboxes.values():
            if each.task_id == name and not each.ended.is_set():
                return each
        raise GRPCError(Status.NOT_FOUND, f"Task {name} not found: it has finished")

    def close(self) -> None:
        """End everything."""
        for each in self.sandboxes.values():
            each.end(TERMINATED)
        shutil.rmtree(self.directory, ignore_errors=True)

    def seen(self) -> list[dict[str, Any]]:
        """Describe the sandboxes, for tests."""
        return [
            {
                "id": each.id,
                "running": not each.ended.is_set(),
                "why": each.why,
                "status": each.status if each.why == EXITED else None,
                "pid": each.pid,
                "tags": each.wanted.tags,
                "name": each.wanted.name,
                "image": list(each.wanted.image.commands),
                "definition": str(each.wanted.definition),
                "execs": len(each.execs),
            }
            for each in self.sandboxes.values()
        ]


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(ConnectionError, OSError, RuntimeError):
        if writer.can_write_eof():
            writer.write_eof()
