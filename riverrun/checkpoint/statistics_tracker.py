"""Keeps the figures about checkpoints while the coordinator decides over them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from riverrun.checkpoint.statistics import (
    CheckpointingStatistics,
    CheckpointStatistics,
    CheckpointStatus,
    CheckpointSummary,
    Counts,
    LatestCheckpoints,
    RestoredCheckpoint,
    StatsSummary,
    SubtaskStatistics,
    TaskStatistics,
    Totals,
)
from riverrun.core.ids import SubtaskId
from riverrun.protocol.snapshots import SnapshotTimes

HISTORY_SIZE: Final = 60
"""How many that are over are remembered, if they are small."""
_FEWEST: Final = 10
"""So many are remembered, however large; Flink's default of `web.checkpoints.history`."""
_MOST_SUBTASKS: Final = 20_000
"""So many parts of subtasks are remembered in all, if more than the fewest checkpoints have them."""
_SAVEPOINTS: Final = 10
"""So many of the newest savepoints are remembered beside the newest checkpoints."""
_SUMMARY_WINDOW: Final = 10_000
"""Over how many of the newest completed checkpoints the summary goes."""


@dataclass(slots=True)
class _Running:
    id: int
    triggered_at: int
    is_savepoint: bool
    is_synchronous: bool
    taking_part: Counter[str]
    acks: dict[SubtaskId, SubtaskStatistics] = field(default_factory=dict)

    def statistics(self, status: CheckpointStatus) -> CheckpointStatistics:
        subtasks = sorted(self.acks.items())
        return CheckpointStatistics(
            id=self.id,
            status=status,
            trigger_timestamp=self.triggered_at,
            tasks={
                vertex: TaskStatistics(
                    vertex,
                    count,
                    tuple(each for task, each in subtasks if task.vertex.value == vertex),
                )
                for vertex, count in self.taking_part.items()
            },
            totals=Totals.of(self.acks.values()),
            is_savepoint=self.is_savepoint,
            is_synchronous=self.is_synchronous,
            unaligned=any(each.times.unaligned for each in self.acks.values()),
        )


class StatisticsTracker:
    """Belongs to the thread that drives the coordinator; what ``snapshot`` gives is for everyone."""

    def __init__(self, history_size: int = HISTORY_SIZE) -> None:
        self._running: dict[int, _Running] = {}
        self._history_size = history_size
        self._past: list[CheckpointStatistics] = []
        """Newest first."""
        self._totals: deque[Totals] = deque(maxlen=_SUMMARY_WINDOW)
        self._counts = Counts()
        self._latest = LatestCheckpoints()
        self._snapshot: CheckpointingStatistics | None = None

    def triggered(
        self,
        checkpoint: int,
        tasks: Iterable[SubtaskId],
        now: float,
        *,
        savepoint: bool = False,
        synchronous: bool = False,
    ) -> None:
        """A checkpoint began, with these subtasks; ``synchronous``: a savepoint that the job ends with."""
        taking_part = Counter(task.vertex.value for task in tasks)
        self._running[checkpoint] = _Running(
            checkpoint, int(now), savepoint, synchronous, taking_part
        )
        self._count(total=1)

    def acknowledged(
        self, checkpoint: int, task: SubtaskId, times: SnapshotTimes, now: float
    ) -> None:
        """A subtask did its part of a checkpoint in progress."""
        running = self._running[checkpoint]
        took = int(now) - running.triggered_at
        running.acks[task] = SubtaskStatistics(task.index, int(now), took, times)
        self._snapshot = None

    def completed(self, checkpoint: int, location: str, metadata_size: int, now: float) -> None:
        """A checkpoint in progress exists now."""
        done = self._running.pop(checkpoint).statistics(CheckpointStatus.COMPLETED)
        took = int(now) - done.trigger_timestamp
        done = replace(
            done,
            totals=replace(done.totals, end_to_end_duration=took),
            external_path=location,
            metadata_size=metadata_size,
        )
        self._remember(done)
        self._totals.append(done.totals)
        if done.is_savepoint:
            self._latest = replace(self._latest, savepoint=done)
        else:
            self._latest = replace(self._latest, completed=done)
        self._count(completed=1)

    def failed(self, checkpoint: int, message: str, now: float) -> None:
        """A checkpoint in progress was given up."""
        done = self._running.pop(checkpoint).statistics(CheckpointStatus.FAILED)
        took = int(now) - done.trigger_timestamp
        done = replace(
            done,
            totals=replace(done.totals, end_to_end_duration=took),
            failure_timestamp=int(now),
            failure_message=message,
        )
        self._remember(done)
        self._latest = replace(self._latest, failed=done)
        self._count(failed=1)

    def discarded(self, checkpoint: int) -> None:
        """A completed checkpoint was deleted."""
        for index, past in enumerate(self._past):
            if past.id == checkpoint and past.status is CheckpointStatus.COMPLETED:
                self._past[index] = replace(past, discarded=True)
        latest = self._latest.completed
        if latest is not None and latest.id == checkpoint:
            self._latest = replace(self._latest, completed=replace(latest, discarded=True))
        self._snapshot = None

    def restored(self, restored: RestoredCheckpoint) -> None:
        """An attempt begins from a checkpoint."""
        self._latest = replace(self._latest, restored=restored)
        self._count(restored=1)

    def snapshot(self) -> CheckpointingStatistics:
        """The figures now; the same object until something changes."""
        if self._snapshot is None:
            running = [
                each.statistics(CheckpointStatus.IN_PROGRESS) for each in self._running.values()
            ]
            self._snapshot = CheckpointingStatistics(
                counts=self._counts,
                summary=_summary(self._totals),
                latest=self._latest,
                history=tuple(sorted((*running, *self._past), key=lambda each: -each.id)),
            )
        return self._snapshot

    def _remember(self, done: CheckpointStatistics) -> None:
        past = [done, *self._past]
        newest = past[: _room(past, self._history_size)]
        older = past[len(newest) :]
        room = _SAVEPOINTS - sum(each.is_savepoint for each in newest)
        self._past = newest + [each for each in older if each.is_savepoint][: max(0, room)]

    def _count(
        self, *, total: int = 0, completed: int = 0, failed: int = 0, restored: int = 0
    ) -> None:
        counts = self._counts
        self._counts = Counts(
            total=counts.total + total,
            in_progress=len(self._running),
            completed=counts.completed + completed,
            failed=counts.failed + failed,
            restored=counts.restored + restored,
        )
        self._snapshot = None


def _room(past: Sequence[CheckpointStatistics], most: int) -> int:
    """How many of the newest are remembered."""
    parts = 0
    for index, each in enumerate(past[:most]):
        parts += each.num_acknowledged_subtasks
        if index >= _FEWEST and parts > _MOST_SUBTASKS:
            return index
    return most


def _summary(totals: Iterable[Totals]) -> CheckpointSummary:
    all_totals = list(totals)
    return CheckpointSummary(
        checkpointed_size=StatsSummary.of([each.checkpointed_size for each in all_totals]),
        state_size=StatsSummary.of([each.state_size for each in all_totals]),
        end_to_end_duration=StatsSummary.of([each.end_to_end_duration for each in all_totals]),
        alignment_buffered=StatsSummary.of([each.alignment_buffered for each in all_totals]),
        processed_data=StatsSummary.of([each.processed_data for each in all_totals]),
        persisted_data=StatsSummary.of([each.persisted_data for each in all_totals]),
    )
