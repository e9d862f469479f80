"""Savepoints read in the words of Flink's State Processor API."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from riverrun.api.state import Aggregator
from riverrun.runtime.operators.window_contents import STATE as CONTENTS
from riverrun.runtime.operators.window_namespaces import window_of
from riverrun.state_processor.key_reading import StateOfAnotherKind, read_keys
from riverrun.state_processor.kinds import TableKind
from riverrun.state_processor.reader_functions import KeyedStateReaderFunction
from riverrun.state_processor.savepoint import Savepoint
from riverrun.state_processor.table import StateTable

_LISTS: Final = frozenset({TableKind.OPERATOR_LIST})
_UNIONS: Final = frozenset({TableKind.UNION_LIST})
_BROADCASTS: Final = frozenset({TableKind.BROADCAST})


class WindowState(NamedTuple):
    """What a window of a key holds."""

    key: Any
    window: Any
    contents: Any
    """The records of the window, the value that they were folded into, or the aggregate's result."""


class SavepointReader:
    """Reads the states of a savepoint or checkpoint, operator by operator.

    ``Savepoint`` gives the same states as tables.
    """

    def __init__(self, savepoint: Savepoint) -> None:
        """Users call ``read``."""
        self.savepoint = savepoint

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], config: Mapping[str, str] | None = None
    ) -> SavepointReader:
        """Open a savepoint or checkpoint, as ``Savepoint.read`` does."""
        return cls(Savepoint.read(path, config))

    def read_list_state(self, uid: str, name: str) -> Iterator[Any]:
        """The elements of an operator's list state, of all subtasks."""
        return self._elements(uid, name, _LISTS)

    def read_union_state(self, uid: str, name: str) -> Iterator[Any]:
        """The elements of an operator's union list state, each once."""
        return self._elements(uid, name, _UNIONS)

    def read_broadcast_state(self, uid: str, name: str) -> Iterator[tuple[Any, Any]]:
        """The entries of an operator's broadcast state."""
        table = self._table(uid, name, _BROADCASTS)
        return ((row["map_key"], row["map_value"]) for row in table.rows())

    def read_keyed_state(self, uid: str, function: KeyedStateReaderFunction) -> Iterator[Any]:
        """What ``function`` gives for every key; memory does not grow with the state.

        Raises:
            NotInSavepoint: there is no such operator, or no state that the function asks for.
            StateOfAnotherKind: it asks for a state as something else than it is.
        """
        return read_keys(self.savepoint, uid, function)

    def read_window_state(
        self, uid: str, aggregate_function: Aggregator | None = None
    ) -> Iterator[WindowState]:
        """The open windows of a window operator, with what they hold.

        Args:
            uid: of the operator.
            aggregate_function: the one of the program, if there is one: gives results for accumulators.

        Raises:
            NotInSavepoint: there is no such operator, or it holds its windows in another way.
        """
        for row in self.savepoint.state(uid, CONTENTS).rows():
            found = row["elements"] if "elements" in row else row["value"]
            if aggregate_function is not None:
                found = aggregate_function.get_result(found)
            yield WindowState(row["key"], window_of(row["namespace"]), found)

    def _elements(self, uid: str, name: str, kinds: frozenset[TableKind]) -> Iterator[Any]:
        return (row["value"] for row in self._table(uid, name, kinds).rows())

    def _table(self, uid: str, name: str, kinds: frozenset[TableKind]) -> StateTable:
        table = self.savepoint.state(uid, name)
        if table.kind not in kinds:
            raise StateOfAnotherKind(uid, name, str(table.kind), str(next(iter(kinds))))
        return table
