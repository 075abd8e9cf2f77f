"""Modal's places: a loopback service of this process's own, and the real one."""

import atexit
import contextlib
import importlib.util
import os
import tempfile
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from shellward.environments.registry import backend
from shellward.testing.place import Faults, Place, Refusal, SmallDisk, local_small_disk, modal_processes
from shellward.testing.services.modal.client import ModalService

from .common import LABEL, RUN, can_mount


def modal(name: str, image: str, **more: Any) -> Place:
    """The real SDK at a loopback Modal of this process's own (shellward.testing.services.modal)."""
    return Place(
        name=name,
        kind="modal",
        large_file=100_000_000,
        config={"image": image, "labels": {LABEL: f"{name}-{RUN}"}, "ports": [8765]},
        processes=lambda env: service().processes(env.handle.partition(":")[2]),
        left_behind=lambda: [
            *(each["id"] for each in service().sandboxes(tags={LABEL: f"{name}-{RUN}"})),
            *service().lacking(),  # what the SDK called and the service does not know
        ],
        faults=Faults(
            kill_sandbox=lambda env: service().end(env.handle.partition(":")[2]),
            restart_daemon="the SDK comes back to a service that was away, and commands go on; tests/modal_backend",
            small_disk=(lambda: _small_volume(name)) if can_mount() else "needs root to mount one",
            small_memory="the loopback service does not limit memory",
            few_pids="Modal does not limit processes",
            shared_directory=_shared_volume,
        ),
        refusals=[
            Refusal(name="no token", variables={"MODAL_TOKEN_ID": "", "MODAL_TOKEN_SECRET": ""}, mentions=("token",)),
            Refusal(
                name="nobody answers",
                variables={"MODAL_SERVER_URL": "http://127.0.0.1:9"},
                config={"connect_timeout": 3},
                mentions=("127.0.0.1:9",),
            ),
            Refusal(name="missing image", config={"image": "shellward/no-such:none"}, mentions=("shellward/no-such",)),
            Refusal(name="missing snapshot", config={"image": "im-0123456789abcdef"}, mentions=("im-0123",)),
            Refusal(name="missing secret", config={"secrets": ["no-such-secret"]}, mentions=("no-such-secret",)),
            Refusal(name="missing volume", config={"volumes": {"/data": "no-such"}}, mentions=("no-such",)),
        ],
        wrong_settings={
            "colour": "blue",
            "env": 7,
            "cwd": 7,
            "image": 7,
            "cpus": "two",
            "memory": "plenty",
            "gpu": 7,
            "network": "some",
            "ports": "many",
            "tls_ports": [8765],
            "secrets": "x",
            "volumes": {"data": "x"},
            "labels": {"shellward-owner": "me"},
            "timeout": 0,
            "idle_timeout": "soon",
            "lease": "soon",
            "connect_timeout": 0,
        },
        **more,
    )


def modal_cloud() -> Place:
    """The real Modal, with the account of whoever runs this; see docs/modal.md for what that costs."""
    label = {LABEL: f"modal-cloud-{RUN}"}
    no_way_in = "it needs Modal's own side"
    return Place(
        name="modal-cloud",
        kind="modal",
        large_file=100_000_000,
        config={"cpus": 0.25, "labels": label, "timeout": 1800, "ports": [8765]},
        processes=modal_processes,
        left_behind=lambda: [each.handle for each in backend("modal").list_environments() if label == each.labels],
        faults=Faults(
            kill_sandbox=lambda env: env.backend.sandbox.terminate(),  # type: ignore[attr-defined]  # the SDK's own
            restart_daemon=no_way_in,
            small_disk=no_way_in,
            small_memory={"memory": "128m"},
            few_pids="Modal does not limit processes",
            shared_directory=no_way_in,
        ),
        wrong_settings={"colour": "blue", "env": 7, "image": 7},
    )


def _shared_volume(path: Path) -> dict[str, Any]:
    name = f"shared-{uuid.uuid4().hex[:8]}"
    service().volume(name, path)
    return {"volumes": {"/shared": name}}


@contextlib.contextmanager
def _small_volume(place: str) -> Iterator[SmallDisk]:
    directory = Path(tempfile.gettempdir(), f"shellward-small-{RUN}-{place}")
    with local_small_disk(directory):
        service().volume(f"small-{place}", directory)
        yield SmallDisk({"volumes": {"/small": f"small-{place}"}}, "/small")


@cache
def service() -> ModalService:
    """This process's loopback Modal; clients find it by the environment that they inherit."""
    service = ModalService()
    atexit.register(service.close)
    os.environ.update(service.variables)
    return service


@cache
def why_no_service() -> str:
    """Start the service and the SDK, whose thread and descriptors stay; say why that cannot be."""
    if importlib.util.find_spec("modal") is None:
        return "the modal SDK is not installed"
    service()
    found = backend("modal").doctor()
    return "" if found.works else f"{found.summary}: {found.advice}"


def why_no_account() -> str:
    """Say why the real Modal cannot be used; empty: it can, and the SDK's own client is there, which stays."""
    found = backend("modal").doctor()
    if not found.works:
        return f"{found.summary}: {found.advice}"
    import modal

    modal.Client.from_env()
    return ""
