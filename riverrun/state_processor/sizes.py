"""How large the states of an operator are, as far as files say so before they are read.

What would have to be downloaded for it stays unknown: only local files are looked into.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from riverrun.protocol.snapshots import KeyedPart, KeyedSnapshot, OperatorStatePart, StateKind
from riverrun.state.parquet.reader import damaged
from riverrun.state_processor.hashmap_scan import HashmapScan, opened_sections
from riverrun.storage.blobs import FileRef
from riverrun.storage.local import LocalStorage, local_path
from riverrun.storage.snapshot_files import SavedFiles
from riverrun.storage.storage import FileMissing, Storage


@dataclass(frozen=True, slots=True)
class Size:
    """Of a state."""

    rows: int | None = 0
    bytes: int | None = 0

    def __add__(self, other: Size) -> Size:
        rows = None if self.rows is None or other.rows is None else self.rows + other.rows
        size = None if self.bytes is None or other.bytes is None else self.bytes + other.bytes
        return Size(rows, size)


_UNKNOWN = Size(None, None)


def keyed_sizes(
    snapshots: Sequence[KeyedSnapshot], storage: Storage, files: SavedFiles
) -> Mapping[str, Size]:
    """The sizes of all keyed states of an operator by their names.

    Raises:
        StorageError: a file is missing or damaged.
    """
    sizes: dict[str, Size] = {}
    for snapshot in snapshots:
        names = dict.fromkeys(meta.name for meta in snapshot.states)
        found = _sizes_in(snapshot, storage, files)
        for name in names:
            sizes[name] = sizes.get(name, Size()) + found.get(name, Size())
    return sizes


def _sizes_in(snapshot: KeyedSnapshot, storage: Storage, files: SavedFiles) -> Mapping[str, Size]:
    names = [meta.name for meta in snapshot.states]
    if not snapshot.parts:
        return {}
    if snapshot.backend == "parquet":
        found: dict[str, Size] = {}
        for part in snapshot.parts:
            size = Size(_rows_in(part, storage), part.blob.size)
            found[part.name] = found.get(part.name, Size()) + size
        return found
    if snapshot.backend != "hashmap" or not _are_at_hand(snapshot, storage):
        return dict.fromkeys(names, _UNKNOWN)
    return _hashmap_sizes(snapshot, files)


def _hashmap_sizes(snapshot: KeyedSnapshot, files: SavedFiles) -> Mapping[str, Size]:
    maps = {meta.name for meta in snapshot.states if meta.kind is StateKind.MAP}
    groups = range(snapshot.first_group, snapshot.last_group + 1)
    with opened_sections(snapshot.parts, files, groups) as sections:
        found = {}
        for name in {section.meta.name for section in sections}:
            scan = HashmapScan([each for each in sections if each.meta.name == name], "")
            # A map has a row for each of its entries, which only its content tells.
            found[name] = Size(None if name in maps else scan.entries(), scan.bytes)
        return found


def items_size(parts: Sequence[OperatorStatePart]) -> Size:
    """The size of an operator state."""
    rows = sum(end - start if part.rows else 1 for part in parts for start, end in part.items)
    return Size(rows, sum(part.blob.size for part in parts))


def _are_at_hand(snapshot: KeyedSnapshot, storage: Storage) -> bool:
    return isinstance(storage, LocalStorage) or not any(
        isinstance(part.blob, FileRef) for part in snapshot.parts
    )


def _rows_in(part: KeyedPart, storage: Storage) -> int | None:
    if not isinstance(part.blob, FileRef) or not isinstance(storage, LocalStorage):
        return None
    try:
        rows: int = pq.read_metadata(local_path(part.blob.path)).num_rows
    except FileNotFoundError as error:
        raise FileMissing(
            f"file {part.blob.path!r}: it is not there, and state {part.name!r} is in it; use another "
            f"copy of the savepoint"
        ) from error
    except (pa.ArrowException, OSError) as error:
        raise damaged(part.blob.path, str(error)) from error
    return rows
