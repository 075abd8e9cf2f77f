"""The places at which this repository runs the suite."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from shellward.testing.daytona_place import daytona_absent
from shellward.testing.place import (
    Faults,
    Place,
    Refusal,
    SmallDisk,
    docker_drops,
    docker_labelled,
    docker_processes,
    docker_removes,
    docker_small_disk,
    local_processes,
    local_small_disk,
    service_restart,
)
from shellward.testing.singularity_place import singularity_named, singularity_processes, singularity_removes

from .common import IS_ROOT, LABEL, ROOT, RUN, can_mount
from .places_daytona import daytona, daytona_cloud, why_no_key
from .places_modal import modal, modal_cloud, why_no_account, why_no_service
from .ssh_places import SSH, SSH_CONTAINER

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
        drop_snapshot=docker_drops,
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


@contextlib.contextmanager
def _small_disk_inside(directory: Path) -> Iterator[SmallDisk]:
    with local_small_disk(directory):
        yield SmallDisk({"mounts": [{"source": str(directory), "target": "/small"}]}, "/small")


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
SINGULARITY_ROOT = (singularity("singularity-root"),)
SINGULARITY_USER = (
    singularity("singularity-user", root=False),
    singularity("singularity-fakeroot", {"fakeroot": True}),
)
SINGULARITY: tuple[Place, ...] = SINGULARITY_ROOT if IS_ROOT else SINGULARITY_USER
if "singularity" not in os.environ.get("SHELLWARD_TEST_REQUIRE", "").split(","):
    SINGULARITY = ()  # only where it is promised: it takes an Apptainer and an image
DAYTONA = daytona("daytona")
MODAL = modal("modal", "shellward/sandbox:latest")
MODAL_BUSYBOX = modal("modal-busybox", "shellward/busybox:latest", shell="sh", python=False, deviations=BUSYBOX)
CLOUD = (modal_cloud(), daytona_cloud()) if os.environ.get("SHELLWARD_TEST_CLOUD") == "1" else ()
PLACES = (
    LOCAL_BASH,
    LOCAL_SH,
    LOCAL_BUSYBOX,
    DOCKER_BASH,
    DOCKER_BUSYBOX,
    *SSH,
    DAYTONA,
    MODAL,
    MODAL_BUSYBOX,
    *SINGULARITY,
    *CLOUD,
)
"""Where the suite runs here, as this user."""
ALL_PLACES = (*(place for place in PLACES if place not in SINGULARITY), *SINGULARITY_ROOT, *SINGULARITY_USER)
"""Where it runs as root and as an ordinary user, with everything installed."""


def _no_local(place: Place) -> str:
    if place is LOCAL_BUSYBOX:
        return "" if shutil.which("busybox") else "busybox is not installed"
    shell = str(place.config["shell"])
    return "" if shutil.which(shell) else f"{shell} is not installed"


def _no_sshd(place: Place) -> str:
    if place is SSH_CONTAINER:
        return _no_image(place)
    there = subprocess.run([SSHD, "status"], capture_output=True, text=True, check=False)
    return "" if there.returncode == 0 else f"tests/services/sshd: {there.stdout.strip()}"


def _no_apptainer(place: Place) -> str:
    del place
    there = shutil.which("apptainer") is not None and SIF.exists()
    return "" if there else f"no apptainer, or no image {SIF}; tests/services/apptainer image makes both"


def _no_modal(place: Place) -> str:
    return why_no_account() if place.name == "modal-cloud" else why_no_service() or _no_image(place)


def _no_image(place: Place) -> str:
    if shutil.which("docker") is None:
        return "the docker command is not installed"
    image = str(place.config.get("image", "shellward/sandbox:latest"))
    found = subprocess.run(["docker", "image", "inspect", image], capture_output=True, text=True, check=False)
    return "" if found.returncode == 0 else f"image {image}: {found.stderr.strip()}"


_ABSENT = {
    "local": _no_local,
    "docker": _no_image,
    "ssh": _no_sshd,
    "singularity": _no_apptainer,
    "daytona": lambda place: why_no_key() if place.name == "daytona-cloud" else daytona_absent(),
    "modal": _no_modal,
}


@cache
def why_absent(place: Place) -> str:
    """Say what is missing for a place; empty when it is there."""
    return _ABSENT[place.kind](place)
