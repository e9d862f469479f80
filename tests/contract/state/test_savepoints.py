"""Savepoints: what one backend wrote in the open format is what any backend starts from."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from riverrun.api.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from riverrun.api.state_ttl import StateTtlConfig
from riverrun.core.time import Time
from riverrun.serde.row import Row
from riverrun.serde.types import Types
from riverrun.state.backend import KeyedStateBackend, StateRefused
from riverrun.state.interchange import iterate
from riverrun.state.serializers import UnstorableValue
from riverrun.storage.storage import FileCorrupt
from tests.contract.state.conftest import BACKENDS, GROUPS, Workshop, read_all
from tests.contract.state.savepoints import FOLDER, Savepoints
from tests.contract.state.test_snapshots import (
    TYPED,
    UNTYPED,
    contents,
    expected,
    fill,
    number_of,
    put,
    spoil,
)
from tests.contract.state.test_timers import drain, use_little_room

LATEST = (1 << 63) - 1


@pytest.fixture
def savepoints(shop: Workshop) -> Savepoints:
    return Savepoints(shop)


@pytest.fixture(params=BACKENDS)
def other(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["untyped", "typed"])
def descriptors(request: pytest.FixtureRequest) -> list[StateDescriptor]:
    return UNTYPED if request.param == "untyped" else TYPED


@pytest.fixture(params=["full", "incremental"])
def incremental(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "incremental")


def test_every_kind_of_state_starts_again_on_any_backend(
    shop: Workshop, savepoints: Savepoints, descriptors: list[StateDescriptor], other: str
) -> None:
    backend = shop.backend()
    fill(backend, descriptors, range(200))

    snapshot = savepoints.take(backend)

    assert snapshot.backend == "parquet"
    assert {meta.name for meta in snapshot.states} == set(expected(range(1)))
    again = savepoints.restored([snapshot], kind=other)
    assert contents(again, descriptors) == expected(range(200))


def test_changes_after_the_freeze_are_not_in_it(
    shop: Workshop, savepoints: Savepoints, descriptors: list[StateDescriptor], incremental: bool
) -> None:
    backend = shop.backend(incremental=incremental)
    fill(backend, descriptors, range(60))
    frozen = backend.freeze(1, savepoint=True)
    blocks = frozen.entries()
    first = next(blocks)
    writer = threading.Thread(target=lambda: spoil(backend, descriptors, range(60)))
    writer.start()
    writer.join()

    found = [first, *blocks]
    frozen.discard()

    names = [block.meta.name for block in found]
    assert names == sorted(names, key=names.index), "blocks of one state stand together"
    values: dict[str, dict[Any, Any]] = {}
    for block in found:
        entries = values.setdefault(block.meta.name, {})
        assert not entries.keys() & set(block.keys)
        entries.update(zip(block.keys, block.values, strict=True))
    assert values == expected(range(60))


def test_entries_come_in_the_order_of_key_groups(shop: Workshop, incremental: bool) -> None:
    backend = shop.backend(incremental=incremental)
    fill(backend, TYPED, range(300))
    frozen = backend.freeze(1, savepoint=True)
    groups: dict[str, list[int]] = {}
    for block in frozen.entries():
        groups.setdefault(block.meta.name, []).append(block.group)
    frozen.discard()
    assert all(found == sorted(found) for found in groups.values())
    assert set(groups["value"]) == set(range(GROUPS))


def test_an_unfinished_read_leaves_the_backend_as_it_was(shop: Workshop) -> None:
    backend = shop.backend()
    fill(backend, TYPED, range(300))
    frozen = backend.freeze(1, savepoint=True)
    blocks = frozen.entries()
    next(blocks)
    blocks.close()
    frozen.discard()
    frozen.discard()
    assert contents(backend, TYPED) == expected(range(300))


@pytest.mark.parametrize("complete", [True, False], ids=["completed", "aborted"])
def test_checkpoints_go_on_as_if_there_had_been_no_savepoint(
    shop: Workshop, complete: bool
) -> None:
    backend = shop.backend(incremental=True)
    put(backend, dict.fromkeys(range(1000), 0))
    shop.snapshot(backend, 1)
    put(backend, {1: 1})
    pending = backend.freeze(2)
    second = pending.write(shop.files)
    put(backend, {2: 2})
    frozen = backend.freeze(3, savepoint=True)
    put(backend, {3: 3})
    if complete:
        backend.checkpoint_completed(3)
    else:
        backend.checkpoint_aborted(3)
    frozen.discard()
    backend.checkpoint_completed(2)
    pending.discard()

    fourth = shop.snapshot(backend, 4)

    shop.files.keep_only([second, fourth])
    shared = {part.blob for part in second.parts if part.shared}
    assert shared & {part.blob for part in fourth.parts}, "it builds on the second"
    assert number_of(shop.restored([fourth])) == {
        key: key if key in (1, 2, 3) else 0 for key in range(1000)
    }
    assert number_of(shop.restored([second]))[2] == 0


@pytest.mark.parametrize("wide", [True, False], ids=["merged", "split"])
def test_key_groups_move_to_other_subtasks_and_backends(
    shop: Workshop,
    savepoints: Savepoints,
    descriptors: list[StateDescriptor],
    other: str,
    wide: bool,
) -> None:
    half = GROUPS // 2
    everyone = shop.backend()
    fill(everyone, descriptors, range(300))
    whole = savepoints.take(everyone)
    halves = [
        savepoints.restored([whole], first=first, last=last, kind=other)
        for first, last in [(0, half - 1), (half, GROUPS - 1)]
    ]
    assert all(0 < len(list(part.keys("value"))) < 300 for part in halves)

    snapshots = [savepoints.take(part) for part in halves] if wide else [whole]
    ranges = [(0, GROUPS - 1)] if wide else [(0, 2), (3, 3), (4, GROUPS - 1)]
    found: dict[str, dict[Any, Any]] = {descriptor.name: {} for descriptor in descriptors}
    for first, last in ranges:
        part = savepoints.restored(snapshots, first=first, last=last)
        for name, entries in contents(part, descriptors).items():
            assert not found[name].keys() & entries.keys()
            found[name].update(entries)
    assert found == expected(range(300))


class Session(NamedTuple):
    """A namespace that no column has a form for."""

    label: str


NAMESPACES: dict[str, list[Any]] = {
    "time windows": [(0, 10), (10, 20), (-(1 << 63), LATEST)],
    "count windows": [1, 2, 3],
    "global": [None],
    "texts": ["a", "b", ""],
    "of any kind": [(0, 10), None, "text", Session("x"), (1, "b"), 1 << 70, 1.5],
}


@pytest.mark.parametrize("kind", NAMESPACES)
def test_namespaces_are_kept(shop: Workshop, savepoints: Savepoints, kind: str, other: str) -> None:
    backend = shop.backend(key_type=Types.LONG())
    amounts = ValueStateDescriptor("amounts", Types.LONG())
    counts = MapStateDescriptor("counts", Types.STRING(), Types.LONG())
    value: Any = backend.state(amounts, namespaced=True)
    entries: Any = backend.state(counts, namespaced=True)
    addresses = [(key, name) for key in range(30) for name in NAMESPACES[kind]]
    for number, address in enumerate(addresses):
        backend.key, backend.namespace = address
        value.update(number)
        entries.put("n", number)
        entries.put("m", -number)

    again = savepoints.restored([savepoints.take(backend)], kind=other, key_type=Types.LONG())

    assert read_all(again, amounts, namespaced=True) == dict(
        zip(addresses, range(len(addresses)), strict=True)
    )
    assert read_all(again, counts, namespaced=True) == {
        address: {"n": number, "m": -number} for number, address in enumerate(addresses)
    }


def test_time_windows_are_columns_of_numbers(shop: Workshop, savepoints: Savepoints) -> None:
    backend = shop.backend(key_type=Types.STRING())
    value: Any = backend.state(ValueStateDescriptor("amounts", Types.LONG()), namespaced=True)
    backend.key, backend.namespace = "k", (1000, 2000)
    value.update(7)
    rows = pq.read_table(savepoints.path(savepoints.take(backend), "amounts")).to_pylist()
    assert rows == [
        {
            "key_group": rows[0]["key_group"],
            "key": "k",
            "namespace": {"start": 1000, "end": 2000},
            "value": 7,
            "pickled": None,
        }
    ]


def expiring(descriptor: StateDescriptor) -> Any:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(1000)).build())
    return descriptor


KINDS: list[Callable[[], StateDescriptor]] = [
    lambda: ValueStateDescriptor("value", Types.LONG()),
    lambda: ListStateDescriptor("list", Types.LONG()),
    lambda: MapStateDescriptor("map", Types.LONG(), Types.LONG()),
    lambda: ListStateDescriptor("untyped list"),
    lambda: MapStateDescriptor("untyped map"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_of_the_time_to_live_is_kept(
    shop: Workshop, savepoints: Savepoints, kind: Callable[[], StateDescriptor], other: str
) -> None:
    backend = shop.backend()
    state: Any = backend.state(expiring(kind()))

    def add(number: int) -> None:
        backend.key = f"key {number}"
        if hasattr(state, "put"):
            state.put(number, number)
        elif hasattr(state, "value"):
            state.update(number)
        else:
            state.add(number)

    add(1)
    shop.clock.advance(600)
    add(2)
    again = savepoints.restored([savepoints.take(backend)], kind=other)
    shop.clock.advance(500)

    descriptor = expiring(kind())
    assert list(read_all(again, descriptor)) == ["key 2"]
    shop.clock.advance(500)
    assert list(again.keys(descriptor.name)) == []


def test_a_time_to_live_may_come_and_go(shop: Workshop, savepoints: Savepoints, other: str) -> None:
    backend = shop.backend()
    descriptor = ListStateDescriptor("list", Types.LONG())
    state: Any = backend.state(descriptor)
    backend.key = "k"
    state.add_all([1, 2])

    with_ttl = savepoints.restored([savepoints.take(backend)], kind=other)
    assert read_all(with_ttl, expiring(ListStateDescriptor("list", Types.LONG()))) == {"k": [1, 2]}
    without = savepoints.restored([savepoints.take(with_ttl)])
    assert read_all(without, ListStateDescriptor("list", Types.LONG())) == {"k": [1, 2]}


@pytest.fixture(params=["in memory", "on disk"])
def room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "on disk":
        use_little_room(monkeypatch)
    return request.param  # type: ignore[no-any-return]


@pytest.mark.parametrize("window", [True, False], ids=["windows", "no namespace"])
@pytest.mark.usefixtures("room")
def test_timers_are_kept(shop: Workshop, savepoints: Savepoints, other: str, window: bool) -> None:
    backend = shop.backend(key_type=Types.STRING())
    queue = backend.timers("t")
    timers = [
        ((number * 37) % 100, f"key {number % 50}", (number, number + 1) if window else None)
        for number in range(200)
    ]
    timers += [(LATEST, "last", timers[0][2]), (-(1 << 63), "first", timers[0][2])]
    for time, key, namespace in timers:
        queue.add(time, key, namespace)

    snapshot = savepoints.take(backend)

    again = savepoints.restored([snapshot], kind=other, key_type=Types.STRING())
    everything = sorted(set(timers), key=lambda timer: (timer[0], repr(timer)))
    assert drain(again.timers("t")) == everything
    names = pq.read_schema(savepoints.path(snapshot, "t")).names
    assert names == ["key_group", "key", "time", "namespace", "pickled"]
    assert drain(backend.timers("t")) == everything


def test_state_that_nobody_asks_for_travels_on(
    shop: Workshop, savepoints: Savepoints, descriptors: list[StateDescriptor], other: str
) -> None:
    backend = shop.backend(key_type=Types.LONG())
    fill(backend, descriptors, range(200))
    for number in range(20):
        backend.timers("t").add(number, number, None)

    for kind in (other, None):
        idle = savepoints.restored([savepoints.take(backend)], kind=kind, key_type=Types.LONG())
        backend = savepoints.restored([savepoints.take(idle)], kind=kind, key_type=Types.LONG())

    assert contents(backend, descriptors) == expected(range(200))
    assert [time for time, _, _ in drain(backend.timers("t"))] == list(range(20))


def test_state_that_nobody_asks_for_is_in_checkpoints_too(
    shop: Workshop, savepoints: Savepoints, other: str
) -> None:
    backend = shop.backend()
    fill(backend, TYPED, range(50))
    idle = savepoints.restored([savepoints.take(backend)], kind=other)
    assert contents(shop.restored([shop.snapshot(idle)]), TYPED) == expected(range(50))


def test_state_that_is_asked_for_after_a_freeze_shares_nothing_with_it(
    shop: Workshop, savepoints: Savepoints, other: str
) -> None:
    lists = ValueStateDescriptor("lists", Types.LIST(Types.LONG()))
    backend = shop.backend()
    first: Any = backend.state(lists)
    backend.key = 1
    first.update([1])
    again = savepoints.restored([savepoints.take(backend)], kind=other)

    frozen = again.freeze(1)
    state: Any = again.state(lists)
    again.key = 1
    state.value().append(10)
    snapshot = frozen.write(shop.files)

    third = shop.restored([snapshot], kind=other)
    found: Any = third.state(lists)
    third.key = 1
    assert found.value() == [1]


def test_types_that_grew_are_migrated(shop: Workshop, savepoints: Savepoints, other: str) -> None:
    backend = shop.backend()
    old = Types.ROW_NAMED(["name", "count"], [Types.STRING(), Types.INT()])
    state: Any = backend.state(ValueStateDescriptor("v", old))
    for number in range(20):
        backend.key = number
        state.update(Row(name=f"n{number}", count=number))
    new = ValueStateDescriptor(
        "v",
        Types.ROW_NAMED(["count", "name", "city"], [Types.LONG(), Types.STRING(), Types.STRING()]),
    )
    grown = {number: Row(count=number, name=f"n{number}", city=None) for number in range(20)}

    again = savepoints.restored([savepoints.take(backend)], kind=other)

    assert read_all(again, new) == grown
    assert read_all(savepoints.restored([savepoints.take(again)]), new) == grown


def test_a_type_that_does_not_fit_is_refused_by_name(
    shop: Workshop, savepoints: Savepoints, other: str
) -> None:
    backend = shop.backend()
    put(backend, {1: 1})
    again = savepoints.restored([savepoints.take(backend)], kind=other)
    with pytest.raises(StateRefused, match=r"'counter'.*'number'"):
        again.state(ValueStateDescriptor("number", Types.LIST(Types.STRING())))


def test_another_max_parallelism_is_refused_with_both_numbers(
    shop: Workshop, savepoints: Savepoints, other: str
) -> None:
    from dataclasses import replace  # noqa: PLC0415

    from riverrun.state.backends import create_backend  # noqa: PLC0415

    backend = shop.backend()
    put(backend, {1: 1})
    snapshot = savepoints.take(backend)
    settings: Any = shop.backend(kind=other)._settings  # type: ignore[attr-defined]
    more = create_backend(
        other, replace(settings, max_parallelism=2 * GROUPS, folder=shop.folder / "more")
    )
    shop.made.append(more)
    with pytest.raises(StateRefused, match=f"'counter'.*{GROUPS}.*{2 * GROUPS}"):
        more.restore([snapshot], savepoints.saved, owned=False)


def test_a_value_that_is_not_of_its_type_is_named(shop: Workshop, savepoints: Savepoints) -> None:
    backend = shop.backend()
    state: Any = backend.state(ValueStateDescriptor("number", Types.LONG()))

    def take() -> None:
        backend.key = "k"
        state.update("text")
        savepoints.take(backend)

    with pytest.raises(UnstorableValue, match=r"'counter'.*'number'.*'text'"):
        take()


def damaged(savepoints: Savepoints, change: Callable[[bytes], bytes]) -> str:
    """Change the only file of a savepoint; its location."""
    (location,) = savepoints.storage.list(FOLDER)
    savepoints.storage.write(location, change(savepoints.storage.read(location)))
    return location


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
        lambda data: b"x" * len(data),
    ],
    ids=["empty", "cut", "one bit", "foreign"],
)
def test_a_damaged_file_is_refused_by_its_name(
    shop: Workshop, savepoints: Savepoints, other: str, change: Callable[[bytes], bytes]
) -> None:
    backend = shop.backend()
    put(backend, {key: key for key in range(100)})
    snapshot = savepoints.take(backend)
    location = damaged(savepoints, change)

    with pytest.raises(FileCorrupt, match=r"so use another") as refused:
        savepoints.restored([snapshot], kind=other)

    assert location in str(refused.value)


def test_row_groups_of_other_key_groups_are_passed_over(
    shop: Workshop, savepoints: Savepoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("riverrun.state.parquet.writer._MOST_ROWS", 64)
    monkeypatch.setattr("riverrun.state.parquet.writer._STEP_ROWS", 32)
    backend = shop.backend()
    put(backend, {key: key for key in range(2000)})
    snapshot = savepoints.take(backend)
    file = pq.ParquetFile(savepoints.path(snapshot, "number"))
    assert file.num_row_groups > GROUPS
    read: list[int] = []
    original = pq.ParquetFile.iter_batches

    def counting(self: Any, *args: Any, row_groups: list[int], **named: Any) -> Any:
        read.extend(row_groups)
        return original(self, *args, row_groups=row_groups, **named)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counting)
    blocks = list(iterate(snapshot, savepoints.saved, range(3, 4)))

    assert {block.group for block in blocks} == {3}
    assert 0 < len(read) < file.num_row_groups // 4
    file.close()


def test_large_values_make_small_row_groups(
    shop: Workshop, savepoints: Savepoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("riverrun.state.parquet.writer._MOST_BYTES", 1 << 16)
    monkeypatch.setattr("riverrun.state.parquet.writer._STEP_BYTES", 1 << 14)
    backend = shop.backend()
    state: Any = backend.state(ValueStateDescriptor("blob"))
    for key in range(300):
        backend.key = key
        state.update(bytes(1000))
    snapshot = savepoints.take(backend)
    metadata = pq.read_metadata(savepoints.path(snapshot, "blob"))
    assert metadata.num_row_groups >= 4
    again: KeyedStateBackend = savepoints.restored([snapshot])
    assert read_all(again, ValueStateDescriptor("blob")) == dict.fromkeys(range(300), bytes(1000))


def test_a_map_larger_than_a_step_is_whole_again(
    shop: Workshop, savepoints: Savepoints, other: str
) -> None:
    backend = shop.backend()
    descriptor = MapStateDescriptor("map", Types.LONG(), Types.LONG())
    state: Any = backend.state(descriptor)
    for key in ("large", "small"):
        backend.key = key
        state.put_all({number: -number for number in range(20_000 if key == "large" else 3)})
    again = savepoints.restored([savepoints.take(backend)], kind=other)
    found = read_all(again, descriptor)
    assert found["large"] == {number: -number for number in range(20_000)}
    assert found["small"] == {0: 0, 1: -1, 2: -2}


def test_states_whose_names_differ_in_case_have_files_of_their_own(
    shop: Workshop, savepoints: Savepoints
) -> None:
    backend = shop.backend()
    names = ["total", "Total", "to/tal", "to:tal", "_total", "größe", "x" * 300]
    for number, name in enumerate(names):
        backend.key = "k"
        state: Any = backend.state(ValueStateDescriptor(name, Types.LONG()))
        state.update(number)
    snapshot = savepoints.take(backend)
    locations = savepoints.storage.list(FOLDER)
    assert len({location.casefold() for location in locations}) == len(names)
    assert all(len(Path(location).name) < 150 for location in locations)
    assert not any(Path(location).name.startswith(("_", ".")) for location in locations)
    again = savepoints.restored([snapshot])
    for number, name in enumerate(names):
        assert read_all(again, ValueStateDescriptor(name, Types.LONG())) == {"k": number}
