"""Lengths and counts as assigners, triggers and evictors are given them."""

from __future__ import annotations

from typing import Any, TypeAlias

from riverrun.core.time import DurationLike, to_millis

__all__ = ["Length", "milliseconds", "positive_count", "positive_milliseconds"]

Length: TypeAlias = DurationLike | int
"""A Time, a Duration, a timedelta, or milliseconds."""


def milliseconds(who: str, what: str, length: Length) -> int:
    """``length`` in milliseconds, of any sign.

    >>> from datetime import timedelta
    >>> milliseconds("windows", "the size", timedelta(seconds=2)), milliseconds("windows", "the size", 5)
    (2000, 5)
    """
    if isinstance(length, int) and not isinstance(length, bool):
        return length
    try:
        return to_millis(length)  # type: ignore[arg-type]  # what it does not know it refuses
    except TypeError:
        raise TypeError(
            f"{who}: {what} is {length!r}; expected a Time, a Duration, a timedelta or milliseconds"
        ) from None


def positive_milliseconds(who: str, what: str, length: Length) -> int:
    """``length`` in milliseconds, at least one."""
    found = milliseconds(who, what, length)
    if found <= 0:
        raise ValueError(f"{who}: {what} is {found!r} ms; expected at least 1 ms")
    return found


def positive_count(who: str, what: str, count: Any) -> int:
    """``count``, at least one."""
    if not isinstance(count, int) or isinstance(count, bool):
        raise TypeError(f"{who}: {what} is {count!r}; expected a number of records")
    if count <= 0:
        raise ValueError(f"{who}: {what} is {count!r}; expected at least 1")
    return count
