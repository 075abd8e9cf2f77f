"""Rows about Modal: the real SDK against the loopback service, near and far."""

import importlib.util
import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from far import far
from figures import Bar, Measured, Row, Settings, Skipped, compare, timed
from transfers import moved, rows

from shellward import environments

if TYPE_CHECKING:
    from shellward.environments import Environment
    from shellward.testing.services.modal import ModalService

_DELAY: Final = 0.015
_SANDBOXES: Final = 50
_COMMANDS: Final = 20


@contextmanager
def _service(delay: float = 0.0) -> Iterator["ModalService"]:
    """Start a loopback Modal, and point the SDK at it; with a delay, through a slow network.

    Raises:
        Skipped: the SDK or the image is not here.
    """
    if importlib.util.find_spec("modal") is None or shutil.which("docker") is None:
        raise Skipped("the modal SDK, or the docker command that has its image, is not installed")
    from shellward.testing.services.modal import ModalService

    before = dict(os.environ)
    with ModalService() as service:
        try:
            os.environ.update(service.variables)
            if not delay:
                yield service
                return
            with far(urlsplit(service.address).port or 0, delay) as port:
                address = f"http://127.0.0.1:{port}"
                service.advertise(address)
                os.environ["MODAL_SERVER_URL"] = address
                yield service
        finally:
            os.environ.clear()
            os.environ.update(before)


def _create(settings: Settings) -> "Environment":
    return environments.create("modal", image=settings.image)


def _true(settings: Settings) -> Measured:
    with _service(), _create(settings) as environment:
        sandbox = environment.backend.sandbox  # type: ignore[attr-defined]  # the SDK's own, to compare with

        return compare(
            timed(lambda: environment.run("true").check()),
            timed(lambda: sandbox.exec("true").wait()),
            samples=settings.of(200, 4),
            block=settings.of(5, 2),
        )


def _far(settings: Settings) -> Measured:
    with _service(_DELAY), _create(settings) as environment:
        environment.run("true").check()
        return compare(
            timed(lambda: environment.run("true").check()),
            timed(lambda: time.sleep(2 * _DELAY)),
            samples=settings.of(100, 4),
            block=settings.of(5, 2),
            note=f"{_DELAY * 1000:g} ms added each way",
        )


def _many(settings: Settings) -> Measured:
    many = settings.of(_SANDBOXES, 3)
    with _service() as service, ThreadPoolExecutor(many) as pool:

        def ours(number: int) -> None:
            with _create(settings) as environment:
                for turn in range(_COMMANDS):
                    said = environment.run(f"echo {number}.{turn}").stdout
                    if said != f"{number}.{turn}\n":
                        raise RuntimeError(f"sandbox {number} answered {said[:200]!r}")

        def theirs(number: int) -> None:
            import modal

            app = modal.App.lookup("shellward", create_if_missing=True)
            sandbox = modal.Sandbox.create("sleep", "300", app=app, image=modal.Image.from_registry(settings.image))
            for turn in range(_COMMANDS):
                process = sandbox.exec("echo", f"{number}.{turn}")
                process.stdout.read()
                process.wait()
            sandbox.terminate()

        measured = compare(
            timed(lambda: list(pool.map(ours, range(many))), 1),
            timed(lambda: list(pool.map(theirs, range(many))), 1),
            samples=settings.of(4, 1),
            note="no error, no output mixed, nothing left",
        )
        if left := service.sandboxes():
            raise RuntimeError(f"{len(left)} sandboxes are left")
        service.assert_complete()
        return measured


def _moved(settings: Settings, *, direction: str) -> Measured:
    with _service():
        return moved(settings, "modal", direction, settings.image)


ROWS = (
    Row(
        "modal-true",
        'modal `run("true")`, loopback service',
        "the SDK's `exec` and `wait` of `true`",
        "ms",
        Bar("<=", 0.4),
        _true,
    ),
    Row(
        "modal-far",
        'modal `run("true")`, a far service',
        "one round trip, slept",
        "ms",
        Bar("<=", 1.2),
        _far,
    ),
    Row(
        "modal-many",
        f"modal, {_SANDBOXES} sandboxes at once: create, {_COMMANDS} commands each, close",
        "the SDK: create, `exec`, `read` and `wait` as often, terminate",
        "s",
        Bar("<=", 1.0),
        _many,
    ),
    *rows("modal", _moved),
)
