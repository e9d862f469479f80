"""Operator state in files: items with their types, and a text where they are pickled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from riverrun.api.state import ListStateDescriptor, MapStateDescriptor
from riverrun.protocol.snapshots import OperatorStatePart, Redistribution
from riverrun.runtime.system_state import SPLITS, FrozenItems, thaw_items
from riverrun.serde.types import Types
from riverrun.state.operator_state import OperatorStateBackend
from riverrun.state.parquet.snapshot import write_operator_state
from riverrun.storage.blobs import FileRef
from riverrun.storage.savepoint_files import SavedSavepointFiles, SavepointFiles
from riverrun.storage.storage import FileCorrupt
from tests.unit.state.parquet.conftest import OWNER

LISTS = [ListStateDescriptor("list", Types.LONG()), ListStateDescriptor("list")]
MAPS = [
    MapStateDescriptor("map", Types.STRING(), Types.LONG()),
    MapStateDescriptor("map"),
]


@dataclass(frozen=True)
class Split:
    """A part of a source, and how far it was read."""

    path: str
    offset: int


def table(tmp_path: Path, part: OperatorStatePart) -> list[dict[str, Any]]:
    assert isinstance(part.blob, FileRef)
    return list(pq.read_table(tmp_path / "savepoint" / part.blob.path).to_pylist())


def written(backend: OperatorStateBackend, files: SavepointFiles) -> tuple[OperatorStatePart, ...]:
    return write_operator_state(backend.freeze().items(), files, OWNER)


@pytest.mark.parametrize("descriptor", LISTS, ids=["typed", "untyped"])
@pytest.mark.parametrize("how", ["list", "union_list"])
def test_lists_are_restored_item_by_item(
    files: SavepointFiles, saved: SavedSavepointFiles, descriptor: ListStateDescriptor, how: str
) -> None:
    backend = OperatorStateBackend("reader")
    getattr(backend, f"get_{how}_state")(descriptor).update(range(10))

    (part,) = written(backend, files)

    again = OperatorStateBackend("reader")
    again.restore([msgspec.structs.replace(part, items=part.items[3::2])], saved)
    state = getattr(again, f"get_{how}_state")(descriptor)
    assert state.get() == [3, 5, 7, 9]


@pytest.mark.parametrize("descriptor", MAPS, ids=["typed", "untyped"])
def test_broadcast_maps_are_restored(
    files: SavepointFiles, saved: SavedSavepointFiles, descriptor: MapStateDescriptor
) -> None:
    backend = OperatorStateBackend("reader")
    entries = {"a": 1, "b": 2**62, "": 0}
    backend.get_broadcast_state(descriptor).put_all(entries)

    (part,) = written(backend, files)

    assert part.redistribution is Redistribution.BROADCAST
    again = OperatorStateBackend("reader")
    again.restore([part], saved)
    assert dict(again.get_broadcast_state(descriptor).items()) == entries


def test_typed_items_are_columns_of_their_type(tmp_path: Path, files: SavepointFiles) -> None:
    backend = OperatorStateBackend("reader")
    backend.get_list_state(LISTS[0]).update([1, 2])
    backend.get_broadcast_state(MAPS[0]).put("a", 1)
    numbers, rules = written(backend, files)
    assert table(tmp_path, numbers) == [
        {"value": 1, "pickled": None},
        {"value": 2, "pickled": None},
    ]
    assert table(tmp_path, rules) == [{"map_key": "a", "map_value": 1, "pickled": None}]
    assert isinstance(numbers.blob, FileRef)
    assert numbers.blob.path == f"operator-state/{OWNER.operator_id}/list-3.parquet"


def test_pickled_items_can_be_read_by_people(tmp_path: Path, files: SavepointFiles) -> None:
    backend = OperatorStateBackend("reader")
    backend.get_list_state(LISTS[1]).update([Split("a.csv", 7)])
    backend.get_broadcast_state(MAPS[1]).put("a", {"b"})
    splits, rules = written(backend, files)
    assert [row["text"] for row in table(tmp_path, splits)] == ["Split(path='a.csv', offset=7)"]
    assert [row["text"] for row in table(tmp_path, rules)] == ["('a', {'b'})"]
    assert [row["map_key"] for row in table(tmp_path, rules)] == ["a"]


def test_items_of_riverruns_own_are_restored_and_show_where_sources_were(
    tmp_path: Path, files: SavepointFiles, saved: SavedSavepointFiles
) -> None:
    splits = [Split("a.csv", 7), Split("\ud800", 8)]
    part = FrozenItems(SPLITS, splits).write_savepoint(files, OWNER)

    assert part is not None
    assert thaw_items(SPLITS, [part], saved) == splits
    one = msgspec.structs.replace(part, items=part.items[1:])
    assert thaw_items(SPLITS, [one], saved) == splits[1:]
    texts = [row["text"] for row in table(tmp_path, part)]
    assert texts == ["Split(path='a.csv', offset=7)", "Split(path='\\ud800', offset=8)"]


def test_classes_of_the_program_itself_travel_with_the_items(
    files: SavepointFiles, saved: SavedSavepointFiles
) -> None:
    class Local:
        """Only this function knows it."""

        def __init__(self) -> None:
            self.position = 7

    part = FrozenItems(SPLITS, [Local()]).write_savepoint(files, OWNER)
    assert part is not None
    assert [item.position for item in thaw_items(SPLITS, [part], saved)] == [7]


def test_a_state_without_items_has_no_file(files: SavepointFiles) -> None:
    backend = OperatorStateBackend("reader")
    backend.get_list_state(LISTS[0])
    assert written(backend, files) == ()
    assert FrozenItems(SPLITS, []).write_savepoint(files, OWNER) is None
    assert files.written() == ()


def test_items_that_nobody_asks_for_travel_on(
    files: SavepointFiles, saved: SavedSavepointFiles
) -> None:
    backend = OperatorStateBackend("reader")
    backend.get_list_state(LISTS[0]).update([1, 2])
    backend.get_broadcast_state(MAPS[1]).put("a", {"b"})
    for _ in range(2):
        again = OperatorStateBackend("reader")
        again.restore(written(backend, files), saved)
        backend = again
    assert backend.get_list_state(LISTS[0]).get() == [1, 2]
    assert dict(backend.get_broadcast_state(MAPS[1]).items()) == {"a": {"b"}}


def test_a_file_with_too_few_rows_is_refused_by_name(
    files: SavepointFiles, saved: SavedSavepointFiles
) -> None:
    backend = OperatorStateBackend("reader")
    backend.get_list_state(LISTS[0]).update([1, 2])
    (part,) = written(backend, files)
    more = msgspec.structs.replace(part, items=((0, 1), (7, 8)))
    with pytest.raises(FileCorrupt, match=r"list-3\.parquet.*2 rows, expected 8"):
        OperatorStateBackend("reader").restore([more], saved)
