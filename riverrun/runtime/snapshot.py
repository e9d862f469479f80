"""A task's part of a checkpoint: frozen in the task thread, written by the shell in the background."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from riverrun.graph.deployment import TaskDeployment
from riverrun.protocol.snapshots import ChannelSnapshot, SnapshotTimes, SubtaskSnapshot
from riverrun.runtime.inputs import ChannelLogs
from riverrun.runtime.operator_states import FrozenStates
from riverrun.storage.snapshot_files import SnapshotFiles


@dataclass(slots=True)
class TaskSnapshot:
    """Everything of one subtask at one moment; ``write`` may run while the task goes on."""

    checkpoint: int
    deployment: TaskDeployment
    states: list[FrozenStates]
    times: SnapshotTimes
    finished: bool = False
    logs: ChannelLogs = field(default_factory=ChannelLogs)

    def write(self, files: SnapshotFiles) -> tuple[SubtaskSnapshot, SnapshotTimes]:
        """Write what is not in the store yet; how to find it again, and how long things took."""
        try:
            operators = tuple(
                written for frozen in self.states if (written := frozen.write(files)) is not None
            )
            channels = tuple(
                ChannelSnapshot(edge, producer, files.put(data, shared=False))
                for edge, producer, data in self.logs.channels()
            )
        finally:
            self.discard()
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

    def discard(self) -> None:
        """Release what the freeze holds; also when nothing is written."""
        for frozen in self.states:
            frozen.discard()
