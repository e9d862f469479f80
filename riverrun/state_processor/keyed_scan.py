"""One keyed state, of all subtasks and whatever format each wrote it in, read by key groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import chain
from types import TracebackType
from typing import Final, Protocol, Self, TypeAlias

from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.state.interchange import READERS, StateBlock, UnknownBackend
from riverrun.state.parquet.reader import OpenTable, fetched
from riverrun.state_processor.hashmap_scan import opened_hashmap
from riverrun.storage.snapshot_files import SavedFiles


class OpenState(Protocol):
    """A state in the files of one subtask, which are at hand."""

    def blocks(self, groups: range) -> Iterator[StateBlock]:
        """The entries of ``groups``, each once; a large map may come in several blocks."""


class KeyedScan(AbstractContextManager["KeyedScan"]):
    """Reads a state a range of key groups after the other; files are at hand only while they are needed."""

    def __init__(
        self, snapshots: Sequence[KeyedSnapshot], files: SavedFiles, state: str, operator: str
    ) -> None:
        self._snapshots = sorted(snapshots, key=lambda each: each.first_group)
        self._files = files
        self._state = state
        self._operator = operator
        self._open: dict[int, tuple[OpenState, ExitStack]] = {}

    def blocks(self, groups: range) -> Iterator[StateBlock]:
        """The entries of ``groups``; files that end before them are let go of.

        Raises:
            StorageError: a file is missing or damaged.
        """
        for number, snapshot in enumerate(self._snapshots):
            wanted = range(
                max(groups.start, snapshot.first_group), min(groups.stop, snapshot.last_group + 1)
            )
            if not wanted:
                if snapshot.last_group < groups.start:
                    self._close(number)
                continue
            yield from self._opened(number, snapshot).blocks(wanted)
            if wanted.stop > snapshot.last_group:
                self._close(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number in list(self._open):
            self._close(number)

    def _opened(self, number: int, snapshot: KeyedSnapshot) -> OpenState:
        if number not in self._open:
            with ExitStack() as stack:
                opening = open_state(snapshot, self._files, self._state, self._operator)
                state = stack.enter_context(opening)
                self._open[number] = (state, stack.pop_all())
        return self._open[number][0]

    def _close(self, number: int) -> None:
        if number in self._open:
            self._open.pop(number)[1].close()


def open_state(
    snapshot: KeyedSnapshot, files: SavedFiles, state: str, operator: str
) -> AbstractContextManager[OpenState]:
    """The state ``state`` of one subtask's snapshot.

    Raises:
        UnknownBackend: of a backend that this release does not know.
    """
    opener = _OPENERS.get(snapshot.backend)
    if opener is None:
        raise UnknownBackend(snapshot.backend, tuple(READERS))
    return opener(snapshot, files, state, operator)


class _Tables:
    """The Parquet files of a savepoint; one, unless types changed."""

    def __init__(self, tables: Sequence[OpenTable], end: int) -> None:
        self._tables = [_TableInOrder(table, end) for table in tables]

    def blocks(self, groups: range) -> Iterator[StateBlock]:
        for table in self._tables:
            yield from table.blocks(groups)


class _TableInOrder:
    """A file, whose rows are in the order of their key groups, read on from where it was read up to.

    A row group is decoded once then, however few key groups are asked for at a time.
    """

    def __init__(self, table: OpenTable, end: int) -> None:
        self._table = table
        self._end = end
        self._at: int | None = None
        self._rest: Iterator[StateBlock] = iter(())

    def blocks(self, groups: range) -> Iterator[StateBlock]:
        if self._at != groups.start:
            self._rest = self._table.blocks(range(groups.start, self._end))
        self._at = None
        for block in self._rest:
            if block.group >= groups.stop:
                self._rest = chain([block], self._rest)
                break
            yield block
        self._at = groups.stop


@contextmanager
def _parquet(
    snapshot: KeyedSnapshot, files: SavedFiles, state: str, _operator: str
) -> Iterator[OpenState]:
    with ExitStack() as stack:
        parts = [part for part in snapshot.parts if part.name == state]
        tables = [stack.enter_context(fetched(part.blob, files)) for part in parts]
        yield _Tables(tables, snapshot.last_group + 1)


@contextmanager
def _hashmap(
    snapshot: KeyedSnapshot, files: SavedFiles, state: str, operator: str
) -> Iterator[OpenState]:
    groups = range(snapshot.first_group, snapshot.last_group + 1)
    with opened_hashmap(snapshot.parts, files, state, groups, operator) as scan:
        yield scan


@contextmanager
def _rocksdb(
    snapshot: KeyedSnapshot, files: SavedFiles, state: str, operator: str
) -> Iterator[OpenState]:
    # Who reads no such snapshot needs no RocksDB.
    from riverrun.state_processor.rocksdb_scan import opened_rocksdb  # noqa: PLC0415

    with opened_rocksdb(snapshot, files, state, operator) as scan:
        yield scan


_Opener: TypeAlias = Callable[
    [KeyedSnapshot, SavedFiles, str, str], AbstractContextManager[OpenState]
]
_OPENERS: Final[Mapping[str, _Opener]] = {
    "parquet": _parquet,
    "hashmap": _hashmap,
    "rocksdb": _rocksdb,
}
