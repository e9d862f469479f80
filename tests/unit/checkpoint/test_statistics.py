from __future__ import annotations

import statistics as reference

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.checkpoint.statistics import (
    CheckpointingStatistics,
    CheckpointStatistics,
    CheckpointStatus,
    Counts,
    RestoredCheckpoint,
    StatsSummary,
)
from riverrun.checkpoint.statistics_tracker import StatisticsTracker
from riverrun.core.ids import SubtaskId, VertexId
from riverrun.protocol.snapshots import SnapshotTimes

A0, A1 = (SubtaskId(VertexId("a"), index) for index in range(2))
B = SubtaskId(VertexId("b"), 0)


def times(written: int, full: int, *, aligned: int = 0, unaligned: bool = False) -> SnapshotTimes:
    return SnapshotTimes(
        state_bytes=written, full_bytes=full, aligned_bytes=aligned, unaligned=unaligned
    )


def completed(tracker: StatisticsTracker, checkpoint: int, at: float, took: float = 10) -> None:
    tracker.triggered(checkpoint, (A0,), at)
    tracker.acknowledged(checkpoint, A0, times(checkpoint, 10 * checkpoint), at + 1)
    tracker.completed(checkpoint, f"chk-{checkpoint}/_metadata", 5, at + took)


def only(snapshot: CheckpointingStatistics) -> CheckpointStatistics:
    (found,) = snapshot.history
    return found


def test_nothing_happened_yet() -> None:
    assert StatisticsTracker().snapshot() == CheckpointingStatistics()


def test_a_checkpoint_in_progress_shows_who_has_acknowledged() -> None:
    tracker = StatisticsTracker()
    tracker.triggered(1, (A0, A1, B), 100.5)
    tracker.acknowledged(1, A1, times(3, 30, aligned=7), 104)
    tracker.acknowledged(1, B, times(4, 40, unaligned=True), 109)

    found = only(tracker.snapshot())

    assert (found.status, found.trigger_timestamp) == (CheckpointStatus.IN_PROGRESS, 100)
    assert (found.num_subtasks, found.num_acknowledged_subtasks) == (3, 2)
    assert found.unaligned
    totals = found.totals
    assert (totals.checkpointed_size, totals.state_size, totals.alignment_buffered) == (7, 70, 7)
    assert (totals.latest_ack_timestamp, totals.end_to_end_duration) == (109, 9)
    (subtask,) = found.tasks["a"].subtasks
    assert (subtask.index, subtask.ack_timestamp, subtask.end_to_end_duration) == (1, 104, 4)
    assert found.tasks["a"].num_subtasks == 2
    assert found.tasks["b"].totals.state_size == 40
    assert tracker.snapshot().counts == Counts(total=1, in_progress=1)


def test_a_completed_checkpoint_says_where_it_is_and_how_long_it_took() -> None:
    tracker = StatisticsTracker()
    completed(tracker, 1, at=100, took=12)

    snapshot = tracker.snapshot()

    found = only(snapshot)
    assert found.status is CheckpointStatus.COMPLETED
    assert (found.external_path, found.metadata_size) == ("chk-1/_metadata", 5)
    assert found.totals.end_to_end_duration == 12
    assert snapshot.latest.completed == found
    assert snapshot.counts == Counts(total=1, completed=1)
    assert snapshot.summary.end_to_end_duration == StatsSummary.of([12])


def test_a_failed_checkpoint_says_why() -> None:
    tracker = StatisticsTracker()
    tracker.triggered(1, (A0,), 100)
    tracker.failed(1, "expired", 150)

    snapshot = tracker.snapshot()

    found = only(snapshot)
    assert (found.status, found.failure_message) == (CheckpointStatus.FAILED, "expired")
    assert (found.failure_timestamp, found.totals.end_to_end_duration) == (150, 50)
    assert snapshot.latest.failed == found
    assert snapshot.counts == Counts(total=1, failed=1)
    assert snapshot.summary.end_to_end_duration == StatsSummary()


def test_savepoints_are_not_the_latest_checkpoint() -> None:
    tracker = StatisticsTracker()
    tracker.triggered(1, (A0,), 0, savepoint=True)
    tracker.completed(1, "there", 5, 10)

    latest = tracker.snapshot().latest

    assert latest.completed is None
    assert latest.savepoint is not None
    assert latest.savepoint.is_savepoint


def test_the_history_is_bounded_and_newest_first_but_counts_go_on() -> None:
    tracker = StatisticsTracker(history_size=2)
    tracker.triggered(1, (A0,), 0)
    for number in (2, 3, 4):
        completed(tracker, number, at=100 * number)

    snapshot = tracker.snapshot()

    assert [each.id for each in snapshot.history] == [4, 3, 1]
    assert snapshot.counts == Counts(total=4, in_progress=1, completed=3)
    assert snapshot.checkpoint(3) is not None
    assert snapshot.checkpoint(2) is None


def test_savepoints_stay_in_the_history_when_checkpoints_have_left_it() -> None:
    tracker = StatisticsTracker(history_size=2)
    tracker.triggered(1, (A0,), 0, savepoint=True)
    tracker.completed(1, "/s/1", 5, 10)
    for number in (2, 3, 4):
        completed(tracker, number, at=100 * number)

    assert [each.id for each in tracker.snapshot().history] == [4, 3, 1]

    for number in range(5, 25):
        tracker.triggered(number, (A0,), 0, savepoint=True)
        tracker.completed(number, f"/s/{number}", 5, 10)

    assert [each.id for each in tracker.snapshot().history] == list(range(24, 14, -1))


def test_large_checkpoints_are_remembered_for_a_shorter_time() -> None:
    tracker = StatisticsTracker()
    tasks = [SubtaskId(A0.vertex, index) for index in range(1500)]
    for number in range(1, 21):
        tracker.triggered(number, tasks, 0)
        for task in tasks:
            tracker.acknowledged(number, task, SnapshotTimes(), 1)
        tracker.completed(number, f"/c/{number}", 5, 10)

    assert [each.id for each in tracker.snapshot().history] == list(range(20, 7, -1))


def test_deleted_and_restored_checkpoints_are_marked() -> None:
    tracker = StatisticsTracker()
    completed(tracker, 1, at=0)
    tracker.discarded(1)
    restored = RestoredCheckpoint(1, 500, "chk-1", is_savepoint=False)
    tracker.restored(restored)

    snapshot = tracker.snapshot()

    assert only(snapshot).discarded
    assert snapshot.latest.completed is not None
    assert snapshot.latest.completed.discarded
    assert snapshot.latest.restored == restored
    assert snapshot.counts.restored == 1


def test_a_snapshot_does_not_change_when_the_tracker_does() -> None:
    tracker = StatisticsTracker()
    tracker.triggered(1, (A0, B), 0)
    before = tracker.snapshot()
    assert tracker.snapshot() is before

    tracker.acknowledged(1, A0, times(1, 1), 5)

    assert only(before).num_acknowledged_subtasks == 0
    assert only(tracker.snapshot()).num_acknowledged_subtasks == 1


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=50))
def test_summaries_agree_with_the_standard_library(values: list[int]) -> None:
    found = StatsSummary.of(values)
    hundredths = reference.quantiles(values, n=100, method="inclusive")

    assert (found.min, found.max) == (min(values), max(values))
    assert found.avg == sum(values) // len(values)
    assert found.p50 == pytest.approx(hundredths[49])
    assert found.p90 == pytest.approx(hundredths[89])
    assert found.p99 == pytest.approx(hundredths[98])
