"""How many entries of a keyed state are in each key group, and how many bytes they take.

Nothing is unpickled where the files allow it: rows of Parquet files and of RocksDB are counted as they are.
The hashmap backend mixes key groups in its blocks, so these are decoded. Where that is not possible here,
because the program's classes cannot be imported, a block is shared out by its entries, and it is said so.
"""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from riverrun.core.errors import RiverrunError
from riverrun.protocol.snapshots import KeyedPart, KeyedSnapshot
from riverrun.state.hashmap.reader import raw_sections
from riverrun.state.hashmap.snapshot_file import RawSection
from riverrun.state.interchange import READERS, StateBlock, UnknownBackend
from riverrun.state.parquet.columns import GROUP
from riverrun.state.parquet.reader import OpenTable, fetched
from riverrun.state.schema import MAPS, schema_from
from riverrun.state.serializers import EntrySerializer
from riverrun.state_processor.hashmap_scan import HashmapScan, opened_hashmap
from riverrun.state_processor.sources import KeyedSource

_FEW: Final = 20_000
"""Entries after which as many key groups are looked at together as before; after fewer, twice as many."""
_ROWS: Final = 1000


class Found(NamedTuple):
    """A part of what is in a key group."""

    group: int
    entries: int
    bytes: int
    shared_out: bool = False
    """Whether it is a share of a block that holds other key groups too."""


@dataclass(slots=True)
class GroupSizes:
    """By key group; None where it was not looked at."""

    entries: list[int | None]
    bytes: list[int | None]
    """Before compression, as the files have them."""
    complete: bool = True
    """Whether every key group was looked at."""
    shared_out: bool = False
    """Whether some bytes are shares by the number of entries, and replaced entries count too."""


def group_sizes(source: KeyedSource, go_on: Callable[[], bool]) -> GroupSizes:
    """Count a state group by group until all are counted, or ``go_on`` says that it is enough.

    Raises:
        StorageError: a file is missing or damaged.
    """
    groups = source.groups.stop
    sizes = GroupSizes([0] * groups, [0] * groups)
    entries, taken = [0] * groups, [0] * groups
    for snapshot in sorted(source.snapshots, key=lambda each: each.first_group):
        for found in _found_in(snapshot, source):
            if not go_on():
                rest = groups - found.group
                sizes.entries = [*entries[: found.group], *[None] * rest]
                sizes.bytes = [*taken[: found.group], *[None] * rest]
                sizes.complete = False
                return sizes
            entries[found.group] += found.entries
            taken[found.group] += found.bytes
            sizes.shared_out = sizes.shared_out or found.shared_out
    sizes.entries, sizes.bytes = list(entries), list(taken)
    return sizes


def _found_in(snapshot: KeyedSnapshot, source: KeyedSource) -> Iterator[Found]:
    """In the order of key groups."""
    reader = {"parquet": _in_tables, "hashmap": _in_blocks, "rocksdb": _in_rows}
    if snapshot.backend not in reader:
        raise UnknownBackend(snapshot.backend, tuple(READERS))
    return reader[snapshot.backend](snapshot, source)


def _in_tables(snapshot: KeyedSnapshot, source: KeyedSource) -> Iterator[Found]:
    with ExitStack() as stack:
        parts = [part for part in snapshot.parts if part.name == source.meta.name]
        tables = [stack.enter_context(fetched(part.blob, source.files)) for part in parts]
        yield from heapq.merge(*(_in_table(table, snapshot) for table in tables))


def _in_table(table: OpenTable, snapshot: KeyedSnapshot) -> Iterator[Found]:
    wanted = _groups_of(snapshot)
    for batch in table.batches(table.row_groups(wanted), None):
        groups = batch.column(GROUP).to_numpy()
        starts = np.flatnonzero(np.diff(groups, prepend=-1)).tolist()
        for start, end in zip(starts, [*starts[1:], len(groups)], strict=True):
            group = int(groups[start])
            if group in wanted:
                yield Found(group, end - start, batch.slice(start, end - start).nbytes)


def _in_blocks(snapshot: KeyedSnapshot, source: KeyedSource) -> Iterator[Found]:
    yield from _in_hashmap(snapshot, snapshot.parts, source)


def _in_hashmap(
    snapshot: KeyedSnapshot, parts: tuple[KeyedPart, ...], source: KeyedSource
) -> Iterator[Found]:
    every, state = _groups_of(snapshot), source.meta.name
    with opened_hashmap(parts, source.files, state, every, source.operator) as scan:
        start, width = every.start, 1
        while start < every.stop:
            window = range(start, min(start + width, every.stop))
            seen = 0
            for found in sorted(_decoded(scan, window, source.operator)):
                seen += found.entries
                yield found
            start, width = window.stop, width * 2 if seen < _FEW else max(width // 2, 1)


def _decoded(scan: HashmapScan, groups: range, operator: str) -> list[Found]:
    try:
        return [_measured(block, operator) for block in scan.blocks(groups)]
    except RiverrunError:
        raise
    except Exception:  # noqa: BLE001  (unpickling runs the user's code)
        return [Found(*each, shared_out=True) for each in scan.indexed(groups)]


def _measured(block: StateBlock, operator: str) -> Found:
    addresses = block.keys
    if block.namespaces is not None:
        addresses = list(zip(block.keys, block.namespaces, strict=True))
    size = len(EntrySerializer(schema_from(block.meta), operator).encode(addresses, block.values))
    entries = sum(map(len, block.values)) if block.meta.kind in MAPS else len(addresses)
    return Found(block.group, entries, size)


def _in_rows(snapshot: KeyedSnapshot, source: KeyedSource) -> Iterator[Found]:
    # Who reads no such snapshot needs no RocksDB.
    from riverrun.state.rocksdb import reader  # noqa: PLC0415

    beside = (*reader.near_timers(snapshot).parts, *reader.held_entries(snapshot).parts)
    near = _in_hashmap(snapshot, beside, source)
    return heapq.merge(near, _in_database(snapshot, source))


def _in_database(snapshot: KeyedSnapshot, source: KeyedSource) -> Iterator[Found]:
    from riverrun.protocol.snapshots import StateKind  # noqa: PLC0415
    from riverrun.state.rocksdb import reader  # noqa: PLC0415
    from riverrun.state.rocksdb.catalog import facts_of  # noqa: PLC0415
    from riverrun.state.rocksdb.rows import address_prefix, state_prefix  # noqa: PLC0415

    if not reader.rows_of(snapshot):
        return
    numbers = [
        number
        for number, meta in zip(facts_of(snapshot).numbers, snapshot.states, strict=True)
        if meta.name == source.meta.name
    ]
    held = [
        section
        for section in raw_sections(
            reader.held_entries(snapshot), source.files, _groups_of(snapshot)
        )
        if section.meta.name == source.meta.name
    ]
    in_pieces = source.meta.kind is StateKind.LIST
    folder = Path(tempfile.gettempdir())
    with reader.fetched(snapshot, source.files, folder) as database:
        for group in _groups_of(snapshot):
            for number in numbers:
                last = b""
                hidden = _hidden(held, snapshot, source, group, number)
                for keys, values in database.scan_runs(state_prefix(group, number), _ROWS):
                    entries = len(keys)
                    if hidden:
                        left = [place for place, key in enumerate(keys) if key not in hidden]
                        keys, values = [keys[at] for at in left], [values[at] for at in left]  # noqa: PLW2901
                        entries = len(left)
                    if in_pieces:
                        owners = [address_prefix(key) for key in keys]
                        entries = len(set(owners) - {last})
                        last = owners[-1]
                    size = sum(map(len, keys)) + sum(map(len, values))
                    yield Found(group, entries, size, shared_out=hidden is None)


def _hidden(
    held: Sequence[RawSection],
    snapshot: KeyedSnapshot,
    source: KeyedSource,
    group: int,
    number: int,
) -> AbstractSet[bytes] | None:
    """Row keys of one group for which there are entries that count instead; None if they cannot be decoded."""
    from riverrun.state.rocksdb import reader  # noqa: PLC0415
    from riverrun.state.rocksdb.catalog import facts_of  # noqa: PLC0415
    from riverrun.state.rocksdb.rows import RowFormat  # noqa: PLC0415

    if not held:
        return frozenset()
    most, operator = facts_of(snapshot).max_parallelism, source.operator
    try:
        addresses = list(reader.hidden_rows(held, range(group, group + 1), operator))
        return set(RowFormat(schema_from(held[0].meta), number, most, operator).row_keys(addresses))
    except RiverrunError:
        raise
    except Exception:  # noqa: BLE001  (unpickling runs the user's code)
        return None


def _groups_of(snapshot: KeyedSnapshot) -> range:
    return range(snapshot.first_group, snapshot.last_group + 1)
