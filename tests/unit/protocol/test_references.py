"""Every file of a snapshot is found, and can be moved."""

from __future__ import annotations

from riverrun.protocol.references import files_of, relocated, restored_files, restored_location
from riverrun.protocol.snapshots import (
    ChannelRestore,
    ChannelSnapshot,
    KeyedPart,
    KeyedSnapshot,
    OperatorRestore,
    OperatorSnapshot,
    OperatorStatePart,
    Redistribution,
    StateKind,
    StateMeta,
    SubtaskSnapshot,
    TaskRestore,
)
from riverrun.storage.blobs import FileRef, InlineBlob

INLINE = InlineBlob(b"x")
META = StateMeta("offsets", StateKind.LIST)


def ref(name: str) -> FileRef:
    return FileRef(f"/job/{name}", 1, "")


KEYED = KeyedSnapshot(
    "hashmap",
    0,
    127,
    (),
    (
        KeyedPart("base", ref("base"), shared=True),
        KeyedPart("delta", ref("delta"), shared=True),
        KeyedPart("small", INLINE, shared=False),
    ),
)
LISTS = (
    OperatorStatePart(META, Redistribution.SPLIT, ref("list"), ((0, 1),)),
    OperatorStatePart(META, Redistribution.SPLIT, INLINE, ((0, 1),)),
)
CHANNELS = (ChannelSnapshot(0, 0, ref("channel")), ChannelSnapshot(0, 1, INLINE))
TAKEN = (ChannelRestore(0, 0, ref("channel")), ChannelRestore(0, 1, INLINE))
SNAPSHOT = SubtaskSnapshot(
    "vertex",
    0,
    (OperatorSnapshot("a", KEYED, LISTS), OperatorSnapshot("b")),
    CHANNELS,
)
NAMES = ["/job/base", "/job/delta", "/job/list", "/job/channel"]


def test_the_files_of_all_kinds_of_state_are_found() -> None:
    assert [file.path for file in files_of(SNAPSHOT)] == NAMES


def test_the_files_that_a_subtask_starts_from_are_found() -> None:
    restore = TaskRestore(7, {"a": OperatorRestore((KEYED,), LISTS)}, TAKEN)

    assert [file.path for file in restored_files(restore)] == NAMES


def test_the_store_that_a_subtask_starts_from_is_that_of_its_files() -> None:
    restore = TaskRestore(7, {"a": OperatorRestore((KEYED,), LISTS)}, TAKEN)

    assert restored_location(restore).startswith("/job/")


def test_a_subtask_that_starts_from_no_file_needs_no_store_in_particular() -> None:
    assert restored_location(TaskRestore(7, {}, TAKEN[1:])) == "memory://empty"


def test_moving_the_files_changes_nothing_else() -> None:
    moved = relocated(SNAPSHOT, lambda path: path.replace("/job/", "/moved/"))

    assert [file.path for file in files_of(moved)] == [
        name.replace("job", "moved") for name in NAMES
    ]
    assert relocated(moved, lambda path: path.replace("/moved/", "/job/")) == SNAPSHOT
