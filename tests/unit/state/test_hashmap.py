"""What is special to state in dicts: files, history of increments, cleanup."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from riverrun.api.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from riverrun.api.state_ttl import StateTtlConfig
from riverrun.core.time import Time
from riverrun.protocol.snapshots import KeyedPart, StateKind, StateMeta
from riverrun.serde.stable_hash import key_group
from riverrun.state.backend import KeyedStateBackend
from riverrun.state.hashmap.history import History
from riverrun.state.hashmap.snapshot_file import FileBuilder, read_sections
from riverrun.storage.blobs import FileRef, InlineBlob
from riverrun.storage.storage import FileCorrupt
from tests.contract.state.conftest import GROUPS, Workshop, read_all

META = StateMeta("state", StateKind.VALUE)
REF = FileRef("store/file-7", 0, "")


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path, "hashmap")


def a_file() -> bytes:
    file = FileBuilder()
    file.add(b"first", ((1, 3), (2, 4)), removed=False)
    file.add(b"second", ((2, 1), (5, 1)), removed=True)
    file.end_section(META)
    return bytes(file.finish())


def test_only_blocks_of_the_wanted_groups_are_read() -> None:
    def found(groups: range) -> list[bytes]:
        sections = read_sections(REF, a_file(), groups)
        return [bytes(block.data) for section in sections for block in section.blocks]

    assert found(range(2)) == [b"first"]
    assert found(range(2, 3)) == [b"first", b"second"]
    assert found(range(3, 6)) == [b"second"]
    assert found(range(6, 9)) == []


def test_a_file_of_a_later_version_is_refused_by_name() -> None:
    data = bytearray(a_file())
    struct.pack_into("<I", data, 8, 2)

    with pytest.raises(FileCorrupt, match=r"store/file-7.*version 2.*version 1"):
        list(read_sections(REF, bytes(data), range(9)))


def test_a_file_whose_index_is_spoilt_is_refused_by_name() -> None:
    data = bytearray(a_file())
    data[-24:-16] = struct.pack("<Q", 13)

    with pytest.raises(FileCorrupt, match=r"store/file-7.*index"):
        list(read_sections(REF, bytes(data), range(9)))


def test_a_restore_of_some_groups_decodes_few_entries_of_others(shop: Workshop) -> None:
    backend = shop.backend()
    state: Any = backend.state(ValueStateDescriptor("state"))
    for key in range(50_000):
        backend.key = key
        state.update(key)
    snapshot = shop.snapshot(backend)

    [part] = snapshot.parts
    sections = read_sections(part.blob, shop.files.read(part.blob), range(4))
    held = [
        sum(count for _, count in block.groups) for section in sections for block in section.blocks
    ]

    wanted = sum(1 for key in range(50_000) if key_group(key, GROUPS) < 4)
    assert wanted <= sum(held) < wanted * 1.6


def part(name: str, size: int) -> KeyedPart:
    return KeyedPart(name, InlineBlob(bytes(size)), shared=True)


BASE = part("base", 1000)


def test_a_delta_holds_what_changed_since_the_last_complete_checkpoint() -> None:
    history = History()
    assert history.freeze(1, {"a": {1}}, 100) is None
    history.wrote(1, (BASE,))
    history.completed(1)
    assert history.freeze(2, {"a": {2}}, 100) == {"a": {2}}
    assert history.freeze(3, {"a": {3}, "b": {1}}, 100) == {"a": {2, 3}, "b": {1}}
    history.aborted(2)
    history.wrote(3, (BASE, part("delta", 10)))
    history.completed(3)
    assert history.freeze(4, {"a": {4}}, 100) == {"a": {4}}
    assert history.relied_on == (BASE, part("delta", 10))


def test_while_checkpoints_are_on_their_way_others_build_on_the_same_files() -> None:
    history = History(relied_on=(BASE,))
    assert history.freeze(1, {"a": {1}}, 100) == {"a": {1}}
    assert history.freeze(2, {"a": {2}}, 100) == {"a": {1, 2}}
    history.wrote(1, (BASE, part("delta", 10)))
    history.completed(1)
    assert history.freeze(3, {"a": {3}}, 100) == {"a": {1, 2, 3}}
    assert history.relied_on == (BASE,)


def test_while_a_base_is_on_its_way_nothing_is_built_on_the_one_before() -> None:
    history = History()
    assert history.freeze(1, {"a": {1}}, 100) is None
    assert history.freeze(2, {"a": {2}}, 100) is None
    history.wrote(1, (BASE,))
    history.completed(1)
    assert history.freeze(3, {"a": {3}}, 100) is None
    history.aborted(2)
    history.aborted(3)
    assert history.freeze(4, {"a": {4}}, 100) == {"a": {2, 3, 4}}
    assert history.relied_on == (BASE,)


def test_many_changes_are_written_as_a_base() -> None:
    history = History(relied_on=(BASE,))

    assert history.freeze(1, {"a": set(range(51))}, 100) is None


def test_a_checkpoint_that_was_never_written_is_not_relied_on() -> None:
    history = History()
    history.freeze(1, {}, 100)
    history.completed(1)

    assert history.freeze(2, {}, 100) is None


def test_many_or_large_deltas_are_followed_by_a_base() -> None:
    history = History(relied_on=(BASE, *[part("delta", 1)] * 20))
    assert history.freeze(1, {}, 100) is None

    history = History(relied_on=(BASE, part("delta", 501)))
    assert history.freeze(1, {}, 100) is None

    history = History(relied_on=(BASE, part("delta", 499)))
    assert history.freeze(1, {}, 100) == {}


def test_after_a_renewal_nothing_frozen_before_is_built_on() -> None:
    history = History(relied_on=(BASE,))
    history.freeze(1, {}, 100)
    history.wrote(1, (BASE,))

    history.renew()
    history.completed(1)

    assert history.relied_on is None
    assert history.freeze(2, {}, 100) is None
    history.wrote(2, (part("base", 2000),))
    history.completed(2)
    assert history.freeze(3, {}, 100) == {}
    assert history.relied_on == (part("base", 2000),)


def expiring(shop: Workshop, configure: Any) -> tuple[KeyedStateBackend, Any]:
    descriptor = ValueStateDescriptor("value")
    builder = configure(StateTtlConfig.new_builder(Time.seconds(1)))
    descriptor.enable_time_to_live(builder.build())
    backend = shop.backend()
    state: Any = backend.state(descriptor)
    for key in range(100):
        backend.key = key
        state.update(key)
    shop.clock.advance(1000)
    return backend, state


def test_each_access_removes_some_expired_entries_of_other_keys(shop: Workshop) -> None:
    backend, state = expiring(shop, lambda builder: builder.cleanup_incrementally(10, False))
    backend.key = "other"

    for _ in range(30):
        state.value()

    assert backend.entry_count() == 0


def test_records_remove_expired_entries_where_that_is_wanted(shop: Workshop) -> None:
    backend, _ = expiring(shop, lambda builder: builder.cleanup_incrementally(10, True))

    for _ in range(3):
        backend.records_passed(20)

    assert backend.entry_count() == 0


def test_nothing_is_removed_in_the_background_where_that_is_not_wanted(shop: Workshop) -> None:
    backend, state = expiring(shop, lambda builder: builder.disable_cleanup_in_background())
    backend.key = "other"

    for _ in range(100):
        state.value()
    backend.records_passed(100)

    assert backend.entry_count() == 100


def test_a_full_snapshot_leaves_expired_entries_out_where_that_is_wanted(shop: Workshop) -> None:
    sizes = []
    for configure in (
        lambda builder: builder.disable_cleanup_in_background(),
        lambda builder: builder.disable_cleanup_in_background().cleanup_full_snapshot(),
    ):
        backend, state = expiring(shop, configure)
        backend.key = "young"
        state.update(1)
        again = shop.restored([shop.snapshot(backend)])
        sizes.append(again.entry_count())

    assert sizes == [101, 1]


def test_cleanup_takes_single_elements_and_entries(shop: Workshop) -> None:
    ttl = StateTtlConfig.new_builder(Time.seconds(1)).cleanup_incrementally(10, True).build()
    elements, entries = ListStateDescriptor("list"), MapStateDescriptor("map")
    elements.enable_time_to_live(ttl)
    entries.enable_time_to_live(ttl)
    backend = shop.backend(incremental=True)
    states: list[Any] = [backend.state(elements), backend.state(entries)]
    backend.key = 1
    states[0].add("old")
    states[1].put("old", 1)
    shop.clock.advance(600)
    states[0].add("young")
    states[1].put("young", 1)
    shop.clock.advance(600)

    for _ in range(3):
        backend.records_passed(1)

    snapshot = shop.snapshot(backend)
    again = shop.restored([snapshot])
    assert read_all(again, elements) == {1: ["young"]}
    assert read_all(again, entries) == {1: {"young": 1}}
    table: Any = backend
    assert [len(found.data[1]) for found in table._tables.values()] == [1, 1]


@pytest.mark.parametrize(("changes", "name"), [(1900, "delta"), (2100, "base")])
def test_when_most_has_changed_nobody_keeps_count_until_the_next_snapshot(
    shop: Workshop, changes: int, name: str
) -> None:
    backend = shop.backend(incremental=True)
    table: Any = backend.state(ValueStateDescriptor("value"))

    def change(count: int) -> None:
        for key in range(count):
            backend.key = key
            table.update(count)
        backend.records_passed(count)

    change(4000)
    shop.snapshot(backend, 1)
    assert table.changed == set()
    change(changes)

    assert (table.changed is None) == (name == "base")
    snapshot = shop.snapshot(backend, 2)
    assert [part.name for part in snapshot.parts][-1] == name
    assert table.changed == set()
    change(10)
    again = shop.restored([shop.snapshot(backend, 3)])
    found = read_all(again, ValueStateDescriptor("value"))
    assert [found[key] for key in (0, 10, changes - 1, changes)] == [10, changes, changes, 4000]


def test_values_are_not_copied_when_no_snapshot_is_being_written(shop: Workshop) -> None:
    backend = shop.backend()
    state: Any = backend.state(ValueStateDescriptor("value"))
    backend.key = 1
    value = [1]
    state.update(value)

    assert state.value() is value
    frozen = backend.freeze(1)
    copied = state.value()
    assert copied == value
    assert copied is not value
    assert state.value() is copied
    frozen.discard()
    assert state.value() is copied


def test_values_that_cannot_change_are_never_copied(shop: Workshop) -> None:
    backend = shop.backend()
    state: Any = backend.state(ValueStateDescriptor("value"))
    backend.key = 1
    value = ("a" * 100, (1, 2.5))
    state.update(value)

    backend.freeze(1)

    assert state.value() is value
