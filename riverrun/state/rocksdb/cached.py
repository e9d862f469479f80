"""Decoded values by address, and those of them that have no rows yet, as they are at one moment.

A savepoint takes such values as they are instead of writing rows only to read them again. Until it is
written, the cache gives out no value that the savepoint holds and that could be changed: it puts a copy in
its place first. This costs nothing at other times, because for that time only the dict has another class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import Any

from riverrun.state.immutable import ATOMS, copy_of, is_immutable_type
from riverrun.state.schema import StateSchema


class Cached(dict[Any, Any]):
    """A dict that loads what it does not have."""

    __slots__ = ("load", "lock", "shared")

    def __init__(self, load: Callable[[Any], Any]) -> None:
        super().__init__()
        self.load = load
        self.lock = Lock()
        self.shared: tuple[Mapping[Any, Any], ...] = ()
        """What snapshots hold that are not written yet."""

    def __missing__(self, address: Any) -> Any:
        return self.load(address)

    def share(self, entries: Mapping[Any, Any]) -> None:
        """Let nobody change the values of ``entries``, which are in this cache too."""
        with self.lock:
            self.shared = (*self.shared, entries)
            self.__class__ = _Guarded

    def unshare(self, entries: Mapping[Any, Any]) -> None:
        """The snapshot needs ``entries`` no more; any thread."""
        with self.lock:
            self.shared = tuple(held for held in self.shared if held is not entries)
            if not self.shared:
                self.__class__ = Cached


class _Guarded(Cached):
    """The same while a snapshot shares values with it."""

    __slots__ = ()

    def __getitem__(self, address: Any) -> Any:
        value = super().__getitem__(address)
        if type(value) in ATOMS or all(held.get(address) is not value for held in self.shared):
            return value
        given = self[address] = copy_of(value)
        return given


@dataclass(slots=True)
class Unwritten:
    """Entries of one state that have no rows, or other ones; a removed one is None."""

    schema: StateSchema
    entries: Mapping[Any, Any]
    cache: Cached

    def __post_init__(self) -> None:
        if not is_immutable_type(self.schema.value):
            self.cache.share(self.entries)

    def stretches(self, size: int) -> Iterator[tuple[list[Any], list[Any]]]:
        """Addresses and stored values, without what is removed, at most ``size`` at a time."""
        there = (pair for pair in self.entries.items() if pair[1] is not None)
        while taken := list(islice(there, size)):
            yield [address for address, _ in taken], [value for _, value in taken]

    def thaw(self) -> None:
        """The snapshot needs this no more; any thread."""
        self.cache.unshare(self.entries)
