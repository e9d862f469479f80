"""Where the rows of a table come from: the keyed state or the operator state of all subtasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, Protocol, Self

import msgspec
import pyarrow as pa

from riverrun.core.errors import RiverrunError
from riverrun.protocol.snapshots import KeyedSnapshot, OperatorStatePart, StateMeta
from riverrun.runtime.system_state import thaw_items
from riverrun.state.operator_state import decoded_items
from riverrun.state.parquet.columns import Rows, columns_for, map_parts, rows_of
from riverrun.state.parquet.items import read_items
from riverrun.state.parquet.parts import ENCODING, PLAIN, TYPED, Part, value_part
from riverrun.state.parquet.reader import OpenTable, UnreadableValues, damaged, fetched
from riverrun.state.parquet.types import plain_column_of
from riverrun.state.schema import MAPS, schema_from
from riverrun.state_processor.columns import OURS, SUBTASK, subtask_part
from riverrun.state_processor.keyed_scan import KeyedScan
from riverrun.state_processor.kinds import TableKind
from riverrun.storage.snapshot_files import SavedFiles

_PARQUET: Final = "parquet"


class RowSource(Protocol):
    """The rows of one state."""

    @property
    def meta(self) -> StateMeta:
        """Name, kind and declared types of the state."""
        ...

    @property
    def kind(self) -> TableKind:
        """What it is to people."""
        ...

    def names(self) -> tuple[str, ...]:
        """The columns in order."""
        ...

    def parts(self) -> dict[str, Part | None]:
        """The columns in order; None where only the values can tell their type."""
        ...

    def rows(self) -> Iterator[Rows]:
        """The rows, some at a time, values as they are stored.

        Raises:
            StorageError: a file is missing or damaged.
            UnreadableValues: a value cannot be made again here.
        """
        ...

    def file_batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch] | None:
        """The rows as the files of a savepoint have them, if all are in such files."""
        ...


class _Every(Enum):
    """Stays the same object when it is pickled."""

    KEY = "every key"


ANY_KEY: Final = _Every.KEY


@dataclass(frozen=True)
class KeyedSource:
    """Keyed state."""

    place: str
    """What errors name: the `_metadata` file."""
    operator: str
    meta: StateMeta
    kind: TableKind
    snapshots: Sequence[KeyedSnapshot]
    files: SavedFiles
    groups: range
    key: Any = field(default=ANY_KEY)

    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self._declared())

    def parts(self) -> dict[str, Part | None]:
        found = _known(self._declared())
        if None in found.values() and all(each.backend == _PARQUET for each in self.snapshots):
            plain = self._plain_in_files()
            found = {name: part or plain.get(name) for name, part in found.items()}
        return found

    def rows(self) -> Iterator[Rows]:
        with self.scan() as scan:
            yield from self.rows_in(scan, self.groups)

    def scan(self) -> KeyedScan:
        """What reads the state by key groups; it is to be closed."""
        return KeyedScan(self.snapshots, self.files, self.meta.name, self.operator)

    def rows_in(self, scan: KeyedScan, groups: range) -> Iterator[Rows]:
        """The rows of some key groups."""
        with _explained(self.place, self.operator, self.meta.name):
            for block in scan.blocks(groups):
                rows = rows_of(block)
                if self.key is not ANY_KEY:
                    rows = _with_key(rows, self.key)
                if rows["key"]:
                    yield rows

    def file_batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch] | None:
        if self.key is not ANY_KEY or any(each.backend != _PARQUET for each in self.snapshots):
            return None
        return self._file_batches(schema)

    def narrowed(self, groups: range, key: Any = ANY_KEY) -> Self:
        """The same state of fewer key groups, or of one key."""
        return replace(self, groups=groups, key=key)

    def tables(self) -> Iterator[OpenTable]:
        """The files of a savepoint, each open while it is looked at."""
        for snapshot in sorted(self.snapshots, key=lambda each: each.first_group):
            if not set(range(snapshot.first_group, snapshot.last_group + 1)) & set(self.groups):
                continue
            for part in snapshot.parts:
                if part.name == self.meta.name and snapshot.backend == _PARQUET:
                    with fetched(part.blob, self.files) as table:
                        yield table

    def _file_batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for table in self.tables():
            found = [
                table.schema.field(name) for name in schema.names if name in table.schema.names
            ]
            if pa.schema(found) != schema:
                raise damaged(table.name, f"expected the columns {schema.names}, found {found}")
            row_groups = table.row_groups(self.groups)
            for batch in table.batches(row_groups, schema.names):
                kept = _of_groups(batch, self.groups)
                if kept.num_rows:
                    yield pa.RecordBatch.from_arrays(kept.columns, schema=schema)

    def _plain_in_files(self) -> Mapping[str, Part]:
        """The columns that files agree about without a declared type."""
        found: dict[str, set[pa.Field]] = defaultdict(set)
        for table in self.tables():
            for each in table.schema:
                found[each.name].add(each)
        plain = {}
        for name, fields in found.items():
            one = next(iter(fields))
            types = {(each.type, (each.metadata or {}).get(ENCODING)) for each in fields}
            column = plain_column_of(one.type)
            if len(types) == 1 and types == {(one.type, PLAIN.encode())} and column is not None:
                plain[name] = Part(name, column, PLAIN)
        return plain

    def _declared(self) -> Sequence[Part]:
        return columns_for(self.meta, defaultdict(list)).parts


@dataclass(frozen=True)
class ItemSource:
    """Operator state."""

    place: str
    operator: str
    meta: StateMeta
    kind: TableKind
    written: Sequence[tuple[int, OperatorStatePart]]
    """With the subtask that wrote each; of broadcast state one stands for all."""
    files: SavedFiles

    def names(self) -> tuple[str, ...]:
        return tuple(self.parts())

    def parts(self) -> dict[str, Part | None]:
        if self.meta.kind in MAPS:
            return _known(map_parts(self.meta, defaultdict(list)))
        return _known([subtask_part(), value_part("value", schema_from(self.meta).value)])

    def rows(self) -> Iterator[Rows]:
        for subtask, part in self.written:
            with _explained(self.place, self.operator, self.meta.name):
                items = self._items(part)
            if not items:
                continue
            if part.meta.kind in MAPS:
                yield {
                    "map_key": [key for key, _ in items],
                    "map_value": [value for _, value in items],
                }
            else:
                yield {SUBTASK: [subtask] * len(items), "value": items}

    def file_batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch] | None:
        del schema
        return None

    def _items(self, part: OperatorStatePart) -> list[Any]:
        if not part.items:
            return []
        if self.kind.is_system:
            return thaw_items(self.meta.name, [part], self.files)
        if part.rows:
            return read_items(part, self.files)
        data = self.files.read(part.blob)
        return decoded_items(part.meta, [data[start:end] for start, end in part.items])


def merged_meta(metas: Sequence[StateMeta]) -> StateMeta:
    """What subtasks agree about that wrote a state with different types, as may be after an upgrade."""
    first = metas[0]
    if all(meta == first for meta in metas):
        return first
    types = {
        role: text
        for role, text in first.types.items()
        if all(meta.types.get(role) == text for meta in metas)
    }
    ttl = any(meta.ttl for meta in metas)
    return msgspec.structs.replace(first, types=types, ttl=ttl)


def _known(parts: Sequence[Part]) -> dict[str, Part | None]:
    return {
        part.name: part if part.encoding == TYPED or part.name in OURS else None for part in parts
    }


@contextmanager
def _explained(place: str, operator: str, state: str) -> Iterator[None]:
    """Let what unpickling raises, which runs the user's code, be told as what it means."""
    try:
        yield
    except RiverrunError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise UnreadableValues(place, operator, state, reason) from error


def _with_key(rows: Rows, key: Any) -> Rows:
    found = [row for row, each in enumerate(rows["key"]) if each is key or each == key]
    return {name: [column[row] for row in found] for name, column in rows.items()}


def _of_groups(batch: pa.RecordBatch, groups: range) -> pa.RecordBatch:
    found = batch.column(0).to_numpy()
    inside = (found >= groups.start) & (found < groups.stop)
    return batch if inside.all() else batch.filter(pa.array(inside))
