"""Files that are cut off, changed or of a later release are refused by their names, before the first record."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.checkpoint.metadata_file import FormatTooNew, MetadataFile, encode
from riverrun.core.errors import JobFailed, RiverrunError
from riverrun.protocol.snapshots import KeyedPart, OperatorSnapshot
from riverrun.storage.blobs import FileRef
from riverrun.storage.digests import digest_of
from riverrun.storage.storage import FileCorrupt
from tests.compatibility.kept import CORPUS, PARALLELISM, go_on, snapshot_in
from tests.compatibility.written import metadata_in

RELEASE = "0.1.0"


def operators(folder: Path) -> Iterator[OperatorSnapshot]:
    for subtask in metadata_in(folder).subtasks:
        yield from subtask.operators


def keyed_parts(folder: Path) -> Iterator[KeyedPart]:
    for operator in operators(folder):
        if operator.keyed is not None:
            yield from operator.keyed.parts


def path_of(blob: Any) -> Path:
    assert isinstance(blob, FileRef)
    return Path(blob.path)


def metadata(folder: Path) -> Path:
    return snapshot_in(folder) / "_metadata"


def keyed(folder: Path) -> Path:
    return next(path_of(part.blob) for part in keyed_parts(folder))


def of_rocksdb(name: str) -> Callable[[Path], Path]:
    def find(folder: Path) -> Path:
        return next(path_of(part.blob) for part in keyed_parts(folder) if name in part.name)

    return find


def listed(folder: Path) -> Path:
    return next(path_of(part.blob) for each in operators(folder) for part in each.lists)


def in_flight(folder: Path) -> Path:
    channels = (each for subtask in metadata_in(folder).subtasks for each in subtask.channels)
    return next(path_of(each.blob) for each in channels)


FILES = {
    "metadata of a savepoint": ("states/savepoint", metadata),
    "metadata of a checkpoint": ("states/hashmap", metadata),
    "table of keyed state": ("states/savepoint", keyed),
    "table of operator state": ("operators/savepoint", listed),
    "file of hashmap": ("states/hashmap", keyed),
    "rows of rocksdb": ("states/rocksdb", of_rocksdb(".sst")),
    "manifest of rocksdb": ("states/rocksdb", of_rocksdb("MANIFEST")),
    "timers of rocksdb": ("states/rocksdb", of_rocksdb("TIMERS")),
    "operator state": ("operators/hashmap", listed),
    "records in flight": ("in_flight/unaligned", in_flight),
}


@pytest.fixture
def copy_of(tmp_path: Path) -> Callable[[str], Path]:
    """``copy_of("states/savepoint")``: a copy of a snapshot, to be damaged."""
    return lambda entry: Path(shutil.copytree(CORPUS / RELEASE / entry, tmp_path / "copy"))


def refusal(entry: str, folder: Path, results: Path) -> RiverrunError:
    """What is said when the program of ``entry`` is to go on from ``folder``.

    Nothing comes of it but what the snapshot itself had left to be committed.
    """
    program, _, name = entry.partition("/")
    backend = "rocksdb" if name == "rocksdb" else "hashmap"
    with pytest.raises((FileCorrupt, FormatTooNew, JobFailed)) as caught:
        go_on(program, snapshot_in(folder), results, PARALLELISM, backend)
    taken = metadata_in(CORPUS / RELEASE / entry).checkpoint
    assert {path.name.partition("-")[0] for path in results.glob("*")} <= {str(taken)}
    error = caught.value
    assert isinstance(error, RiverrunError)
    return error


def cut_off(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes((data[middle] ^ 0x40,)) + data[middle + 1 :]


@pytest.mark.parametrize("damage", [cut_off, flipped], ids=lambda each: each.__name__)
@pytest.mark.parametrize("kind", FILES)
def test_a_damaged_file_is_refused_by_its_name(
    copy_of: Callable[[str], Path], tmp_path: Path, kind: str, damage: Callable[[bytes], bytes]
) -> None:
    entry, find = FILES[kind]
    folder = copy_of(entry)
    path = find(folder)
    path.write_bytes(damage(path.read_bytes()))

    error = refusal(entry, folder, tmp_path / "results")

    assert str(path) in str(error)
    if damage is cut_off:
        assert isinstance(error, FileCorrupt), "its size tells before anything runs"


def rewritten(folder: Path, change: Callable[[Any], None]) -> None:
    """Let `_metadata` say something else, and be whole all the same."""
    location = metadata(folder)
    first, second = location.read_text().splitlines()
    body = json.loads(second)
    change(body)
    file = MetadataFile(msgspec.convert(body, CheckpointMetadata), json.loads(first)["epoch"])
    location.write_bytes(encode(file, str(location)))


def replaced(folder: Path, path: Path, data: bytes) -> None:
    """Put other bytes into a file, with their size and digest into `_metadata`."""
    path.write_bytes(data)

    def change(node: Any) -> None:
        if isinstance(node, dict):
            if str(path).endswith(f"/{node.get('path')}"):
                node["size"], node["digest"] = len(data), digest_of(data)
            for each in node.values():
                change(each)
        elif isinstance(node, list):
            for each in node:
                change(each)

    rewritten(folder, change)


@pytest.mark.parametrize("entry", ["states/savepoint", "states/hashmap"])
def test_a_later_format_is_refused_before_anything_runs(
    copy_of: Callable[[str], Path], tmp_path: Path, entry: str
) -> None:
    folder = copy_of(entry)
    rewritten(folder, lambda body: body.update(format_version=99))

    error = refusal(entry, folder, tmp_path / "results")

    assert isinstance(error, FormatTooNew)
    said = str(error)
    assert str(metadata(folder)) in said
    assert "version 99" in said
    assert "use the release that wrote it, or a later one" in said


@pytest.mark.parametrize(
    ("entry", "find"), [FILES["table of keyed state"], FILES["table of operator state"]]
)
def test_a_table_of_a_later_release_is_refused_by_its_name(
    copy_of: Callable[[str], Path], tmp_path: Path, entry: str, find: Callable[[Path], Path]
) -> None:
    folder = copy_of(entry)
    path = find(folder)
    table = pq.read_table(path)
    said = json.loads(table.schema.metadata[b"riverrun"])
    out = pa.BufferOutputStream()
    later = {b"riverrun": json.dumps({**said, "version": 99}).encode()}
    pq.write_table(table.replace_schema_metadata(later), out)
    replaced(folder, path, out.getvalue().to_pybytes())

    error = refusal(entry, folder, tmp_path / "results")

    assert path.name in str(error)
    assert "version 99" in str(error)
    assert "use the release that wrote it, or a later one" in str(error)


def test_a_file_of_hashmap_of_a_later_release_is_refused_by_its_name(
    copy_of: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = copy_of("states/hashmap")
    path = keyed(folder)
    data = path.read_bytes()
    replaced(folder, path, data[:8] + (99).to_bytes(4, "little") + data[12:])

    error = refusal("states/hashmap", folder, tmp_path / "results")

    assert str(path) in str(error)
    assert "version 99" in str(error)


def test_rows_of_a_later_release_are_refused(
    copy_of: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = copy_of("states/rocksdb")
    facts = next(each.keyed.meta for each in operators(folder) if each.keyed is not None)
    later = msgspec.msgpack.encode({**msgspec.msgpack.decode(facts), "layout": 99})

    def change(body: Any) -> None:
        for subtask in body["subtasks"]:
            for operator in subtask["operators"]:
                if operator["keyed"] is not None:
                    operator["keyed"]["meta"] = later

    rewritten(folder, change)

    error = refusal("states/rocksdb", folder, tmp_path / "results")

    assert "version 99 of the layout of rows" in str(error)
    assert "restore with the release that wrote it or a later one" in str(error)
