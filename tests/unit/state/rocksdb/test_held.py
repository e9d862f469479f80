"""What changes from one checkpoint to the next is taken as it is, and gets rows when it comes to rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from riverrun.api.state import ReducingStateDescriptor, ValueStateDescriptor
from riverrun.protocol.snapshots import KeyedSnapshot
from riverrun.serde.type_info import TypeInformation
from riverrun.serde.types import Types
from riverrun.state.rocksdb.backend import RocksDBBackend
from riverrun.state.rocksdb.catalog import WITH_ENTRIES, facts_of
from riverrun.state.rocksdb.frozen import ENTRIES
from riverrun.state.rocksdb.restless import Restless
from riverrun.state.rocksdb.rows import LAYOUT_VERSION
from tests.contract.state.conftest import Workshop, read_all
from tests.unit.state.rocksdb.conftest import Bench, holding

NUMBERS = ValueStateDescriptor("numbers", Types.LONG())
MANY = 2000


def put(
    backend: RocksDBBackend, values: dict[Any, Any], of: ValueStateDescriptor = NUMBERS
) -> None:
    state: Any = backend.state(of)
    for key, value in values.items():
        backend.key = key
        state.update(value)


def rows_of(backend: RocksDBBackend) -> int:
    return backend._store.row_count()


def has_entries(snapshot: KeyedSnapshot) -> bool:
    found = ENTRIES in [part.name for part in snapshot.parts]
    assert facts_of(snapshot).layout == (WITH_ENTRIES if found else LAYOUT_VERSION)
    return found


def test_what_changes_each_time_gets_no_rows_and_what_rests_does(bench: Bench) -> None:
    backend = bench.backend()
    model: dict[int, int] = {}
    taken = []
    for number in range(1, 8):
        if number < 5:
            model = {key: key * 1000 + number for key in range(MANY)}
            put(backend, model)
        snapshot = bench.snapshot(backend, number)
        taken.append(has_entries(snapshot))
        assert read_all(bench.restored(snapshot), NUMBERS) == model

    assert taken == [False, True, True, True, False, False, False]


def test_few_changes_get_rows(bench: Bench) -> None:
    backend = bench.backend()
    for number in range(1, 5):
        put(backend, {key: key * 1000 + number for key in range(100)})
        assert not has_entries(bench.snapshot(backend, number))


def test_more_and_more_of_them_get_rows_when_they_outnumber_what_changes(bench: Bench) -> None:
    backend = bench.backend()
    taken = []
    for number in range(1, 16):
        put(backend, {key: key * 1000 + number for key in range(MANY)})
        put(backend, dict.fromkeys(range(MANY * number, MANY * number + MANY // 2), 7))
        snapshot = bench.snapshot(backend, number)
        taken.append(has_entries(snapshot))
        assert backend._tables["numbers"].unwritten_count() <= 5 * MANY
    assert True in taken
    assert False in taken[1:]


@pytest.mark.parametrize(
    ("declared", "values"),
    [
        (Types.LONG(), [5, -(1 << 63), (1 << 63) - 1]),
        (Types.DOUBLE(), [0.5, float("inf"), -0.0]),
        (Types.STRING(), ["", "text", "ä"]),
        (Types.TUPLE([Types.LONG(), Types.STRING()]), [(1, "a"), (2, "b"), (3, "")]),
        (Types.PICKLED_BYTE_ARRAY(), [1, [2], {"a": (3,)}]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("keys", [[0, 1, 2, 300, -4], ["a", "b", ("c", 1), None, 2.5]], ids=repr)
@pytest.mark.parametrize("removed", [False, True])
def test_entries_come_back_over_older_rows(
    bench: Bench, declared: TypeInformation, values: list[Any], keys: list[Any], removed: bool
) -> None:
    descriptor = ValueStateDescriptor("state", declared)
    backend = bench.backend()
    put(backend, dict.fromkeys(keys, values[0]), descriptor)
    bench.snapshot(backend, 1)
    model = {key: values[place % 3] for place, key in enumerate(keys)}
    put(backend, model, descriptor)
    if removed:
        put(backend, {keys[0]: None}, descriptor)
        del model[keys[0]]

    with holding():
        snapshot = bench.snapshot(backend, 2)

    assert has_entries(snapshot)
    for after in (bench.restored(snapshot), bench.restored(snapshot, owned=False)):
        found = read_all(after, descriptor)
        assert found == model
        assert {type(value) for value in found.values()} == {type(v) for v in model.values()}
        assert read_all(bench.restored(bench.snapshot(after, 3)), descriptor) == model


def test_values_that_change_in_place_are_as_they_were(bench: Bench) -> None:
    lists = ValueStateDescriptor("lists", Types.LIST(Types.LONG()))
    backend = bench.backend()
    put(backend, {key: [key] for key in range(10)}, lists)
    state: Any = backend.state(lists)
    with holding():
        frozen = backend.freeze(1)
    for backend.key in range(10):
        found = state.value()
        found.append(-1)
        state.update(found)

    snapshot = frozen.write(bench.shelf)

    assert read_all(bench.restored(snapshot), lists) == {key: [key] for key in range(10)}
    assert read_all(backend, lists) == {key: [key, -1] for key in range(10)}


def test_an_aborted_checkpoint_loses_nothing(bench: Bench) -> None:
    backend = bench.backend()
    model = {key: key for key in range(50)}
    put(backend, model)
    with holding():
        backend.freeze(1).discard()
        backend.checkpoint_aborted(1)
    put(backend, {3: 4})

    assert read_all(bench.restored(bench.snapshot(backend, 2)), NUMBERS) == model | {3: 4}


def test_without_rows_there_is_no_database(bench: Bench) -> None:
    backend = bench.backend()
    put(backend, {key: key for key in range(50)})
    with holding():
        snapshot = bench.snapshot(backend, 1)

    assert backend._store.is_empty
    assert [part.name for part in snapshot.parts] == [ENTRIES]
    assert read_all(bench.restored(snapshot), NUMBERS) == {key: key for key in range(50)}


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_of_the_file_is_left_on_the_disk(
    bench: Bench, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = bench.backend()
    put(backend, {key: key for key in range(50)})
    with holding():
        frozen = backend.freeze(1)
    if fails:
        monkeypatch.setattr(bench.shelf, "upload", lambda *_, **__: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            frozen.write(bench.shelf)
    else:
        frozen.write(bench.shelf)

    assert not [path for path in bench.folder.rglob("*") if path.is_file()]


def test_entries_go_to_the_subtasks_that_have_their_key_groups(bench: Bench) -> None:
    model = {key: key * 3 for key in range(200)}
    backend = bench.backend()
    put(backend, dict.fromkeys(range(150), 1))
    bench.snapshot(backend, 1)
    put(backend, model)
    with holding():
        snapshot = bench.snapshot(backend, 2)
        halves = [bench.restored(snapshot, first=first, last=first + 3) for first in (0, 4)]
        found = [read_all(half, NUMBERS) for half in halves]
        assert found[0] | found[1] == model
        assert not found[0].keys() & found[1].keys()
        for half, held in zip(halves, found, strict=True):
            put(half, {key: value + 1 for key, value in held.items()})
        snapshots = [bench.snapshot(half, 3) for half in halves]

    merged = bench.restored(*snapshots)
    assert read_all(merged, NUMBERS) == {key: value + 1 for key, value in model.items()}


@pytest.mark.parametrize("removed", [False, True])
def test_another_backend_reads_them(tmp_path: Path, removed: bool) -> None:
    shop = Workshop(tmp_path, "rocksdb")
    backend: Any = shop.backend(incremental=True)
    put(backend, dict.fromkeys(range(100), 1))
    shop.snapshot(backend, 1)
    model: dict[int, int] = {key: key * 3 for key in range(50, 150)}
    put(backend, model)
    if removed:
        put(backend, {60: None, 10: None})
    with holding():
        snapshot = shop.snapshot(backend, 2)

    found = read_all(shop.restored([snapshot], kind="hashmap"), NUMBERS)

    expected = dict.fromkeys(range(50), 1) | model
    gone = {60, 10} if removed else set()
    assert found == {key: value for key, value in expected.items() if key not in gone}
    shop.close()


def test_a_savepoint_after_it_has_everything(bench: Bench) -> None:
    backend = bench.backend()
    put(backend, {key: key for key in range(50)})
    with holding():
        held = backend.freeze(1)
        with pytest.raises(ValueError, match="freeze for a savepoint"):
            next(held.entries())
        held.discard()
    frozen = backend.freeze(2, savepoint=True)

    found = [key for block in frozen.entries() for key in block.keys]

    assert sorted(found) == list(range(50))
    frozen.discard()


def test_entries_that_are_folded_are_taken_too(bench: Bench) -> None:
    sums = ReducingStateDescriptor("sums", lambda one, other: one + other, Types.LONG())
    backend = bench.backend()
    state: Any = backend.state(sums)
    for backend.key in range(50):
        state.add(2)
        state.add(3)
    with holding():
        snapshot = bench.snapshot(backend, 1)

    assert read_all(bench.restored(snapshot), sums) == dict.fromkeys(range(50), 5)


class TestRestless:
    def test_nothing_is_known_at_first(self) -> None:
        assert not Restless().are({}, set())

    @pytest.mark.parametrize(("share", "expected"), [(1.0, True), (0.4, True), (0.1, False)])
    def test_some_stand_for_all(self, share: float, expected: bool) -> None:
        cache = {key: object() for key in range(10_000)}
        restless = Restless()
        restless.remember(list(cache), cache)
        for key in range(10_000):
            if key % 10 < share * 10:
                cache[key] = object()

        assert restless.are(cache, set(cache)) == expected

    def test_what_left_the_cache_has_not_changed(self) -> None:
        cache = {key: object() for key in range(100)}
        restless = Restless()
        restless.remember(list(cache), cache)

        assert not restless.are({}, set())
