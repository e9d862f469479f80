"""A task's part of a checkpoint: frozen in the task thread, written by the shell in the background."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from riverrun.graph.deployment import TaskDeployment
from riverrun.protocol.barriers import SavepointOrder
from riverrun.protocol.snapshots import (
    ChannelSnapshot,
    OperatorSnapshot,
    SnapshotTimes,
    SubtaskSnapshot,
)
from riverrun.runtime.inputs import ChannelLogs
from riverrun.runtime.operator_states import FrozenStates
from riverrun.storage.snapshot_files import NamedFiles, SnapshotFiles


@dataclass(slots=True)
class TaskSnapshot:
    """Everything of one subtask at one moment; ``write`` may run while the task goes on."""

    checkpoint: int
    deployment: TaskDeployment
    states: list[FrozenStates]
    times: SnapshotTimes
    finished: bool = False
    savepoint: SavepointOrder | None = None
    """Where it goes instead of the job's own checkpoints."""
    logs: ChannelLogs = field(default_factory=ChannelLogs)

    def write(self, files: SnapshotFiles) -> tuple[SubtaskSnapshot, SnapshotTimes]:
        """Write what is not in the store yet; how to find it again, and how long things took."""
        try:
            operators = [frozen.write(files) for frozen in self.states]
            channels = tuple(
                ChannelSnapshot(
                    channel.edge,
                    channel.producer,
                    files.put(data, shared=False),
                    doubtful=channel.doubtful,
                )
                for channel, data in self.logs.channels()
            )
        finally:
            self.discard()
        return self._described(operators, channels)

    def write_savepoint(self, files: NamedFiles) -> tuple[SubtaskSnapshot, SnapshotTimes]:
        """Write all of it in the open format of savepoints; what ``write`` gives. It is always aligned."""
        try:
            operators = [frozen.write_savepoint(files) for frozen in self.states]
        finally:
            self.discard()
        return self._described(operators, ())

    def discard(self) -> None:
        """Release what the freeze holds; also when nothing is written."""
        for frozen in self.states:
            frozen.discard()

    def _described(
        self, written: Sequence[OperatorSnapshot | None], channels: tuple[ChannelSnapshot, ...]
    ) -> tuple[SubtaskSnapshot, SnapshotTimes]:
        operators = tuple(each for each in written if each is not None)
        full = sum(op.keyed.full_bytes for op in operators if op.keyed is not None)
        full += sum(part.blob.size for op in operators for part in op.lists)
        snapshot = SubtaskSnapshot(
            vertex=str(self.deployment.vertex),
            subtask=self.deployment.subtask,
            operators=operators,
            channels=channels,
            finished=self.finished,
        )
        times = msgspec.structs.replace(
            self.times, channel_bytes=self.logs.size, full_bytes=full + self.logs.size
        )
        return snapshot, times
