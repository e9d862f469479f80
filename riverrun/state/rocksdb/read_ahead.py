"""The rows of a whole run of records, read before the first of them asks.

A look into the database for many keys costs a fraction of one look for each. It is in vain where the
function does not ask for the state, so now and then some keys of a run go without, and what is asked for of
them decides about the runs that follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import filterfalse
from typing import Any, Final

from riverrun.state.rocksdb.value_states import SingleTable

_FEW: Final = 8
"""So few keys that are not cached are read when they are asked for."""
_AHEAD: Final = 31
"""Runs until some keys go without again."""
_WITHOUT: Final = 64
"""So many of them, where the runs before had none that did."""


class ReadAhead:
    """Fills the cache of one state, whose addresses are keys."""

    __slots__ = ("_left", "_loaded", "_missing", "_table", "_without")

    def __init__(self, table: SingleTable) -> None:
        self._table = table
        self._left = 0
        self._missing = 0
        """Keys that the run before had not in the cache and that went without."""
        self._loaded = 0
        self._without = 0
        """How many keys of a run go without; 0 for all, as long as nothing is known."""

    def expect(self, keys: Sequence[Any]) -> None:
        """Read what is not cached of ``keys``, or see how much of it is asked for.

        Raises:
            TypeError: a key has no hash.
        """
        table = self._table
        if table.is_whole():
            return
        if self._missing:  # it went without: was at least a half asked for?
            asked = table.loaded - self._loaded
            is_asked = 2 * asked >= self._missing
            self._left, self._without = (_AHEAD, _WITHOUT) if is_asked else (0, 0)
            self._missing = 0
        # Not ``difference``, which would go through all of the cache: it is a subclass of dict.
        missing = list(filterfalse(table.cache.__contains__, set(keys)))
        if len(missing) < _FEW:
            return
        if self._left > 0:
            self._left -= 1
            table.load_all(missing)
        else:
            without = self._without or len(missing)
            if ahead := missing[without:]:
                table.load_all(ahead)
            self._missing, self._loaded = min(without, len(missing)), table.loaded
