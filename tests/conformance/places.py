"""The places at which this repository runs the suite."""

import atexit
import contextlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from shellward.environments.registry import backend
from shellward.testing.place import (
    Faults,
    Place,
    Refusal,
    SmallDisk,
    docker_labelled,
    docker_processes,
    docker_removes,
    docker_small_disk,
    local_processes,
    local_small_disk,
    modal_processes,
    service_restart,
    singularity_named,
    singularity_processes,
    singularity_removes,
    ssh_left_behind,
    ssh_processes,
    ssh_small_disk,
    sshd_directory,
)
from shellward.testing.services.modal.client import ModalService

ROOT = Path(__file__).resolve().parents[2]
RUN = uuid.uuid4().hex[:12]
LABEL = "shellward.conformance"
IS_ROOT = os.geteuid() == 0
ENGINE = ROOT / "tests" / "services" / "docker-engine"
SIF = Path(os.environ.get("SHELLWARD_TEST_IMAGES", "/var/cache/shellward-tests"), "sandbox.sif")
SSHD = ROOT / "tests" / "services" / "sshd"


def local(name: str, program: str, **more: Any) -> Place:
    small = Path(tempfile.gettempdir(), f"shellward-small-{RUN}-{name}")
    return Place(
        name=name,
        kind="local",
        config={"shell": program},
        processes=local_processes,
        root=IS_ROOT,
        python=shutil.which("python3") is not None,
        same_machine=True,
        lease=False,
        faults=Faults(
            kill_sandbox="local commands run on this machine; there is nothing to remove",
            restart_daemon="local commands need no service",
            small_disk=(lambda: local_small_disk(small)) if can_mount() else "needs root to mount one",
            small_memory="local has no limits of its own; isolation is another issue",
            few_pids="local has no limits of its own; isolation is another issue",
            shared_directory="local files need no mount",
        ),
        wrong_settings={"colour": "blue", "env": 7, "cwd": 7, "shell": 7, "image": "docker's, not local's"},
        **more,
    )


def docker(name: str, image: str, **more: Any) -> Place:
    dead = "unix:///tmp/shellward-no-such-engine.sock"
    refusals = [
        Refusal(
            name="missing image",
            config={"image": "shellward/no-such-image:none", "pull": "never"},
            mentions=("shellward/no-such-image",),
        ),
        Refusal(name="missing daemon", variables={"DOCKER_HOST": dead}, mentions=("shellward-no-such-engine",)),
        Refusal(
            name="daemon at a closed port",
            variables={"DOCKER_HOST": "tcp://127.0.0.1:9"},
            mentions=("127.0.0.1:9",),
        ),
        Refusal(name="missing network", config={"network": "shellward-no-such"}, mentions=("shellward-no-such",)),
    ]
    if IS_ROOT:
        refusals.append(
            Refusal(
                name="no permission on the socket",
                uid=65_534,
                imports=(  # that user may not be able to read this checkout
                    "docker",
                    "shellward.environments.docker",
                    "shellward.environments.environment",
                    "shellward.environments.registry",
                ),
                mentions=("permission",),
            )
        )
    return Place(
        name=name,
        kind="docker",
        config={"image": image, "pull": "never", "labels": {LABEL: RUN}},
        processes=docker_processes,
        left_behind=lambda: docker_labelled(f"{LABEL}={RUN}"),
        faults=Faults(
            kill_sandbox=docker_removes,
            restart_daemon=service_restart(ENGINE) if IS_ROOT else "needs root to restart the engine",
            small_disk=docker_small_disk,
            small_memory={"memory": "64m"},
            few_pids={"pids_limit": 64},
            shared_directory=lambda path: {"mounts": [{"source": str(path), "target": "/shared"}]},
        ),
        refusals=refusals,
        wrong_settings={
            "colour": "blue",
            "env": 7,
            "cwd": 7,
            "image": 7,
            "memory": "plenty",
            "cpus": "two",
            "pids_limit": "few",
            "network": 5,
            "mounts": [{"sauce": "/"}],
            "read_only": "perhaps",
            "tmpfs": "/x",
            "pull": "sometimes",
            "lease": "soon",
            "labels": "x",
            "ports": "many",
            "user": {},
        },
        **more,
    )


def ssh(name: str, user: str, changes: dict[str, Any] | None = None, **more: Any) -> Place:
    """A real sshd on this machine (tests/services/sshd), whose sessions have a process table of their own."""
    directory = sshd_directory()
    small = Path(tempfile.gettempdir(), f"shellward-small-{RUN}-{name}")
    nobody_there = {"known_hosts": str(directory / "nothing")}
    return Place(
        name=name,
        kind="ssh",
        config={"host": "shellward-target", "user": user, "config_file": str(directory / "config"), **(changes or {})},
        processes=ssh_processes(directory, user),
        root=user == "root",
        python=shutil.which("python3") is not None,
        shared_host=True,
        left_behind=ssh_left_behind(user),
        faults=Faults(
            kill_sandbox="the host is not ours to remove; tests/ssh cuts connections instead",
            restart_daemon="tests/ssh ends the server and its sessions",
            small_disk=(lambda: ssh_small_disk(directory, small)) if can_mount() else "needs root to mount one",
            small_memory="the host's limits are its own",
            few_pids="the host's limits are its own",
            shared_directory="nothing is mounted on a host",
        ),
        refusals=[
            Refusal(name="closed port", config={"port": 9}, mentions=("port 9", "refuses")),
            Refusal(name="unknown name", config={"host": "no-such-host.invalid"}, mentions=("no-such-host.invalid",)),
            Refusal(name="unknown host key", config=nobody_there, mentions=("SHA256:",)),
            Refusal(name="wrong key", config={"identity_file": str(directory / "other")}, mentions=("other",)),
            Refusal(name="no key", config={"identity_file": str(directory / "none")}, mentions=("no such file",)),
            Refusal(name="no shell", config={"user": "shellward-nologin"}, mentions=("not available",)),
            Refusal(name="password only", config={"user": "shellward-password"}, mentions=("password",)),
        ],
        wrong_settings={
            "colour": "blue",
            "env": 7,
            "cwd": 7,
            "host": 7,
            "port": "many",
            "user": {},
            "identity_file": 7,
            "known_hosts": 7,
            "host_keys": "whatever",
            "config_file": 7,
            "connect_timeout": "soon",
            "keepalive": 0,
            "lease": "soon",
            "passphrase": "open sesame",
        },
        **more,
    )


def singularity(name: str, changes: dict[str, Any] | None = None, **more: Any) -> Place:
    """A real Apptainer on this machine (tests/services/apptainer), as the user who runs the tests."""
    begin = f"{name}-{RUN}"
    small = Path(tempfile.gettempdir(), f"shellward-small-{RUN}-{name}")
    no_limits = "without systemd Apptainer limits nothing; tests/singularity has what is said then"
    return Place(
        name=name,
        kind="singularity",
        config={"image": str(SIF), "name": begin, **(changes or {})},
        processes=singularity_processes,
        left_behind=lambda: singularity_named(begin),
        faults=Faults(
            kill_sandbox=singularity_removes,
            restart_daemon="Apptainer has no daemon",
            small_disk=(lambda: _small_disk_inside(small)) if can_mount() else "needs root to mount one",
            small_memory=no_limits,
            few_pids=no_limits,
            shared_directory=lambda path: {"mounts": [{"source": str(path), "target": "/shared"}]},
        ),
        refusals=[
            Refusal(name="missing file", config={"image": "/no/such/image.sif"}, mentions=("/no/such/image.sif",)),
            Refusal(name="missing binary", config={"binary": "no-such-binary"}, mentions=("no-such-binary",)),
            Refusal(name="no binary", variables={"PATH": "/nowhere"}, mentions=("install apptainer",)),
            Refusal(name="no image", config={"image": "/etc/hostname"}, mentions=("/etc/hostname",)),
            Refusal(name="no shell", config={"image": "/usr/share/doc"}, mentions=("/usr/share/doc",)),
            Refusal(
                name="not fetched",
                config={"image": "docker://shellward/no-such:none", "pull": "never"},
                mentions=("shellward/no-such",),
            ),
            Refusal(
                name="missing source", config={"mounts": [{"source": "/no/x", "target": "/x"}]}, mentions=("/no/x",)
            ),
        ],
        wrong_settings={
            "colour": "blue",
            "env": 7,
            "cwd": 7,
            "image": 7,
            "pull": "sometimes",
            "name": "a/b",
            "binary": 7,
            "fakeroot": "perhaps",
            "writable": "sometimes",
            "workdir": "/no/such/place",
            "mounts": [{"source": "/a:b", "target": "/x"}],
            "network": "bridge",
            "nv": 7,
            "memory": "plenty",
            "cpus": "two",
            "pids_limit": 0,
            "cap_add": ["EVERYTHING"],
            "labels": "x",
            "lease": "soon",
            "build_timeout": 0,
        },
        **more,
    )


def modal(name: str, image: str, **more: Any) -> Place:
    """The real SDK at a loopback Modal of this process's own (shellward.testing.services.modal)."""
    return Place(
        name=name,
        kind="modal",
        config={"image": image, "labels": {LABEL: f"{name}-{RUN}"}, "ports": [8765]},
        processes=lambda env: modal_service().processes(env.handle.partition(":")[2]),
        left_behind=lambda: [each["id"] for each in modal_service().sandboxes(tags={LABEL: f"{name}-{RUN}"})],
        faults=Faults(
            kill_sandbox=lambda env: modal_service().end(env.handle.partition(":")[2]),
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
    modal_service().volume(name, path)
    return {"volumes": {"/shared": name}}


@contextlib.contextmanager
def _small_volume(place: str) -> Iterator[SmallDisk]:
    directory = Path(tempfile.gettempdir(), f"shellward-small-{RUN}-{place}")
    with local_small_disk(directory):
        modal_service().volume(f"small-{place}", directory)
        yield SmallDisk({"volumes": {"/small": f"small-{place}"}}, "/small")


@cache
def modal_service() -> ModalService:
    """This process's loopback Modal; clients find it by the environment that they inherit."""
    service = ModalService()
    atexit.register(service.close)
    os.environ.update(service.variables)
    return service


@contextlib.contextmanager
def _small_disk_inside(directory: Path) -> Iterator[SmallDisk]:
    with local_small_disk(directory):
        yield SmallDisk({"mounts": [{"source": str(directory), "target": "/small"}]}, "/small")


@cache
def can_mount() -> bool:
    """Whether this process may mount a tmpfs: root in most places, not in every container."""
    if not IS_ROOT:
        return False
    with tempfile.TemporaryDirectory() as directory:
        if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", directory], capture_output=True, check=False).returncode:
            return False
        subprocess.run(["umount", directory], check=True)
    return True


def busybox_sh() -> str:
    """Make a path whose program is busybox in its role as ``sh``."""
    directory = Path(tempfile.gettempdir(), f"shellward-busybox-{os.getuid()}")
    directory.mkdir(exist_ok=True, mode=0o700)
    link = directory / "sh"
    if not link.is_symlink():
        link.symlink_to(shutil.which("busybox") or "/bin/busybox")
    return str(link)


BUSYBOX = {"syntax.broken_syntax_leaves_the_shell": "a syntax error in its plain eval ends busybox; nothing is lost"}
LOCAL_BASH = local("local-bash", "bash")
LOCAL_SH = local("local-sh", "sh", shell="sh")
LOCAL_BUSYBOX = local("local-busybox", busybox_sh(), shell="sh", deviations=BUSYBOX)
DOCKER_BASH = docker("docker-bash", "shellward/sandbox:latest", other_user="nobody")
DOCKER_BUSYBOX = docker("docker-busybox", "shellward/busybox:latest", shell="sh", python=False, deviations=BUSYBOX)
SSH_BASH = ssh("ssh-bash", "shellward-ssh")
SSH_SH = ssh("ssh-sh", "shellward-sh", shell="sh", changes={"shell": "sh"})
SSH_ROOT = ssh("ssh-root", "root")
SINGULARITY: tuple[Place, ...]
if "singularity" not in os.environ.get("SHELLWARD_TEST_REQUIRE", "").split(","):
    SINGULARITY = ()  # a lane of its own: tests/run --singularity
elif IS_ROOT:
    SINGULARITY = (singularity("singularity-root"),)
else:
    SINGULARITY = (
        singularity("singularity-user", root=False),
        singularity("singularity-fakeroot", {"fakeroot": True}),
    )
MODAL = modal("modal", "shellward/sandbox:latest")
MODAL_BUSYBOX = modal("modal-busybox", "shellward/busybox:latest", shell="sh", python=False, deviations=BUSYBOX)
CLOUD = (modal_cloud(),) if os.environ.get("SHELLWARD_TEST_CLOUD") else ()
PLACES = (
    LOCAL_BASH,
    LOCAL_SH,
    LOCAL_BUSYBOX,
    DOCKER_BASH,
    DOCKER_BUSYBOX,
    SSH_BASH,
    SSH_SH,
    SSH_ROOT,
    MODAL,
    MODAL_BUSYBOX,
    *SINGULARITY,
    *CLOUD,
)


@cache
def _warm_modal() -> str:
    """Start the service and the SDK, whose thread and descriptors stay; say why that cannot be."""
    if importlib.util.find_spec("modal") is None:
        return "the modal SDK is not installed"
    modal_service()
    found = backend("modal").doctor()
    return "" if found.works else f"{found.summary}: {found.advice}"


@cache
def why_absent(place: Place) -> str:
    """Say what is missing for a place; empty when it is there."""
    if place is LOCAL_BUSYBOX:
        return "" if shutil.which("busybox") else "busybox is not installed"
    if place.kind == "local":
        shell = str(place.config["shell"])
        return "" if shutil.which(shell) else f"{shell} is not installed"
    if place.kind == "ssh":
        there = subprocess.run([SSHD, "status"], capture_output=True, text=True, check=False)
        return "" if there.returncode == 0 else f"tests/services/sshd: {there.stdout.strip()}"
    if place.kind == "singularity":
        there = shutil.which("apptainer") is not None and SIF.exists()
        return "" if there else f"no apptainer, or no image {SIF}; tests/services/apptainer image makes both"
    if place.name == "modal-cloud":
        found = backend("modal").doctor()
        return "" if found.works else f"{found.summary}: {found.advice}"
    return (_warm_modal() if place.kind == "modal" else "") or _why_no_image(str(place.config["image"]))


def _why_no_image(image: str) -> str:
    if shutil.which("docker") is None:
        return "the docker command is not installed"
    found = subprocess.run(["docker", "image", "inspect", image], capture_output=True, text=True, check=False)
    return "" if found.returncode == 0 else f"image {image}: {found.stderr.strip()}"
