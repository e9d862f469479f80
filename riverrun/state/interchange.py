"""The neutral form of keyed state, in which one backend reads the snapshots of another.

Every backend has a module with a function ``iterate`` that is a ``SnapshotReader``, and so has the open
format of savepoints; ``READERS`` names them. A reader gives blocks of entries in the form in which the
values are stored:

=============================  ==========================================================================
kind                           form
=============================  ==========================================================================
value, reducing, aggregating   the value or accumulator
list                           a list of the elements, never empty
map                            a dict, never empty; the dict of one key may come in several blocks
timers                         True; the namespace is a pair of the time and the timer's namespace
=============================  ==========================================================================

With ``meta.ttl`` each value, element or value of a map is a pair ``(value, time of last use in ms)``.
Values are decoded by the types of ``meta``, those that wrote them; who takes them over converts them
(``riverrun.state.migration``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple, Protocol, cast

from riverrun.core.errors import ProgramError
from riverrun.protocol.snapshots import KeyedSnapshot, StateMeta
from riverrun.storage.snapshot_files import SavedFiles


class StateBlock(NamedTuple):
    """Entries of one state; the lists are of one length."""

    meta: StateMeta
    group: int
    """The key group of all the keys."""
    keys: list[Any]
    namespaces: list[Any] | None
    """None unless ``meta.namespaced``."""
    values: list[Any]


class SnapshotReader(Protocol):
    """Reads the snapshots of one backend."""

    def __call__(
        self, snapshot: KeyedSnapshot, files: SavedFiles, groups: range
    ) -> Iterator[StateBlock]:
        """What ``snapshot`` holds of ``groups``; each entry once, with its last value."""


class UnknownBackend(ProgramError):  # noqa: N818
    """A backend's name that nothing here answers to."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(name, known)
        self.name, self.known = name, known

    def __str__(self) -> str:
        return (
            f"state backend {self.name!r} is not known; expected one of {', '.join(self.known)} "
            f"(option state.backend.type)"
        )


READERS: Final[Mapping[str, str]] = {
    "hashmap": "riverrun.state.hashmap.reader",
    "rocksdb": "riverrun.state.rocksdb.reader",
    "parquet": "riverrun.state.parquet.reader",
}
"""The module of the reader of each format, imported when a snapshot needs it."""


def iterate(snapshot: KeyedSnapshot, files: SavedFiles, groups: range) -> Iterator[StateBlock]:
    """What ``snapshot`` holds of ``groups``, read by the backend that wrote it."""
    module = READERS.get(snapshot.backend)
    if module is None:
        raise UnknownBackend(snapshot.backend, tuple(READERS))
    reader = cast("SnapshotReader", import_module(module).iterate)
    return reader(snapshot, files, groups)
