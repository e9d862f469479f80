"""States of a savepoint as a function sees them: of one key at a time, not to be changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from riverrun.api.state import (
    AggregatingState,
    Aggregator,
    ListState,
    MapState,
    ReducingState,
    State,
    ValueState,
)
from riverrun.core.errors import ProgramError


class SavedStateIsReadOnly(ProgramError):  # noqa: N818
    """A function that reads a savepoint wanted to change a state."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state

    def __str__(self) -> str:
        return (
            f"state {self.state!r}: it is read from a savepoint, which nobody changes; write a new savepoint "
            f"with SavepointWriter instead"
        )


class Cursor:
    """What has been read of one state, and the key that counts now."""

    def __init__(self, state: str) -> None:
        self.state = state
        self.entries: dict[Any, Any] = {}
        """By key, of the key groups that are being read."""
        self.key: Any = None

    def now(self, default: Any = None) -> Any:
        """What the current key has."""
        return self.entries.get(self.key, default)


class _SavedState(State):
    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    def clear(self) -> None:
        self._refuse()

    def _refuse(self, *_wanted: object) -> NoReturn:
        raise SavedStateIsReadOnly(self._cursor.state)


class SavedValueState(_SavedState, ValueState[Any]):
    """A single value."""

    def value(self) -> Any:
        return self._cursor.now()

    def update(self, value: Any) -> None:
        self._refuse(value)


class SavedListState(_SavedState, ListState[Any]):
    """A list."""

    def get(self) -> list[Any]:
        return list(self._cursor.now(()))

    def add(self, value: Any) -> None:
        self._refuse(value)

    def add_all(self, values: Iterable[Any]) -> None:
        self._refuse(values)

    def update(self, values: Iterable[Any]) -> None:
        self._refuse(values)


class SavedMapState(_SavedState, MapState[Any, Any]):
    """A map."""

    def get(self, key: Any) -> Any:
        return self._now().get(key)

    def put(self, key: Any, value: Any) -> None:
        self._refuse(key, value)

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        self._refuse(dict_value)

    def remove(self, key: Any) -> None:
        self._refuse(key)

    def contains(self, key: Any) -> bool:
        return key in self._now()

    def items(self) -> list[tuple[Any, Any]]:
        return list(self._now().items())

    def keys(self) -> list[Any]:
        return list(self._now())

    def values(self) -> list[Any]:
        return list(self._now().values())

    def is_empty(self) -> bool:
        return not self._now()

    def _now(self) -> Mapping[Any, Any]:
        found: Mapping[Any, Any] = self._cursor.now({})
        return found


class SavedReducingState(_SavedState, ReducingState[Any]):
    """A value that others were folded into."""

    def get(self) -> Any:
        return self._cursor.now()

    def add(self, value: Any) -> None:
        self._refuse(value)


class SavedAggregatingState(_SavedState, AggregatingState[Any, Any]):
    """An accumulator that values were folded into."""

    def __init__(self, cursor: Cursor, function: Aggregator) -> None:
        super().__init__(cursor)
        self._function = function

    def get(self) -> Any:
        found = self._cursor.now()
        return None if found is None else self._function.get_result(found)

    def add(self, value: Any) -> None:
        self._refuse(value)
