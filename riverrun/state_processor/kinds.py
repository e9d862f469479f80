"""What a state in a savepoint is to people: more kinds than the formats know."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from riverrun.protocol.snapshots import OperatorStatePart, Redistribution, StateKind, StateMeta
from riverrun.runtime.system_state import CALLS, COMMITTABLES, ENUMERATOR, SPLITS, WRITER


class TableKind(StrEnum):
    """What a state is."""

    VALUE = "value"
    LIST = "list"
    MAP = "map"
    REDUCING = "reducing"
    AGGREGATING = "aggregating"
    TIMERS = "timers"
    OPERATOR_LIST = "operator list"
    UNION_LIST = "union list"
    BROADCAST = "broadcast"
    SOURCE_POSITIONS = "source positions"
    FOUND_SPLITS = "found splits"
    COMMITTABLES = "committables"
    WRITER_STATE = "writer state"
    ASYNC_CALLS = "asynchronous calls"

    @property
    def is_keyed(self) -> bool:
        """Whether each entry belongs to a key."""
        return self in _KEYED.values()

    @property
    def is_system(self) -> bool:
        """Whether it is riverrun's own and not the program's."""
        return self in _SYSTEM.values()


_KEYED: Final[Mapping[StateKind, TableKind]] = {
    StateKind.VALUE: TableKind.VALUE,
    StateKind.LIST: TableKind.LIST,
    StateKind.MAP: TableKind.MAP,
    StateKind.REDUCING: TableKind.REDUCING,
    StateKind.AGGREGATING: TableKind.AGGREGATING,
    StateKind.TIMERS: TableKind.TIMERS,
}
_SYSTEM: Final[Mapping[str, TableKind]] = {
    SPLITS: TableKind.SOURCE_POSITIONS,
    ENUMERATOR: TableKind.FOUND_SPLITS,
    COMMITTABLES: TableKind.COMMITTABLES,
    WRITER: TableKind.WRITER_STATE,
    CALLS: TableKind.ASYNC_CALLS,
}
_DEALT_OUT: Final[Mapping[Redistribution, TableKind]] = {
    Redistribution.SPLIT: TableKind.OPERATOR_LIST,
    Redistribution.UNION: TableKind.UNION_LIST,
    Redistribution.BROADCAST: TableKind.BROADCAST,
}


def keyed_kind(meta: StateMeta) -> TableKind:
    """The kind of a keyed state."""
    return _KEYED[meta.kind]


def operator_kind(part: OperatorStatePart) -> TableKind:
    """The kind of an operator state."""
    return _SYSTEM.get(part.meta.name) or _DEALT_OUT[part.redistribution]
