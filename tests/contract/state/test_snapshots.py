"""Snapshots: what is restored is what was frozen, whatever happened since."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from riverrun.api.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.serde.types import Types
from riverrun.state.backend import KeyedStateBackend, StateRefused
from riverrun.state.serializers import UnstorableValue
from riverrun.storage.blobs import Blob
from riverrun.storage.storage import FileCorrupt, StorageError
from tests.contract.state.conftest import BACKENDS, GROUPS, MemoryFiles, Workshop, read_all


class Collect:
    """Collects values in a list that it changes in place."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[int]) -> list[int]:
        return accumulator

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


def extend(so_far: list[int], new: list[int]) -> list[int]:
    so_far.extend(new)
    return so_far


UNTYPED: list[StateDescriptor] = [
    ValueStateDescriptor("value"),
    ListStateDescriptor("list"),
    MapStateDescriptor("map"),
    ReducingStateDescriptor("reduced", extend),
    AggregatingStateDescriptor("aggregated", Collect()),
]
TYPED: list[StateDescriptor] = [
    ValueStateDescriptor("value", Types.LIST(Types.LONG())),
    ListStateDescriptor("list", Types.LIST(Types.LONG())),
    MapStateDescriptor("map", Types.STRING(), Types.LIST(Types.LONG())),
    ReducingStateDescriptor("reduced", extend, Types.LIST(Types.LONG())),
    AggregatingStateDescriptor("aggregated", Collect(), Types.LIST(Types.LONG())),
]


def fill(backend: KeyedStateBackend, descriptors: list[StateDescriptor], keys: range) -> None:
    """Put the key, in a list that can be changed in place, into every state."""
    value, elements, entries, reduced, aggregated = map(backend.state, descriptors)
    for key in keys:
        backend.key = key
        value.update([key])  # type: ignore[attr-defined]
        elements.add([key])  # type: ignore[attr-defined]
        entries.put("k", [key])  # type: ignore[attr-defined]
        reduced.add([key])  # type: ignore[attr-defined]
        aggregated.add(key)  # type: ignore[attr-defined]


def expected(keys: range) -> dict[str, dict[int, Any]]:
    return {
        "value": {key: [key] for key in keys},
        "list": {key: [[key]] for key in keys},
        "map": {key: {"k": [key]} for key in keys},
        "reduced": {key: [key] for key in keys},
        "aggregated": {key: [key] for key in keys},
    }


def contents(
    backend: KeyedStateBackend, descriptors: list[StateDescriptor]
) -> dict[str, dict[Any, Any]]:
    return {descriptor.name: read_all(backend, descriptor) for descriptor in descriptors}


def spoil(backend: KeyedStateBackend, descriptors: list[StateDescriptor], keys: range) -> None:
    """Change everything: in place without a word, by replacing, by removing."""
    value, elements, entries, reduced, aggregated = map(backend.state, descriptors)
    for key in keys:
        backend.key = key
        value.value().append(-1)  # type: ignore[attr-defined]
        for element in elements.get():  # type: ignore[attr-defined]
            element.append(-1)
        elements.add([-2])  # type: ignore[attr-defined]
        entries.get("k").append(-1)  # type: ignore[attr-defined]
        entries.put("new", [-2])  # type: ignore[attr-defined]
        reduced.add([-1])  # type: ignore[attr-defined]
        aggregated.add(-1)  # type: ignore[attr-defined]
        if key % 3 == 0:
            for state in (value, elements, entries, reduced, aggregated):
                state.clear()


@pytest.fixture(params=["untyped", "typed"])
def descriptors(request: pytest.FixtureRequest) -> list[StateDescriptor]:
    return UNTYPED if request.param == "untyped" else TYPED


@pytest.fixture(params=["full", "incremental"])
def incremental(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "incremental")


def test_a_restored_backend_holds_what_was_frozen(
    shop: Workshop, descriptors: list[StateDescriptor], incremental: bool
) -> None:
    backend = shop.backend(incremental=incremental)
    fill(backend, descriptors, range(200))

    again = shop.restored([shop.snapshot(backend)])

    assert contents(again, descriptors) == expected(range(200))


def test_changes_after_the_freeze_are_not_in_the_snapshot(
    shop: Workshop, descriptors: list[StateDescriptor], incremental: bool
) -> None:
    backend = shop.backend(incremental=incremental)
    fill(backend, descriptors, range(60))

    frozen = backend.freeze(1)
    spoil(backend, descriptors, range(60))
    snapshot = frozen.write(shop.files)
    frozen.discard()

    assert contents(shop.restored([snapshot]), descriptors) == expected(range(60))
    backend.key = 1
    reduced: Any = backend.state(descriptors[3])
    assert reduced.get() == [1, -1]


def test_a_snapshot_is_written_by_another_thread_while_everything_changes(
    shop: Workshop, descriptors: list[StateDescriptor], incremental: bool
) -> None:
    keys = range(1500)
    backend = shop.backend(incremental=incremental)
    fill(backend, descriptors, keys)
    written: list[KeyedSnapshot] = []
    frozen = backend.freeze(1)

    writer = threading.Thread(target=lambda: written.append(frozen.write(shop.files)))
    writer.start()
    spoil(backend, descriptors, keys)
    writer.join()
    frozen.discard()

    assert contents(shop.restored(written), descriptors) == expected(keys)


def test_two_snapshots_may_be_in_flight(
    shop: Workshop, descriptors: list[StateDescriptor], incremental: bool
) -> None:
    backend = shop.backend(incremental=incremental)
    fill(backend, descriptors, range(30))
    first = backend.freeze(1)
    fill(backend, descriptors[:1] + descriptors[1:], range(30, 60))
    second = backend.freeze(2)
    spoil(backend, descriptors, range(60))

    later = second.write(shop.files)
    second.discard()
    sooner = first.write(shop.files)
    first.discard()

    assert contents(shop.restored([sooner]), descriptors) == expected(range(30))
    assert contents(shop.restored([later]), descriptors) == expected(range(60))


def test_a_freeze_that_is_thrown_away_leaves_no_trace(
    shop: Workshop, descriptors: list[StateDescriptor], incremental: bool
) -> None:
    backend = shop.backend(incremental=incremental)
    fill(backend, descriptors, range(30))

    frozen = backend.freeze(1)
    frozen.discard()
    frozen.discard()
    backend.checkpoint_aborted(1)

    assert shop.files.files == {}
    assert contents(shop.restored([shop.snapshot(backend, 2)]), descriptors) == expected(range(30))


def test_an_empty_backend_has_a_snapshot_too(shop: Workshop, incremental: bool) -> None:
    snapshot = shop.snapshot(shop.backend(incremental=incremental))

    again = shop.restored([snapshot])

    assert read_all(again, ValueStateDescriptor("value")) == {}


def numbers(backend: KeyedStateBackend) -> Any:
    return backend.state(ValueStateDescriptor("number", Types.LONG()))


def put(backend: KeyedStateBackend, entries: dict[int, int | None]) -> None:
    state = numbers(backend)
    for key, value in entries.items():
        backend.key = key
        state.update(value)


def number_of(backend: KeyedStateBackend) -> Any:
    return read_all(backend, ValueStateDescriptor("number", Types.LONG()))


def test_an_incremental_snapshot_writes_what_changed(shop: Workshop) -> None:
    keys = 20_000
    backend = shop.backend(incremental=True, key_type=Types.LONG())
    put(backend, {key: key for key in range(keys)})
    full = shop.snapshot(backend, 1)
    before = shop.files.written

    put(backend, {key: -key for key in range(0, keys, 200)})
    put(backend, {7: None})
    snapshot = shop.snapshot(backend, 2)

    assert shop.files.written - before < 0.05 * full.full_bytes
    again = number_of(shop.restored([snapshot], key_type=Types.LONG()))
    assert again == {key: key if key % 200 else -key for key in range(keys) if key != 7}


def test_many_incremental_snapshots_hold_the_last_values_and_stay_small(shop: Workshop) -> None:
    backend = shop.backend(incremental=True)
    model: dict[int, int] = {}
    sizes = []
    for checkpoint in range(1, 60):
        changes = {(checkpoint * 37 + n) % 500: checkpoint * 100 + n for n in range(25)}
        removed = {(checkpoint * 11) % 500: None}
        put(backend, {**changes, **removed})
        model = {key: value for key, value in {**model, **changes}.items() if key not in removed}
        snapshot = shop.snapshot(backend, checkpoint)
        shop.files.keep_only([snapshot])
        sizes.append(snapshot.full_bytes)

    assert number_of(shop.restored([snapshot])) == model
    assert len(snapshot.parts) < 60
    fresh = shop.backend()
    put(fresh, dict(model))
    assert sizes[-1] < 6 * shop.snapshot(fresh).full_bytes


def test_what_an_aborted_checkpoint_took_is_in_the_next_one(shop: Workshop) -> None:
    backend = shop.backend(incremental=True)
    put(backend, dict.fromkeys(range(1000), 0))
    base = shop.snapshot(backend, 1)

    put(backend, {1: 1})
    lost = backend.freeze(2)
    lost.write(shop.files)
    lost.discard()
    backend.checkpoint_aborted(2)
    shop.files.keep_only([base])
    put(backend, {2: 2, 3: None})
    snapshot = shop.snapshot(backend, 3)
    shop.files.keep_only([snapshot])

    expected = {key: {1: 1, 2: 2}.get(key, 0) for key in range(1000) if key != 3}
    assert number_of(shop.restored([snapshot])) == expected


def test_a_snapshot_does_not_refer_to_files_of_one_that_is_not_complete(shop: Workshop) -> None:
    backend = shop.backend(incremental=True)
    put(backend, dict.fromkeys(range(1000), 0))
    base = shop.snapshot(backend, 1)
    put(backend, {1: 1})
    second = backend.freeze(2)
    second.write(shop.files)
    second.discard()
    put(backend, {2: 2})
    third = backend.freeze(3)
    backend.checkpoint_aborted(2)
    shop.files.keep_only([base])

    snapshot = third.write(shop.files)
    third.discard()
    backend.checkpoint_completed(3)

    expected = {key: {1: 1, 2: 2}.get(key, 0) for key in range(1000)}
    assert number_of(shop.restored([snapshot])) == expected


def test_a_late_word_of_completion_is_no_harm(shop: Workshop) -> None:
    backend = shop.backend(incremental=True)
    put(backend, dict.fromkeys(range(1000), 0))
    shop.snapshot(backend, 1)
    snapshots = []
    for checkpoint in (2, 3, 4):
        put(backend, {checkpoint: checkpoint})
        frozen = backend.freeze(checkpoint)
        snapshots.append(frozen.write(shop.files))
        frozen.discard()
    backend.checkpoint_completed(2)
    backend.checkpoint_aborted(3)
    backend.checkpoint_completed(4)
    put(backend, {5: 5})
    last = shop.snapshot(backend, 5)

    assert number_of(shop.restored([last])) == {
        key: key if key in (2, 3, 4, 5) else 0 for key in range(1000)
    }


def test_after_a_restore_the_next_snapshot_goes_on_from_the_files_it_has(shop: Workshop) -> None:
    backend = shop.backend(incremental=True)
    put(backend, {key: key for key in range(5000)})
    first = shop.snapshot(backend, 1)

    again = shop.restored([first], incremental=True, owned=True)
    put(again, {1: -1})
    before = shop.files.written
    second = shop.snapshot(again, 2)

    assert shop.files.written - before < 0.2 * first.full_bytes
    shop.files.keep_only([second])
    assert number_of(shop.restored([second])) == {
        key: key if key != 1 else -1 for key in range(5000)
    }


def test_a_checkpoint_of_someone_else_is_not_referred_to(shop: Workshop) -> None:
    backend = shop.backend(incremental=True)
    put(backend, {key: key for key in range(500)})
    first = shop.snapshot(backend, 1)

    again = shop.restored([first], incremental=True, owned=False)
    put(again, {1: -1})
    second = shop.snapshot(again, 2)

    shop.files.keep_only([second])
    assert number_of(shop.restored([second])) == {
        key: key if key != 1 else -1 for key in range(500)
    }


def test_state_that_nobody_asks_for_is_in_the_next_snapshot(
    shop: Workshop, incremental: bool
) -> None:
    backend = shop.backend(incremental=incremental)
    fill(backend, UNTYPED, range(20))
    put(backend, {key: key for key in range(20)})
    snapshot = shop.snapshot(backend, 1)
    for checkpoint in (2, 3):
        again = shop.restored([snapshot], incremental=incremental)
        put(again, {100: 100})
        snapshot = shop.snapshot(again, checkpoint)
        shop.files.keep_only([snapshot])

    last = shop.restored([snapshot])
    assert sorted(last.keys("list")) == list(range(20))
    assert contents(last, UNTYPED) == expected(range(20))
    assert number_of(last) == {**{key: key for key in range(20)}, 100: 100}


@pytest.mark.parametrize("other", BACKENDS)
@pytest.mark.parametrize("wide", [True, False], ids=["merged", "split"])
def test_key_groups_move_to_other_subtasks_and_backends(
    shop: Workshop, descriptors: list[StateDescriptor], other: str, wide: bool
) -> None:
    half = GROUPS // 2
    ranges = [(0, half - 1), (half, GROUPS - 1)]
    whole = [(0, GROUPS - 1)]
    everyone = shop.backend()
    fill(everyone, descriptors, range(300))
    whole_snapshot = shop.snapshot(everyone)
    halves = [
        shop.restored([whole_snapshot], first=first, last=last, kind=other)
        for first, last in ranges
    ]
    assert all(0 < len(list(part.keys("value"))) < 300 for part in halves)

    snapshots = [shop.snapshot(part) for part in halves] if wide else [whole_snapshot]
    again = [
        shop.restored(snapshots, first=first, last=last)
        for first, last in (whole if wide else [(0, 2), (3, 3), (4, GROUPS - 1)])
    ]

    found: dict[str, dict[Any, Any]] = {descriptor.name: {} for descriptor in descriptors}
    for part in again:
        for name, entries in contents(part, descriptors).items():
            assert not found[name].keys() & entries.keys()
            found[name].update(entries)
    assert found == expected(range(300))


@pytest.mark.parametrize("other", BACKENDS)
def test_namespaces_survive_a_restore_by_any_backend(shop: Workshop, other: str) -> None:
    backend = shop.backend()
    descriptor = MapStateDescriptor("windows", Types.STRING(), Types.LONG())
    state: Any = backend.state(descriptor, namespaced=True)
    for key in range(40):
        for window in [(0, 10), (10, 20)]:
            backend.key, backend.namespace = key, window
            state.put("n", key + window[0])

    again = shop.restored([shop.snapshot(backend)], kind=other)

    assert read_all(again, descriptor, namespaced=True) == {
        (key, window): {"n": key + window[0]} for key in range(40) for window in [(0, 10), (10, 20)]
    }


def test_a_value_that_is_not_of_its_type_is_named_before_the_checkpoint_is_there(
    shop: Workshop,
) -> None:
    backend = shop.backend()
    backend.key = "k"

    def write() -> None:
        numbers(backend).update("text")
        backend.freeze(1).write(shop.files)

    with pytest.raises(UnstorableValue, match=r"'counter'.*'number'.*'text'"):
        write()


def test_other_key_groups_are_refused(shop: Workshop) -> None:
    backend = shop.backend()
    put(backend, {1: 1})
    snapshot = shop.snapshot(backend)
    with_more = _with_max_parallelism(shop, 2 * GROUPS)

    with pytest.raises(StateRefused, match=f"{GROUPS}.*{2 * GROUPS}"):
        with_more.restore([snapshot], shop.files, owned=True)


def _with_max_parallelism(shop: Workshop, number: int) -> KeyedStateBackend:
    from dataclasses import replace  # noqa: PLC0415

    from riverrun.state.backends import create_backend  # noqa: PLC0415

    sample = shop.backend()
    settings: Any = sample._settings  # type: ignore[attr-defined]
    made = create_backend(
        shop.kind, replace(settings, max_parallelism=number, folder=shop.folder / "other")
    )
    shop.made.append(made)
    return made


class Damaged(MemoryFiles):
    """Gives other bytes than were kept."""

    def __init__(self, files: MemoryFiles, damage: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self.files = files.files
        self._damage = damage

    def read(self, blob: Blob) -> bytes:
        return self._damage(super().read(blob))


@pytest.mark.parametrize(
    "damage",
    [lambda data: b"x" * len(data), lambda data: data[: len(data) // 2], lambda _data: b""],
    ids=["foreign", "cut", "empty"],
)
def test_files_that_are_no_state_are_refused_by_name(
    shop: Workshop, damage: Callable[[bytes], bytes]
) -> None:
    backend = shop.backend()
    put(backend, {key: key for key in range(1000)})
    snapshot = shop.snapshot(backend)
    paths = [part.blob.path for part in snapshot.parts if hasattr(part.blob, "path")]

    with pytest.raises(StorageError) as refused:
        number_of(_restored_from(shop, snapshot, Damaged(shop.files, damage)))

    assert isinstance(refused.value, FileCorrupt)
    assert any(path in str(refused.value) for path in paths) or shop.kind == "rocksdb"


def _restored_from(
    shop: Workshop, snapshot: KeyedSnapshot, files: MemoryFiles
) -> KeyedStateBackend:
    again = shop.backend()
    again.restore([snapshot], files, owned=True)
    return again
