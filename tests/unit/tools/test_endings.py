"""Who keeps something for a task is told when it is over."""

import pytest

from shellward.tools.endings import Endings


def test_who_listens_is_told_until_he_stops() -> None:
    endings, told = Endings(), list[str | None]()
    stop = endings.listen(told.append)
    endings.tell("one")
    endings.tell(None)
    stop()
    stop()
    endings.tell("two")
    assert told == ["one", None]


def test_one_who_fails_keeps_no_other_from_being_told() -> None:
    """Each lets go of something; what one could not let go of is the caller's to know."""
    endings, told = Endings(), list[str | None]()

    def fails(task: str | None) -> None:
        raise LookupError(task)

    endings.listen(told.append)
    endings.listen(fails)
    endings.listen(told.append)
    with pytest.raises(LookupError, match="one"):
        endings.tell("one")
    assert told == ["one", "one"]
