"""What a call that is no longer wanted comes to."""


class Interrupted(Exception):  # noqa: N818  # what happened, and no fault of anybody's
    """Whoever called no longer wants it. The message says whether anything was called."""
