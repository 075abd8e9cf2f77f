"""The reaper: what nobody owns goes, what somebody owns stays."""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from shellward.process_registry import ProcessRegistry, reaper

Make = Callable[..., ProcessRegistry]

_CLIENT = """
import sys
from shellward import environments
with environments.create("local") as env:
    for ttl in (0.5, 600):
        print(env.start("sleep 300", ttl=ttl).id)
"""


def test_only_what_nobody_owns_goes(registry: ProcessRegistry) -> None:
    done = subprocess.run([sys.executable, "-c", _CLIENT], capture_output=True, text=True, check=True, timeout=60)
    short, long = done.stdout.split()
    ours = registry.start("sleep 300", ttl=0.5).id
    time.sleep(0.7)
    assert [orphan.info.id for orphan in reaper.orphans(registry)] == [short]
    assert reaper.holds(registry, "local")
    assert [orphan.info.id for orphan in reaper.reap(registry)] == [short]
    left = {info.id: info.running for info in registry.environment("local").processes()}
    assert left == {ours: True, long: True}


def test_what_has_ended_is_kept_for_its_time(registry: ProcessRegistry) -> None:
    info = registry.wait(registry.start("true").id, 20).info
    info = replace(info, owner=info.owner.rpartition(":")[0] + ":4194305", ttl=60.0)
    now = datetime.now(UTC)
    assert reaper.owned(info, now)
    assert not reaper.owned(info, now + timedelta(seconds=61))
    assert reaper.owned(replace(info, owner="somebody@elsewhere:1"), now + timedelta(days=9))
