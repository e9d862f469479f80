"""Settings that are refused, a disk that is full, values that cannot be written, expired rows."""

from __future__ import annotations

import random
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from riverrun.api.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from riverrun.core.errors import ConfigError
from riverrun.core.time import Time
from riverrun.serde.types import Types
from riverrun.state.rocksdb.backend import RocksDBBackend
from riverrun.state.serializers import UnstorableValue
from riverrun.storage.storage import FileCorrupt, StorageError
from tests.unit.state.rocksdb.conftest import Bench


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """What a full disk is to those who write: the file does not grow."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_a_full_disk_is_a_storage_error_that_names_the_place(bench: Bench) -> None:
    backend = bench.backend(memory_bytes=1 << 20)
    state: Any = backend.state(ValueStateDescriptor("value"))
    noise = random.Random(5)

    def fill() -> None:
        for key in range(20_000):
            backend.key = key
            state.update(noise.randbytes(500))

    with no_file_longer_than(100_000), pytest.raises(StorageError) as failed:
        fill()

    assert not isinstance(failed.value, FileCorrupt)
    assert str(backend._settings.folder) in str(failed.value)
    backend.close()
    assert not backend._settings.folder.exists()


def test_a_full_disk_while_a_checkpoint_flushes_is_a_storage_error(bench: Bench) -> None:
    backend = bench.backend()
    state: Any = backend.state(ValueStateDescriptor("value"))
    for key in range(1000):
        backend.key = key
        state.update(random.Random(key).randbytes(500))

    with no_file_longer_than(50_000), pytest.raises(StorageError) as failed:
        backend.freeze(1)

    assert str(backend._settings.folder) in str(failed.value)
    assert not list((backend._settings.folder / "snapshots").iterdir())


@pytest.mark.parametrize(
    "name",
    [
        "DEFAULT",
        "SPINNING_DISK_OPTIMIZED",
        "SPINNING_DISK_OPTIMIZED_HIGH_MEM",
        "FLASH_SSD_OPTIMIZED",
    ],
)
def test_predefined_options_are_known_by_their_names(bench: Bench, name: str) -> None:
    backend = bench.backend(options={"state.backend.rocksdb.predefined-options": name})
    state: Any = backend.state(ValueStateDescriptor("value"))
    backend.key = "k"
    state.update(1)

    restored = bench.restored(bench.snapshot(backend))

    restored.key = "k"
    assert restored.state(ValueStateDescriptor("value")).value() == 1  # type: ignore[attr-defined]


def test_unknown_predefined_options_are_refused_at_once(bench: Bench) -> None:
    with pytest.raises(ConfigError, match="is 'FAST'; expected one of DEFAULT, SPINNING"):
        bench.backend(options={"state.backend.rocksdb.predefined-options": "FAST"})


@pytest.mark.parametrize(
    ("descriptor", "use"),
    [
        (ValueStateDescriptor("s", Types.LONG()), lambda state: state.update("text")),
        (ListStateDescriptor("s", Types.LONG()), lambda state: state.add("text")),
        (MapStateDescriptor("s", Types.LONG(), Types.LONG()), lambda state: state.put(1, "text")),
        (MapStateDescriptor("s", Types.LONG(), Types.LONG()), lambda state: state.put("text", 1)),
    ],
    ids=["value", "list", "map", "map key"],
)
def test_a_value_of_another_type_fails_the_checkpoint_with_the_state_named(
    bench: Bench, descriptor: Any, use: Any
) -> None:
    backend = bench.backend()
    backend.key = "k"
    use(backend.state(descriptor))

    with pytest.raises(UnstorableValue, match="operator 'counter': state 's' cannot be written"):
        backend.freeze(1)


def rows_of(backend: RocksDBBackend) -> int:
    return sum(1 for _ in backend._store.scan(b""))


def with_ttl(descriptor: Any, every: int = 10) -> Any:
    builder = StateTtlConfig.new_builder(Time.seconds(10))
    descriptor.enable_time_to_live(builder.cleanup_in_rocksdb_compact_filter(every).build())
    return descriptor


def test_expired_rows_that_nobody_asks_for_are_removed(bench: Bench) -> None:
    backend = bench.backend(cache_bytes=1000)
    value: Any = backend.state(with_ttl(ValueStateDescriptor("value")))
    elements: Any = backend.state(with_ttl(ListStateDescriptor("list")))
    entries: Any = backend.state(with_ttl(MapStateDescriptor("map")))
    for key in range(300):
        backend.key = key
        value.update(key)
        elements.add(key)
        entries.put("k", key)
    bench.snapshot(backend)
    assert rows_of(backend) == 900

    bench.clock.advance(20_000)
    backend.key = "other"
    for _ in range(100):
        value.update(1)
        elements.update([1])
        entries.put("k", 1)
    for table in backend._tables.values():
        table.evict(1000)

    assert rows_of(backend) < 60
    assert list(backend.keys("value")) == list(backend.keys("list")) == ["other"]
    assert list(backend.keys("map")) == ["other"]


def test_a_young_value_in_the_cache_saves_its_expired_row(bench: Bench) -> None:
    backend = bench.backend()
    value: Any = backend.state(with_ttl(ValueStateDescriptor("value"), every=1))
    backend.key = "k"
    value.update(1)
    bench.snapshot(backend)
    bench.clock.advance(20_000)

    value.update(2)
    value.update(3)
    bench.snapshot(backend, 2)

    assert value.value() == 3
    assert list(backend.keys("value")) == ["k"]
