"""Waiting for something that another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_LOOK_S: Final = 0.02


def wait_until(condition: Callable[[], T], *, what: str, timeout_s: float = 30.0) -> T:
    """Ask ``condition`` until its answer is true, and give that answer.

    Raises:
        TimeoutError: it was not within ``timeout_s``; names ``what`` and the last answer.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() >= deadline:
            raise TimeoutError(
                f"waited {timeout_s:.0f} s for: {what}; the last answer is {answer!r}"
            )
        time.sleep(_LOOK_S)


class Stopwatch:
    """Measures how long something takes.

    >>> watch = Stopwatch()
    >>> 0.0 <= watch.seconds < 60.0
    True
    """

    def __init__(self) -> None:
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """The time since the watch was made."""
        return time.monotonic() - self._began
