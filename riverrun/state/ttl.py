"""States whose entries expire, on top of states that store ``(value, time of last use)``.

These wrap any backend's states: value, reducing and aggregating states a value state of pairs, list
states a list state of pairs, map states a map state with pairs as values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from riverrun.api.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    Aggregator,
    ListState,
    MapState,
    ReducingState,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueState,
)
from riverrun.protocol.snapshots import StateKind
from riverrun.state.elements import elements_for
from riverrun.state.schema import MAPS
from riverrun.state.ttl_rules import TtlRules


def with_ttl(
    descriptor: StateDescriptor,
    pairs: State,
    rules: TtlRules,
    on_access: Callable[[], None] | None = None,
) -> State:
    """The state that the user gets.

    Args:
        descriptor: What the user asked for.
        pairs: The backend's state, which holds pairs.
        rules: When an entry is over.
        on_access: Called at each use of the state, for cleanup that goes with it.
    """
    touch = on_access or _nothing
    if descriptor.kind is StateKind.LIST:
        return TtlListState(cast("ListState[Any]", pairs), rules, touch, descriptor.name)
    if descriptor.kind in MAPS:
        return TtlMapState(cast("MapState[Any, Any]", pairs), rules, touch)
    value = cast("ValueState[Any]", pairs)
    match descriptor:
        case ReducingStateDescriptor():
            return TtlReducingState(value, rules, touch, descriptor.reduce)
        case AggregatingStateDescriptor():
            return TtlAggregatingState(value, rules, touch, descriptor.get_agg_function())
    return TtlValueState(value, rules, touch)


def _nothing() -> None:
    pass


class _Single(State):
    """What the states of one value by key share."""

    def __init__(self, pairs: ValueState[Any], rules: TtlRules, touch: Callable[[], None]) -> None:
        self._pairs = pairs
        self._rules = rules
        self._touch = touch

    def clear(self) -> None:
        self._pairs.clear()

    def _read(self) -> Any:
        """The value, or None; an expired one is removed, and seen once more if that is allowed."""
        self._touch()
        pair = self._pairs.value()
        if pair is None:
            return None
        if self._rules.expired(pair):
            self._pairs.clear()
            return pair[0] if self._rules.show_expired else None
        if self._rules.renew_on_read:
            self._pairs.update((pair[0], self._rules.now()))
        return pair[0]

    def _so_far(self) -> Any:
        """What a write goes on from: the value, or None when it counts no more."""
        self._touch()
        pair = self._pairs.value()
        if pair is None or (self._rules.expired(pair) and not self._rules.show_expired):
            return None
        return pair[0]

    def _write(self, value: Any) -> None:
        self._pairs.update(None if value is None else (value, self._rules.now()))


class TtlValueState(_Single, ValueState[Any]):
    """A value that expires."""

    def value(self) -> Any:
        return self._read()

    def update(self, value: Any) -> None:
        self._touch()
        self._write(value)


class TtlReducingState(_Single, ReducingState[Any]):
    """A reduced value that expires as a whole."""

    def __init__(
        self,
        pairs: ValueState[Any],
        rules: TtlRules,
        touch: Callable[[], None],
        reduce: Callable[[Any, Any], Any],
    ) -> None:
        super().__init__(pairs, rules, touch)
        self._reduce = reduce

    def get(self) -> Any:
        return self._read()

    def add(self, value: Any) -> None:
        found = self._so_far()
        self._write(value if found is None else self._reduce(found, value))


class TtlAggregatingState(_Single, AggregatingState[Any, Any]):
    """An accumulator that expires as a whole."""

    def __init__(
        self,
        pairs: ValueState[Any],
        rules: TtlRules,
        touch: Callable[[], None],
        function: Aggregator,
    ) -> None:
        super().__init__(pairs, rules, touch)
        self._function = function

    def get(self) -> Any:
        found = self._read()
        return None if found is None else self._function.get_result(found)

    def add(self, value: Any) -> None:
        found = self._so_far()
        if found is None:
            found = self._function.create_accumulator()
        self._write(self._function.add(value, found))


class TtlListState(ListState[Any]):
    """A list whose elements expire one by one."""

    def __init__(
        self, pairs: ListState[Any], rules: TtlRules, touch: Callable[[], None], name: str
    ) -> None:
        self._pairs = pairs
        self._rules = rules
        self._touch = touch
        self._name = name

    def get(self) -> list[Any]:
        self._touch()
        found = list(self._pairs.get())
        alive = [pair for pair in found if not self._rules.expired(pair)]
        if found and not alive:
            self._pairs.clear()
        elif alive and self._rules.renew_on_read:
            now = self._rules.now()
            self._pairs.update([(value, now) for value, _ in alive])
        return [value for value, _ in (found if self._rules.show_expired else alive)]

    def add(self, value: Any) -> None:
        self.add_all([value])

    def add_all(self, values: Iterable[Any]) -> None:
        self._touch()
        self._pairs.add_all(self._timed(values))

    def update(self, values: Iterable[Any]) -> None:
        self._touch()
        self._pairs.update(self._timed(values))

    def clear(self) -> None:
        self._pairs.clear()

    def _timed(self, values: Iterable[Any]) -> list[tuple[Any, int]]:
        now = self._rules.now()
        return [(value, now) for value in elements_for(self._name, values)]


class TtlMapState(MapState[Any, Any]):
    """A map whose entries expire one by one."""

    def __init__(
        self, pairs: MapState[Any, Any], rules: TtlRules, touch: Callable[[], None]
    ) -> None:
        self._pairs = pairs
        self._rules = rules
        self._touch = touch

    def get(self, key: Any) -> Any:
        self._touch()
        pair = self._pairs.get(key)
        return pair[0] if pair is not None and self._seen(key, pair) else None

    def contains(self, key: Any) -> bool:
        self._touch()
        pair = self._pairs.get(key)
        return pair is not None and self._seen(key, pair)

    def put(self, key: Any, value: Any) -> None:
        self._touch()
        self._pairs.put(key, (value, self._rules.now()))

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        self._touch()
        now = self._rules.now()
        self._pairs.put_all({key: (value, now) for key, value in dict_value.items()})

    def remove(self, key: Any) -> None:
        self._touch()
        self._pairs.remove(key)

    def items(self) -> list[tuple[Any, Any]]:
        self._touch()
        return [(key, pair[0]) for key, pair in list(self._pairs.items()) if self._seen(key, pair)]

    def keys(self) -> list[Any]:
        return [key for key, _ in self.items()]

    def values(self) -> list[Any]:
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        self._touch()
        rules = self._rules
        return not any(
            rules.show_expired or not rules.expired(pair) for pair in self._pairs.values()
        )

    def clear(self) -> None:
        self._pairs.clear()

    def _seen(self, key: Any, pair: tuple[Any, int]) -> bool:
        """Remove or renew the entry as the rules say; whether the user can see it."""
        if self._rules.expired(pair):
            self._pairs.remove(key)
            return self._rules.show_expired
        if self._rules.renew_on_read:
            self._pairs.put(key, (pair[0], self._rules.now()))
        return True
