"""Decoded values in front of the database: what both sides of a state share.

A value that is read or written stays in a dict until there is no more room. Then the oldest are packed
(`riverrun.state.rocksdb.packed_tier`), or, where they cannot be, written if they changed; and dropped. While the
keys fit, the database is not touched at all but for checkpoints. How much the values take is estimated:
now and then, and the more often the less room is left, one entry is measured, and all are taken to be like
those measured lately.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from riverrun.state.backend import NO_KEY, KeyedStateBackend, NoCurrentKey
from riverrun.state.hashmap.table import FrozenTable
from riverrun.state.rocksdb.cached import Cached, Unwritten
from riverrun.state.rocksdb.memory import footprint
from riverrun.state.rocksdb.rows import RowFormat
from riverrun.state.rocksdb.store import Store

_FIRST_LOOK: Final = 16
_LONGEST_WAIT: Final = 4096
"""Changes between two measurements at most."""
_REMEMBERED: Final = 64
"""Measurements that the mean is over."""
_PACKED: Final = 75
"""Per cent of the budget that packed entries may take."""


class CacheBudget:
    """The bytes that the caches of one backend share, decoded values and packed ones."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._tables: list[CachedTable] = []

    def join(self, table: CachedTable) -> None:
        """Let ``table`` have a part."""
        self._tables.append(table)

    def wait(self, table: CachedTable) -> int:
        """Make room if there is none, and say after how many changes ``table`` must ask again."""
        used = self._used()
        if used > self._unpacked():
            used = self._make_room(used)
        free = (self._unpacked() - used) // (2 * len(self._tables))
        changes = int(free / table.entry_bytes) if table.entry_bytes else 0
        return max(min(changes, _LONGEST_WAIT), _FIRST_LOOK)

    def most_packed(self, table: CachedTable) -> int:
        """How many bytes the packed entries of ``table`` may take; some are always left for decoded ones."""
        others = sum(other.packed_bytes() for other in self._tables if other is not table)
        return self._limit * _PACKED // 100 - others

    def _used(self) -> int:
        return sum(table.estimate() for table in self._tables)

    def _unpacked(self) -> int:
        return self._limit - sum(table.packed_bytes() for table in self._tables)

    def _make_room(self, used: int) -> int:
        while used > self._unpacked() * 3 // 4:
            largest = max(self._tables, key=CachedTable.estimate)
            before = largest.estimate()
            if before == 0:
                break
            largest.evict(max(len(largest.cache) // 4, 1))
            used += largest.estimate() - before
        return used


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every table of a backend works with."""

    backend: KeyedStateBackend
    operator: str
    store: Store
    budget: CacheBudget


class CachedTable:
    """The cache of one state and the way from it to the rows.

    Attributes:
        cache: By address: the key, or (key, namespace) where the state has namespaces.
        dirty: The addresses whose rows are not what the cache says.
        left: Changes until the next measurement.
        stored: Whether there may be rows; while there are none, what is not cached is not there.
        entry_bytes: The mean of the latest measurements.
    """

    __slots__ = (
        "_backend",
        "_budget",
        "_measured",
        "_namespaced",
        "_operator",
        "_store",
        "cache",
        "dirty",
        "entry_bytes",
        "format",
        "left",
        "stored",
    )

    def __init__(self, surroundings: Surroundings, rows: RowFormat, *, stored: bool) -> None:
        self._backend = surroundings.backend
        self._operator = surroundings.operator
        self._store = surroundings.store
        self._budget = surroundings.budget
        self._namespaced = rows.schema.meta.namespaced
        self._measured = 0
        self.format = rows
        self.stored = stored
        self.cache = Cached(self._loaded)
        self.dirty: set[Any] = set()
        self.left = _FIRST_LOOK
        self.entry_bytes = 0.0
        self._budget.join(self)

    @abstractmethod
    def load(self, address: Any) -> Any:
        """What the rows say about ``address``, in the form of the cache."""

    @abstractmethod
    def write(self, addresses: Sequence[Any]) -> None:
        """Make the rows of ``addresses`` what the cache says, once the store commits."""

    @abstractmethod
    def settle(self, addresses: Iterable[Any]) -> None:
        """``addresses`` were written; drop what need not be kept any more."""

    @abstractmethod
    def is_bare(self, cached: Any) -> bool:
        """Whether a cached entry stands for nothing but itself."""

    def estimate(self) -> int:
        """About how many bytes the cache takes."""
        return int(self.entry_bytes * len(self.cache))

    def packed_bytes(self) -> int:
        """How many bytes packed entries take, which ``estimate`` does not count."""
        return 0

    def sample(self, address: Any, cached: Any) -> float:
        """The bytes of one entry of those that ``estimate`` counts."""
        return footprint(address, cached)

    def measure(self, address: Any) -> None:
        """Take the entry at ``address`` for a sample, and make room if need be.

        Whatever was taken from the cache before may not be in it afterwards.
        """
        if address in self.cache:
            self._sampled(address, self.cache[address])
        self.left = self._budget.wait(self)

    def unwritten_count(self) -> int:
        """About how many entries have no rows, or other ones."""
        return len(self.dirty)

    def flush(self) -> None:
        """Write all that changed."""
        if self.dirty:
            self.write(list(self.dirty))
            self._store.commit()
            self.stored = True
            written, self.dirty = self.dirty, set()
            self.settle(written)

    def hold(self) -> FrozenTable | None:
        """What a checkpoint takes as it is; None when all is in rows now."""
        self.flush()
        return None

    def freeze(self) -> Unwritten | None:
        """What has no rows yet, as it is now; None when it was written instead, to be read from rows."""
        self.flush()
        return None

    def evict(self, count: int) -> None:
        """Write and drop the ``count`` oldest entries."""
        oldest = list(islice(self.cache, count))
        changed = self.dirty.intersection(oldest)
        if changed:
            self.write(list(changed))
            self._store.commit()
            self.stored = True
            self.dirty -= changed
        deque(map(self.cache.__delitem__, oldest), maxlen=0)

    def address(self) -> Any:
        """Where the current key's entry is."""
        key = self._backend.key
        if key is NO_KEY:
            raise NoCurrentKey(self._operator, self.format.schema.meta.name)
        return (key, self._backend.namespace) if self._namespaced else key

    def _loaded(self, address: Any) -> Any:
        found = self.load(address)
        # Room is made before the entry is there: who loads it goes on to work with it. What is not
        # there is mostly about to be put there, and says little about the size of entries.
        self.left -= 1
        if self.left < 0 and (self.left < -_FIRST_LOOK or not self.is_bare(found)):
            self._sampled(address, found)
            self.left = self._budget.wait(self)
        self.cache[address] = found
        return found

    def _sampled(self, address: Any, cached: Any) -> None:
        self._measured = min(self._measured + 1, _REMEMBERED)
        self.entry_bytes += (self.sample(address, cached) - self.entry_bytes) / self._measured
