"""How far time had come when the state of windows was saved.

Event time starts over after a restart, and the state of windows that were over is gone by then. Who keeps
less about windows than one entry and timer each must know which windows that were. Key groups may come
from several subtasks, each with a time of its own.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final

from riverrun.api.state import ListStateDescriptor
from riverrun.graph.key_groups import group_range
from riverrun.protocol.elements import MIN_TIMESTAMP
from riverrun.runtime.operators.operator import OperatorContext
from riverrun.serde.stable_hash import key_group
from riverrun.state.backend import StateRefused

STATE: Final = "_window.marks"
"""Name of the state that holds them: (first group, last group, time, whether slices are shared)."""


class Marks:
    """The times that the key groups of this subtask had reached when they were saved.

    Attributes:
        found: Whether any were saved.
        greatest: Of all groups of this subtask.
        shares: Whether windows shared slices; ``None`` where no record had come yet.
    """

    def __init__(self, context: OperatorContext) -> None:
        self._groups = context.runtime.get_max_number_of_parallel_subtasks()
        own = group_range(context.subtask, context.parallelism, self._groups)
        self._own = range(own[0], own[1] + 1)
        self._state = context.states.operator.get_union_list_state(ListStateDescriptor(STATE))
        self._times: dict[int, int] = {}
        ways = set()
        for first, last, time, shares in self._state.get():
            ways.add(shares)
            for group in range(max(first, own[0]), min(last, own[1]) + 1):
                self._times[group] = time
        if ways >= {True, False}:
            raise StateRefused(
                f"operator {context.name!r}: some of its subtasks could merge accumulators and some could "
                f"not, so their windows are kept in two ways; expected a merge function that works for "
                f"all accumulators or for none"
            )
        self.found = bool(ways)
        self.shares: bool | None = next((way for way in ways if way is not None), None)
        self.greatest = max(self._times.values(), default=MIN_TIMESTAMP)

    def of(self, key: Any) -> int:
        """The time that the group of ``key`` had reached."""
        if self.greatest == MIN_TIMESTAMP:
            return MIN_TIMESTAMP
        return self._times.get(key_group(key, self._groups), MIN_TIMESTAMP)

    def save(self, time: int, *, shares: bool | None) -> None:
        """Put the times as of now, with ``time`` reached in this run, into the next snapshot."""
        times = [max(time, self._times.get(group, MIN_TIMESTAMP)) for group in self._own]
        self._state.update(
            (members[0][0], members[-1][0], reached, shares)
            for reached, found in groupby(zip(self._own, times, strict=True), lambda pair: pair[1])
            if (members := list(found))
        )
