"""Removes expired rows that nobody asks for, a few at a time.

RocksDB can do this while it compacts, but only through a filter in native code; the few rows that are
looked at while the state is used come to the same.
"""

from __future__ import annotations

from typing import Final

from riverrun.state.rocksdb.cache import CachedTable
from riverrun.state.rocksdb.rows import state_prefix
from riverrun.state.rocksdb.store import Store
from riverrun.state.ttl_rules import TtlRules

_LOOKED_AT: Final = 250
"""Rows that are looked at in one go."""


class RowSweeper:
    """Goes through the rows of a state, round and round."""

    def __init__(
        self, store: Store, table: CachedTable, groups: range, rules: TtlRules, every: int
    ) -> None:
        self._store = store
        self._table = table
        self._groups = groups
        self._rules = rules
        self._every = max(every, 1)
        self._left = self._every
        self._group = groups.start
        self._after = b""

    def touched(self) -> None:
        """The state was used; look at some rows each time that this was said often enough."""
        self._left -= 1
        if self._left <= 0:
            self._left = self._every
            self.step()

    def step(self) -> None:
        """Look at the next rows."""
        left = _LOOKED_AT
        for _ in self._groups:
            left = self._sweep_group(left)
            if left == 0:
                break
            self._group, self._after = self._group + 1, b""
            if self._group not in self._groups:
                self._group = self._groups.start
                break
        self._store.commit()

    def _sweep_group(self, left: int) -> int:
        """Look at up to ``left`` rows of the current group; how many more may be looked at."""
        rows = self._table.format
        prefix = state_prefix(self._group, rows.number)
        for row_key, row_value in self._store.scan_from(self._after or prefix, prefix):
            if left == 0:
                self._after = row_key
                return 0
            left -= 1
            # What is cached may be younger than its row; it is looked at when it is no more cached.
            if (
                self._rules.expired((None, rows.last_use(row_value)))
                and rows.row(row_key, row_value).address not in self._table.cache
            ):
                self._store.delete(row_key)
        return left
