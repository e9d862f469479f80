"""From records to the values of a statement: rows, tuples, dicts and objects, a run at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riverrun.connectors.jdbc.errors import DatabaseRefused
from riverrun.core.short_repr import short_repr
from riverrun.serde.row import Row, RowKind, kinds_of, names_of

__all__ = ["RowShape"]

_DELETING = (RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value)


@dataclass(frozen=True, slots=True)
class RowShape:
    """The fields that a statement takes, in order; without names only their number is known."""

    user: str
    size: int
    names: tuple[str, ...] | None = None

    def values_of(self, record: Any) -> tuple[Any, ...]:
        """The record's values in order.

        Raises:
            DatabaseRefused: it has others.
        """
        names = self.names
        values: Sequence[Any]
        if isinstance(record, Row):
            named = names_of(record)
            if names is None or named is None or named == names:
                values = list(record)
            else:
                values = self._by_name(record.as_dict(), record)
        elif isinstance(record, tuple | list):
            values = record
        elif names is None:
            raise self._unfit(record)
        elif isinstance(record, Mapping):
            values = self._by_name(record, record)
        else:
            values = self._by_name(_attributes(record, names), record)
        if len(values) != self.size:
            raise self._unfit(record)
        return tuple(values)

    def run_of(self, records: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The values of a run of records."""
        size = self.size
        if all(type(record) is tuple and len(record) == size for record in records):
            return list(records)
        values_of = self.values_of
        return [values_of(record) for record in records]

    def deletes(self, records: Sequence[Any]) -> list[bool] | None:
        """Which records take a row away; ``None``: none of them."""
        rows = [record for record in records if isinstance(record, Row)]
        if not rows or not any(kinds_of(rows)):
            return None
        return [
            isinstance(record, Row) and record.get_row_kind().value in _DELETING
            for record in records
        ]

    def _by_name(self, found: Mapping[str, Any], record: Any) -> list[Any]:
        try:
            return [found[name] for name in self.names or ()]
        except KeyError:
            raise self._unfit(record) from None

    def _unfit(self, record: Any) -> DatabaseRefused:
        wanted = f"{self.size} values" if self.names is None else f"the fields {list(self.names)}"
        return DatabaseRefused(
            f"{self.user}: got the record {short_repr(record)}; expected {wanted}: a Row, a tuple"
            + ("" if self.names is None else ", a dict or an object with these names")
        )


def _attributes(record: Any, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names if hasattr(record, name)}
