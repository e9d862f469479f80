"""Whether rows can be entries of a state; what cannot is named by its row and column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from riverrun.core.short_repr import short_repr
from riverrun.protocol.snapshots import StateKind, StateMeta
from riverrun.serde.check import TypeMismatch, checker_for
from riverrun.serde.column_hash import hash_keys
from riverrun.serde.key_hash import KeyHashError, stable_hash
from riverrun.serde.type_info import TypeInformation
from riverrun.state.schema import schema_from
from riverrun.state_processor.writing.entries import SINGLE, Entries, Named, value_column
from riverrun.state_processor.writing.refusals import RowRefused


@dataclass(frozen=True, slots=True)
class Labels:
    """What the columns of a state are called where the data comes from."""

    names: Mapping[str, str] = field(default_factory=dict)

    def of(self, column: str) -> str:
        """The name that people know."""
        return self.names.get(column, column)


def mismatch_reason(error: TypeMismatch) -> str:
    """The error without the number that it counts by itself."""
    place = f" at {error.path}" if error.path else ""
    return (
        f"expected {error.expected}{place}, found {error.value_repr}; give a value of the declared "
        f"type, or declare another type"
    )


class EntryCheck:
    """Checks the rows of one state."""

    def __init__(self, named: Named, meta: StateMeta, labels: Labels) -> None:
        schema = schema_from(meta)
        self._named = named
        self._meta = meta
        self._labels = labels
        self._key = _check(schema.key)
        self._value = _check(schema.value)
        self._map_key = _check(schema.map_key)

    def hashes(self, entries: Entries) -> npt.NDArray[np.uint64]:
        """The hashes of the keys.

        Raises:
            RowRefused: a key or value cannot be one.
        """
        rows, numbers = entries.rows, entries.numbers
        keys = rows["key"]
        self._no_none(keys, "key", numbers, "a key of keyed state cannot be None")
        self._of_type(self._key, keys, "key", numbers)
        self._check_values(entries)
        try:
            return hash_keys(keys)
        except KeyHashError:
            for key, number in zip(keys, numbers, strict=True):
                try:
                    stable_hash(key)
                except KeyHashError as error:
                    raise self._refused(number, "key", str(error)) from error
            raise

    def _check_values(self, entries: Entries) -> None:
        rows, numbers = entries.rows, entries.numbers
        kind, column = self._meta.kind, value_column(self._meta)
        if kind is StateKind.TIMERS:
            return
        values: Sequence[Any] = rows[column]
        if kind is StateKind.LIST:
            self._check_lists(values, numbers)
            return
        if kind in SINGLE:
            advice = "a state without a value has no entry, so leave the row out"
            self._no_none(values, column, numbers, advice)
        else:
            self._of_type(self._map_key, rows["map_key"], "map_key", numbers)
        self._of_type(self._value, values, column, numbers)

    def _check_lists(self, lists: Sequence[Any], numbers: list[int]) -> None:
        for elements, number in zip(lists, numbers, strict=True):
            if type(elements) is not list or not elements or any(e is None for e in elements):
                found = short_repr(elements)
                reason = (
                    f"expected a list with elements, none of them None, found {found}; "
                    f"leave out keys without elements"
                )
                raise self._refused(number, "elements", reason)
        if self._value is not None:
            flat = [element for elements in lists for element in elements]
            owners = [
                number
                for elements, number in zip(lists, numbers, strict=True)
                for _ in range(len(elements))
            ]
            self._of_type(self._value, flat, "elements", owners)

    def _no_none(self, values: Sequence[Any], column: str, numbers: list[int], advice: str) -> None:
        for place, value in enumerate(values):
            if value is None:
                raise self._refused(numbers[place], column, f"found None; {advice}")

    def _of_type(
        self,
        check: Callable[[Sequence[Any]], None] | None,
        values: Sequence[Any],
        column: str,
        numbers: list[int],
    ) -> None:
        if check is None:
            return
        try:
            check(values)
        except TypeMismatch as error:
            raise self._refused(numbers[error.index], column, mismatch_reason(error)) from error

    def _refused(self, row: int, column: str, reason: str) -> RowRefused:
        named = self._named
        return RowRefused(named.operator, named.state, row, self._labels.of(column), reason)


def _check(type_info: TypeInformation | None) -> Callable[[Sequence[Any]], None] | None:
    return None if type_info is None else checker_for(type_info)
