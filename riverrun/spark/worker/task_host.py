"""Hosts one task: its local folder, its files of checkpoints, its link to the JobMaster."""

from __future__ import annotations

import logging
from collections.abc import Callable

from riverrun.core import options
from riverrun.core.clock import Clock
from riverrun.core.lifecycle import TaskStatus
from riverrun.graph.deployment import TaskDeployment
from riverrun.protocol.control import (
    CheckpointAborted,
    CheckpointAcknowledged,
    CheckpointCompleted,
    InputOver,
    Order,
    PeerReport,
    StatusChanged,
    Up,
)
from riverrun.protocol.references import files_of, restored_location
from riverrun.runtime.chain import ClientRun
from riverrun.runtime.operator_states import TaskResources
from riverrun.runtime.settings import TaskSettings
from riverrun.runtime.snapshot import TaskSnapshot
from riverrun.runtime.snapshot_parts import SnapshotParts, Target
from riverrun.runtime.task import Task
from riverrun.serde.runs import PickleRunCodec
from riverrun.spark.worker.aside import Aside
from riverrun.spark.worker.control_client import ControlClient
from riverrun.spark.worker.local_folder import LocalFolder, scratch_root
from riverrun.spark.worker.snapshot_writer import SnapshotWriter
from riverrun.storage.blobs import FileRef
from riverrun.storage.checkpoint_files import CheckpointFiles, SavedCheckpointFiles
from riverrun.storage.local_copies import LocalCopies, sweep_stale
from riverrun.storage.open import open_storage
from riverrun.storage.savepoint_files import SavepointFiles
from riverrun.storage.storage import Storage


class TaskHost:
    """Makes the task and serves it; satisfies ``task_shell.Outside``."""

    def __init__(
        self,
        deployment: TaskDeployment,
        clock: Clock,
        control: ControlClient,
        wake: Callable[[], None],
        queued: Callable[[], int],
    ) -> None:
        self._deployment = deployment
        self._control = control
        self._codec = PickleRunCodec()
        config = dict(deployment.config)
        label = f"{deployment.job}-{deployment.attempt}-{deployment.layer}-{deployment.partition}"
        self._folder = LocalFolder(config, label)
        self._folder.prepare()
        self._storage: Storage | None = None
        self._acknowledged: dict[int, tuple[FileRef, ...]] = {}
        self._copies = self._open_copies(config)
        self._parts = SnapshotParts(self._target_of, clock)
        self._aside = Aside("riverrun-aside")
        self._writer = SnapshotWriter(self._parts, self._send, wake)
        self.task = Task(
            deployment,
            TaskSettings.of(config),
            clock,
            TaskResources(
                self._folder.path,
                self._folder.open_spill,
                self._saved(),
                wake,
                self._aside,
                queued,
            ),
        )

    def client_run(self, run: ClientRun) -> None:
        payload = bytes(self._codec.encode(run.values))
        self._control.send_run(run.operator_id, payload, len(run.values), run.commit)

    def snapshot(self, snapshot: TaskSnapshot) -> None:
        self._writer.write(snapshot)

    def follow(self, order: Order) -> None:
        if isinstance(order, CheckpointCompleted):
            self._keep_copies_of(order.checkpoint)
        elif isinstance(order, CheckpointAborted):
            self._acknowledged.pop(order.checkpoint, None)
            self._parts.abort(order.checkpoint)

    def report(self, report: PeerReport) -> None:
        self._control.send(report)

    def check(self) -> None:
        if self._writer.broken is not None:
            raise self._writer.broken

    def input_over(self) -> None:
        if self._deployment.checkpoint_folder is not None:
            self._control.send(InputOver())

    def finished(self) -> None:
        self._writer.close()
        if self._copies is not None:
            self._copies.drop_all()
        self._control.send(StatusChanged(TaskStatus.FINISHED))

    def close(self) -> BaseException | None:
        """Close the task and remove its local files; the first error is given back."""
        # Its local files go: what becomes of snapshots concerns nobody any more.
        self._parts.log_level = logging.DEBUG
        self._aside.close()
        broken = self.task.close()
        self._folder.remove()
        return broken

    def _send(self, message: Up) -> None:
        if isinstance(message, CheckpointAcknowledged) and self._copies is not None:
            self._acknowledged[message.checkpoint] = tuple(files_of(message.snapshot))
        self._control.send(message)

    def _keep_copies_of(self, checkpoint: int) -> None:
        files = self._acknowledged.pop(checkpoint, None)
        # The writer's thread adds to this dict meanwhile, so it is copied and changed, never replaced.
        for older in [number for number in tuple(self._acknowledged) if number < checkpoint]:
            self._acknowledged.pop(older, None)
        if self._copies is not None and files is not None:
            self._copies.keep_only(files, checkpoint)

    def _target_of(self, snapshot: TaskSnapshot) -> Target:
        order = snapshot.savepoint
        if order is not None:
            storage = open_storage(order.folder, self._deployment.config)
            return SavepointFiles(storage, order.folder, self._folder.path)
        folder = self._deployment.checkpoint_folder
        assert folder is not None  # noqa: S101  (nobody triggers checkpoints otherwise)
        return CheckpointFiles(
            self._open_storage(folder),
            folder,
            snapshot.checkpoint,
            inline_limit=options.INLINE_THRESHOLD.get(self._deployment.config),
            copies=self._copies,
        )

    def _saved(self) -> SavedCheckpointFiles | None:
        restore = self._deployment.restore
        if restore is None:
            return None
        storage = open_storage(restored_location(restore), self._deployment.config)
        return SavedCheckpointFiles(storage, self._copies)

    def _open_storage(self, folder: str) -> Storage:
        if self._storage is None:
            self._storage = open_storage(folder, self._deployment.config)
        return self._storage

    def _open_copies(self, config: dict[str, str]) -> LocalCopies | None:
        if not options.LOCAL_RECOVERY.get(config) or self._deployment.checkpoint_folder is None:
            return None
        root = scratch_root(config) / "copies"
        sweep_stale(root)
        owner = f"{self._deployment.vertex}-{self._deployment.subtask}"
        return LocalCopies(root, str(self._deployment.job), owner)
