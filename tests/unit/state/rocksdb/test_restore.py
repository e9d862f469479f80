"""Where a backend begins: opened files, copied rows, rewritten types, damaged files."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from riverrun.api.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.serde.key_hash import key_group
from riverrun.serde.types import Types
from riverrun.state.backend import StateRefused
from riverrun.state.interchange import iterate
from riverrun.state.rocksdb.backend import RocksDBBackend
from riverrun.state.rocksdb.catalog import SnapshotFacts, facts_of
from riverrun.storage.blobs import FileRef
from riverrun.storage.storage import FileCorrupt, FileMissing
from tests.unit.state.rocksdb.conftest import GROUPS, Bench

VALUE = ValueStateDescriptor("value", Types.STRING())
KEYS = range(40)


def filled(bench: Bench, first: int = 0, last: int = GROUPS - 1) -> RocksDBBackend:
    """A backend in which every one of its keys has its text as the value."""
    backend = bench.backend(first, last)
    state: Any = backend.state(VALUE)
    for key in KEYS:
        if first <= group_of(key) <= last:
            backend.key = key
            state.update(str(key))
    return backend


def group_of(key: Any) -> int:
    return key_group(key, GROUPS)


def contents(backend: RocksDBBackend, descriptor: StateDescriptor = VALUE) -> dict[Any, Any]:
    state: Any = backend.state(descriptor)
    found = {}
    for key in list(backend.keys(descriptor.name)):
        backend.key = key
        found[key] = state.value() if hasattr(state, "value") else state.get()
    return found


def damaged(bench: Bench, snapshot: KeyedSnapshot, prefix: str) -> KeyedSnapshot:
    """The same snapshot after a byte of each of its files with such names has changed."""
    for part in snapshot.parts:
        if part.name.startswith(prefix) or part.name.endswith(prefix):
            assert isinstance(part.blob, FileRef)
            data = bytearray(bench.shelf.files[part.blob.path])
            data[len(data) // 3] ^= 0xFF
            bench.shelf.files[part.blob.path] = bytes(data)
    return snapshot


def test_a_subtask_of_a_larger_job_opens_the_files_and_drops_other_groups(bench: Bench) -> None:
    snapshot = bench.snapshot(filled(bench))
    bench.shelf.uploads.clear()

    part = bench.restored(snapshot, first=2, last=4)

    expected = {key: str(key) for key in KEYS if 2 <= group_of(key) <= 4}
    assert contents(part) == expected
    again = bench.snapshot(part, 2)
    assert contents(bench.restored(again, first=2, last=4)) == expected
    everything = bench.restored(again)
    assert contents(everything) == expected, "what was dropped does not come back"


def test_rows_of_several_snapshots_come_together(bench: Bench) -> None:
    snapshots = [bench.snapshot(filled(bench, 0, 3)), bench.snapshot(filled(bench, 4, 7))]

    whole = bench.restored(*snapshots)

    assert contents(whole) == {key: str(key) for key in KEYS}
    assert contents(bench.restored(bench.snapshot(whole, 2))) == {key: str(key) for key in KEYS}


def test_states_with_other_numbers_in_other_snapshots_are_told_apart(bench: Bench) -> None:
    other = ValueStateDescriptor("other", Types.LONG())
    first, second = bench.backend(0, 3), bench.backend(4, 7)
    for backend, order in ((first, (VALUE, other)), (second, (other, VALUE))):
        for descriptor in order:
            backend.state(descriptor)
        for key in KEYS:
            if backend._settings.first_group <= group_of(key) <= backend._settings.last_group:
                backend.key = key
                backend.state(VALUE).update(str(key))  # type: ignore[attr-defined]
                backend.state(other).update(key)  # type: ignore[attr-defined]

    whole = bench.restored(bench.snapshot(first), bench.snapshot(second))

    assert contents(whole) == {key: str(key) for key in KEYS}
    assert contents(whole, other) == {key: key for key in KEYS}


def test_a_state_that_only_some_subtasks_have_rewritten_is_joined(bench: Bench) -> None:
    wide = ValueStateDescriptor("number", Types.BIG_INT())
    narrow = ValueStateDescriptor("number", Types.INT())
    first, second = bench.backend(0, 3), bench.backend(4, 7)
    for backend, descriptor in ((first, narrow), (second, wide)):
        state: Any = backend.state(descriptor)
        for key in KEYS:
            if backend._settings.first_group <= group_of(key) <= backend._settings.last_group:
                backend.key = key
                state.update(key)

    whole = bench.restored(bench.snapshot(first), bench.snapshot(second))

    assert sorted(whole.keys("number")) == list(KEYS), "also before anyone asks for it"
    assert contents(whole, wide) == {key: key for key in KEYS}
    snapshot = bench.snapshot(whole, 2)
    assert len(snapshot.states) == 1
    assert contents(bench.restored(snapshot), wide) == {key: key for key in KEYS}


def test_rows_are_rewritten_once_when_the_type_of_a_state_changed(bench: Bench) -> None:
    before: list[StateDescriptor] = [
        ValueStateDescriptor("row", Types.ROW_NAMED(["a"], [Types.INT()])),
        ListStateDescriptor("list", Types.INT()),
        MapStateDescriptor("map", Types.INT(), Types.INT()),
    ]
    after: list[StateDescriptor] = [
        ValueStateDescriptor("row", Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])),
        ListStateDescriptor("list", Types.DOUBLE()),
        MapStateDescriptor("map", Types.LONG(), Types.DOUBLE()),
    ]
    backend = bench.backend()
    backend.key = "k"
    row, elements, entries = (backend.state(descriptor) for descriptor in before)
    row.update(Types.ROW_NAMED(["a"], [Types.INT()]).coerce((1,)))  # type: ignore[attr-defined]
    elements.add_all([1, 2])  # type: ignore[attr-defined]
    entries.put_all({1: 1, 2: 2})  # type: ignore[attr-defined]
    snapshot = bench.snapshot(backend)

    for _ in range(2):
        restored = bench.restored(snapshot)
        restored.key = "k"
        row, elements, entries = (restored.state(descriptor) for descriptor in after)
        assert row.value().as_dict() == {"a": 1, "b": None}  # type: ignore[attr-defined]
        assert list(map(repr, elements.get())) == ["1.0", "2.0"]  # type: ignore[attr-defined]
        assert repr(dict(entries.items())) == "{1: 1.0, 2: 2.0}"  # type: ignore[attr-defined]
        snapshot = bench.snapshot(restored, 2)


def test_a_type_that_cannot_be_had_is_refused_and_nothing_is_rewritten(bench: Bench) -> None:
    snapshot = bench.snapshot(filled(bench))
    restored = bench.restored(snapshot)

    with pytest.raises(StateRefused, match="'value'"):
        restored.state(ValueStateDescriptor("value", Types.LONG()))
    with pytest.raises(StateRefused, match="'value'"):
        restored.state(ListStateDescriptor("value", Types.STRING()))

    assert contents(restored) == {key: str(key) for key in KEYS}


def test_keys_and_map_keys_keep_their_classes(bench: Bench) -> None:
    backend = bench.backend()
    entries: Any = backend.state(MapStateDescriptor("map"))
    backend.key = True
    entries.put(2.0, "x")
    entries.put(False, "y")

    restored = bench.restored(bench.snapshot(backend))

    assert repr(list(restored.keys("map"))) == "[True]"
    restored.key = 1
    found: Any = restored.state(MapStateDescriptor("map"))
    assert sorted(map(repr, found.keys())) == ["2.0", "False"]


def test_a_large_map_is_read_in_blocks_by_others(bench: Bench) -> None:
    backend = bench.backend()
    entries: Any = backend.state(MapStateDescriptor("map"))
    for key in ("a", "b"):
        backend.key = key
        entries.put_all({number: number for number in range(2500)})

    blocks = list(iterate(bench.snapshot(backend), bench.shelf, range(GROUPS)))

    assert max(len(value) for block in blocks for value in block.values) <= 1000
    found: dict[Any, dict[int, int]] = {"a": {}, "b": {}}
    for block in blocks:
        for key, value in zip(block.keys, block.values, strict=True):
            assert not found[key].keys() & value.keys()
            found[key].update(value)
    whole = {number: number for number in range(2500)}
    assert found == {"a": whole, "b": whole}


def test_a_large_map_is_gone_through_without_holding_it(bench: Bench) -> None:
    backend = bench.backend(cache_bytes=50_000)
    entries: Any = backend.state(MapStateDescriptor("map"))
    backend.key = "k"
    for number in range(3000):
        entries.put(number, number)

    going = iter(entries.items())
    seen = dict([next(going) for _ in range(10)])
    entries.put(5000, "new")
    entries.remove(2999)
    seen.update(going)

    assert seen == {number: number for number in range(3000)}, "as it was when it began"
    assert sum(len(found) for found in backend._tables["map"].cache.values()) < 1500
    assert sorted(entries.keys()) == [*range(2999), 5000]


@pytest.mark.parametrize("file", ["MANIFEST-", "CURRENT"])
def test_a_damaged_file_is_named(bench: Bench, file: str) -> None:
    snapshot = damaged(bench, bench.snapshot(filled(bench)), file)
    names = [
        part.blob.path
        for part in snapshot.parts
        if isinstance(part.blob, FileRef) and file in part.name
    ]

    with pytest.raises(FileCorrupt) as refused:
        contents(bench.restored(snapshot))

    assert str(refused.value).startswith(names[0])
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize("file", ["MANIFEST-", ".sst"])
def test_a_damaged_file_among_several_snapshots_is_named(bench: Bench, file: str) -> None:
    good = bench.snapshot(filled(bench, 0, 5))
    bad = damaged(bench, bench.snapshot(filled(bench, 6, 7)), file)

    with pytest.raises(FileCorrupt) as refused:
        bench.restored(good, bad)

    assert "store/" in str(refused.value).split(":")[0]


def test_a_damaged_block_found_later_is_named_and_ends_no_scan(bench: Bench) -> None:
    backend = bench.backend()
    state: Any = backend.state(VALUE)
    for key in range(5000):
        backend.key = key
        state.update(f"{key * 7919:099d}")
    restored = bench.restored(damaged(bench, bench.snapshot(backend), ".sst"))

    with pytest.raises(FileCorrupt, match=r"\d+\.sst: RocksDB cannot read it"):
        list(restored.keys("value"))
    state = restored.state(VALUE)

    def read_all() -> None:
        for key in range(5000):
            restored.key = key
            state.value()

    with pytest.raises(FileCorrupt, match=r"\d+\.sst: RocksDB cannot read it"):
        read_all()


def test_a_missing_file_is_named(bench: Bench) -> None:
    snapshot = bench.snapshot(filled(bench))
    lost = next(part.blob for part in snapshot.parts if part.name.endswith(".sst"))
    assert isinstance(lost, FileRef)
    del bench.shelf.files[lost.path]

    with pytest.raises(FileMissing, match=lost.path):
        bench.restored(snapshot)


def test_a_layout_of_a_later_release_is_refused(bench: Bench) -> None:
    snapshot = bench.snapshot(filled(bench))
    facts = facts_of(snapshot)
    newer = SnapshotFacts(9, facts.max_parallelism, facts.numbers, facts.next_piece)

    with pytest.raises(FileCorrupt, match="has version 9 of the layout"):
        bench.restored(msgspec.structs.replace(snapshot, meta=msgspec.msgpack.encode(newer)))
    with pytest.raises(FileCorrupt, match="cannot be read"):
        bench.restored(msgspec.structs.replace(snapshot, meta=b"\xc1"))


def test_another_max_parallelism_is_refused_with_both_numbers(bench: Bench) -> None:
    snapshot = bench.snapshot(filled(bench))
    backend = bench.backend(max_parallelism=16)

    with pytest.raises(StateRefused, match="max parallelism 8 and is restored with 16"):
        backend.restore([snapshot], bench.shelf, owned=True)


def test_a_restore_leaves_no_other_files(bench: Bench) -> None:
    snapshots = [bench.snapshot(filled(bench, 0, 3)), bench.snapshot(filled(bench, 4, 7))]

    backend = bench.restored(*snapshots)

    assert [path.name for path in backend._settings.folder.iterdir()] == ["db"]
