"""Checkpoints for tests of the store."""

from __future__ import annotations

from collections.abc import Sequence

from riverrun.checkpoint.metadata import CheckpointMetadata, OperatorInfo, VertexInfo
from riverrun.protocol.snapshots import (
    KeyedPart,
    KeyedSnapshot,
    OperatorSnapshot,
    StateKind,
    StateMeta,
    SubtaskSnapshot,
)
from riverrun.storage.blobs import Blob

JOB = "0123456789abcdef0123456789abcdef"


def checkpoint(number: int, blobs: Sequence[Blob] = ()) -> CheckpointMetadata:
    """A checkpoint of one subtask that refers to ``blobs``."""
    keyed = KeyedSnapshot(
        "hashmap",
        0,
        127,
        (StateMeta("counts", StateKind.VALUE, {"key": '{"type": "string"}'}),),
        tuple(KeyedPart(f"part-{n}", blob, shared=True) for n, blob in enumerate(blobs)),
        meta=bytes(range(256)),
    )
    return CheckpointMetadata(
        number,
        JOB,
        "my job",
        1_700_000_000_000,
        (VertexInfo("v", "Sum", 1, 128, (OperatorInfo("op", "Sum", "sum"),)),),
        (SubtaskSnapshot("v", 0, (OperatorSnapshot("op", keyed),)),),
        riverrun_version="1.0",
    )
