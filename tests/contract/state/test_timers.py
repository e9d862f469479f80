"""Timers: kept once, given in the order of time, part of snapshots, on every backend."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.core.errors import ProgramError
from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.serde.key_hash import key_group
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types
from riverrun.state.backend import KeyedStateBackend
from riverrun.state.rocksdb import timers as on_disk
from riverrun.state.timers import TimerQueue
from riverrun.storage.blobs import Blob
from tests.contract.state.conftest import GROUPS, MemoryFiles, Workshop

EARLIEST, LATEST = -(1 << 63), (1 << 63) - 1
HEAP = {"state.backend.rocksdb.timer-service.factory": "HEAP"}
KINDS = ["hashmap", "rocksdb", "rocksdb, little room", "rocksdb, heap"]


@pytest.fixture(params=KINDS)
def shop(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workshop]:
    """A workshop for each place where timers can be."""
    kind, _, how = request.param.partition(", ")
    if how == "little room":
        use_little_room(monkeypatch)
    workshop = Workshop(tmp_path, kind, options=HEAP if how == "heap" else {})
    yield workshop
    workshop.close()


def use_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let some timers be more than there is room for in memory."""
    monkeypatch.setattr(on_disk, "_LOOK", 8)
    monkeypatch.setattr(on_disk, "_FEWEST", 2)
    monkeypatch.setattr(on_disk, "_BATCH", 3)
    monkeypatch.setattr(on_disk, "footprint", lambda *_: 1 << 20)
    monkeypatch.setattr(on_disk, "_USUAL", 1 << 20)


def drain(queue: TimerQueue, until: int = LATEST) -> list[tuple[int, Any, Any]]:
    """Take everything up to ``until``, as (time, key, namespace), sorted within a time."""
    found = []
    while (due := queue.take(until)) is not None:
        time, timers = due
        assert timers
        found += sorted(((time, key, name) for key, name in timers), key=repr)
    return found


def fill(backend: KeyedStateBackend, count: int, name: str = "t") -> list[tuple[int, Any, Any]]:
    """Timers of many keys, some of them of the same time; what is expected of them."""
    queue = backend.timers(name)
    made = [((number * 37) % 100, f"key {number}", number % 3) for number in range(count)]
    for time, key, namespace in made:
        queue.add(time, key, namespace)
    return in_order(made)


def in_order(timers: list[tuple[int, Any, Any]]) -> list[tuple[int, Any, Any]]:
    return sorted(timers, key=lambda timer: (timer[0], repr(timer)))


@pytest.mark.parametrize("keys", [[], ["a"], ["a", "b", "a", "c"]], ids=len)
@pytest.mark.parametrize("before", [[], ["b"], ["b", "d"]], ids=len)
def test_timers_set_together_are_as_if_set_one_by_one(
    shop: Workshop, keys: list[str], before: list[str]
) -> None:
    queue = shop.backend().timers("t")
    for key in before:
        queue.add(7, key, (0, 10))

    queue.add_all(7, keys, (0, 10))

    expected = sorted({*before, *keys})
    assert len(queue) == len(expected)
    assert drain(queue) == [(7, key, (0, 10)) for key in expected]
    assert len(queue) == 0


def test_timers_set_together_leave_a_snapshot_as_it_was(shop: Workshop) -> None:
    backend = shop.backend()
    backend.timers("t").add_all(7, ["a", "b"], None)
    frozen = backend.freeze(1)
    backend.timers("t").add_all(7, ["c", "d"], None)

    snapshot = frozen.write(shop.files)
    frozen.discard()

    assert drain(shop.restored([snapshot]).timers("t")) == [(7, "a", None), (7, "b", None)]
    assert len(drain(backend.timers("t"))) == 4


def test_a_queue_is_the_same_object_for_the_same_name(shop: Workshop) -> None:
    backend = shop.backend()
    assert backend.timers("a") is backend.timers("a")
    assert backend.timers("a") is not backend.timers("b")


def test_timers_are_given_in_the_order_of_time(shop: Workshop) -> None:
    backend = shop.backend()
    expected = fill(backend, 300)
    queue = backend.timers("t")
    assert len(queue) == 300
    assert drain(queue) == expected
    assert len(queue) == 0
    assert queue.next_time() is None


def test_the_same_timer_twice_is_one(shop: Workshop) -> None:
    queue = shop.backend().timers("t")
    for _ in range(3):
        for key in range(40):
            queue.add(5, key, "w")
    queue.add(5, 1.0, "w")
    assert len(queue) == 40
    assert drain(queue) == in_order([(5, key, "w") for key in range(40)])


def test_another_time_key_or_namespace_is_another_timer(shop: Workshop) -> None:
    queue = shop.backend().timers("t")
    made = [(5, "a", None), (6, "a", None), (5, "b", None), (5, "a", 1)]
    for time, key, namespace in made:
        queue.add(time, key, namespace)
    assert drain(queue) == in_order(made)


def test_a_removed_timer_is_not_given_and_others_of_its_time_are(shop: Workshop) -> None:
    queue = shop.backend().timers("t")
    for key in range(60):
        queue.add(key % 7, key, None)
    for key in range(0, 60, 2):
        queue.remove(key % 7, key, None)
    queue.remove(3, "never set", None)
    queue.remove(LATEST + 1, 1, None)
    assert len(queue) == 30
    assert drain(queue) == in_order([(key % 7, key, None) for key in range(1, 60, 2)])


def test_a_timer_can_be_removed_and_set_again_many_times(shop: Workshop) -> None:
    queue = shop.backend().timers("t")
    for round_ in range(5000):
        queue.remove(round_ - 1, "a", None)
        queue.add(round_, "a", None)
    assert len(queue) == 1
    for _ in range(3):
        queue.remove(4999, "a", None)
        queue.add(4999, "a", None)
    assert drain(queue) == [(4999, "a", None)]


def test_only_what_is_due_is_given_and_later_timers_wait(shop: Workshop) -> None:
    queue = shop.backend().timers("t")
    for time in range(100):
        queue.add(time, "k", None)
    assert drain(queue, 49) == [(time, "k", None) for time in range(50)]
    assert queue.take(49) is None
    assert queue.next_time() == 50
    assert len(queue) == 50
    assert drain(queue) == [(time, "k", None) for time in range(50, 100)]


def test_a_timer_set_while_others_are_given_comes_in_its_turn(shop: Workshop) -> None:
    queue = shop.backend().timers("t")
    for time in range(0, 100, 10):
        queue.add(time, "first", None)
    seen = []
    while (due := queue.take(95)) is not None:
        time, ((key, _),) = due
        seen.append((time, key))
        if key == "first":
            queue.add(time + 5, "second", None)
    expected = [(time, "first" if time % 10 == 0 else "second") for time in range(0, 100, 5)]
    assert seen == expected


def test_a_timer_of_a_time_already_given_is_given_again(shop: Workshop) -> None:
    queue = shop.backend().timers("t")
    fill_times = [*range(50)]
    for time in fill_times:
        queue.add(time, "k", None)
    drain(queue, 30)
    queue.add(7, "late", None)
    assert queue.next_time() == 7
    assert queue.take(30) == (7, [("late", None)])


def test_negative_and_huge_times_are_kept_in_order(shop: Workshop) -> None:
    queue = shop.backend().timers("t")
    times = [0, -1, 1, EARLIEST, LATEST, EARLIEST + 1, LATEST - 1, -(1 << 40), 1 << 40, 255, 256]
    for time in times:
        queue.add(time, "k", None)
    assert queue.next_time() == EARLIEST
    assert [time for time, _, _ in drain(queue)] == sorted(times)


@pytest.mark.parametrize("time", [1 << 63, EARLIEST - 1, 1.5, "5", None])
def test_what_is_no_time_is_refused_with_the_value(shop: Workshop, time: Any) -> None:
    queue = shop.backend().timers("t")
    for known in range(40):
        queue.add(known, "k", None)
    with pytest.raises(ProgramError, match=f"{time!r}: expected whole milliseconds"):
        queue.add(time, "k", None)


def test_keys_and_namespaces_need_no_order(shop: Workshop) -> None:
    queue = shop.backend().timers("t")
    keys: list[Any] = ["a", 1, (1, "x"), None, b"b", frozenset({1}), 2.5]
    names: list[Any] = [None, "w", (0, 5), 7]
    made = [(9, key, name) for key in keys for name in names]
    for time, key, name in made:
        queue.add(time, key, name)
    assert drain(queue) == in_order(made)


def test_queues_are_apart(shop: Workshop) -> None:
    backend = shop.backend()
    for number in range(30):
        backend.timers("a").add(number, "a", None)
        backend.timers("b").add(number, "b", None)
    assert {key for _, key, _ in drain(backend.timers("a"))} == {"a"}
    assert len(backend.timers("b")) == 30


def test_a_snapshot_holds_the_timers_of_its_moment(shop: Workshop) -> None:
    backend = shop.backend()
    expected = fill(backend, 200)
    queue = backend.timers("t")
    frozen = backend.freeze(1)
    drain(queue, 60)
    for number in range(100, 160):
        queue.add(number % 100, f"new {number}", None)
    queue.remove(expected[-1][0], *expected[-1][1:])
    snapshot = frozen.write(shop.files)
    frozen.discard()
    assert drain(shop.restored([snapshot]).timers("t")) == expected


def test_a_snapshot_while_timers_are_given_holds_those_not_given_yet(shop: Workshop) -> None:
    backend = shop.backend()
    expected = fill(backend, 200)
    queue = backend.timers("t")
    given = [queue.take(LATEST) for _ in range(30)]
    count = sum(len(due[1]) for due in given if due is not None)
    snapshot = shop.snapshot(backend)
    assert drain(shop.restored([snapshot]).timers("t")) == expected[count:]
    assert drain(queue) == expected[count:]


def test_timers_go_on_after_a_restore(shop: Workshop) -> None:
    backend = shop.backend()
    expected = fill(backend, 200)
    restored = shop.restored([shop.snapshot(backend)])
    queue = restored.timers("t")
    queue.add(expected[0][0], *expected[0][1:])
    queue.remove(expected[-1][0], *expected[-1][1:])
    assert len(queue) == 199
    assert queue.next_time() == expected[0][0]
    assert drain(queue) == expected[:-1]


def test_timers_that_nobody_asks_for_stay_in_snapshots(shop: Workshop) -> None:
    backend = shop.backend()
    expected = fill(backend, 200)
    first = shop.restored([shop.snapshot(backend)])
    assert first.entry_count() >= 200
    first.timers("other").add(1, "k", None)
    second = shop.restored([shop.snapshot(first, 2)])
    assert drain(second.timers("t")) == expected
    assert drain(second.timers("other")) == [(1, "k", None)]


@pytest.mark.parametrize("other", ["hashmap", "rocksdb"])
def test_timers_are_restored_into_another_backend(shop: Workshop, other: str) -> None:
    backend = shop.backend()
    expected = fill(backend, 300)
    restored = shop.restored([shop.snapshot(backend)], kind=other)
    assert drain(restored.timers("t")) == expected


def test_timers_move_between_memory_and_disk_when_the_option_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_little_room(monkeypatch)
    shop = Workshop(tmp_path, "rocksdb")
    backend = shop.backend()
    expected = fill(backend, 300)
    shop.options = HEAP
    in_memory = shop.restored([shop.snapshot(backend)])
    assert len(in_memory.timers("t")) == 300
    shop.options = {}
    again = shop.restored([shop.snapshot(in_memory, 2)])
    assert drain(again.timers("t")) == expected
    shop.close()


@pytest.mark.parametrize("restored_as", ["hashmap", "rocksdb"])
def test_every_timer_is_restored_where_its_key_group_is(shop: Workshop, restored_as: str) -> None:
    half = GROUPS // 2
    parts = [shop.backend(0, half - 1), shop.backend(half, GROUPS - 1)]
    made = [(number % 50, f"key {number}", None) for number in range(300)]
    for time, key, name in made:
        parts[key_group(key, GROUPS) // half].timers("t").add(time, key, name)
    snapshots = [shop.snapshot(part) for part in parts]
    thirds = [range(5), range(5, 11), range(11, GROUPS)]
    found = []
    for groups in thirds:
        backend = shop.restored(snapshots, first=groups[0], last=groups[-1], kind=restored_as)
        timers = drain(backend.timers("t"))
        assert {key_group(key, GROUPS) for _, key, _ in timers} <= set(groups)
        found += timers
    assert in_order(found) == in_order(made)


@pytest.mark.parametrize("then", [Types.INT(), Types.LONG()])
def test_typed_keys_are_restored(shop: Workshop, then: TypeInformation) -> None:
    backend = shop.backend(key_type=Types.INT())
    for key in range(50):
        backend.timers("t").add(key % 5, key, None)
    restored = shop.restored([shop.snapshot(backend)], key_type=then)
    expected = in_order([(key % 5, key, None) for key in range(50)])
    assert drain(restored.timers("t")) == expected


def test_incremental_snapshots_hold_what_was_set_and_given_since(shop: Workshop) -> None:
    backend = shop.backend(incremental=True)
    fill(backend, 300)
    queue = backend.timers("t")
    snapshots: list[KeyedSnapshot] = [shop.snapshot(backend, 1)]
    for checkpoint in range(2, 6):
        drain(queue, checkpoint * 5)
        queue.add(90, f"checkpoint {checkpoint}", None)
        snapshots.append(shop.snapshot(backend, checkpoint))
        shop.files.keep_only(snapshots[-1:])
    restored = shop.restored(snapshots[-1:], incremental=True)
    third = shop.restored([shop.snapshot(restored, 9)], incremental=True)
    assert drain(third.timers("t")) == drain(queue)


def test_an_incremental_snapshot_writes_little_when_little_changed(shop: Workshop) -> None:
    if shop.options == HEAP:
        pytest.skip("timers that are all in memory are written whole")
    backend = shop.backend(incremental=True)
    queue = backend.timers("t")
    for number in range(20_000):
        queue.add(number + 10, number, None)
    shop.snapshot(backend, 1)
    before = shop.files.written
    queue.add(5, "new", None)
    shop.snapshot(backend, 2)
    assert shop.files.written - before < before / 4


def test_a_snapshot_is_written_while_timers_are_set_and_given(shop: Workshop) -> None:
    backend = shop.backend()
    queue = backend.timers("t")
    for number in range(3000):
        queue.add(number % 10, number, None)
    frozen = backend.freeze(1)
    begun, go_on = threading.Event(), threading.Event()
    made: list[KeyedSnapshot] = []

    class Slow(MemoryFiles):
        def put(self, data: bytes | memoryview, *, shared: bool) -> Blob:
            begun.set()
            go_on.wait(30)
            return super().put(data, shared=shared)

    slow = Slow()
    writer = threading.Thread(target=lambda: made.append(frozen.write(slow)))
    writer.start()
    begun.wait(30)
    for number in range(1000):
        queue.add(number % 10, -number, None)
        queue.remove(number % 10, number, None)
    drain(queue, 5)
    go_on.set()
    writer.join()
    shop.files = slow
    expected = in_order([(number % 10, number, None) for number in range(3000)])
    assert drain(shop.restored(made).timers("t")) == expected


def test_entry_counts_include_timers(shop: Workshop) -> None:
    backend = shop.backend()
    for number in range(50):
        backend.timers("t").add(number, number, None)
    assert backend.entry_count() == 50


def test_a_million_timers_are_kept_given_and_restored(tmp_path: Path) -> None:
    shop = Workshop(tmp_path, "hashmap")
    queue = shop.backend().timers("t")
    count = 1_000_000
    for number in range(count):
        queue.add(number * 7919 % count, number, None)
    assert len(queue) == count
    assert queue.next_time() == 0
    last, given = -1, 0
    while (due := queue.take(count // 2)) is not None:
        assert due[0] > last
        last, given = due[0], given + len(due[1])
    assert given == count // 2 + 1
    frozen = shop.made[0].freeze(1)
    snapshot = frozen.write(shop.files)
    restored = shop.restored([snapshot]).timers("t")
    assert len(restored) == count - given
    assert restored.next_time() == last + 1
    shop.close()


def test_a_hundred_thousand_timers_go_to_disk_and_come_back(tmp_path: Path) -> None:
    shop = Workshop(tmp_path, "rocksdb")
    backend = shop.backend()
    queue = backend.timers("t")
    count = 100_000
    for number in range(count):
        queue.add(number * 7919 % count, number, None)
    assert isinstance(queue, on_disk.RocksDBTimerQueue)
    assert queue.in_memory < count / 5
    times = []
    while (due := queue.take(LATEST)) is not None:
        times.append(due[0])
        assert len(due[1]) == 1
    assert times == list(range(count))
    shop.close()


def test_more_timers_of_one_time_than_there_is_room_for(shop: Workshop) -> None:
    queue = shop.backend().timers("t")
    for key in range(2000):
        queue.add(7, key, None)
    assert queue.next_time() == 7
    for key in range(2000, 2100):
        queue.add(7, key, None)
        queue.add(8, key, None)
    assert len(queue) == 2200
    assert drain(queue) == in_order(
        [(7, key, None) for key in range(2100)] + [(8, key, None) for key in range(2000, 2100)]
    )
