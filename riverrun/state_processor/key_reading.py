"""Calls a function for every key of some states, a few key groups at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from riverrun.api.runtime_context import DetachedRuntimeContext
from riverrun.api.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from riverrun.core.errors import ProgramError
from riverrun.runtime.timer_services import USER_TIMERS
from riverrun.state.parquet.columns import Rows
from riverrun.state_processor.group_windows import GroupWindows
from riverrun.state_processor.keyed_scan import KeyedScan
from riverrun.state_processor.names import NotInSavepoint
from riverrun.state_processor.read_states import (
    Cursor,
    SavedAggregatingState,
    SavedListState,
    SavedMapState,
    SavedReducingState,
    SavedValueState,
)
from riverrun.state_processor.reader_functions import KeyedStateReaderFunction
from riverrun.state_processor.savepoint import Savepoint
from riverrun.state_processor.sources import KeyedSource


class StateOfAnotherKind(ProgramError):  # noqa: N818
    """A state was asked for as something else than it is."""

    def __init__(self, operator: str, state: str, found: str, wanted: str) -> None:
        super().__init__(operator, state, found, wanted)
        self.operator, self.state, self.found, self.wanted = operator, state, found, wanted

    def __str__(self) -> str:
        return (
            f"operator {self.operator!r}: state {self.state!r} is {self.found} state and was asked for as "
            f"{self.wanted} state; read it as what it is"
        )


class ReadingContext(DetachedRuntimeContext):
    """Gives a reader function the states of an operator."""

    def __init__(self, savepoint: Savepoint, operator: str) -> None:
        found = savepoint.find(operator)
        super().__init__(found.name, parallelism=found.parallelism)
        self.max_parallelism = found.max_parallelism
        self.cursors: dict[str, tuple[Cursor, KeyedSource]] = {}
        self._savepoint = savepoint
        self._operator = operator

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self.max_parallelism

    def get_state(self, state_descriptor: ValueStateDescriptor) -> SavedValueState:
        return SavedValueState(self._cursor(state_descriptor))

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> SavedListState:
        return SavedListState(self._cursor(state_descriptor))

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> SavedMapState:
        return SavedMapState(self._cursor(state_descriptor))

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> SavedReducingState:
        return SavedReducingState(self._cursor(state_descriptor))

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> SavedAggregatingState:
        cursor = self._cursor(state_descriptor)
        return SavedAggregatingState(cursor, state_descriptor.get_agg_function())

    def timers(self, clock: str) -> KeyedSource | None:
        """The timers that a function of the program set by this clock."""
        try:
            table = self._savepoint.state(self._operator, f"_timers.{USER_TIMERS}.{clock}")
        except NotInSavepoint:
            return None
        return table.source if isinstance(table.source, KeyedSource) else None

    def _cursor(self, descriptor: StateDescriptor) -> Cursor:
        name = descriptor.name
        if name not in self.cursors:
            table = self._savepoint.state(self._operator, name)
            source = table.source
            wanted = descriptor.kind.value
            if not isinstance(source, KeyedSource) or source.meta.kind is not descriptor.kind:
                raise StateOfAnotherKind(self._operator, name, str(table.kind), wanted)
            if source.meta.namespaced:
                raise StateOfAnotherKind(self._operator, name, "window", wanted)
            self.cursors[name] = (Cursor(name), source)
        return self.cursors[name][0]


class _KeyContext(KeyedStateReaderFunction.Context):
    """Reads timers when they are asked for first."""

    def __init__(self, context: ReadingContext, stack: ExitStack) -> None:
        self.key: Any = None
        self.groups = range(0)
        self._sources = {clock: context.timers(clock) for clock in ("event", "processing")}
        self._stack = stack
        self._scans: dict[str, KeyedScan] = {}
        self._known: dict[str, tuple[range, dict[Any, set[int]]]] = {}

    def registered_event_time_timers(self) -> set[int]:
        return self._times("event")

    def registered_processing_time_timers(self) -> set[int]:
        return self._times("processing")

    def _times(self, clock: str) -> set[int]:
        source = self._sources[clock]
        if source is None:
            return set()
        if clock not in self._known or self._known[clock][0] != self.groups:
            if clock not in self._scans:
                self._scans[clock] = self._stack.enter_context(source.scan())
            found: dict[Any, set[int]] = {}
            for rows in source.rows_in(self._scans[clock], self.groups):
                for key, time in zip(rows["key"], rows["time"], strict=True):
                    found.setdefault(key, set()).add(time)
            self._known[clock] = (self.groups, found)
        return set(self._known[clock][1].get(self.key, ()))


def read_keys(
    savepoint: Savepoint, operator: str, function: KeyedStateReaderFunction
) -> Iterator[Any]:
    """What ``function`` gives for every key.

    Raises:
        NotInSavepoint: there is no such operator, or no state that the function asks for.
        StateOfAnotherKind: it asks for a state as something else than it is.
    """
    context = ReadingContext(savepoint, operator)
    function.open(context)
    try:
        with ExitStack() as stack:
            yield from _read(context, function, stack)
    finally:
        function.close()


def _read(
    context: ReadingContext, function: KeyedStateReaderFunction, stack: ExitStack
) -> Iterator[Any]:
    found = list(context.cursors.values())
    if not found:
        raise ProgramError(
            f"function {type(function).__name__}: its open asked for no state, so there are no keys to read; "
            f"ask for states with get_state and the like"
        )
    scans = [stack.enter_context(source.scan()) for _, source in found]
    ctx = _KeyContext(context, stack)
    windows = GroupWindows(context.max_parallelism)
    for ctx.groups in windows:
        for (cursor, source), scan in zip(found, scans, strict=True):
            cursor.entries = _entries(source.rows_in(scan, ctx.groups))
        windows.saw(*(cursor.entries for cursor, _ in found))
        for key in dict.fromkeys(key for cursor, _ in found for key in cursor.entries):
            ctx.key = key
            for cursor, _ in found:
                cursor.key = key
            yield from function.read_key(key, ctx) or ()


def _entries(found: Iterator[Rows]) -> dict[Any, Any]:
    entries: dict[Any, Any] = {}
    for rows in found:
        if "map_key" not in rows:
            values = rows["elements"] if "elements" in rows else rows["value"]
            entries.update(zip(rows["key"], values, strict=True))
            continue
        for key, inner, value in zip(rows["key"], rows["map_key"], rows["map_value"], strict=True):
            entries.setdefault(key, {})[inner] = value
    return entries
