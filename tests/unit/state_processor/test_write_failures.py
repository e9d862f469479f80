"""When something fails there is no savepoint, nothing that looks like one, and nothing is left behind."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from riverrun.api.runtime_context import RuntimeContext, StateNotAvailable
from riverrun.api.state import ValueStateDescriptor
from riverrun.core.errors import UserCodeError
from riverrun.serde.types import Types
from riverrun.state_processor import writer as writer_module
from riverrun.state_processor.bootstrap import bootstrap
from riverrun.state_processor.bootstrap_functions import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
)
from riverrun.state_processor.savepoint import Savepoint
from riverrun.state_processor.writer import SavepointWriter
from riverrun.state_processor.writing import sorting
from riverrun.state_processor.writing.refusals import RowRefused, WriteRefused
from riverrun.storage.local import LocalStorage
from riverrun.storage.storage import FileExists, FileMissing, StorageError
from riverrun.testing.faulty_storage import (
    Fault,
    FaultyStorage,
    StorageOperation,
    fault_at,
    no_faults,
)
from tests.unit.state_processor.writing_checks import contents

TOTAL = ValueStateDescriptor("total", Types.LONG())
PAIRS = [(number, number) for number in range(100)]


def a_writer() -> SavepointWriter:
    writer = SavepointWriter.new_savepoint().with_keyed_state("uid", TOTAL, PAIRS)
    return writer.with_list_state("lists", "items", [1, 2, 3])


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FaultyStorage:
    storage = FaultyStorage(LocalStorage(str(tmp_path)))
    monkeypatch.setattr(writer_module, "open_storage", lambda _location, _config: storage)
    return storage


@pytest.mark.parametrize("fault", [Fault.ERROR_BEFORE, Fault.ERROR_AFTER, Fault.PARTIAL])
def test_whatever_the_store_does_there_is_a_whole_savepoint_or_none(
    tmp_path: Path, store: FaultyStorage, fault: Fault
) -> None:
    a_writer().write(tmp_path / "good")
    operations = len(store.operations)
    for number in range(operations):
        folder = tmp_path / f"{fault.name} {number}"
        store.operations.clear()
        store.plan = fault_at(number, fault)
        try:
            location = a_writer().write(folder)
        except StorageError:
            with pytest.raises(FileMissing):
                Savepoint.read(folder)
            assert not list(folder.rglob("*.parquet"))
        else:
            assert contents(location, "uid", "total") == dict(PAIRS)


def test_a_store_that_does_not_answer_any_more_leaves_no_savepoint(
    tmp_path: Path, store: FaultyStorage
) -> None:
    def plan(operation: StorageOperation) -> Fault:
        return Fault.NONE if operation.number < 3 else Fault.ERROR_BEFORE

    store.plan = plan

    with pytest.raises(StorageError, match="the test wants it to fail"):
        a_writer().write(tmp_path / "savepoint")

    assert not (tmp_path / "savepoint" / "_metadata").exists()
    store.plan = no_faults
    with pytest.raises(WriteRefused, match="expected a folder that is empty or not there"):
        a_writer().write(tmp_path / "savepoint")


def test_the_savepoint_of_a_faster_writer_is_left_alone(
    tmp_path: Path, store: FaultyStorage
) -> None:
    folder = tmp_path / "savepoint"

    def plan(operation: StorageOperation) -> Fault:
        if operation.kind == "write" and operation.location.endswith("_metadata"):
            (folder / "_metadata").write_text("another's")
        return Fault.NONE

    store.plan = plan

    with pytest.raises(FileExists):
        a_writer().write(folder)

    assert (folder / "_metadata").read_text() == "another's"


def full_disk(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("module", "name"),
    [(pq, "ParquetWriter"), (pa.ipc, "new_stream")],
    ids=["files", "runs"],
)
def test_a_full_disk_is_said_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, name: str
) -> None:
    monkeypatch.setattr(sorting, "_RUN_ROWS", 10)
    monkeypatch.setattr(module, name, full_disk)

    with pytest.raises(StorageError, match="the disk is full"):
        a_writer().write(tmp_path / "savepoint")

    assert not (tmp_path / "savepoint").exists()


def test_many_runs_make_one_savepoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_RUN_ROWS", 1000)
    pairs = [(number * 7919 % 40_000, number) for number in range(40_000)]

    written = SavepointWriter.new_savepoint().with_keyed_state("uid", TOTAL, pairs)

    assert contents(written.write(tmp_path / "savepoint"), "uid", "total") == dict(pairs)


def test_data_that_fails_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    def pairs() -> Iterator[tuple[int, int]]:
        yield from PAIRS
        raise ZeroDivisionError

    writer = SavepointWriter.new_savepoint().with_list_state("lists", "items", [1])

    with pytest.raises(ZeroDivisionError):
        writer.with_keyed_state("uid", TOTAL, pairs()).write(tmp_path / "savepoint")

    assert not (tmp_path / "savepoint").exists()


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    first = a_writer().write(tmp_path / "savepoint")

    with pytest.raises(WriteRefused, match="_metadata' is in it, expected a folder that is empty"):
        a_writer().write(first)

    assert contents(first, "uid", "total") == dict(PAIRS)


def test_items_of_another_type_are_named(tmp_path: Path) -> None:
    del tmp_path
    writer = SavepointWriter.new_savepoint()

    with pytest.raises(RowRefused, match=r"operator 'u': state 'l': row 1, column 'value': exp"):
        writer.with_list_state("u", "l", [1, "x"], Types.LONG())
    with pytest.raises(RowRefused, match=r"row 0, column 'map_key': expected a str"):
        writer.with_broadcast_state("u", "b", {1: 1}, Types.STRING(), Types.LONG())


class Divide(KeyedStateBootstrapFunction):
    """Divides by its record."""

    closed = False

    def open(self, runtime_context: RuntimeContext) -> None:
        self._state = runtime_context.get_state(TOTAL)

    def close(self) -> None:
        Divide.closed = True

    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        del ctx
        self._state.update(10 // value)


def test_a_bootstrap_function_that_raises_is_named_with_its_record(tmp_path: Path) -> None:
    made = bootstrap([1, 2, 0]).key_by(lambda value: value).transform(Divide())

    with pytest.raises(UserCodeError, match=r"operator 'uid': .* record 2, 0: ZeroDivisionError"):
        SavepointWriter.new_savepoint().with_operator("uid", made).write(tmp_path / "savepoint")

    assert Divide.closed
    assert not (tmp_path / "savepoint").exists()


def test_a_bootstrap_refuses_none_as_a_key(tmp_path: Path) -> None:
    made = bootstrap([1, None]).key_by(lambda value: value).transform(Divide())

    with pytest.raises(RowRefused, match="row 1, column 'key': found None"):
        SavepointWriter.new_savepoint().with_operator("uid", made).write(tmp_path / "savepoint")


class WantsKeys(BroadcastStateBootstrapFunction):
    """Asks for keyed state where there is none."""

    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(TOTAL)

    def process_element(self, value: Any, ctx: BroadcastStateBootstrapFunction.Context) -> None:
        pass


def test_keyed_state_needs_keys_in_a_bootstrap_too(tmp_path: Path) -> None:
    made = bootstrap([1]).transform(WantsKeys())

    with pytest.raises(StateNotAvailable, match="'total' but is not on a keyed stream"):
        SavepointWriter.new_savepoint().with_operator("uid", made).write(tmp_path / "savepoint")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: bootstrap([]).transform(Divide()),  # type: ignore[arg-type]
        lambda: bootstrap([]).key_by(str).transform(WantsKeys()),  # type: ignore[arg-type]
        lambda: SavepointWriter.new_savepoint().with_operator("u", Divide()),  # type: ignore[arg-type]
    ],
)
def test_functions_are_given_where_they_belong(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"expected "):
        wrong()


def test_an_operator_has_one_bootstrap_and_nothing_else() -> None:
    made = bootstrap([1]).key_by(lambda value: value).transform(Divide())
    writer = SavepointWriter.new_savepoint().with_operator("uid", made)

    with pytest.raises(WriteRefused, match="operator 'uid': it is in the savepoint already"):
        writer.with_operator("uid", made)
    with pytest.raises(WriteRefused, match="operator 'uid': its state is made by a bootstrap"):
        writer.with_keyed_state("uid", "more", [])
