"""What a snapshot looks like from outside: its states, the columns of its tables, the classes in its pickles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from riverrun.checkpoint.metadata import CheckpointMetadata
from riverrun.checkpoint.metadata_file import decode
from riverrun.protocol.snapshots import StateMeta
from riverrun.storage.blobs import Blob, FileRef, InlineBlob
from tests.compatibility.kept import snapshot_in

_CLASS: Final = re.compile(rb"(riverrun\.[a-z_.]+)\x94?\x8c.([A-Za-z_]+)\x94?\x93", re.DOTALL)
"""A class of ours in a pickle: its module, its name, and the opcode that looks it up."""


def metadata_in(folder: Path) -> CheckpointMetadata:
    """What the snapshot in ``folder`` says, with full paths."""
    location = snapshot_in(folder) / "_metadata"
    return decode(location.read_bytes(), str(location)).metadata


def appearance_of(folders: Iterable[Path]) -> dict[str, Any]:
    """States by operator and name, tables by operator and state, and pickled classes of ours."""
    states: dict[str, str] = {}
    tables: dict[str, Any] = {}
    classes: set[str] = set()
    for folder in folders:
        metadata = metadata_in(folder)
        uids = {each.operator_id: str(each.uid) for v in metadata.vertices for each in v.operators}
        for operator_id, meta, blobs in _states(metadata):
            name = f"{uids[operator_id]}/{meta.name}"
            states[name] = _described(meta)
            for data in blobs:
                if data.startswith(b"PAR1"):
                    table = pq.read_table(pa.BufferReader(data))
                    tables[name] = _columns(table.schema)
                    classes.update(_classes(b"".join(_binary(table))))
                else:
                    classes.update(_classes(data))
    return {
        "states": states,
        "tables": tables,
        "classes": dict.fromkeys(sorted(classes), "pickled"),
    }


def _states(metadata: CheckpointMetadata) -> Iterator[tuple[str, StateMeta, list[bytes]]]:
    for subtask in metadata.subtasks:
        for operator in subtask.operators:
            for part in operator.lists:
                yield operator.operator_id, part.meta, [_read(part.blob)]
            if operator.keyed is not None:
                files = [_read(part.blob) for part in operator.keyed.parts]
                for meta in operator.keyed.states:
                    yield operator.operator_id, meta, [each for each in files if _is_of(each, meta)]


def _read(blob: Blob) -> bytes:
    match blob:
        case InlineBlob(data):
            return data
        case FileRef(path):
            return Path(path).read_bytes()


def _is_of(data: bytes, meta: StateMeta) -> bool:
    """Whether a file holds the state; one of hashmap holds all of them."""
    if not data.startswith(b"PAR1"):
        return True
    said = pq.read_schema(pa.BufferReader(data)).metadata[b"riverrun"]
    return f'"name":"{meta.name}"'.encode() in said


def _described(meta: StateMeta) -> str:
    marks = [mark for mark, given in (("namespaced", meta.namespaced), ("ttl", meta.ttl)) if given]
    typed = [f"{role}={text}" for role, text in sorted(meta.types.items())]
    return " ".join([meta.kind.value, *marks, *typed])


def _columns(schema: pa.Schema) -> dict[str, str]:
    return {
        field.name: f"{field.type} {(field.metadata or {}).get(b'riverrun.encoding', b'').decode()}"
        for field in schema
    }


def _binary(table: pa.Table) -> Iterator[bytes]:
    for column in table.columns:
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            yield from (value for value in column.to_pylist() if value is not None)
        elif pa.types.is_list(column.type):
            yield from (
                item for row in column.to_pylist() for item in row or () if isinstance(item, bytes)
            )


def _classes(data: bytes) -> set[str]:
    return {f"{module.decode()}.{name.decode()}" for module, name in _CLASS.findall(data)}
