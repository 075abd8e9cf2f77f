"""The real cloud, where somebody has an account: SHELLWARD_TEST_CLOUD=1 and DAYTONA_API_KEY. See docs/testing.md."""

import os

import pytest

from shellward import environments
from shellward.environments import daytona

pytestmark = [pytest.mark.cloud, pytest.mark.timeout(300)]
PAID = os.environ.get("SHELLWARD_TEST_CLOUD") == "1"

# Not a skip where nobody promised the cloud: without an account there is nothing to collect.
if PAID:

    def test_a_command_its_streams_and_its_input() -> None:
        with environments.create("daytona", ttl=10) as env:
            result = env.run("echo out; echo err >&2; exit 3")
            assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)
            assert env.run("cat", stdin=b"\0bytes\xff").stdout_bytes == b"\0bytes\xff"
            assert len(env.run("head -c 20000000 /dev/zero", max_output=None).stdout_bytes) == 20_000_000

    def test_it_is_found_again_after_a_stop() -> None:
        env = environments.create("daytona", ttl=10, auto_delete=-1)
        try:
            env.run("echo kept >~/file").check()
            env.detach()
            daytona.stop(env.handle)
            with environments.attach(env.handle) as again:
                assert again.run("cat ~/file").stdout == "kept\n"
        finally:
            environments.remove(env.handle)
