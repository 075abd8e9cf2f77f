"""Daytona's places: the loopback service of this process's own, and the real one."""

import shlex
from typing import Any

from shellward.environments.daytona.client import Client, sdk
from shellward.environments.daytona.config import DaytonaConfig
from shellward.environments.environment import Environment
from shellward.environments.registry import backend
from shellward.testing.daytona_place import (
    daytona_evicts,
    daytona_labelled,
    daytona_processes,
    daytona_small_disk,
)
from shellward.testing.place import TABLE, Faults, Place, Refusal, Seen, Viewed, table_rows

from .common import LABEL, RUN


def daytona(name: str, changes: dict[str, Any] | None = None, **more: Any) -> Place:
    """The loopback service of ``shellward.testing.services``, which the first test of a place starts."""
    return Place(
        name=name,
        kind="daytona",
        large_file=100_000_000,
        shell_processes=9,  # two terminals' shells and what moves their bytes
        config={"labels": {"conformance": f"{RUN}-{name}"}, **(changes or {})},
        processes=daytona_processes,
        left_behind=lambda: daytona_labelled("conformance", f"{RUN}-{name}"),
        faults=Faults(
            kill_sandbox=daytona_evicts,
            restart_daemon="a cloud does not restart; tests/daytona has what breaks",
            small_disk=daytona_small_disk,
            small_memory="the loopback service limits nothing",
            few_pids="the loopback service limits nothing",
            shared_directory="nothing of this machine is mounted in a cloud",
        ),
        refusals=[
            Refusal(name="no key", variables={"DAYTONA_API_KEY": ""}, mentions=("DAYTONA_API_KEY",)),
            Refusal(name="wrong key", variables={"DAYTONA_API_KEY": "wrong"}, mentions=("DAYTONA_API_KEY",)),
            Refusal(name="closed port", config={"api_url": "http://127.0.0.1:9/api"}, mentions=("cannot be reached",)),
            Refusal(name="missing snapshot", config={"snapshot": "no-such-snapshot"}, mentions=("no-such-snapshot",)),
            Refusal(name="missing image", config={"image": "no-such/image:1"}, mentions=("no-such/image:1",)),
        ],
        wrong_settings={
            "colour": "blue",
            "env": 7,
            "cwd": 7,
            "snapshot": 7,
            "image": 7,
            "api_key": 7,
            "api_url": 7,
            "target": 7,
            "user": {},
            "language": "cobol",
            "cpus": 2,
            "memory": "plenty",
            "disk": "much",
            "gpus": "many",
            "labels": "x",
            "volumes": [{"nome": "x"}],
            "network": "bridged",
            "network_allow": "all",
            "public": "perhaps",
            "lease": "soon",
            "auto_stop": -1,
            "auto_archive": -1,
            "auto_delete": -2,
            "ttl": -1,
            "create_timeout": 0,
        },
        **more,
    )


def daytona_cloud() -> Place:
    """The real Daytona, with the key of whoever runs this; see docs/daytona.md for what that costs."""
    label = {LABEL: f"daytona-cloud-{RUN}"}
    no_way_in = "it needs Daytona's own side"
    minutes = "Daytona stops a sandbox after minutes in which nobody used it, and looking into it is a use"
    return Place(
        name="daytona-cloud",
        kind="daytona",
        large_file=100_000_000,
        shell_processes=9,
        root=False,
        config={"labels": label, "ttl": 120, "auto_stop": 10},
        processes=_seen_from_outside,
        left_behind=lambda: [each.handle for each in backend("daytona").list_environments() if label == each.labels],
        faults=Faults(
            kill_sandbox=_delete,
            restart_daemon=no_way_in,
            small_disk=no_way_in,
            small_memory="the smallest sandbox has a GiB",
            few_pids="Daytona does not limit processes",
            shared_directory="nothing of this machine is mounted in a cloud",
        ),
        wrong_settings={"colour": "blue", "env": 7, "image": 7},
        deviations={"clients.killed_client_and_its_lease": minutes, "process_faults.keeps_its_sandbox": minutes},
    )


def _seen_from_outside(env: Viewed) -> list[Seen]:
    client = Client(DaytonaConfig())
    try:
        sandbox = client.api.get(env.handle.partition(":")[2])
        return table_rows(sandbox.process.exec(f"exec sh -c {shlex.quote(TABLE)}").result)
    except sdk().DaytonaError:
        return []  # it is gone
    finally:
        client.close()


def _delete(env: Environment) -> None:
    env.backend.sandbox.delete()  # type: ignore[attr-defined]  # the SDK's own


def why_no_key() -> str:
    """Say why the real Daytona cannot be used; empty: it can."""
    found = backend("daytona").doctor()
    return "" if found.works else f"{found.summary}: {found.advice}"
