"""What may be an element of a list state: anything but None, on every backend."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def none_refused(state: str) -> TypeError:
    """What to raise when None was to be an element of ``state``."""
    return TypeError(
        f"state {state!r}: None was to be added to a list state; "
        f"expected a value, so leave None out or wrap it"
    )


def elements_for(state: str, values: Iterable[Any]) -> list[Any]:
    """The values as elements of ``state``; TypeError when one of them is None."""
    elements = list(values)
    if any(element is None for element in elements):
        raise none_refused(state)
    return elements
