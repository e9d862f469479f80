"""A frozen state as files of a savepoint.

state/<operator id>/<state>-<subtask>.parquet             keyed state
operator-state/<operator id>/<state>-<subtask>.parquet    lists and broadcast maps, also riverrun's own
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import groupby
from typing import Any, Final

import msgspec

from riverrun.protocol.snapshots import (
    KeyedPart,
    KeyedSnapshot,
    OperatorStatePart,
    Redistribution,
    StateMeta,
)
from riverrun.state.backend import BackendSettings, FrozenState
from riverrun.state.interchange import StateBlock
from riverrun.state.parquet.columns import columns_for, rows_of
from riverrun.state.parquet.facts import VERSION, FileFacts, Owner
from riverrun.state.parquet.items import scratch_file, write_items
from riverrun.state.parquet.writer import TableFile
from riverrun.storage.snapshot_files import NamedFiles

NAME: Final = "parquet"
FOLDER: Final = "state"


class SnapshotFacts(msgspec.Struct, frozen=True):
    """What is kept in ``KeyedSnapshot.meta``."""

    max_parallelism: int


def write_keyed(frozen: FrozenState, files: NamedFiles) -> KeyedSnapshot:
    """Write keyed state that was frozen for a savepoint; who froze it discards it afterwards.

    Raises:
        UnstorableValue: a value is not what its state's type says, or cannot be pickled.
        StorageError: a file could not be written.
    """
    settings = frozen.settings
    with closing(frozen.entries()) as blocks:
        parts = tuple(
            _written(meta, same, settings, files)
            for meta, same in groupby(blocks, key=lambda block: block.meta)
        )
    return KeyedSnapshot(
        backend=NAME,
        first_group=settings.first_group,
        last_group=settings.last_group,
        states=frozen.states,
        parts=parts,
        meta=msgspec.msgpack.encode(SnapshotFacts(settings.max_parallelism)),
        full_bytes=sum(part.blob.size for part in parts),
    )


def write_operator_state(
    states: Iterable[tuple[StateMeta, Redistribution, Sequence[Any]]],
    files: NamedFiles,
    owner: Owner,
) -> tuple[OperatorStatePart, ...]:
    """Write what ``FrozenOperatorState.items`` gives: each state with its elements or pairs.

    Raises:
        UnstorableValue, StorageError: as for ``write_keyed``.
    """
    return tuple(write_items(meta, how, values, files, owner) for meta, how, values in states)


def _written(
    meta: StateMeta, blocks: Iterable[StateBlock], settings: BackendSettings, files: NamedFiles
) -> KeyedPart:
    owner = Owner(settings.operator, settings.operator_id, settings.subtask)
    facts = FileFacts(VERSION, owner, meta, max_parallelism=settings.max_parallelism)
    name = files.name_for(f"{FOLDER}/{settings.operator_id}", meta.name, settings.subtask)
    with scratch_file(files) as path:
        with TableFile(path, facts, lambda sample: columns_for(meta, sample)) as file:
            for block in blocks:
                file.add(rows_of(block))
        return KeyedPart(meta.name, files.keep(path, name), shared=False)
