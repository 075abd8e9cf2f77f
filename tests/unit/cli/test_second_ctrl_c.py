"""A second Ctrl-C while the command line says what the first one meant."""

import signal

import pytest

from shellward.cli import main


def test_it_adds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def interrupted(*_given: object, **_more: object) -> None:
        raise KeyboardInterrupt

    def say(message: str) -> None:
        signal.raise_signal(signal.SIGINT)
        said.append(message)

    monkeypatch.setattr(main.root, "main", interrupted)
    monkeypatch.setattr(main, "say", say)
    with pytest.raises(SystemExit) as caught:
        main.main(["ps"])
    assert (caught.value.code, said) == (130, ["interrupted"])
