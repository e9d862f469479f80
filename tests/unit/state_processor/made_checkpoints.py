"""Checkpoints and savepoints of one operator, made without a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from riverrun.checkpoint.metadata import CheckpointMetadata, OperatorInfo, VertexInfo
from riverrun.checkpoint.savepoint_store import write_savepoint
from riverrun.checkpoint.store import CheckpointStore
from riverrun.core.clock import ManualClock
from riverrun.graph.key_groups import group_range
from riverrun.protocol.snapshots import KeyedSnapshot, OperatorSnapshot, SubtaskSnapshot
from riverrun.serde.key_hash import key_group
from riverrun.serde.type_info import TypeInformation
from riverrun.state.backend import BackendSettings, KeyedStateBackend
from riverrun.state.backends import create_backend
from riverrun.state.parquet.snapshot import write_keyed
from riverrun.state_processor.savepoint import Savepoint
from riverrun.storage.checkpoint_files import CheckpointFiles
from riverrun.storage.local import LocalStorage
from riverrun.storage.savepoint_files import SavepointFiles

JOB = "0123456789abcdef" * 2
OPERATOR = "ab" * 16


class Operator:
    """The backends of an operator's subtasks, and what is saved of them."""

    def __init__(
        self,
        folder: Path,
        backend: str = "hashmap",
        *,
        parallelism: int = 2,
        max_parallelism: int = 16,
        key_type: TypeInformation | None = None,
        inline_limit: int = 64,
    ) -> None:
        self._folder = folder
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism
        self._inline_limit = inline_limit
        self._storage = LocalStorage()
        self._store = CheckpointStore(self._storage, str(folder / "checkpoints"), JOB)
        self._store.claim()
        self._number = 0
        self.backends = [
            self._backend(backend, subtask, key_type) for subtask in range(parallelism)
        ]

    def at(self, key: Any) -> KeyedStateBackend:
        """The backend that holds ``key``, which is the current one then."""
        group = key_group(key, self._max_parallelism)
        backend = self.backends[group * self._parallelism // self._max_parallelism]
        backend.key = key
        return backend

    def checkpoint(self) -> Savepoint:
        """Take a checkpoint."""
        self._number += 1
        snapshots = []
        for backend in self.backends:
            files = CheckpointFiles(
                self._storage,
                f"{self._folder}/checkpoints/{JOB}",
                self._number,
                inline_limit=self._inline_limit,
            )
            snapshots.append(backend.freeze(self._number).write(files))
        location, _ = self._store.write(self._metadata(snapshots, savepoint=False))
        for backend in self.backends:
            backend.checkpoint_completed(self._number)
        return Savepoint.read(location)

    def savepoint(self) -> Savepoint:
        """Take a savepoint."""
        self._number += 1
        folder = self._folder / f"savepoint-{self._number}"
        snapshots = []
        for backend in self.backends:
            files = SavepointFiles(self._storage, str(folder), self._folder / "scratch")
            frozen = backend.freeze(self._number, savepoint=True)
            snapshots.append(write_keyed(frozen, files))
            frozen.discard()
        metadata = self._metadata(snapshots, savepoint=True)
        write_savepoint(self._storage, str(folder), metadata, lambda _: b"")
        return Savepoint.read(folder)

    def close(self) -> None:
        for backend in self.backends:
            backend.close()

    def _backend(
        self, name: str, subtask: int, key_type: TypeInformation | None
    ) -> KeyedStateBackend:
        first, last = group_range(subtask, self._parallelism, self._max_parallelism)
        settings = BackendSettings(
            operator="customers",
            operator_id=OPERATOR,
            subtask=subtask,
            first_group=first,
            last_group=last,
            max_parallelism=self._max_parallelism,
            clock=ManualClock(1_700_000_000_000),
            folder=self._folder / "local" / str(subtask),
            key_type=key_type,
            incremental=True,
        )
        return create_backend(name, settings)

    def _metadata(self, snapshots: list[KeyedSnapshot], *, savepoint: bool) -> CheckpointMetadata:
        info = OperatorInfo(OPERATOR, "customers", "customers-uid")
        subtasks = [
            SubtaskSnapshot("v", subtask, (OperatorSnapshot(OPERATOR, keyed),))
            for subtask, keyed in enumerate(snapshots)
        ]
        vertex = VertexInfo("v", "Customers", self._parallelism, self._max_parallelism, (info,))
        return CheckpointMetadata(
            checkpoint=self._number,
            job=JOB,
            job_name="shop",
            timestamp_ms=1_700_000_000_000,
            vertices=(vertex,),
            subtasks=tuple(subtasks),
            savepoint=savepoint,
        )
