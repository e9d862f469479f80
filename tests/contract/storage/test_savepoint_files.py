"""A savepoint in every kind of store: written, moved to another folder, restored from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from riverrun.api.state import ValueStateDescriptor
from riverrun.core.clock import ManualClock
from riverrun.serde.types import Types
from riverrun.state.backend import BackendSettings
from riverrun.state.hashmap.backend import HashMapBackend
from riverrun.state.parquet.snapshot import write_keyed
from riverrun.storage.savepoint_files import SavedSavepointFiles, SavepointFiles
from riverrun.storage.storage import FileMissing
from tests.contract.storage.conftest import Place

COUNTS = ValueStateDescriptor("counts", Types.LONG())


def backend(folder: Path) -> HashMapBackend:
    return HashMapBackend(
        BackendSettings(
            operator="counter",
            operator_id="ab" * 16,
            subtask=0,
            first_group=0,
            last_group=3,
            max_parallelism=4,
            clock=ManualClock(0),
            folder=folder,
        )
    )


def test_a_savepoint_is_restored_from_wherever_its_folder_is(place: Place, tmp_path: Path) -> None:
    first = backend(tmp_path / "first")
    state: Any = first.state(COUNTS)
    for key in range(100):
        first.key = key
        state.update(key)
    here, there = f"{place.root}/savepoint-1", f"{place.root}/moved/to here"
    files = SavepointFiles(place.storage, here, tmp_path / "scratch")
    frozen = first.freeze(1, savepoint=True)
    snapshot = write_keyed(frozen, files)
    frozen.discard()
    assert list(files.written()) == place.storage.list(here)

    for location in place.storage.list(here):
        place.storage.write(there + location.removeprefix(here), place.storage.read(location))
    place.storage.delete_folder(here)

    again = backend(tmp_path / "again")
    again.restore([snapshot], SavedSavepointFiles(place.storage, there), owned=False)
    assert sorted(again.keys("counts")) == list(range(100))
    with pytest.raises(FileMissing, match=r"counts-0\.parquet"):
        backend(tmp_path / "third").restore(
            [snapshot], SavedSavepointFiles(place.storage, here), owned=False
        )
