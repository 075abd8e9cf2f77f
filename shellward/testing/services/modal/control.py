"""The control plane (service ``ModalClient``): what the SDK asks before it talks to a sandbox."""

import asyncio
import secrets
from typing import Any, Final

from google.protobuf.empty_pb2 import Empty
from grpclib import GRPCError, Status
from modal._utils.name_utils import is_valid_tag  # of apps; sandboxes are believed to be held to the same
from modal_proto import api_pb2 as api

from shellward.testing.services.boxes import Mount
from shellward.testing.services.images import NoSuchImage
from shellward.testing.services.modal.sandbox import EXITED, TERMINATED, TIMEOUT, Sandbox, Wanted
from shellward.testing.services.modal.state import State

BUILDER: Final = "2025.06"
_PAGE: Final = 100
_STATUS: Final = {
    TIMEOUT: api.GenericResult.GENERIC_STATUS_TIMEOUT,
    TERMINATED: api.GenericResult.GENERIC_STATUS_TERMINATED,
}


def result_of(sandbox: Sandbox) -> api.GenericResult:
    """How a sandbox has ended; without a status while it runs."""
    if not sandbox.ended.is_set():
        return api.GenericResult()
    if sandbox.why == EXITED:
        good = api.GenericResult.GENERIC_STATUS_SUCCESS
        status = good if sandbox.status == 0 else api.GenericResult.GENERIC_STATUS_FAILURE
        return api.GenericResult(status=status, exitcode=sandbox.status)
    return api.GenericResult(status=_STATUS[sandbox.why])


class Control:
    """One method for each call, named as the protocol names it. What is not here is missing."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def ClientHello(self, stream: Any) -> None:
        await stream.recv_message()
        await stream.send_message(api.ClientHelloResponse(image_builder_version=BUILDER))

    async def AuthTokenGet(self, stream: Any) -> None:
        await stream.recv_message()
        await stream.send_message(api.AuthTokenGetResponse(token=self._state.token()))

    async def AppGetOrCreate(self, stream: Any) -> None:
        request = await stream.recv_message()
        apps = self._state.apps
        if request.app_name not in apps:
            if request.object_creation_type != api.OBJECT_CREATION_TYPE_CREATE_IF_MISSING:
                raise GRPCError(Status.NOT_FOUND, f"App '{request.app_name}' not found")
            apps[request.app_name] = f"ap-{secrets.token_hex(11)}"
        name = apps[request.app_name]
        metadata = api.AppHandleMetadata(description=request.app_name, app_id=name, environment_name="main")
        await stream.send_message(api.AppGetOrCreateResponse(app_id=name, handle_metadata=metadata))

    async def EnvironmentGetOrCreate(self, stream: Any) -> None:
        request = await stream.recv_message()
        settings = api.EnvironmentSettings(image_builder_version=BUILDER)
        metadata = api.EnvironmentMetadata(name=request.deployment_name or "main", settings=settings)
        await stream.send_message(api.EnvironmentGetOrCreateResponse(environment_id="en-main", metadata=metadata))

    async def ImageGetOrCreate(self, stream: Any) -> None:
        request = await stream.recv_message()
        bases = [each.image_id for each in request.image.base_images]
        try:
            image = await self._state.image(list(request.image.dockerfile_commands), bases)
        except NoSuchImage as error:
            failed = api.GenericResult(status=api.GenericResult.GENERIC_STATUS_FAILURE, exception=str(error))
            await stream.send_message(api.ImageGetOrCreateResponse(image_id="im-none", result=failed))
            return
        good = api.GenericResult(status=api.GenericResult.GENERIC_STATUS_SUCCESS)
        metadata = api.ImageMetadata(image_builder_version=BUILDER)
        await stream.send_message(api.ImageGetOrCreateResponse(image_id=image.id, result=good, metadata=metadata))

    async def ImageFromId(self, stream: Any) -> None:
        request = await stream.recv_message()
        image = self._state.known_image(request.image_id)
        await stream.send_message(
            api.ImageFromIdResponse(image_id=image.id, metadata=api.ImageMetadata(image_builder_version=BUILDER))
        )

    async def SecretGetOrCreate(self, stream: Any) -> None:
        request = await stream.recv_message()
        name = request.deployment_name
        if name:
            if f"st-{name}" not in self._state.secrets:
                raise GRPCError(Status.NOT_FOUND, f"Secret '{name}' not found")
            key = f"st-{name}"
        else:
            key = f"st-{secrets.token_hex(11)}"
            self._state.secrets[key] = dict(request.env_dict)
        metadata = api.SecretMetadata(name=name)
        await stream.send_message(api.SecretGetOrCreateResponse(secret_id=key, metadata=metadata))

    async def VolumeGetOrCreate(self, stream: Any) -> None:
        request = await stream.recv_message()
        name = request.deployment_name
        missing = request.object_creation_type != api.OBJECT_CREATION_TYPE_CREATE_IF_MISSING
        if missing and name not in self._state.volumes:
            raise GRPCError(Status.NOT_FOUND, f"Volume '{name}' not found")
        self._state.volume(name)
        metadata = api.VolumeMetadata(name=name, version=api.VOLUME_FS_VERSION_V2)
        await stream.send_message(
            api.VolumeGetOrCreateResponse(volume_id=f"vo-{name}", version=metadata.version, metadata=metadata)
        )

    # -- sandboxes -----------------------------------------------------------------------------------------

    def variables(self, sources: Any) -> dict[str, str]:
        """Put the variables of secrets together, later ones last."""
        found: dict[str, str] = {}
        for source in sources:
            if source.WhichOneof("source") == "env":
                found |= dict(source.env.contents)
            else:
                found |= self._secret(source.secret_id)
        return found

    def _secret(self, name: str) -> dict[str, str]:
        if name not in self._state.secrets:
            raise GRPCError(Status.NOT_FOUND, f"Secret {name} not found")
        return self._state.secrets[name]

    def _wanted(self, request: Any, env: dict[str, str]) -> Wanted:
        for tag in request.tags:
            if not (is_valid_tag(tag.tag_name, 63) and is_valid_tag(tag.tag_value, 63)):
                raise GRPCError(Status.INVALID_ARGUMENT, f"Invalid tag: {tag.tag_name!r}={tag.tag_value!r}")
        definition = request.definition
        image = self._state.known_image(definition.image_id)
        volumes = [
            Mount(self._state.volume(each.volume_id.removeprefix("vo-")), each.mount_path, each.read_only)
            for each in definition.volume_mounts
        ]
        usual = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
        return Wanted(
            app=request.app_id,
            argv=list(definition.entrypoint_args) or ["sleep", "172800"],
            image=image,
            env={**usual, **image.env, **env},
            workdir=definition.workdir or image.workdir,
            timeout=definition.timeout_secs,
            idle_timeout=definition.idle_timeout_secs or None,
            ports={each.port: each.unencrypted for each in definition.open_ports.ports},
            volumes=volumes,
            name=definition.name,
            tags={each.tag_name: each.tag_value for each in request.tags},
            definition=definition,
        )

    async def SandboxCreateV2(self, stream: Any) -> None:
        request = await stream.recv_message()
        wanted = self._wanted(request, self.variables(request.secret_sources))
        sandbox = await self._state.create(stream.metadata.get("x-idempotency-key", ""), wanted, first=False)
        await stream.send_message(
            api.SandboxCreateV2Response(
                sandbox_id=sandbox.id,
                task_id=sandbox.task_id,
                metadata=api.SandboxHandleMetadata(app_id=wanted.app),
                command_router_access=api.CommandRouterAccess(url=self._state.address, jwt=self._state.token()),
            )
        )

    async def SandboxCreate(self, stream: Any) -> None:
        request = await stream.recv_message()
        env: dict[str, str] = {}
        for each in request.definition.secret_ids:
            env |= self._secret(each)
        wanted = self._wanted(request, env)
        sandbox = await self._state.create(stream.metadata.get("x-idempotency-key", ""), wanted, first=True)
        metadata = api.SandboxHandleMetadata(app_id=wanted.app)
        await stream.send_message(api.SandboxCreateResponse(sandbox_id=sandbox.id, metadata=metadata))

    async def SandboxGetCommandRouterAccess(self, stream: Any) -> None:
        request = await stream.recv_message()
        sandbox = self._state.sandbox(request.sandbox_id)
        if sandbox.ended.is_set():
            raise GRPCError(Status.FAILED_PRECONDITION, f"Sandbox {sandbox.id} has finished")
        await stream.send_message(
            api.SandboxGetCommandRouterAccessResponse(url=self._state.address, jwt=self._state.token())
        )

    async def TaskGetCommandRouterAccess(self, stream: Any) -> None:
        request = await stream.recv_message()
        self._state.task(request.task_id)
        await stream.send_message(
            api.TaskGetCommandRouterAccessResponse(url=self._state.address, jwt=self._state.token())
        )

    async def SandboxGetTaskIdV2(self, stream: Any) -> None:
        request = await stream.recv_message()
        sandbox = self._state.sandbox(request.sandbox_id)
        if sandbox.ended.is_set():
            await stream.send_message(api.SandboxGetTaskIdResponse(task_result=result_of(sandbox)))
        else:
            await stream.send_message(api.SandboxGetTaskIdResponse(task_id=sandbox.task_id))

    async def SandboxWaitV2(self, stream: Any) -> None:
        request = await stream.recv_message()
        sandbox = self._state.sandbox(request.sandbox_id)
        if request.timeout > 0 and not sandbox.ended.is_set():
            waiting = asyncio.ensure_future(sandbox.ended.wait())
            await asyncio.wait({waiting}, timeout=request.timeout)
            waiting.cancel()
        metadata = api.SandboxHandleMetadata(app_id=sandbox.wanted.app)
        await stream.send_message(api.SandboxWaitResponse(result=result_of(sandbox), metadata=metadata))

    async def SandboxTerminateV2(self, stream: Any) -> None:
        request = await stream.recv_message()
        sandbox = self._state.sandbox(request.sandbox_id)
        before = result_of(sandbox)
        sandbox.end(TERMINATED)
        await stream.send_message(api.SandboxTerminateResponse(existing_result=before))

    async def SandboxListV2(self, stream: Any) -> None:
        request = await stream.recv_message()
        tags = {each.tag_name: each.tag_value for each in request.tags}
        found = [
            each
            for each in self._state.sandboxes.values()
            if (not request.app_id or each.wanted.app == request.app_id)
            and tags.items() <= each.wanted.tags.items()
            and (request.include_finished or not each.ended.is_set())
            and (not request.before_timestamp or each.created < request.before_timestamp)
        ]
        found.sort(key=lambda each: each.created, reverse=True)
        infos = [
            api.SandboxInfo(
                id=each.id,
                created_at=each.created,
                app_id=each.wanted.app,
                name=each.wanted.name,
                task_info=api.TaskInfo(id=each.task_id, started_at=each.created, result=result_of(each)),
                tags=[api.SandboxTag(tag_name=key, tag_value=value) for key, value in each.wanted.tags.items()],
                metadata=api.SandboxHandleMetadata(app_id=each.wanted.app),
            )
            for each in found[:_PAGE]
        ]
        await stream.send_message(api.SandboxListResponse(sandboxes=infos))

    async def SandboxTagsGetV2(self, stream: Any) -> None:
        request = await stream.recv_message()
        tags = self._state.sandbox(request.sandbox_id).wanted.tags
        await stream.send_message(
            api.SandboxTagsGetResponse(
                tags=[api.SandboxTag(tag_name=key, tag_value=value) for key, value in tags.items()]
            )
        )

    async def SandboxTagsSetV2(self, stream: Any) -> None:
        request = await stream.recv_message()
        sandbox = self._state.sandbox(request.sandbox_id)
        sandbox.wanted.tags = {each.tag_name: each.tag_value for each in request.tags}
        await stream.send_message(Empty())

    async def SandboxGetFromNameV2(self, stream: Any) -> None:
        request = await stream.recv_message()
        app = self._state.apps.get(request.app_name, "")
        name = self._state.named.get(f"{app}/{request.sandbox_name}")
        if name is None or (self._state.sandboxes[name].ended.is_set() and not request.include_terminated):
            raise GRPCError(Status.NOT_FOUND, f"Sandbox with name '{request.sandbox_name}' not found")
        metadata = api.SandboxHandleMetadata(app_id=app)
        await stream.send_message(api.SandboxGetFromNameResponse(sandbox_id=name, metadata=metadata))

    async def SandboxGetTunnelsV2(self, stream: Any) -> None:
        request = await stream.recv_message()
        sandbox = self._state.sandbox(request.sandbox_id)
        tunnels = []
        for port, server in sandbox.tunnels.items():
            ours = server.sockets[0].getsockname()[1]
            plain = {"unencrypted_host": "127.0.0.1", "unencrypted_port": ours} if sandbox.wanted.ports[port] else {}
            tunnels.append(api.TunnelData(host="127.0.0.1", port=ours, container_port=port, **plain))
        good = api.GenericResult(status=api.GenericResult.GENERIC_STATUS_SUCCESS)
        await stream.send_message(api.SandboxGetTunnelsResponse(result=good, tunnels=tunnels))

    # What sandboxes of the first kind are asked with: the same answers.
    SandboxGetTaskId = SandboxGetTaskIdV2
    SandboxWait = SandboxWaitV2
    SandboxTerminate = SandboxTerminateV2
    SandboxList = SandboxListV2
    SandboxTagsGet = SandboxTagsGetV2
    SandboxTagsSet = SandboxTagsSetV2
    SandboxGetFromName = SandboxGetFromNameV2
    SandboxGetTunnels = SandboxGetTunnelsV2
