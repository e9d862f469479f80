"""The store that fails on purpose does what its plan says, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from riverrun.storage.memory import MemoryStorage
from riverrun.storage.storage import Storage, StorageError
from riverrun.testing.faulty_storage import (
    Fault,
    FaultyStorage,
    StorageOperation,
    fault_at,
    random_faults,
)


def always(fault: Fault) -> FaultyStorage:
    return FaultyStorage(MemoryStorage(), lambda _: fault)


def test_without_faults_it_is_the_store_itself(tmp_path: Path) -> None:
    inner = MemoryStorage()
    store: Storage = FaultyStorage(inner)
    (tmp_path / "source").write_bytes(b"up")

    store.write("x/a", b"1", new=True)
    store.upload(tmp_path / "source", "x/b")
    store.download("x/b", tmp_path / "target")

    assert (tmp_path / "target").read_bytes() == b"up"
    assert store.sizes("x") == {"x/a": 1, "x/b": 2}
    assert store.exists("x/a")
    store.delete(["x/a"])
    assert inner.list("x") == store.list("x") == ["x/b"]
    assert store.sweep("x", 0) == 0
    store.delete_folder("x")
    assert inner.list("x") == []


def test_an_error_before_does_nothing_and_one_after_does_all() -> None:
    store = always(Fault.ERROR_BEFORE)

    with pytest.raises(StorageError, match="write 'a': the test wants it to fail: ERROR_BEFORE"):
        store.write("a", b"1")
    store.plan = lambda _: Fault.ERROR_AFTER
    with pytest.raises(StorageError, match="write 'b'"):
        store.write("b", b"1")

    store.plan = lambda _: Fault.NONE
    assert (store.exists("a"), store.exists("b")) == (False, True)
    assert [each.number for each in store.operations] == [0, 1, 2, 3]


def test_a_partial_operation_does_half(tmp_path: Path) -> None:
    inner = MemoryStorage()
    store = FaultyStorage(inner, lambda _: Fault.PARTIAL)
    (tmp_path / "source").write_bytes(b"abcd")

    with pytest.raises(StorageError):
        store.write("a", memoryview(b"1234"))
    with pytest.raises(StorageError):
        store.upload(tmp_path / "source", "b")
    assert (inner.read("a"), inner.read("b")) == (b"12", b"ab")
    assert store.read("a") == b"1"
    store.download("b", tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == b"a"
    with pytest.raises(StorageError):
        store.delete(["a", "b"])
    with pytest.raises(StorageError):
        store.exists("b")
    assert (inner.exists("a"), inner.exists("b")) == (False, True)


def test_a_slow_operation_is_done_when_it_may_go_on() -> None:
    waited: list[StorageOperation] = []
    inner = MemoryStorage()

    def slow(operation: StorageOperation) -> None:
        assert not inner.exists("a")
        waited.append(operation)

    FaultyStorage(inner, lambda _: Fault.SLOW, slow=slow).write("a", b"1")

    assert inner.exists("a")
    assert waited == [StorageOperation(0, "write", "a")]


def test_one_chosen_operation_fails() -> None:
    store = FaultyStorage(MemoryStorage(), fault_at(1))

    store.write("a", b"1")
    with pytest.raises(StorageError):
        store.write("b", b"1")
    store.write("c", b"1")


def test_random_faults_repeat_with_their_seed() -> None:
    def drawn(seed: int, rate: float) -> list[Fault]:
        plan = random_faults(seed, rate, [Fault.ERROR_AFTER, Fault.SLOW])
        return [plan(StorageOperation(n, "read", "a")) for n in range(200)]

    assert drawn(1, 0.5) == drawn(1, 0.5) != drawn(2, 0.5)
    assert set(drawn(1, 0.5)) == {Fault.NONE, Fault.ERROR_AFTER, Fault.SLOW}
    assert set(drawn(1, 0.0)) == {Fault.NONE}
