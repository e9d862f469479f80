"""Programs that define operators and end without having run them are told so.

Nothing happens in a stream program before ``execute()``, and forgetting it looks exactly like a
program that produces nothing. So at the end of the interpreter each such program gets one line.
"""

from __future__ import annotations

import atexit
import logging
import sys
from typing import Final

from riverrun.graph.transformations import Transformation

log = logging.getLogger(__name__)

_SHOWN: Final = 5


class Unexecuted:
    """The operators of one program that were defined and not run yet."""

    def __init__(self) -> None:
        self._operators: list[Transformation] = []

    def note(self, operator: Transformation) -> None:
        """An operator was defined."""
        self._operators.append(operator)
        _WAITING[id(self)] = self

    def clear(self) -> None:
        """The operators were run, shown or given up on purpose."""
        self._operators.clear()
        _WAITING.pop(id(self), None)

    def message(self) -> str:
        """What to tell the user."""
        names = ", ".join(repr(operator.name) for operator in self._operators[:_SHOWN])
        more = len(self._operators) - _SHOWN
        return (
            f"the program ended without running its {len(self._operators)} operators "
            f"({names}{f' and {more} more' if more > 0 else ''}); call execute(), or close() to drop them"
        )


_WAITING: Final[dict[int, Unexecuted]] = {}
"""Kept alive until they run: a program that was garbage collected was forgotten all the same."""


def tell_unexecuted() -> None:
    """Say which programs were never run; not after an uncaught exception, which says enough."""
    if hasattr(sys, "last_type"):
        return
    for program in list(_WAITING.values()):
        if log.hasHandlers():  # without any, logging would print the same line once more
            log.warning("%s", program.message())
        print(f"riverrun: {program.message()}", file=sys.stderr)  # noqa: T201  (meant for the terminal)
        program.clear()


atexit.register(tell_unexecuted)
