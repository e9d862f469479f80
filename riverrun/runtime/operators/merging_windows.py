"""The windows of a key that may become one, and where each of them keeps its contents.

A window that grows by merging would have to move its contents each time. So contents stay in the
namespace of the first window they were put into, the *state window*, and this set says which that is.
The set is itself state of the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, cast

from riverrun.api.state import ValueState, ValueStateDescriptor
from riverrun.api.window_assigner import MergingWindowAssigner
from riverrun.runtime.operators.window_namespaces import Namespace, namespace_of, window_of
from riverrun.state.backend import KeyedStateBackend

STATE: Final = "_window.merging"
"""Name of the state that holds the sets."""

Mapping: TypeAlias = dict[Namespace, Namespace]
"""The windows of a key, each with its state window."""
Stored: TypeAlias = tuple[tuple[Namespace, Namespace], ...]
"""The same as it is in state."""
Merged: TypeAlias = Callable[[Namespace, list[Namespace], Namespace, list[Namespace]], None]
"""Told that windows became one: the result, those that it was made of, its state window, and the state
windows whose contents are to be moved there."""
Groups: TypeAlias = list[tuple[Namespace, list[Namespace]]]
"""Windows that result from merging, each with those that it is made of."""
Merge: TypeAlias = Callable[[Namespace, Iterable[Namespace]], Groups]
"""Says what becomes of a new window and those that are there."""


class MergingWindowSet:
    """Merges windows of the backend's current key.

    Attributes:
        stored: Gives the windows of the key as they are in state; None: it has none.
        store: Puts them there.
    """

    def __init__(self, backend: KeyedStateBackend, merge: Merge) -> None:
        descriptor = ValueStateDescriptor(STATE)
        state = cast("ValueState[Stored]", backend.state(descriptor))
        self._merge = merge
        self.stored: Callable[[], Stored | None] = state.value
        self.store: Callable[[Stored | None], None] = state.update

    def load(self) -> Mapping:
        """The windows of the key."""
        return dict(self.stored() or ())

    def save(self, windows: Mapping) -> None:
        """Remember ``windows`` as those of the key."""
        self.store(tuple(windows.items()) or None)

    def add(self, windows: Mapping, new: Namespace, merged: Merged) -> Namespace:
        """Take a new window in and merge what is to be merged.

        Returns:
            The window that the new one became, which may be itself.
        """
        if new in windows:
            return new
        result = new
        found = False
        for target, parts in self._merge(new, windows):
            if new in parts:
                parts.remove(new)
                result, found = target, True
            # What is new has no contents yet, so one of the others says where they are.
            state_window = windows[parts[0]]
            moved = [windows.pop(part) for part in parts]
            windows[target] = state_window
            moved.remove(state_window)
            if parts != [target]:
                merged(target, parts, state_window, moved)
        if not found:
            windows[new] = new
        return result


def merge_by(assigner: MergingWindowAssigner[Any, Any]) -> Merge:
    """How windows of ``assigner`` merge."""

    def merge(new: Namespace, windows: Iterable[Namespace]) -> Groups:
        groups = _Groups()
        assigner.merge_windows([window_of(each) for each in (*windows, new)], groups)
        return groups.found

    return merge


def merge_times(new: Namespace, windows: Iterable[Namespace]) -> Groups:
    """How time windows merge that become one when they touch, as sessions do.

    Those that are there do not touch one another, so only the new one can make some of them one.

    >>> merge_times((5, 15), [(0, 10), (12, 20), (30, 40)])
    [((0, 20), [(0, 10), (12, 20), (5, 15)])]
    """
    start, end = new
    parts = sorted(each for each in windows if each[0] <= end and each[1] >= start)
    if not parts:
        return []
    low, high = min(start, parts[0][0]), max(end, parts[-1][1])
    return [((low, high), [*parts, new])]


class _Groups(MergingWindowAssigner.MergeCallback[Any]):
    def __init__(self) -> None:
        self.found: Groups = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        parts = list(dict.fromkeys(map(namespace_of, to_be_merged)))
        self.found.append((namespace_of(merge_result), parts))
