"""What savepoints hold that were written: read back by the readers that jobs restore with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from riverrun.datastream.data_stream import DataStream
from riverrun.datastream.environment import StreamExecutionEnvironment
from riverrun.graph.key_groups import group_range
from riverrun.protocol.snapshots import StateKind
from riverrun.serde.stable_hash import key_group
from riverrun.state.interchange import StateBlock, iterate
from riverrun.state.parquet.items import read_items
from riverrun.state_processor.savepoint import Savepoint


def blocks(path: Path | str, uid: str, state: str) -> Iterator[StateBlock]:
    """All entries of a keyed state; every one is where the hash of its key says."""
    savepoint = Savepoint.read(path)
    saved = savepoint.find(uid)
    for snapshot in saved.keyed:
        subtask = snapshot.first_group * saved.parallelism // saved.max_parallelism
        own = group_range(subtask, saved.parallelism, saved.max_parallelism)
        assert (snapshot.first_group, snapshot.last_group) == own
        before = snapshot.first_group
        for block in iterate(snapshot, savepoint.files, range(saved.max_parallelism)):
            if block.meta.name != state:
                continue
            assert {key_group(key, saved.max_parallelism) for key in block.keys} == {block.group}
            assert before <= block.group <= snapshot.last_group
            before = block.group
            yield block
        # Another state begins with its first key group again.


def contents(path: Path | str, uid: str, state: str) -> dict[Any, Any]:
    """The values of a keyed state by key, or by key and namespace; every address is there once."""
    found: dict[Any, Any] = {}
    for block in blocks(path, uid, state):
        addresses = block.keys
        if block.namespaces is not None:
            addresses = list(zip(block.keys, block.namespaces, strict=True))
        for address, value in zip(addresses, block.values, strict=True):
            if block.meta.kind is StateKind.MAP:
                entries = found.setdefault(address, {})
                assert not entries.keys() & value.keys()
                entries.update(value)
            else:
                assert address not in found
                found[address] = value
    return found


def items(path: Path | str, uid: str, state: str) -> list[list[Any]]:
    """The items of an operator state, part by part."""
    savepoint = Savepoint.read(path)
    parts = [
        part
        for (name, _), found in savepoint.find(uid).lists.items()
        for _, part in found
        if name == state
    ]
    return [read_items(part, savepoint.files) for part in parts]


def going_on(
    path: str, backend: str = "hashmap", parallelism: int = 1, **config: Any
) -> StreamExecutionEnvironment:
    """An environment whose job starts from the savepoint, in this process."""
    env = StreamExecutionEnvironment.get_execution_environment(
        {
            "riverrun.master": "in-process",
            "execution.state-recovery.path": path,
            "state.backend.type": backend,
            **config,
        }
    )
    env.set_parallelism(parallelism)
    return env


def results(stream: DataStream) -> list[Any]:
    """What the stream gives, sorted."""
    with stream.execute_and_collect("going on") as found:
        return sorted(found)
