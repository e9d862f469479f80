"""Operator state in files: a row for each element of a list and for each entry of a broadcast map.

The columns are ``value``, or ``map_key`` and ``map_value``, as `riverrun.state.parquet.columns` describes
them. Where one of them is pickled there is ``text`` too, which shows people what it is; nothing reads it.
"""

from __future__ import annotations

import pickle
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from riverrun.core.short_repr import short_repr
from riverrun.protocol.snapshots import OperatorStatePart, Redistribution, StateMeta
from riverrun.serde.arrow_columns import BinaryColumn, StringColumn
from riverrun.state.parquet.columns import TEXT, Rows, StateColumns, columns_in, map_parts
from riverrun.state.parquet.facts import VERSION, FileFacts, Owner
from riverrun.state.parquet.parts import PICKLE, PLAIN, Part, value_part
from riverrun.state.parquet.reader import damaged, fetched
from riverrun.state.parquet.writer import TableFile
from riverrun.state.schema import MAPS, schema_from
from riverrun.storage.snapshot_files import NamedFiles, SavedFiles
from riverrun.storage.storage import StorageError

FOLDER: Final = "operator-state"


def write_items(
    meta: StateMeta, how: Redistribution, values: Sequence[Any], files: NamedFiles, owner: Owner
) -> OperatorStatePart:
    """Keep elements of a list, or pairs of a broadcast map; there must be some.

    Raises:
        UnstorableValue: one is not what the state's type says, or cannot be pickled.
    """
    rows: Rows = {"value": list(values)}
    if meta.kind in MAPS:
        rows = {
            "map_key": [key for key, _ in values],
            "map_value": [value for _, value in values],
        }
    columns = _columns_for(meta, rows)
    if any(part.encoding == PICKLE for part in columns.parts):
        rows[TEXT] = _texts(values)
        columns = StateColumns([*columns.parts, Part(TEXT, StringColumn(), PLAIN)])
    return _written(FileFacts(VERSION, owner, meta, redistribution=how), columns, rows, files)


def write_pickled_items(
    meta: StateMeta, how: Redistribution, pickles: Sequence[bytes], files: NamedFiles, owner: Owner
) -> OperatorStatePart:
    """Keep elements of a list that are pickled already; there must be some."""
    columns = StateColumns(
        [Part("value", BinaryColumn(), PICKLE), Part(TEXT, StringColumn(), PLAIN)]
    )
    rows: Rows = {"value": list(pickles), TEXT: _texts([_shown(data) for data in pickles])}
    return _written(FileFacts(VERSION, owner, meta, redistribution=how), columns, rows, files)


def read_items(part: OperatorStatePart, files: SavedFiles) -> list[Any]:
    """The elements, or pairs of key and value, that ``part`` names.

    Raises:
        FileCorrupt: the file is damaged.
        UnreadableValues: a pickle in it cannot be read here.
    """
    if not part.items:
        return []
    with fetched(part.blob, files) as table:
        meta = table.facts.state
        names = [name for name in table.schema.names if name != TEXT]
        wanted = pa.schema([table.schema.field(name) for name in names])
        try:
            columns = columns_in(_columns_for(meta, defaultdict(list)), wanted)
        except ValueError as error:
            raise damaged(table.name, str(error)) from error
        values: list[Any] = []
        for rows in table.rows(columns, names=names):
            if meta.kind in MAPS:
                values += zip(rows["map_key"], rows["map_value"], strict=True)
            else:
                values += rows["value"]
    if part.items[-1][1] > len(values):
        found = f"it has {len(values)} rows, expected {part.items[-1][1]}"
        raise damaged(table.name, found)
    return [values[row] for start, end in part.items for row in range(start, end)]


@contextmanager
def scratch_file(files: NamedFiles) -> Iterator[Path]:
    """A place for a file that is being made."""
    try:
        files.scratch.mkdir(parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(prefix="savepoint-", dir=files.scratch)
    except OSError as error:
        raise StorageError(
            f"folder {str(files.scratch)!r}: files of a savepoint cannot be made there: {error}; see "
            f"whether the disk has room and this user may write to it"
        ) from error
    with folder as made:
        yield Path(made) / "state.parquet"


def _columns_for(meta: StateMeta, sample: Rows) -> StateColumns:
    if meta.kind in MAPS:
        return StateColumns(map_parts(meta, sample))
    return StateColumns([value_part("value", schema_from(meta).value)])


def _written(
    facts: FileFacts, columns: StateColumns, rows: Rows, files: NamedFiles
) -> OperatorStatePart:
    how, owner = facts.redistribution, facts.owner
    assert how is not None  # noqa: S101  (facts of operator state have it)
    name = files.name_for(f"{FOLDER}/{owner.operator_id}", facts.state.name, owner.subtask)
    with scratch_file(files) as path:
        with TableFile(path, facts, lambda _: columns) as file:
            file.add(rows)
        ref = files.keep(path, name)
    items = tuple((row, row + 1) for row in range(file.rows))
    return OperatorStatePart(facts.state, how, ref, items, rows=True)


def _texts(values: Sequence[Any]) -> list[Any]:
    # A repr may have what UTF-8 has no form for.
    return [short_repr(value).encode(errors="backslashreplace").decode() for value in values]


class _Opaque:
    """Stands for a value that cannot be made again here."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __repr__(self) -> str:
        return f"<pickled: {self._reason}>"


def _shown(data: bytes) -> Any:
    try:
        return pickle.loads(data)
    except Exception as error:  # noqa: BLE001  (unpickling runs the user's code; the text is for people only)
        return _Opaque(str(error))
