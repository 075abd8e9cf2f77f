"""Rows about one short call: what it costs to run next to nothing."""

import subprocess
from functools import partial

from figures import Bar, Measured, Row, Settings, compare, quietly, timed
from places import place, usual

_SUBPROCESS = 'local `subprocess.run(["bash", "-c", "true"])`'


def _subprocess() -> None:
    subprocess.run(["bash", "-c", "true"], capture_output=True, check=True)


def _against_subprocess(settings: Settings, *, kind: str, command: str) -> Measured:
    with place(kind, settings) as environment:

        def ours() -> None:
            environment.run(command).check()

        # Twenty in a row find a warm cache and a processor that is awake; a call now and then finds neither.
        by_turns = compare(timed(ours), timed(_subprocess), samples=settings.of(400, 4))
        return compare(
            timed(ours),
            timed(_subprocess),
            samples=settings.of(1000, 20),
            block=settings.of(20, 5),
            note=f"{by_turns.ratio:.3g} when each takes turns",
        )


def _against_exec(settings: Settings, *, kind: str, command: str) -> Measured:
    with place(kind, settings) as environment:
        words = usual(environment, command)
        return compare(
            timed(lambda: environment.run(command).check()),
            timed(lambda: quietly(words)),
            samples=settings.of(200, 4),
            block=settings.of(5, 2),
        )


def _row(kind: str, command: str, name: str, limit: float) -> Row:
    measure = partial(_against_subprocess, kind=kind, command=command)
    return Row(name, f'{kind} `run("{command}")`', _SUBPROCESS, "ms", Bar("<=", limit), measure)


ROWS = (
    _row("local", "true", "local-true", 0.35),
    _row("local", "/bin/true", "local-bin-true", 1.0),
    _row("docker", "true", "docker-true", 0.5),
    _row("docker", "/bin/true", "docker-bin-true", 1.2),
    _row("ssh", "true", "ssh-true", 0.5),
    _row("ssh", "/bin/true", "ssh-bin-true", 1.2),
    Row(
        "docker-bin-true-exec",
        'docker `run("/bin/true")`',
        "`docker exec`, same container",
        "ms",
        Bar("<=", 1 / 40),
        partial(_against_exec, kind="docker", command="/bin/true"),
    ),
    _row("singularity", "true", "singularity-true", 0.5),
    _row("singularity", "/bin/true", "singularity-bin-true", 1.2),
    Row(
        "singularity-true-exec",
        'singularity `run("true")`',
        "`apptainer exec instance://`, same instance",
        "ms",
        Bar("<=", 1 / 30),
        partial(_against_exec, kind="singularity", command="true"),
    ),
    Row(
        "singularity-bin-true-exec",
        'singularity `run("/bin/true")`',
        "`apptainer exec instance://`, same instance",
        "ms",
        Bar("<=", 1 / 30),
        partial(_against_exec, kind="singularity", command="/bin/true"),
    ),
)
