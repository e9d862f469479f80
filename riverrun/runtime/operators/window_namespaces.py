"""Windows as namespaces of state and timers: small plain values that every backend writes in few bytes.

A time window is the pair of its start and end, a count window its number, the global window None; any
other window stands for itself, and must be hashable, comparable and picklable for that.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from riverrun.api.windows import CountWindow, GlobalWindow, TimeWindow, Window
from riverrun.protocol.elements import MAX_WATERMARK

Namespace: TypeAlias = Any
"""A window in the form in which state and timers know it."""

MAX_TIME: Final = MAX_WATERMARK
"""The end of time: what would be later is then."""

_GLOBAL: Final = GlobalWindow.get()


def namespace_of(window: Window) -> Namespace:
    """The namespace that stands for ``window``.

    >>> namespace_of(TimeWindow(0, 10)), namespace_of(CountWindow(3)), namespace_of(GlobalWindow.get())
    ((0, 10), 3, None)
    """
    kind = type(window)
    if kind is TimeWindow:
        return (window.start, window.end)  # type: ignore[attr-defined]  # asked just now
    if kind is GlobalWindow:
        return None
    if kind is CountWindow:
        return window.id  # type: ignore[attr-defined]  # asked just now
    return window


def window_of(namespace: Namespace) -> Window:
    """The window that ``namespace`` stands for.

    >>> window_of((0, 10)), window_of(3)
    (TimeWindow(start=0, end=10), CountWindow(id=3))
    """
    kind = type(namespace)
    if kind is tuple:
        return TimeWindow(*namespace)
    if namespace is None:
        return _GLOBAL
    if kind is int:
        return CountWindow(namespace)
    window: Window = namespace
    return window


def end_of(window: Window, later: int = 0) -> int:
    """The last time of ``window``, or a time ``later`` than it, but never after the end of time.

    >>> end_of(TimeWindow(0, 10)), end_of(TimeWindow(0, 10), 5), end_of(GlobalWindow.get(), 5) == MAX_TIME
    (9, 14, True)
    """
    return min(window.max_timestamp() + later, MAX_TIME)
