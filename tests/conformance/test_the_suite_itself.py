"""What holds of the suite without any backend: names, promises, deviations."""

import dataclasses
import inspect
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path

import pytest

import shellward.testing
from shellward.testing import conformance
from shellward.testing.leaks import holdings
from shellward.testing.trial import raises

from .places import DOCKER_BASH, LOCAL_BASH, LOCAL_SH, PLACES


def test_every_module_of_checks_is_in_the_suite() -> None:
    directory = Path(shellward.testing.__file__).parent
    found = {path.stem.removeprefix("checks_") for path in directory.glob("checks_*.py")}
    assert found == set(conformance.SUBJECTS)


def test_every_check_says_what_it_promises() -> None:
    for check in conformance.checks():
        assert len(check.promise) > 20, check.name
        assert list(inspect.signature(check.function).parameters) == ["t"], check.name


def test_names_are_unique() -> None:
    names = [check.name for check in conformance.checks()]
    assert len(names) == len(set(names)) > 200


def test_what_is_left_out_is_left_out_for_a_reason() -> None:
    everything = {check.name for check in conformance.checks()}
    for place in PLACES:
        out = conformance.left_out(place)
        assert all(out.values())
        assert {check.name for check in conformance.checks(place)} == everything - set(out)
    assert "restarts.bash_state_survives" in conformance.left_out(LOCAL_SH)
    assert "faults.sandbox_removed_in_mid_command" not in conformance.left_out(DOCKER_BASH)


def test_deviations_must_name_a_check_and_a_reason() -> None:
    with pytest.raises(ValueError, match="no_such_check"):
        conformance.checks(dataclasses.replace(LOCAL_BASH, deviations={"run.no_such_check": "x"}))
    with pytest.raises(ValueError, match="reason"):
        conformance.checks(dataclasses.replace(LOCAL_BASH, deviations={"run.streams_come_apart": ""}))


def test_raises_is_not_satisfied_by_silence() -> None:
    with pytest.raises(AssertionError, match="KeyError"), raises(KeyError):
        pass
    with pytest.raises(ZeroDivisionError), raises(KeyError):
        raise ZeroDivisionError
    with raises(KeyError) as caught:
        raise KeyError("x")
    assert caught.value.args == ("x",)


def test_pytest_is_needed_by_its_helper_only() -> None:
    subjects = ", ".join(f"shellward.testing.checks_{subject}" for subject in conformance.SUBJECTS)
    code = f"import sys; sys.modules['pytest'] = None; import shellward.testing.conformance, {subjects}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_checks_are_plain_functions() -> None:
    for check in conformance.checks():
        subject, _, name = check.name.partition(".")
        assert getattr(import_module(f"shellward.testing.checks_{subject}"), name) is check.function


def test_what_is_held_can_be_told_while_threads_end() -> None:
    """The kernel lists children by thread; one that ends while it is read takes nothing with it."""
    over = threading.Event()

    def churn() -> None:
        while not over.is_set():
            brief = threading.Thread(target=int)
            brief.start()
            brief.join()

    churning = [threading.Thread(target=churn) for _ in range(3)]
    for thread in churning:
        thread.start()
    try:
        with subprocess.Popen(["sleep", "60"]) as child:
            try:
                for _ in range(200):  # by its number: a program that has just begun has no words for a moment
                    assert str(child.pid) in {line.split()[0] for line in holdings()["children"]}
            finally:
                child.kill()
    finally:
        over.set()
        for thread in churning:
            thread.join()
