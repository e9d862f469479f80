"""Entries that are in the cache and have no rows, as a checkpoint takes them without writing any.

Where much of what a checkpoint writes has changed again when the next one comes, rows are written in vain: each of
them costs several times as much as a place in a file of columns, is merged away later, and is never read. Such
entries stay without rows, and each checkpoint holds all of them in a file as the hashmap backend writes it. When
they come to rest they get their rows.
"""

from __future__ import annotations

from typing import Any, Final

from riverrun.state.hashmap.known_keys import KnownKeys
from riverrun.state.hashmap.table import FrozenTable
from riverrun.state.immutable import is_immutable_type
from riverrun.state.number_values import number_in, numbers_in
from riverrun.state.rocksdb.cached import Cached
from riverrun.state.rocksdb.restless import Restless
from riverrun.state.schema import StateSchema

_FEW: Final = 1024
"""Fewer entries are not worth a file of their own."""
_KNOWN_BYTES: Final = 20
"""What is known of a key from one checkpoint to the next."""


class Holding:
    """Decides for one state, and takes what is in its cache."""

    __slots__ = ("_cache", "_is_shared", "_known", "_number", "_restless", "schema")

    def __init__(self, schema: StateSchema, cache: Cached) -> None:
        self.schema = schema
        self._cache = cache
        self._known: KnownKeys | None = None
        self._number = number_in(schema)
        self._is_shared = not is_immutable_type(schema.value)
        self._restless = Restless()

    @property
    def entry_bytes(self) -> int:
        """What each entry takes beside what is in the cache."""
        return 0 if self._known is None else _KNOWN_BYTES

    def take(self, dirty: set[Any]) -> FrozenTable | None:
        """What has no rows, as it is now; None where it is time for rows."""
        if len(dirty) < _FEW or not self._restless.are(self._cache, dirty):
            self._known = None
            self._restless.remember(list(dirty), self._cache)
            return None
        frozen = self._numbers(dirty) or self._entries(dirty)
        self._restless.remember(tuple(frozen.addresses), self._cache)
        return frozen

    def thaw(self, frozen: FrozenTable) -> None:
        """The snapshot needs ``frozen`` no more; any thread."""
        if frozen.shared is not None:
            self._cache.unshare(frozen.shared)

    def _numbers(self, dirty: set[Any]) -> FrozenTable | None:
        """All of the cache, if that is little more and an array; what has rows is the same in them."""
        if 2 * len(dirty) < len(self._cache):
            return None
        numbers = numbers_in(self._cache, self._number)
        if numbers is None:
            return None
        known = self._known = self._known or KnownKeys()
        return FrozenTable(self, known.of(self._cache), numbers, known=known)

    def _entries(self, dirty: set[Any]) -> FrozenTable:
        """By ``get``, which copies nothing that another snapshot holds too."""
        cache = self._cache
        is_whole = len(dirty) == len(cache)
        entries = dict(cache) if is_whole else {address: cache.get(address) for address in dirty}
        removed = [address for address, value in entries.items() if value is None]
        for address in removed:
            del entries[address]
        known = self._known = (self._known or KnownKeys()) if is_whole else None
        shared = entries if self._is_shared else None
        if shared:
            cache.share(shared)
        addresses = tuple(entries) if known is None else known.of(entries)
        return FrozenTable(self, addresses, entries.values(), removed, shared, known)
