"""What is damaged, missing or of another time is refused in one line that says what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from riverrun.api.state import ValueStateDescriptor
from riverrun.checkpoint.metadata_file import FormatTooNew
from riverrun.serde.types import Types
from riverrun.state.interchange import UnknownBackend
from riverrun.state_processor.savepoint import Savepoint
from riverrun.storage.memory import MemoryStorage
from riverrun.storage.storage import FileCorrupt, FileMissing
from tests.unit.state_processor.made_checkpoints import Operator


@pytest.fixture
def operator(tmp_path: Path) -> Operator:
    made = Operator(tmp_path, key_type=Types.LONG())
    for number in range(100):
        backend: Any = made.at(number)
        backend.state(ValueStateDescriptor("numbers", Types.LONG())).update(number)
    return made


def files_of(savepoint: Savepoint) -> list[Path]:
    snapshots = savepoint.find("customers").keyed
    return [Path(part.blob.path) for each in snapshots for part in each.parts]  # type: ignore[union-attr]


@pytest.mark.parametrize("what", ["savepoint", "checkpoint"])
def test_a_file_that_was_cut_off_is_named(operator: Operator, what: str) -> None:
    savepoint = getattr(operator, what)()
    file = files_of(savepoint)[1]
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(FileCorrupt, match=file.name):
        list(savepoint.state("customers", "numbers").rows())
    with pytest.raises(FileCorrupt, match=file.name):
        _ = savepoint.operators


@pytest.mark.parametrize("what", ["savepoint", "checkpoint"])
def test_a_file_that_is_gone_is_named(operator: Operator, what: str) -> None:
    savepoint = getattr(operator, what)()
    file = files_of(savepoint)[0]
    file.unlink()
    with pytest.raises(FileMissing, match=file.name):
        list(savepoint.state("customers", "numbers").batches())
    with pytest.raises(FileMissing, match=file.name):
        _ = savepoint.operators


def test_a_file_that_was_changed_is_refused(operator: Operator) -> None:
    savepoint = operator.savepoint()
    file = files_of(savepoint)[0]
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)
    with pytest.raises(FileCorrupt, match=file.name):
        savepoint.state("customers", "numbers").to_arrow()


def test_other_files_of_a_damaged_savepoint_are_read(operator: Operator) -> None:
    savepoint = operator.savepoint()
    second = savepoint.find("customers").keyed[1]
    files_of(savepoint)[0].unlink()
    groups = range(second.first_group, second.last_group + 1)
    found = savepoint.state("customers", "numbers").where_key_groups(groups).to_arrow()
    assert set(found["key_group"].to_pylist()) == set(groups)


def test_where_there_is_nothing_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match="there is no checkpoint or savepoint"):
        Savepoint.read(tmp_path / "nowhere")


def test_a_folder_of_savepoints_names_them(operator: Operator, tmp_path: Path) -> None:
    savepoint = operator.savepoint()
    with pytest.raises(FileMissing, match=savepoint.location):
        Savepoint.read(tmp_path)


def test_what_a_later_release_wrote_is_refused(operator: Operator) -> None:
    place = Path(operator.savepoint().checkpoint.location)
    first, _, rest = place.read_bytes().partition(b"\n")
    header = json.loads(first) | {"version": 99}
    place.write_bytes(json.dumps(header, separators=(",", ":")).encode() + b"\n" + rest)
    with pytest.raises(FormatTooNew, match="version 99"):
        Savepoint.read(place)


def test_a_backend_that_is_not_known_is_refused(operator: Operator) -> None:
    savepoint = operator.checkpoint()
    found = savepoint.find("customers")
    found.keyed = [msgspec.structs.replace(each, backend="sled") for each in found.keyed]
    with pytest.raises(UnknownBackend, match="'sled' is not known"):
        list(savepoint.state("customers", "numbers").rows())


def test_a_savepoint_that_was_moved_is_read_where_it_is(operator: Operator, tmp_path: Path) -> None:
    folder = Path(operator.savepoint().location)
    moved = folder.rename(tmp_path / "elsewhere")
    assert Savepoint.read(moved).state("customers", "numbers").count() == 100


def test_what_lies_in_another_store_is_read_there(operator: Operator) -> None:
    for made in (operator.savepoint(), operator.checkpoint()):
        root = Path(made.location) if made.metadata.savepoint else Path(made.location).parent
        store = MemoryStorage.named("elsewhere")
        for file in root.rglob("*"):
            if file.is_file():
                store.write(f"memory://elsewhere/{file.relative_to(root)}", file.read_bytes())
        folder = Path(made.location).relative_to(root)
        found = Savepoint.read(f"memory://elsewhere/{folder}".removesuffix("/."))
        assert found.state("customers", "numbers").count() == 100
        assert found.state("customers", "numbers").where_key(7).to_arrow()["value"].to_pylist() == [
            7
        ]
        assert [state.rows for state in found.operators[0].states] == [None]
        MemoryStorage.forget("elsewhere")
